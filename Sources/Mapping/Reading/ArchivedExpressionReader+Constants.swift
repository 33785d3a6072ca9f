import Archives
import Diagnostics
import Foundation

extension ArchivedExpressionReader {
    /// Reads a constant value. Collections of constants become aggregates, and a value without a literal form becomes a cast of
    /// one: `CAST('…', 'NSUUID')`, `CAST('…', 'NSURL')`, `CAST({key, value, …}, 'NSDictionary')`.
    func constant(_ object: ArchivedObject) throws(MigrationError) -> ExpressionNode {
        // A class, as in `CAST("NSNumber", "Class")`.
        if let name = try object.string("NSConstantValueClassName"), name != "NSNull", name != "nil" {
            try tree.charge(bytes: name.utf8.count)
            return .cast(.constant(.string(name)), "Class")
        }
        return try constant(try object.value("NSConstantValue"), in: object)
    }

    private func constant(_ value: ArchivedValue, in object: ArchivedObject) throws(MigrationError) -> ExpressionNode {
        if value.isNull { return .constant(.null) }
        if let text = try value.string() {
            try tree.charge(bytes: text.utf8.count)
            return .constant(.string(text))
        }
        if let bytes = try value.data() {
            try tree.charge(bytes: bytes.count)
            return .constant(.data(Data(bytes)))
        }
        if let seconds = try value.date() { return .constant(.date(seconds)) }
        if let decimal = try value.decimal() {
            guard decimal.isFinite else { throw Self.unreadable(object, "is not a number") }
            return .constant(.decimal(decimal))
        }
        switch try value.number() {
        case .boolean(let flag): return .constant(.boolean(flag))
        case .integer(let number): return .constant(.integer(number))
        case .real(let number): return .constant(.double(number))
        case .largeInteger(let high, let low):
            // A number beyond Int64: unsigned 64-bit numbers are archived in two halves.
            guard high == 0, let decimal = Decimal(exactText: String(low)) else { break }
            return .constant(.decimal(decimal))
        default: break
        }
        if let uuid = try value.uuid() { return .cast(.constant(.string(uuid.uuidString)), "NSUUID") }
        if let address = try value.url() {
            try tree.charge(bytes: address.utf8.count)
            return .cast(.constant(.string(address)), "NSURL")
        }
        // Plain collections nest at most as deep as the property list.
        if let collection = value.object { try tree.enter(collection) }
        defer { if value.object != nil { tree.leave() } }
        if let entries = try value.entries() {
            let members = entries.flatMap { [$0.key, $0.value] }
            return .cast(.aggregate(try constants(members, in: object)), "NSDictionary")
        }
        guard let members = try value.elements() else {
            throw Self.unreadable(object, "holds a \(value.kindName), which no constant can be")
        }
        return .aggregate(try constants(members, in: object))
    }

    private func constants(
        _ members: [ArchivedValue], in object: ArchivedObject
    ) throws(MigrationError) -> [ExpressionNode] {
        try tree.charge(bytes: members.count * 64)
        return try members.map { member throws(MigrationError) in try constant(member, in: object) }
    }
}
