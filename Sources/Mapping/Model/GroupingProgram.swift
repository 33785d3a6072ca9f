import Diagnostics
import ManagedModel
import Rows

/// The compiled values of an ``ObjectGrouping``: it writes the values of a source row as bytes, which are equal if the values count as equal.
///
/// Numbers are equal if they are the same number, whatever their type. Texts are compared byte by byte, or without the
/// differences that the grouping names. For use by one thread.
package final class GroupingProgram {
    private let programs: [ExpressionProgram]
    private let folding: TextFolding
    private let nilIsAValue: Bool
    /// True if one nil is enough for a row to belong to no group.
    private let isMerge: Bool
    /// The values of one row.
    @exclusivity(unchecked) private var values: RowBatch

    /// The longest value in bytes that is written as it is; of longer ones the length and SHA-256 are.
    private static let longest = 1024

    /// Compiles the expressions of a grouping.
    ///
    /// - Parameters:
    ///   - resolver: gives slots to the key paths from `$source`.
    ///   - context: the place of an expression.
    /// - Throws: `expression.unsupported` for an expression that needs objects, `expression.type` for one that gives no value that
    ///   can be compared, and the errors of ``ExpressionProgram``; all 78.
    package init(
        _ grouping: ObjectGrouping, resolver: inout some KeyPathResolver,
        context: (GroupingExpression) -> MigrationError.Context
    ) throws(MigrationError) {
        var programs: [ExpressionProgram] = []
        for item in grouping.expressions {
            programs.append(
                try ExpressionProgram.comparing(item.expression, resolver: &resolver, context: context(item)).program)
        }
        self.programs = programs
        folding = TextFolding(grouping.comparison)
        nilIsAValue = grouping.nilIsAValue
        isMerge = grouping.merge != nil
        values = RowBatch(slots: programs.count, rowCapacity: 1, byteTarget: 4096)
    }

    /// Writes the key of a source row's group.
    ///
    /// - Parameter key: the buffer for the key; what it holds is replaced.
    /// - Returns: false if the row belongs to no group, because of its nil values: see ``ObjectGrouping/nilIsAValue``.
    /// - Throws: `value.outOfRange`, `value.divisionByZero`, `value.type` (65); the caller adds the object.
    /// - Complexity: O(bytes of the values).
    package func writeKey(
        of source: borrowing RowBatch, row: Int, to key: inout [UInt8]
    ) throws(MigrationError) -> Bool {
        values.removeAll()
        let target = values.appendRow(key: 0)
        key.removeAll(keepingCapacity: true)
        var (hasValue, hasNil) = (nilIsAValue, false)
        for (slot, program) in programs.enumerated() {
            try program.evaluate(source, row: row, into: &values, destinationRow: target, slot: slot)
            let cell = values[target, slot]
            if cell.kind == .null { hasNil = true } else { hasValue = true }
            write(cell, to: &key)
        }
        return hasValue && (nilIsAValue || !isMerge || !hasNil)
    }

    /// The first byte of a value in a key.
    private enum Form: UInt8 {
        case null, integer, real, text, data, longText, longData
    }

    private func write(_ cell: Cell, to key: inout [UInt8]) {
        switch cell.kind {
        case .integer: write(.integer, UInt64(bitPattern: cell.integerValue), to: &key)
        case .real:
            if let whole = Int64(exactly: cell.realValue) {
                write(.integer, UInt64(bitPattern: whole), to: &key)
            } else {
                write(.real, cell.realValue.bitPattern, to: &key)
            }
        case .text where !folding.isExact: write(.text, folding.folded(values.bytes(cell)), to: &key)
        case .text: write(.text, values.bytes(cell), to: &key)
        case .blob: write(.data, values.bytes(cell), to: &key)
        // Programs compute no references, and the reader refuses values too large for a batch.
        case .null, .reference, .absent, .huge, .rawRecord: key.append(Form.null.rawValue)
        }
    }

    private func write(_ form: Form, _ word: UInt64, to key: inout [UInt8]) {
        key.append(form.rawValue)
        withUnsafeBytes(of: word.bigEndian) { key.append(contentsOf: $0) }
    }

    /// Writes bytes with their length before them, so that no two lists of values give the same key.
    private func write(_ form: Form, _ bytes: some Collection<UInt8>, to key: inout [UInt8]) {
        let length = UInt64(bytes.count)
        guard bytes.count > Self.longest else {
            write(form, length, to: &key)
            key.append(contentsOf: bytes)
            return
        }
        write(form == .text ? .longText : .longData, length, to: &key)
        key.append(contentsOf: SHA256.hash(Array(bytes)))
    }
}
