import Diagnostics

/// The tags and texts of an XML file, one after the other, for whoever knows which of them come next.
///
/// It knows elements, attributes, text, CDATA, comments, processing instructions, the five entities and character references.
/// It refuses declarations of entities and reads nothing outside the file. Memory: a window of the file, and the value that is
/// read. Of a tag only the name is kept, so an attribute may have any length.
final class XMLTokens {
    enum Token: Equatable {
        /// The name of an element that begins. Its attributes come next.
        case start(String)
        case end(String)
        /// The end of the file.
        case finish
    }

    /// The greatest length of a name, and of an attribute that is read as a whole.
    private static let mostName = 4096

    let window: ByteWindow
    /// The names of the open elements.
    @exclusivity(unchecked) private var open: [String] = []
    /// True if the element that began ends with its tag.
    @exclusivity(unchecked) private var isEmptyElement = false
    @exclusivity(unchecked) private var hasRoot = false
    @exclusivity(unchecked) private var bytes: [UInt8] = []

    init(_ window: ByteWindow) { self.window = window }

    // MARK: Errors

    /// The error for text that is not XML as it should be.
    func malformed(_ what: String, _ remedy: String? = nil) -> MigrationError {
        failure("store.xml", "The XML store is damaged: \(what)", remedy ?? "Copy the store again")
    }

    /// An error of the data, at the place that was read last.
    func failure(_ code: MigrationError.Code, _ message: String, _ remedy: String? = nil) -> MigrationError {
        MigrationError(
            code, .data, message, remedy: remedy,
            context: .init(path: window.path, line: window.line(at: window.offset)))
    }

    private func truncated() -> MigrationError {
        let inside = open.last.map { "within the element \($0)" } ?? "before it begins"
        return failure("store.truncated", "The file ends \(inside)", "Copy the store again")
    }

    // MARK: Tags

    /// Returns the next tag. Between tags only blanks may be.
    func next() throws(MigrationError) -> Token {
        if isEmptyElement {
            isEmptyElement = false
            return .end(open.removeLast())
        }
        while true {
            guard let byte = try skipBlanks() else {
                guard open.isEmpty, hasRoot else { throw truncated() }
                return .finish
            }
            guard byte == UInt8(ascii: "<") else {
                let place = open.last.map { "in the element \($0)" } ?? "outside of all elements"
                throw malformed("there is text \(place)")
            }
            if try passAside() { continue }
            window.pass()
            if try window.peek() == UInt8(ascii: "/") {
                window.pass()
                let name = try readName()
                guard open.last == name else { throw malformed("the element \(open.last ?? "?") ends as \(name)") }
                open.removeLast()
                guard try skipBlanks() == UInt8(ascii: ">") else { throw malformed("the end of \(name) is no tag") }
                window.pass()
                return .end(name)
            }
            let name = try readName()
            guard !open.isEmpty || !hasRoot else { throw malformed("there is a second root element \(name)") }
            guard open.count < 64 else { throw malformed("more than 64 elements are in each other") }
            hasRoot = true
            open.append(name)
            return .start(name)
        }
    }

    /// Passes a comment, an instruction or the document type. Returns false if none of them is next.
    private func passAside() throws(MigrationError) -> Bool {
        if try window.isAt("<!--") {
            try pass(through: "-->")
        } else if try window.isAt("<?xml") {
            try passDeclaration()
        } else if try window.isAt("<?") {
            try pass(through: "?>")
        } else if try window.isAt("<!DOCTYPE"), !hasRoot {
            try passDocumentType()
        } else {
            return false
        }
        return true
    }

    /// Passes the declaration, in which only UTF-8 may be named as the encoding.
    private func passDeclaration() throws(MigrationError) {
        bytes.removeAll(keepingCapacity: true)
        while try !window.isAt("?>") {
            guard let byte = try window.peek(), bytes.count < Self.mostName else { throw truncated() }
            bytes.append(byte)
            window.pass()
        }
        window.pass(2)
        let text = String(decoding: bytes, as: UTF8.self).lowercased()
        guard let mark = text.firstRange(of: "encoding=") else { return }
        let name = text[mark.upperBound...].dropFirst().prefix { $0 != "\"" && $0 != "'" }
        guard ["utf-8", "utf8", "us-ascii"].contains(String(name)) else {
            throw failure("store.encoding", "The XML store is in the encoding \(name), Core Data writes UTF-8")
        }
    }

