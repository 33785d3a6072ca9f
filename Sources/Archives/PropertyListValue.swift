/// A property list, including the UIDs of keyed archives.
///
/// Strings compare like Swift strings (canonical equivalence), but the writer keeps their code points.
package enum PropertyListValue: Sendable, Equatable {
    case null
    case boolean(Bool)
    case integer(Int64)
    /// A 16-byte integer outside Int64, in two's complement.
    case largeInteger(high: UInt64, low: UInt64)
    case real(Double)
    /// Seconds since 2001-01-01 00:00:00 UTC.
    case date(Double)
    case data([UInt8])
    case string(String)
    /// A reference to an object of a keyed archive.
    case uid(UInt64)
    case array([PropertyListValue])
    /// The members in the order of the file.
    case set([PropertyListValue])
    case dictionary(PropertyListDictionary)

    /// The kind of the value, for messages.
    package var kindName: String {
        switch self {
        case .null: "null"
        case .boolean: "boolean"
        case .integer, .largeInteger: "integer"
        case .real: "real"
        case .date: "date"
        case .data: "data"
        case .string: "string"
        case .uid: "UID"
        case .array: "array"
        case .set: "set"
        case .dictionary: "dictionary"
        }
    }

    /// Returns a container with each of its members replaced, those of a dictionary by ascending key; any other value itself.
    func mapMembers<Failure>(
        _ transform: (PropertyListValue) throws(Failure) -> PropertyListValue
    ) throws(Failure) -> PropertyListValue {
        switch self {
        case .array(let members): return .array(try members.map(transform))
        case .set(let members): return .set(try members.map(transform))
        case .dictionary(let entries):
            var replaced = PropertyListDictionary()
            for (key, member) in entries.sorted(by: { $0.key < $1.key }) {
                replaced.add(try transform(member), forKey: key)
            }
            return .dictionary(replaced)
        default: return self
        }
    }
}
