import Diagnostics

/// Scans XML bytes, with the features that models use: elements, attributes, text, CDATA, comments, processing instructions,
/// the five entities and character references. It reads no document types, entity declarations or namespaces.
///
/// With it, a program that links Swift's libraries statically needs no libxml2. Memory: one tag and one piece of text.
struct XMLScanner {
    /// The parts of a file, in order.
    enum Event {
        case open(XMLTag)
        case close
        case text(String)
    }

    /// The reason why a file is refused, and the place.
    struct Malformation: Error {
        var code: MigrationError.Code = "model.xml"
        /// A clause, such as "it is empty"; for another code than that of XML in general, the sentence.
        let problem: String
        var remedy = "Restore the file from version control, or open and save it in Xcode"
        let offset: Int
    }

    private let bytes: [UInt8]
    private let allowsDocumentType: Bool
    private var offset: Int
    /// The names of the open elements, outermost first.
    private var open: [String] = []
    private var hasRoot = false

    /// - Parameters:
    ///   - bytes: valid UTF-8.
    ///   - allowsDocumentType: true to skip `<!DOCTYPE name PUBLIC …>`, as property lists have it. One with an internal subset,
    ///     which can declare entities, is refused in any case.
    init(_ bytes: [UInt8], allowsDocumentType: Bool = false) {
        self.bytes = bytes
        self.allowsDocumentType = allowsDocumentType
        offset = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
    }

    /// Scans the file to its end.
    ///
    /// - Throws: ``Malformation``.
    /// - Complexity: O(bytes) time.
    mutating func scan(_ take: (Event) -> Void) throws(Malformation) {
        guard offset < bytes.count else { throw failure("it is empty") }
        if starts("<?xml"), let next = byte(at: offset + 5), Self.isSpace(next) { try skipDeclaration() }
        while offset < bytes.count {
            if bytes[offset] != UInt8(ascii: "<") {
                try scanText(take)
            } else if starts("<!--") {
                try skipComment()
            } else if starts("<![CDATA[") {
                try scanCharacterData(take)
            } else if starts("<?") {
                try skipInstruction()
            } else if starts("<!"), !hasRoot {
                try skipDocumentType()
            } else if starts("</") {
                try scanEndTag(take)
            } else {
                try scanStartTag(take)
            }
        }
        if !open.isEmpty { throw failure("it ends in the middle of an element") }
        if !hasRoot { throw failure("it is empty") }
    }

    // MARK: Tags

    private mutating func scanStartTag(_ take: (Event) -> Void) throws(Malformation) {
        let start = offset
        if hasRoot, open.isEmpty { throw failure("it does not end with its root element") }
        offset += 1
        let name = try scanName()
        var attributes: [String: String] = [:]
        while true {
            let hadSpace = skipSpace()
            guard let next = byte(at: offset) else { throw Malformation(problem: Self.endsEarly, offset: start) }
            let isEmpty = starts("/>")
            if isEmpty || next == UInt8(ascii: ">") {
                offset += isEmpty ? 2 : 1
                hasRoot = true
                // The receiver of the tags refuses much smaller depths.
                guard open.count < 4096 else { throw failure("it nests too many elements") }
                take(.open(XMLTag(name: name, attributes: attributes, offset: start)))
                if isEmpty { take(.close) } else { open.append(name) }
                return
            }
            guard hadSpace else { throw failure(Self.badAttribute) }
            let place = offset
            let key = try scanName()
            skipSpace()
            guard byte(at: offset) == UInt8(ascii: "=") else { throw failure(Self.badAttribute) }
            offset += 1
            skipSpace()
            let value = try scanValue()
            guard attributes.updateValue(value, forKey: key) == nil else {
                throw Malformation(problem: "an element has two attributes of one name", offset: place)
            }
        }
    }

    private mutating func scanEndTag(_ take: (Event) -> Void) throws(Malformation) {
        let start = offset
        offset += 2
        let name = try scanName()
        skipSpace()
        guard byte(at: offset) == UInt8(ascii: ">") else {
            throw offset < bytes.count ? failure("an end tag is not written properly") : failure(Self.endsEarly)
        }
        offset += 1
        guard open.popLast() == name else {
            throw Malformation(problem: "a start tag and an end tag do not match", offset: start)
        }
        take(.close)
    }

    private mutating func scanName() throws(Malformation) -> String {
        let start = offset
        while let byte = byte(at: offset), Self.isName(byte, isFirst: offset == start) { offset += 1 }
        guard offset > start else {
            throw offset < bytes.count ? failure("a name is missing") : failure(Self.endsEarly)
        }
        let name = String(decoding: bytes[start..<offset], as: UTF8.self)
        let hasColon = bytes[start..<offset].contains(UInt8(ascii: ":"))
        guard name != "xmlns", !hasColon || name.hasPrefix("xml:") else {
            throw Malformation(problem: "it uses a namespace, which models have none of", offset: start)
        }
        return name
    }

