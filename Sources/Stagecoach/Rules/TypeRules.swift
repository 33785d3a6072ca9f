import ManagedModel
import Rows

/// The kinds of values that the columns of one entity's attributes may hold. They are checked because SQLite takes any
/// value in any column.
///
/// Values still encoded as in their record are known to have their column's kind: the reader checks their serial types.
struct TypeRules {
    /// The rule of one column.
    struct Rule {
        let property: String
        /// True if a value of another kind is only a warning: it is copied unchanged from the source, and broken rules of the
        /// source are excused.
        let isExcused: Bool
        fileprivate let column: Int
        fileprivate let type: AttributeType
        /// The allowed kinds of cells, one bit each.
        fileprivate let kinds: UInt16
    }

    /// The rules by ascending column.
    private var rules: [Rule] = []
    /// The allowed kinds by column, up to the last column with a rule. A column without a rule allows every kind.
    private var kinds: [UInt16] = []

    var isEmpty: Bool { rules.isEmpty }

    /// Adds the rule for an attribute's column. Adds nothing for a type that no column holds as it is: composite, object id and
    /// undefined.
    ///
    /// - Parameter isExcused: true if the source's column has the same rule.
    mutating func add(_ attribute: AttributeDescription, column: Int, isExcused: Bool) {
        let kinds: [CellKind]
        switch attribute.attributeType {
        case .integer16, .integer32, .integer64, .boolean: kinds = [.integer]
        case .decimal, .double, .float, .date: kinds = [.integer, .real]
        case .string, .uri: kinds = [.text, .huge]
        case .binaryData, .uuid, .transformable: kinds = [.blob, .huge]
        default: return
        }
        let bits = (kinds + [.null, .absent]).reduce(0) { $0 | TypeRules.bit($1) }
        rules.append(
            Rule(
                property: attribute.name, isExcused: isExcused, column: column, type: attribute.attributeType,
                kinds: bits))
        rules.sort { $0.column < $1.column }
        while self.kinds.count <= column { self.kinds.append(.max) }
        self.kinds[column] = bits
    }

    private static func bit(_ kind: CellKind) -> UInt16 { 1 << UInt16(kind.rawValue) }

    /// Tells whether a row has a value of another kind, which almost none has.
    ///
    /// It goes over all columns. Cells that a run of record fields covers still hold values of an earlier row.
    @inline(__always)
    func isBroken(by cells: UnsafePointer<Cell>) -> Bool {
        var column = 0
        while column < kinds.count {
            let cell = cells[column]
            if cell.kind == .rawRecord {
                column += max(1, cell.rawRecordSlots)
                continue
            }
            if kinds[column] & TypeRules.bit(cell.kind) == 0 { return true }
            column += 1
        }
        return false
    }

    /// Calls a closure with each rule that the row breaks, with the value and a description of it.
    func check(_ batch: borrowing RowBatch, row: Int, found: (Rule, String?, String) throws -> Void) throws {
        let cells = batch.cells(ofRow: row)
        var (column, index) = (0, 0)
        while column < kinds.count, index < rules.count {
            let cell = cells[column]
            let next = column + (cell.kind == .rawRecord ? max(1, cell.rawRecordSlots) : 1)
            defer { column = next }
            guard rules[index].column == column, cell.kind != .rawRecord else {
                while index < rules.count, rules[index].column < next { index += 1 }
                continue
            }
            let rule = rules[index]
            index += 1
            guard rule.kinds & TypeRules.bit(cell.kind) == 0, !isNotANumber(cell, batch, rule) else { continue }
            let word =
                switch cell.kind {
                case .integer, .reference: "an integer"
                case .real: "a number with a fraction"
                case .text: "text"
                default: "binary data"
                }
            try found(rule, ShortValue.text(cell, batch, type: nil), "\(word), and not \(rule.type.label)")
        }
    }

    /// Tells whether a cell holds the Decimal that is not a number, which is stored as text.
    private func isNotANumber(_ cell: Cell, _ batch: borrowing RowBatch, _ rule: Rule) -> Bool {
        rule.type == .decimal && cell.kind == .text && batch.bytes(cell).elementsEqual("NaN".utf8)
    }
}