    private func passDocumentType() throws(MigrationError) {
        while let byte = try window.peek(), byte != UInt8(ascii: ">") {
            guard byte != UInt8(ascii: "[") else {
                throw failure(
                    "store.documentType", "The XML store declares entities or elements of its own",
                    "Remove what is between [ and ] in the line with <!DOCTYPE: Core Data writes nothing there")
            }
            window.pass()
        }
        window.pass(try window.peek() == nil ? 0 : 1)
    }

    private func pass(through end: StaticString) throws(MigrationError) {
        window.pass(2)
        while try !window.isAt(end) {
            guard try window.peek() != nil else { throw truncated() }
            window.pass()
        }
        window.pass(end.utf8CodeUnitCount)
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte >= 0x09 && byte <= 0x0D }

    /// Passes blanks, and returns the byte after them; nil at the end of the file.
    private func skipBlanks() throws(MigrationError) -> UInt8? {
        while let byte = try window.peek() {
            let isMark = byte == 0xEF && window.offset == 0
            if isMark, try window.isAt("\u{FEFF}") {
                window.pass(3)
            } else if Self.isBlank(byte) {
                window.pass()
            } else {
                return byte
            }
        }
        return nil
    }

    private func readName() throws(MigrationError) -> String {
        bytes.removeAll(keepingCapacity: true)
        let isWhole = try readBytes(into: &bytes, limit: Self.mostName) { byte in
            Self.isBlank(byte) || byte == UInt8(ascii: ">") || byte == UInt8(ascii: "=") || byte == UInt8(ascii: "/")
                || byte == UInt8(ascii: "<")
        }
        guard isWhole else { throw malformed("a name is longer than 4,096 bytes") }
        guard !bytes.isEmpty else { throw malformed("a tag has no name") }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Appends bytes to a target up to the first that `isEnd` accepts, which stays unread, or up to the end of the file. Returns
    /// false if the target would become longer than the limit; the rest stays unread then.
    @inline(__always)
    private func readBytes(
        into target: inout [UInt8], limit: Int, until isEnd: (UInt8) -> Bool
    ) throws(MigrationError) -> Bool {
        while let rest = try window.rest() {
            var count = 0
            while count < rest.count, !isEnd(rest[count]) { count += 1 }
            guard target.count + count <= limit else { return false }
            target.append(contentsOf: UnsafeBufferPointer(rebasing: rest[..<count]))
            window.pass(count)
            if count < rest.count { break }
        }
        return true
    }

    // MARK: Attributes

    /// Returns the name of the next attribute of the element that began; nil once its tag has ended. The attribute's value must
    /// be read before the next one.
    func nextAttribute() throws(MigrationError) -> String? {
        guard let byte = try skipBlanks() else { throw truncated() }
        if byte == UInt8(ascii: "/") {
            window.pass()
            guard try window.peek() == UInt8(ascii: ">") else { throw malformed("a tag has a / in its middle") }
            isEmptyElement = true
        }
        if try window.peek() == UInt8(ascii: ">") {
            window.pass()
            return nil
        }
        let name = try readName()
        guard try skipBlanks() == UInt8(ascii: "=") else { throw malformed("the attribute \(name) has no value") }
        window.pass()
        return name
    }

    private func openQuote() throws(MigrationError) -> UInt8 {
        guard let quote = try skipBlanks(), quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") else {
            throw malformed("the value of an attribute is not in quotes")
        }
        window.pass()
        return quote
    }

