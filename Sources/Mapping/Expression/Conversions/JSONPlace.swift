import Foundation

/// A place in a JSON text.
enum JSONPlace {
    /// Returns the value at a path of keys and indexes, `address.lines.0`; nil if there is none.
    ///
    /// - Throws: `value.type` if the text is no JSON.
    static func value(at path: String, in text: String) throws(ProgramFault) -> Any? {
        guard var value = try? JSONSerialization.jsonObject(with: Data(text.utf8), options: [.fragmentsAllowed]) else {
            throw .notA("JSON", text)
        }
        for key in path.split(separator: ".") {
            if let object = value as? [String: Any], let next = object[String(key)] {
                value = next
            } else if let list = value as? [Any], let index = Int(key), list.indices.contains(index) {
                value = list[index]
            } else {
                return nil
            }
        }
        return value
    }

    static func kind(of value: Any) -> String {
        switch value {
        case is [Any]: "a list"
        case is [String: Any]: "an object"
        case is String: "a text"
        default: "a number"
        }
    }
}