    /// Reads an attribute's value after its equals sign. White space becomes a space, unless it is written as a reference.
    private mutating func scanValue() throws(Malformation) -> String {
        guard let quote = byte(at: offset), quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") else {
            throw failure(Self.badAttribute)
        }
        offset += 1
        var value: [UInt8] = []
        while let byte = byte(at: offset) {
            switch byte {
            case quote:
                offset += 1
                return String(decoding: value, as: UTF8.self)
            case UInt8(ascii: "<"): throw failure(Self.badAttribute)
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
        throw failure(Self.endsEarly)
    }

    // MARK: Text

    private mutating func scanText(_ take: (Event) -> Void) throws(Malformation) {
        var text: [UInt8] = []
        while let byte = byte(at: offset), byte != UInt8(ascii: "<") {
            if open.isEmpty, !Self.isSpace(byte) {
                throw failure(hasRoot ? "it does not end with its root element" : "it does not begin with an element")
            }
            switch byte {
            case UInt8(ascii: "&"): try scanReference(into: &text)
            case UInt8(ascii: "]") where starts("]]>"): throw failure("it ends character data that did not begin")
            default: try copyCharacter(into: &text)
            }
        }
        if !open.isEmpty { take(.text(String(decoding: text, as: UTF8.self))) }
    }

    private mutating func scanCharacterData(_ take: (Event) -> Void) throws(Malformation) {
        guard !open.isEmpty else { throw failure("it has character data outside its root element") }
        offset += 9
        let text = try text(before: "]]>")
        offset += 3
        take(.text(String(decoding: text, as: UTF8.self)))
    }

    /// Reads the text before a mark.
    private mutating func text(before mark: StaticString) throws(Malformation) -> [UInt8] {
        var text: [UInt8] = []
        while !starts(mark) {
            guard offset < bytes.count else { throw failure(Self.endsEarly) }
            try copyCharacter(into: &text)
        }
        return text
    }

    /// Copies a character. Every form of line end becomes one byte.
    private mutating func copyCharacter(into text: inout [UInt8]) throws(Malformation) {
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
        guard !isForbidden else { throw failure(Self.badCharacter) }
        text.append(byte)
        offset += 1
    }

    /// Reads a reference such as `&amp;`, `&#10;`, `&#x0A;`.
    private mutating func scanReference(into text: inout [UInt8]) throws(Malformation) {
        let start = offset
        guard let end = bytes[start...].prefix(16).firstIndex(of: UInt8(ascii: ";")) else {
            throw failure(Self.badEntity)
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
            guard name.hasPrefix("#") else { throw Malformation(problem: Self.badEntity, offset: start) }
            let digits = name.dropFirst(name.hasPrefix("#x") ? 2 : 1)
            guard digits.utf8.first.map({ $0 != UInt8(ascii: "+") && $0 != UInt8(ascii: "-") }) ?? false,
                let number = UInt32(digits, radix: name.hasPrefix("#x") ? 16 : 10), let scalar = Unicode.Scalar(number),
                number >= 0x20 || [0x09, 0x0A, 0x0D].contains(number), number != 0xFFFE, number != 0xFFFF
            else { throw Malformation(problem: Self.badCharacter, offset: start) }
            text += String(Character(scalar)).utf8
        }
    }

    // MARK: Skipped parts

    private mutating func skipDeclaration() throws(Malformation) {
        let start = offset
        let problem = "its declaration is not written properly"
        offset += 5
        var expected = ["version", "encoding", "standalone"][...]
        while skipSpace(), !starts("?>") {
            let key = try scanName()
            guard let known = expected.firstIndex(of: key), expected.count < 3 || key == "version"
            else { throw Malformation(problem: problem, offset: start) }
            expected = expected[(known + 1)...]
            skipSpace()
            guard byte(at: offset) == UInt8(ascii: "=") else { throw Malformation(problem: problem, offset: start) }
            offset += 1
            skipSpace()
            let value = try scanValue()
            let isRight =
                switch key {
                case "version": value.hasPrefix("1.") && value.count > 2 && value.dropFirst(2).allSatisfy(\.isNumber)
                case "standalone": value == "yes" || value == "no"
                default: true
                }
            guard isRight else { throw Malformation(problem: problem, offset: start) }
            guard key != "encoding" || ["utf-8", "utf8", "us-ascii", "ascii"].contains(value.lowercased()) else {
                throw Malformation(
                    code: "model.encoding", problem: "The file is in \(value), not in UTF-8",
                    remedy: XMLSource.encodingRemedy, offset: start)
            }
        }
        guard expected.count < 3, starts("?>") else { throw Malformation(problem: problem, offset: start) }
        offset += 2
    }

    private mutating func skipInstruction() throws(Malformation) {
        let start = offset
        offset += 2
        let name = try scanName()
        guard name.lowercased() != "xml" else {
            throw Malformation(problem: "its declaration is not written properly", offset: start)
        }
        guard starts("?>") || byte(at: offset).map(Self.isSpace) ?? true else {
            throw failure("a processing instruction is not written properly")
        }
        _ = try text(before: "?>")
        offset += 2
    }

    private mutating func skipComment() throws(Malformation) {
        let start = offset
        offset += 4
        do { _ = try text(before: "--") } catch {
            throw error.problem == Self.endsEarly
                ? Malformation(problem: "a comment does not end", offset: start) : error
        }
        guard starts("-->") else { throw failure("a comment holds two hyphens") }
        offset += 3
    }

    private mutating func skipDocumentType() throws(Malformation) {
        let start = offset
        let refusal = Malformation(
            code: "model.documentType", problem: "The file declares a document type or entities",
            remedy: "Remove the declaration: Xcode writes none", offset: start)
        guard allowsDocumentType, starts("<!DOCTYPE") else { throw refusal }
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
        throw Malformation(problem: "its document type is not written properly", offset: start)
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

    private func failure(_ problem: String) -> Malformation { Malformation(problem: problem, offset: offset) }

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
