import ManagedModel
import Stagecoach

/// The words for an object and its values.
enum ObjectWording {
    /// The greatest number of characters of a text that are printed.
    private static let longest = 1000

    static func text(_ object: StoredObject) -> String {
        let attributes = object.attributes.flatMap { rows($0.name, $0.value) }
        let relationships = object.relationships.map { relationship in
            var words = value(relationship.value)
            if relationship.isOrdered, relationship.count > 1 { words += " in this order" }
            if !relationship.missing.isEmpty { words += "; not there: " + relationship.missing.joined(separator: ", ") }
            return [relationship.name, words]
        }
        return ([object.id] + (attributes + relationships).lines()).printableText
    }

    /// Returns a row of an attribute, or one for each element of a composite attribute.
    private static func rows(_ name: String, _ value: ShownValue) -> [[String]] {
        guard case .composite(let elements) = value else { return [[name, self.value(value)]] }
        return elements.flatMap { rows("\(name).\($0.name)", $0.value) }
    }

    /// Returns a value on one line.
    static func value(_ value: ShownValue) -> String {
        switch value {
        case .null: "nil"
        case .boolean(let flag): flag ? "true" : "false"
        case .integer(let number): String(number)
        case .real(let number): "\(number)"
        case .decimal(let number): "\(number)"
        case .text(let text): quoted(text)
        case .longText(let beginning, let bytes): quoted(beginning) + "…, \(Figures.count(bytes)) bytes"
        case .date(let seconds): ShownValue.text(ofDate: seconds)
        case .uuid(let uuid): uuid.uuidString
        case .uri(let text): "<\(text)>"
        case .data(let bytes): data(bytes)
        case .object(let id): id
        case .objects(let members, let count):
            Figures.count(count, "object") + (members.isEmpty ? "" : ": ") + members.joined(separator: ", ")
                + (members.isEmpty || members.count == count ? "" : ", …")
        case .list(let values): "[" + values.map(self.value).joined(separator: ", ") + "]"
        case .dictionary(let elements), .composite(let elements):
            "{" + elements.map { "\($0.name): \(self.value($0.value))" }.joined(separator: ", ") + "}"
        case .other(let words): words
        }
    }

    private static func data(_ bytes: ShownValue.Bytes) -> String {
        let place = bytes.file.map { " in \($0)" } ?? ""
        guard let count = bytes.count else {
            return bytes.file == nil ? "a reference to a file by no name of Core Data's" : "no readable file\(place)"
        }
        let first = bytes.first.isEmpty ? "" : ": \(bytes.first.hexadecimal)\(bytes.first.count < count ? "…" : "")"
        return Figures.count(count, "byte") + place + first
    }

    /// Returns a text in quotes, cut if it is long, with escapes for what would leave the line.
    private static func quoted(_ text: String) -> String {
        let shown = text.prefix(longest)
        var result = "\""
        for scalar in shown.unicodeScalars { result += scalar == "'" ? "'" : scalar.escaped(asASCII: false) }
        return shown.endIndex == text.endIndex
            ? result + "\"" : result + "\"…, \(Figures.count(text.count, "character"))"
    }
}