    /// Reads the value of an attribute.
    func attributeValue() throws(MigrationError) -> String {
        let quote = try openQuote()
        bytes.removeAll(keepingCapacity: true)
        while true {
            let isWhole = try readBytes(into: &bytes, limit: Self.mostName) { byte in
                byte == quote || byte == UInt8(ascii: "<") || byte == UInt8(ascii: "&")
            }
            guard let byte = try window.peek() else { throw truncated() }
            if byte == quote { break }
            guard isWhole, byte == UInt8(ascii: "&") else { throw malformed("the value of an attribute does not end") }
            try readReference(into: &bytes)
        }
        window.pass()
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Reads the value of an attribute that is a list of ids, such as `z102 z103`, and calls a body with the number of each. There
    /// may be any number of them, also none.
    func forEachID(_ body: (Int64) throws(MigrationError) -> Void) throws(MigrationError) {
        let quote = try openQuote()
        while let byte = try skipBlanks(), byte != quote {
            guard byte == UInt8(ascii: "z") else { throw malformed("a reference to an object does not begin with z") }
            window.pass()
            var id: Int64?
            while let digit = try window.peek(), digit >= 0x30, digit <= 0x39 {
                let next = (id ?? 0) * 10 + Int64(digit - 0x30)
                guard next <= ObjectIntake.greatestID else { throw malformed("an id is above 2 to the power of 47") }
                id = next
                window.pass()
            }
            let isEnd = try window.peek().map { $0 == quote || Self.isBlank($0) } ?? false
            guard let id, isEnd else { throw malformed("an id is not z and a number") }
            try body(id)
        }
        guard try window.peek() != nil else { throw truncated() }
        window.pass()
    }

    // MARK: Text

    /// Reads the text of the element that began, up to its end tag or to the next element. The text is empty for an element
    /// that ends with its tag.
    ///
    /// - Parameters:
    ///   - isEscaped: true if backslashes are Core Data's own escapes, ``XMLEscapes``.
    ///   - limit: the most bytes of the text.
    func readText(into text: inout [UInt8], isEscaped: Bool, limit: Int) throws(MigrationError) {
        text.removeAll(keepingCapacity: text.capacity < 1 << 20)
        if isEmptyElement { return }
        while true {
            let isWhole = try readBytes(into: &text, limit: limit) { byte in
                byte == UInt8(ascii: "<") || byte == UInt8(ascii: "&") || byte == UInt8(ascii: "\\") && isEscaped
            }
            guard isWhole else { throw AtomicStoreError.tooLarge(limit, window.path) }
            switch try window.peek() {
            case UInt8(ascii: "&"): try readReference(into: &text)
            case UInt8(ascii: "\\"): try readEscape(into: &text)
            case nil: throw truncated()
            default:
                if try window.isAt("<![CDATA[") {
                    try readCharacterData(into: &text, limit: limit)
                } else if try !passAside() {
                    return
                }
            }
        }
    }

    private func readCharacterData(into text: inout [UInt8], limit: Int) throws(MigrationError) {
        window.pass(9)
        while try !window.isAt("]]>") {
            guard let byte = try window.peek() else { throw truncated() }
            guard text.count < limit else { throw AtomicStoreError.tooLarge(limit, window.path) }
            text.append(byte)
            window.pass()
        }
        window.pass(3)
    }

    /// Reads an entity or a character reference, from its `&` on.
    private func readReference(into text: inout [UInt8]) throws(MigrationError) {
        window.pass()
        var name: [UInt8] = []
        while let byte = try window.peek(), byte != UInt8(ascii: ";"), name.count < 10 {
            name.append(byte)
            window.pass()
        }
        guard try window.peek() == UInt8(ascii: ";"), let scalar = XMLEscapes.scalar(named: name) else {
            throw malformed("there is a & that begins no known entity")
        }
        window.pass()
        text.append(contentsOf: String(scalar).utf8)
    }

    /// Reads one of Core Data's escapes, from its backslash on.
    private func readEscape(into text: inout [UInt8]) throws(MigrationError) {
        if try window.isAt("\\\\") {
            window.pass(2)
            text.append(UInt8(ascii: "\\"))
            return
        }
        guard let first = try readUnit() else {
            throw malformed("there is a backslash that begins no escape", "Write a backslash in a text as two")
        }
        var units = [first]
        if UTF16.isLeadSurrogate(first), let second = try readUnit() { units.append(second) }
        var decoder = UTF16()
        var iterator = units.makeIterator()
        while case let result = decoder.decode(&iterator), result != .emptyInput {
            guard case .scalarValue(let scalar) = result else { throw malformed("an escape is half a character") }
            text.append(contentsOf: String(scalar).utf8)
        }
    }

    /// Reads the escape of a UTF-16 unit; nil if there is none.
    private func readUnit() throws(MigrationError) -> UInt16? {
        guard try window.isAt("\\u") else { return nil }
        window.pass(2)
        var digits: [UInt8] = []
        while digits.count < 4, let byte = try window.peek() {
            digits.append(byte)
            window.pass()
        }
        return XMLEscapes.unit(digits)
    }
}
