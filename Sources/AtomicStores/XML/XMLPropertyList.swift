import Archives
import Diagnostics
import Foundation

/// The property list in the header of an XML store.
enum XMLPropertyList {
    private static let limit = 16 << 20

    /// Reads the value whose element began, up to its end tag.
    static func read(_ kind: String, from tokens: XMLTokens) throws(MigrationError) -> PropertyListValue {
        var text: [UInt8] = []
        func content() throws(MigrationError) -> String {
            try tokens.readText(into: &text, isEscaped: false, limit: limit)
            guard try tokens.next() == .end(kind) else {
                throw tokens.malformed("its metadata have a \(kind) of elements")
            }
            return String(decoding: text, as: UTF8.self)
        }
        switch kind {
        case "dict": return .dictionary(try dictionary(tokens))
        case "array":
            var members: [PropertyListValue] = []
            while let member = try value(tokens) { members.append(member) }
            return .array(members)
        case "string": return .string(try content())
        case "true", "false":
            _ = try content()
            return .boolean(kind == "true")
        case "integer":
            let text = try content()
            guard let value = Int64(text) else { throw tokens.malformed("its metadata have the integer \(text)") }
            return .integer(value)
        case "real":
            let text = try content()
            guard let value = Double(text) else { throw tokens.malformed("its metadata have the number \(text)") }
            return .real(value)
        case "date":
            let text = try content()
            guard let date = try? Date(text, strategy: .iso8601) else {
                throw tokens.malformed("its metadata have the date \(text)")
            }
            return .date(date.timeIntervalSinceReferenceDate)
        case "data":
            let text = try content()
            guard let bytes = Data(base64Encoded: text, options: .ignoreUnknownCharacters) else {
                throw tokens.malformed("its metadata have data that are not base64")
            }
            return .data(Array(bytes))
        default: throw tokens.malformed("its metadata have an element \(kind)")
        }
    }

    private static func dictionary(_ tokens: XMLTokens) throws(MigrationError) -> PropertyListDictionary {
        var entries = PropertyListDictionary()
        while let key = try value(tokens, isKey: true) {
            guard case .string(let name) = key, let member = try value(tokens) else {
                throw tokens.malformed("its metadata have a key without value")
            }
            entries.add(member, forKey: name)
        }
        return entries
    }

    /// Reads the next value of a container; nil at the container's end.
    private static func value(_ tokens: XMLTokens, isKey: Bool = false) throws(MigrationError) -> PropertyListValue? {
        guard case .start(let kind) = try tokens.next() else { return nil }
        while try tokens.nextAttribute() != nil { _ = try tokens.attributeValue() }
        guard isKey else { return try read(kind, from: tokens) }
        guard kind == "key" else { throw tokens.malformed("its metadata have a value without key") }
        var text: [UInt8] = []
        try tokens.readText(into: &text, isEscaped: false, limit: limit)
        guard try tokens.next() == .end("key") else { throw tokens.malformed("its metadata have a key of elements") }
        return .string(String(decoding: text, as: UTF8.self))
    }

    // MARK: Writing

    /// Appends a value as Core Data writes it, each line indented.
    ///
    /// - Parameter depth: the number of blanks before the value, in fours.
    static func append(_ value: PropertyListValue, depth: Int, to target: inout [UInt8]) throws(MigrationError) {
        let indent = String(repeating: "    ", count: depth)
        func plain(_ text: String) { target += Array("\(indent)\(text)\n".utf8) }
        func line(_ kind: String, _ text: String) { plain("<\(kind)>\(escaped(text))</\(kind)>") }
        switch value {
        case .boolean(let value): plain(value ? "<true/>" : "<false/>")
        case .integer(let value): line("integer", "\(value)")
        case .real(let value): line("real", "\(value)")
        case .date(let value): line("date", Date(timeIntervalSinceReferenceDate: value).formatted(.iso8601))
        case .string(let text): line("string", text)
        case .data(let bytes):
            plain("<data>")
            target += Array("\t\t\(Data(bytes).base64EncodedString())\n\t\t</data>\n".utf8)
        case .array(let members) where members.isEmpty: plain("<array></array>")
        case .array(let members), .set(let members):
            plain("<array>")
            for member in members { try append(member, depth: depth + 1, to: &target) }
            plain("</array>")
        case .dictionary(let entries):
            plain("<dict>")
            for (key, member) in entries.sorted(by: { $0.key < $1.key }) {
                target += Array("\(indent)    <key>\(escaped(key))</key>\n".utf8)
                try append(member, depth: depth + 1, to: &target)
            }
            plain("</dict>")
        case .null, .largeInteger, .uid:
            throw MigrationError(
                "store.metadata", .data, "The store's metadata have a \(value.kindName), which XML stores cannot keep")
        }
    }

    private static func escaped(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
    }
}
