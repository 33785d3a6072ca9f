import Archives
import Diagnostics

import struct Foundation.Data
import struct Foundation.Decimal
import struct Foundation.UUID
import typealias Foundation.uuid_t

extension ArchivedExpression {
    /// Reads a constant value. Collections of constants become aggregates, and a value without a literal form becomes a cast of
    /// one: `CAST('…', 'NSUUID')`, `CAST('…', 'NSURL')`, `CAST({key, value, …}, 'NSDictionary')`.
    static func constant(
        _ object: ArchivedObject, _ tree: inout ArchivedTreeGuard
    ) throws(MigrationError) -> ExpressionNode {
        // A class, as in `CAST("NSNumber", "Class")`.
        if let name = try object.string("NSConstantValueClassName"), name != "NSNull", name != "nil" {
            try tree.charge(bytes: name.utf8.count)
            return .cast(.constant(.string(name)), "Class")
        }
        return try constant(try object.value("NSConstantValue"), in: object, &tree)
    }

    private static func constant(
        _ value: ArchivedValue, in object: ArchivedObject, _ tree: inout ArchivedTreeGuard
    ) throws(MigrationError) -> ExpressionNode {
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
            guard !decimal.isNaN, decimal.decimal.isFinite else { throw unreadable(object, "is not a number") }
            return .constant(.decimal(decimal.decimal))
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
        if let bytes = try value.uuid() {
            guard let uuid = UUID(archived: bytes) else { throw unreadable(object, "holds a damaged UUID") }
            return .cast(.constant(.string(uuid.uuidString)), "NSUUID")
        }
        if let address = try value.url() {
            try tree.charge(bytes: address.utf8.count)
            return .cast(.constant(.string(address)), "NSURL")
        }
        if let entries = try value.entries() {
            let members = entries.flatMap { [$0.key, $0.value] }
            guard let dictionary = value.object else {
                return .cast(.aggregate(try constants(members, in: object, &tree)), "NSDictionary")
            }
            return try tree.visit(dictionary) { tree throws(MigrationError) in
                .cast(.aggregate(try constants(members, in: object, &tree)), "NSDictionary")
            }
        }
        guard let members = try value.elements() else {
            throw unreadable(object, "holds a \(value.kindName), which no constant can be")
        }
        // Plain collections nest at most as deep as the property list.
        guard let collection = value.object else {
            return .aggregate(try constants(members, in: object, &tree))
        }
        return try tree.visit(collection) { tree throws(MigrationError) in
            .aggregate(try constants(members, in: object, &tree))
        }
    }

    private static func constants(
        _ members: [ArchivedValue], in object: ArchivedObject, _ tree: inout ArchivedTreeGuard
    ) throws(MigrationError) -> [ExpressionNode] {
        try tree.charge(bytes: members.count * 64)
        var nodes: [ExpressionNode] = []
        for member in members { nodes.append(try constant(member, in: object, &tree)) }
        return nodes
    }
}

extension UUID {
    /// - Returns: nil unless there are 16 bytes.
    fileprivate init?(archived bytes: [UInt8]) {
        guard bytes.count == 16 else { return nil }
        self = bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
    }
}
