import Diagnostics
import ManagedModel
import Rows

/// A compiled ``MergeRule/Keep``: it gives each source row of a group a place among them. The row with the least place is kept.
/// For use by one thread.
package final class KeepProgram {
    private let program: ExpressionProgram
    private let isGreatest: Bool
    /// True if values are compared as real numbers, which a column may hold as integers.
    private let isReal: Bool
    /// The value of one row.
    @exclusivity(unchecked) private var value = RowBatch(slots: 1, rowCapacity: 1, byteTarget: 64)

    /// The place of a row: of two words the first counts more.
    package typealias Place = (isNil: UInt64, order: UInt64)

    /// Compiles the rule's expression.
    ///
    /// - Parameters:
    ///   - resolver: gives slots to the key paths from `$source`.
    ///   - context: the place of an expression.
    /// - Returns: nil if the rule compares no values.
    /// - Throws: `expression.unsupported` for an expression that needs objects, `expression.type` for one that gives neither numbers
    ///   nor dates; both 78.
    package init?(
        _ keep: MergeRule.Keep, resolver: inout some KeyPathResolver,
        context: (GroupingExpression) -> MigrationError.Context
    ) throws(MigrationError) {
        guard let item = keep.expression else { return nil }
        if case .greatest = keep { isGreatest = true } else { isGreatest = false }
        let type: AttributeType
        (program, type) = try ExpressionProgram.comparing(
            item.expression, resolver: &resolver, context: context(item))
        switch type {
        case .integer16, .integer32, .integer64, .boolean: isReal = false
        case .double, .float, .decimal, .date: isReal = true
        default:
            throw MigrationError(
                "expression.type", .configuration,
                "\"keep\" compares numbers and dates, and \(item.expression.format) gives another type",
                remedy: "Keep by a number or a date, or by \"first\" or \"last\"", context: context(item))
        }
    }

    /// Returns the place of a source row.
    ///
    /// - Throws: `value.outOfRange`, `value.divisionByZero`, `value.type` (65); the caller adds the object.
    package func place(of source: borrowing RowBatch, row: Int) throws(MigrationError) -> Place {
        value.removeAll()
        let target = value.appendRow(key: 0)
        try program.evaluate(source, row: row, into: &value, destinationRow: target, slot: 0)
        let cell = value[target, 0]
        let order: UInt64
        switch cell.kind {
        case .integer where !isReal: order = UInt64(bitPattern: cell.integerValue) ^ 1 << 63
        case .integer: order = Double(cell.integerValue).orderedBits
        case .real: order = cell.realValue.orderedBits
        default: return (1, 0)
        }
        return (0, isGreatest ? ~order : order)
    }
}
