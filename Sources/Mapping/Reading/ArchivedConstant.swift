import Archives
import Diagnostics

import struct Foundation.Data
import struct Foundation.Decimal

extension ArchivedExpression {
    /// A constant value; collections of constants become aggregates.
    static func constant(
        _ object: ArchivedObject, _ tree: inout ArchivedTreeGuard
    ) throws(MigrationError) -> ExpressionNode {
        // A class, as `CAST("NSNumber", "Class")` writes it.
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
            // Beyond Int64, as unsigned 64-bit numbers are archived.
            guard high == 0, let decimal = Decimal(exactText: String(low)) else { break }
            return .constant(.decimal(decimal))
        default: break
        }
        guard let members = try value.elements() else {
            throw unreadable(object, "holds a \(value.kindName), which no constant can be")
        }
        // Plain collections can hold themselves only as deep as the property list is.
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
