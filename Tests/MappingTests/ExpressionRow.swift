import Diagnostics
import ManagedModel
import Mapping
import Rows

/// One source row with an attribute of every type, for programs to run over.
struct ExpressionRow: KeyPathResolver {
    enum Value: Equatable, CustomStringConvertible {
        case null
        case integer(Int64)
        case real(Double)
        case text(String)
        case blob([UInt8])
        case reference(Int64)

        var description: String {
            switch self {
            case .null: "nil"
            case .integer(let value): "\(value)"
            case .real(let value): "\(value)r"
            case .text(let value): "'\(value)'"
            case .blob(let value): "x" + value.map { String($0, radix: 16) }.joined(separator: ".")
            case .reference(let value): "→\(value)"
            }
        }
    }

    static let columns: [(name: String, type: AttributeType, value: Value)] = [
        ("i16", .integer16, .integer(7)), ("i32", .integer32, .integer(100_000)),
        ("i64", .integer64, .integer(1 << 40)),
        ("neg", .integer16, .integer(-7)), ("zero", .integer16, .integer(0)), ("big", .integer64, .integer(.max)),
        ("small", .integer64, .integer(.min)), ("yes", .boolean, .integer(1)), ("no", .boolean, .integer(0)),
        ("d", .double, .real(2.5)), ("negd", .double, .real(-2.5)), ("f", .float, .real(1.5)),
        ("huge", .double, .real(1e300)),
        ("dec", .decimal, .real(12.1)), ("decI", .decimal, .integer(3)), ("decN", .decimal, .text("NaN")),
        ("s", .string, .text("Hello")), ("t", .string, .text("World")), ("empty", .string, .text("")),
        ("u8", .string, .text("Größe é😀")), ("num", .string, .text("42.5")), ("date", .date, .real(1000.5)),
        ("dateI", .date, .integer(1000)), ("uuid", .uuid, .blob(Array(0..<16))), ("uri", .uri, .text("x://y")),
        ("data", .binaryData, .blob([1, 2])), ("tr", .transformable, .blob([9])), ("ni", .integer32, .null),
        ("nd", .double, .null), ("ns", .string, .null), ("nb", .boolean, .null), ("ndec", .decimal, .null),
        ("ndate", .date, .null), ("account", .objectID, .reference(5)), ("noAccount", .objectID, .null),
        ("odd", .integer32, .real(4.5)), ("wrong", .string, .blob([1])), ("a.b", .integer32, .integer(99)),
        ("i16b", .integer16, .integer(7)),
    ]

    func slot(forKeyPath path: [String], level: Int) throws(MigrationError) -> (slot: Int, type: AttributeType) {
        let name = path.joined(separator: ".")
        guard let index = Self.columns.firstIndex(where: { $0.name == name }) else {
            throw MigrationError("test.unknown", .configuration, "no attribute \(name)")
        }
        return (index, Self.columns[index].type)
    }

    /// A batch with the row.
    static func batch() -> RowBatch {
        var batch = RowBatch(slots: columns.count, rowCapacity: 1, byteTarget: 1000)
        let row = batch.appendRow(key: 1)
        for (slot, column) in columns.enumerated() { put(column.value, into: &batch, row: row, slot: slot) }
        return batch
    }

    static func put(_ value: Value, into batch: inout RowBatch, row: Int, slot: Int) {
        switch value {
        case .null: batch[row, slot] = .null
        case .integer(let value): batch[row, slot] = .integer(value)
        case .real(let value): batch[row, slot] = .real(value)
        case .reference(let key): batch[row, slot] = .reference(key: key, entity: 1)
        case .text(let value):
            Array(value.utf8).withUnsafeBytes { batch.setBytes($0, kind: .text, row: row, slot: slot) }
        case .blob(let value): value.withUnsafeBytes { batch.setBytes($0, kind: .blob, row: row, slot: slot) }
        }
    }

    static func value(_ batch: borrowing RowBatch, row: Int, slot: Int) -> Value {
        let cell = batch[row, slot]
        switch cell.kind {
        case .null, .absent, .rawRecord, .huge: return .null
        case .integer: return .integer(cell.integerValue)
        case .real: return .real(cell.realValue)
        case .reference: return .reference(cell.integerValue)
        case .text: return .text(String(decoding: batch.bytes(cell), as: UTF8.self))
        case .blob: return .blob(Array(batch.bytes(cell)))
        }
    }

    static func program(_ format: String, _ type: AttributeType) throws -> ExpressionProgram {
        var resolver = ExpressionRow()
        return try ExpressionProgram(
            compiling: ValueExpression(parsing: format), to: type, resolver: &resolver,
            context: .init(entity: "E", property: "p"), now: 5000)
    }

    /// Returns the value that an expression stores in an attribute of a type.
    static func evaluate(_ format: String, _ type: AttributeType) throws -> Value {
        let program = try program(format, type)
        let source = batch()
        var destination = RowBatch(slots: 1, rowCapacity: 1, byteTarget: 1)
        let row = destination.appendRow(key: 1)
        try program.evaluate(source, row: 0, into: &destination, destinationRow: row, slot: 0)
        return value(destination, row: row, slot: 0)
    }

    /// Tells whether the row passes a filter.
    static func passes(_ format: String) throws -> Bool {
        var resolver = ExpressionRow()
        let program = try PredicateProgram(
            compiling: SourcePredicate(format: format), resolver: &resolver, context: .init(), now: 5000)
        return try program.evaluate(batch(), row: 0)
    }
}
