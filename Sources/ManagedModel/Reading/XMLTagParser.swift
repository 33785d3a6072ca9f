import Diagnostics

/// Passes the tags and the text of an ``XMLSource`` to a handler, within limits.
///
/// It knows the features that models use: elements, attributes, text, CDATA, comments, processing instructions, the five
/// entities and character references. It reads no entity declarations or namespaces, and nothing outside the file. With it, a
/// program that links Swift's libraries statically needs no libxml2. Memory: that of the handler, one tag and one piece of text.
package struct XMLTagParser {
    /// The greatest number of open elements; a model has five.
    static let greatestDepth = 32

    private let source: XMLSource
    private let bytes: [UInt8]
    private let handler: any XMLTagHandler
    /// The first error of the handler.
    private var failure: MigrationError?
    private var lastTag = 0
    private var offset: Int
    /// The names of the open elements, outermost first.
    private var open: [String] = []
    private var hasRoot = false

    /// Parses the whole file.
    ///
    /// After an error of the handler, the handler is not called, but the file is read to its end: if it is not well-formed,
    /// that error takes precedence.
    ///
    /// - Throws: `model.xml` if the XML is not well-formed, `model.documentType`, `model.encoding`, `model.tooDeep`, and the
    ///   handler's errors, completed with path, line and column of the last tag.
    /// - Returns: the handler.
    /// - Complexity: O(file) time.
    @discardableResult
    package static func parse<Handler: XMLTagHandler>(
        _ source: XMLSource, into handler: Handler
    ) throws(MigrationError) -> Handler {
        var parser = XMLTagParser(source, handler)
        try parser.scan()
        if let failure = parser.failure { throw failure }
        return handler
    }

    private init(_ source: XMLSource, _ handler: any XMLTagHandler) {
        self.source = source
        self.handler = handler
        bytes = source.bytes
        offset = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
    }

    /// Lets the handler take a part of the file.
    private mutating func pass(_ part: (any XMLTagHandler) throws(MigrationError) -> Void) {
        guard failure == nil else { return }
        do throws(MigrationError) { try part(handler) } catch { failure = error.inside(source.context(at: lastTag)) }
    }

    private mutating func scan() throws(MigrationError) {
        guard offset < bytes.count else { throw malformed("it is empty") }
        if starts("<?xml"), let next = byte(at: offset + 5), Self.isSpace(next) { try skipDeclaration() }
        while offset < bytes.count {
            if bytes[offset] != UInt8(ascii: "<") {
                try scanText()
            } else if starts("<!--") {
                try skipComment()
            } else if starts("<![CDATA[") {
                try scanCharacterData()
            } else if starts("<?") {
                try skipInstruction()
            } else if starts("<!"), !hasRoot {
                try skipDocumentType()
            } else if starts("</") {
                try scanEndTag()
            } else {
                try scanStartTag()
            }
        }
        if !open.isEmpty { throw malformed("it ends in the middle of an element") }
        if !hasRoot { throw malformed("it is empty") }
    }

    // MARK: Tags

    private mutating func scanStartTag() throws(MigrationError) {
        let start = offset
        if hasRoot, open.isEmpty { throw malformed("it does not end with its root element") }
        offset += 1
        let name = try scanName()
        var attributes: [String: String] = [:]
        while true {
            let hadSpace = skipSpace()
            guard let next = byte(at: offset) else { throw malformed(Self.endsEarly, at: start) }
            let isEmpty = starts("/>")
            if isEmpty || next == UInt8(ascii: ">") {
                offset += isEmpty ? 2 : 1
                hasRoot = true
                guard open.count < Self.greatestDepth else { throw failure ?? tooDeep(start) }
                lastTag = start
                let tag = XMLTag(name: name, attributes: attributes, offset: start)
                pass { handler throws(MigrationError) in try handler.open(tag) }
                open.append(name)
                if isEmpty { close() }
                return
            }
            guard hadSpace else { throw malformed(Self.badAttribute) }
            let place = offset
            let key = try scanName()
            skipSpace()
            guard byte(at: offset) == UInt8(ascii: "=") else { throw malformed(Self.badAttribute) }
            offset += 1
            skipSpace()
            let value = try scanValue()
            guard attributes.updateValue(value, forKey: key) == nil else {
                throw malformed("an element has two attributes of one name", at: place)
            }
        }
    }

    private mutating func scanEndTag() throws(MigrationError) {
        let start = offset
        offset += 2
        let name = try scanName()
        skipSpace()
        guard byte(at: offset) == UInt8(ascii: ">") else {
            throw offset < bytes.count ? malformed("an end tag is not written properly") : malformed(Self.endsEarly)
        }
        offset += 1
        guard open.last == name else { throw malformed("a start tag and an end tag do not match", at: start) }
        close()
    }

    private mutating func close() {
        open.removeLast()
        pass { handler throws(MigrationError) in try handler.close() }
    }

    private func tooDeep(_ place: Int) -> MigrationError {
        MigrationError(
            "model.tooDeep", .configuration, "The file nests more than \(Self.greatestDepth) elements",
            remedy: "Check that the path names a model", context: source.context(at: place))
    }

    private mutating func scanName() throws(MigrationError) -> String {
        let start = offset
        while let byte = byte(at: offset), Self.isName(byte, isFirst: offset == start) { offset += 1 }
        guard offset > start else {
            throw offset < bytes.count ? malformed("a name is missing") : malformed(Self.endsEarly)
        }
        let name = String(decoding: bytes[start..<offset], as: UTF8.self)
        let hasColon = bytes[start..<offset].contains(UInt8(ascii: ":"))
        guard name != "xmlns", !hasColon || name.hasPrefix("xml:") else {
            throw malformed("it uses a namespace, which models have none of", at: start)
        }
        return name
    }

    /// Reads an attribute's value after its equals sign. White space becomes a space, unless it is written as a reference.
    private mutating func scanValue() throws(MigrationError) -> String {
        guard let quote = byte(at: offset), quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") else {
            throw malformed(Self.badAttribute)
        }
        offset += 1
        var value: [UInt8] = []
        while let byte = byte(at: offset) {
            switch byte {
            case quote:
                offset += 1
                return String(decoding: value, as: UTF8.self)
            case UInt8(ascii: "<"): throw malformed(Self.badAttribute)
            case UInt8(ascii: "&"): try scanReference(into: &value)
            case 0x0D:
                value.append(0x20)
                offset += self.byte(at: offset + 1) == 0x0A ? 2 : 1
            case 0x09, 0x0A:
                value.append(0x20)
                offset += 1
            default: try copyCharacter(into: &value)
            }
        }
        throw malformed(Self.endsEarly)
    }

    // MARK: Text

    private mutating func scanText() throws(MigrationError) {
        var text: [UInt8] = []
        while let byte = byte(at: offset), byte != UInt8(ascii: "<") {
            if open.isEmpty, !Self.isSpace(byte) {
                throw malformed(hasRoot ? "it does not end with its root element" : "it does not begin with an element")
            }
            switch byte {
            case UInt8(ascii: "&"): try scanReference(into: &text)
            case UInt8(ascii: "]") where starts("]]>"): throw malformed("it ends character data that did not begin")
            default: try copyCharacter(into: &text)
            }
        }
        if !open.isEmpty { pass { $0.text(String(decoding: text, as: UTF8.self)) } }
    }

    private mutating func scanCharacterData() throws(MigrationError) {
        guard !open.isEmpty else { throw malformed("it has character data outside its root element") }
        offset += 9
        let text = try text(before: "]]>")
        offset += 3
        pass { $0.text(String(decoding: text, as: UTF8.self)) }
    }

    /// Reads the text before a mark.
    private mutating func text(
        before mark: StaticString, otherwise problem: String = endsEarly, from start: Int? = nil
    ) throws(MigrationError) -> [UInt8] {
        var text: [UInt8] = []
        while !starts(mark) {
            guard offset < bytes.count else { throw malformed(problem, at: start) }
            try copyCharacter(into: &text)
        }
        return text
    }

    /// Copies a character. Every form of line end becomes one byte.
    private mutating func copyCharacter(into text: inout [UInt8]) throws(MigrationError) {
        let byte = bytes[offset]
        if byte == 0x0D {
            text.append(0x0A)
            offset += self.byte(at: offset + 1) == 0x0A ? 2 : 1
            return
        }
        let isForbidden =
            byte < 0x20 && byte != 0x09 && byte != 0x0A
            // U+FFFE and U+FFFF.
            || byte == 0xEF && self.byte(at: offset + 1) == 0xBF && (self.byte(at: offset + 2) ?? 0) >= 0xBE
        guard !isForbidden else { throw malformed(Self.badCharacter) }
        text.append(byte)
        offset += 1
    }

    /// Reads a reference such as `&amp;`, `&#10;`, `&#x0A;`.
    private mutating func scanReference(into text: inout [UInt8]) throws(MigrationError) {
        let start = offset
        guard let end = bytes[start...].prefix(16).firstIndex(of: UInt8(ascii: ";")) else {
            throw malformed(Self.badEntity)
        }
        let name = String(decoding: bytes[(start + 1)..<end], as: UTF8.self)
        offset = end + 1
        switch name {
        case "amp": text += "&".utf8
        case "lt": text += "<".utf8
        case "gt": text += ">".utf8
        case "quot": text += "\"".utf8
        case "apos": text += "'".utf8
        default:
            guard name.hasPrefix("#") else { throw malformed(Self.badEntity, at: start) }
            let digits = name.dropFirst(name.hasPrefix("#x") ? 2 : 1)
            guard digits.utf8.first.map({ $0 != UInt8(ascii: "+") && $0 != UInt8(ascii: "-") }) ?? false,
                let number = UInt32(digits, radix: name.hasPrefix("#x") ? 16 : 10), let scalar = Unicode.Scalar(number),
                number >= 0x20 || [0x09, 0x0A, 0x0D].contains(number), number != 0xFFFE, number != 0xFFFF
            else { throw malformed(Self.badCharacter, at: start) }
            text += String(Character(scalar)).utf8
        }
    }

    // MARK: Skipped parts

    private mutating func skipDeclaration() throws(MigrationError) {
        let start = offset
        let problem = "its declaration is not written properly"
        offset += 5
        var expected = ["version", "encoding", "standalone"][...]
        while skipSpace(), !starts("?>") {
            let key = try scanName()
            guard let known = expected.firstIndex(of: key), expected.count < 3 || key == "version"
            else { throw malformed(problem, at: start) }
            expected = expected[(known + 1)...]
            skipSpace()
            guard byte(at: offset) == UInt8(ascii: "=") else { throw malformed(problem, at: start) }
            offset += 1
            skipSpace()
            let value = try scanValue()
            let isRight =
                switch key {
                case "version": value.hasPrefix("1.") && value.count > 2 && value.dropFirst(2).allSatisfy(\.isNumber)
                case "standalone": value == "yes" || value == "no"
                default: true
                }
            guard isRight else { throw malformed(problem, at: start) }
            guard key != "encoding" || ["utf-8", "utf8", "us-ascii", "ascii"].contains(value.lowercased()) else {
                throw MigrationError(
                    "model.encoding", .configuration, "The file is in \(value), not in UTF-8",
                    remedy: XMLSource.encodingRemedy, context: source.context(at: start))
            }
        }
        guard expected.count < 3, starts("?>") else { throw malformed(problem, at: start) }
        offset += 2
    }

    private mutating func skipInstruction() throws(MigrationError) {
        let start = offset
        offset += 2
        let name = try scanName()
        guard name.lowercased() != "xml" else {
            throw malformed("its declaration is not written properly", at: start)
        }
        guard starts("?>") || byte(at: offset).map(Self.isSpace) ?? true else {
            throw malformed("a processing instruction is not written properly")
        }
        _ = try text(before: "?>")
        offset += 2
    }

    private mutating func skipComment() throws(MigrationError) {
        let start = offset
        offset += 4
        _ = try text(before: "--", otherwise: "a comment does not end", from: start)
        guard starts("-->") else { throw malformed("a comment holds two hyphens") }
        offset += 3
    }

    private mutating func skipDocumentType() throws(MigrationError) {
        let start = offset
        let refusal = MigrationError(
            "model.documentType", .configuration, "The file declares a document type or entities",
            remedy: "Remove the declaration: Xcode writes none", context: source.context(at: start))
        guard source.allowsDocumentType, starts("<!DOCTYPE") else { throw refusal }
        offset += 9
        var quote: UInt8?
        while let byte = byte(at: offset) {
            offset += 1
            if let open = quote {
                if byte == open { quote = nil }
            } else if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") {
                quote = byte
            } else if byte == UInt8(ascii: ">") {
                return
            } else if byte == UInt8(ascii: "[") {
                throw refusal
            } else if byte == UInt8(ascii: "<") {
                break
            }
        }
        throw malformed("its document type is not written properly", at: start)
    }

    @discardableResult
    private mutating func skipSpace() -> Bool {
        let start = offset
        while let byte = byte(at: offset), Self.isSpace(byte) { offset += 1 }
        return offset > start
    }

    // MARK: Bytes

    private static let endsEarly = "it ends in the middle of an element"
    private static let badAttribute = "an attribute is not written properly"
    private static let badCharacter = "it has a character that XML does not allow"
    private static let badEntity = "it uses an entity that is not declared"

    /// Makes the error for a file that is not well-formed.
    private func malformed(_ problem: String, at place: Int? = nil) -> MigrationError {
        MigrationError(
            "model.xml", .configuration, "The file is not well-formed XML: \(problem)",
            remedy: "Restore the file from version control, or open and save it in Xcode",
            context: source.context(at: min(place ?? offset, bytes.count)))
    }

    private func byte(at place: Int) -> UInt8? { place < bytes.count ? bytes[place] : nil }

    /// Tells whether ASCII text is at the offset.
    private func starts(_ text: StaticString) -> Bool {
        text.withUTF8Buffer { bytes.dropFirst(offset).starts(with: $0) }
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D }

    /// Tells whether a byte may be part of a name. All letters beyond ASCII are accepted: XML's exact rules for names make no
    /// difference to models.
    private static func isName(_ byte: UInt8, isFirst: Bool) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "_"),
            UInt8(ascii: ":"), 0x80...:
            true
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."): !isFirst
        default: false
        }
    }
}
