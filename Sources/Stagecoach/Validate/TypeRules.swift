import ManagedModel
import Rows

/// The kinds of values that the columns of one entity's attributes may hold: SQLite itself takes any value in any column.
///
/// Values that come as a record has them are known to be of their column's kind: the reader looks at their serial types.
struct TypeRules {
    /// One column's rule.
    struct Rule {
        let property: String
        /// True where the source's column had the same rule.
        let isExcused: Bool
        fileprivate let column: Int
        fileprivate let type: AttributeType
        /// Kinds of cells, a bit each.
        fileprivate let kinds: UInt16
    }

    /// By ascending column.
    private var rules: [Rule] = []
    /// By column up to the last one with a rule: the kinds it may hold, every kind where there is no rule.
    private var kinds: [UInt16] = []

    var isEmpty: Bool { rules.isEmpty }

    /// Adds the rule of an attribute, where its type is one of values that a column holds as they are.
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

    /// True where a row has a value of another kind, as almost none has.
    ///
    /// It walks over all columns: cells that a run of record fields covers hold what an earlier row left in them.
    @inline(__always)
    func isBroken(by cells: UnsafePointer<Cell>) -> Bool {
        var column = 0
        while column < kinds.count {
            let cell = cells[column]
            if cell.kind == .encoded {
                column += max(1, cell.encodedSlots)
                continue
            }
            if kinds[column] & TypeRules.bit(cell.kind) == 0 { return true }
            column += 1
        }
        return false
    }

    /// Shows the rules that a row breaks, with the value and what it is, in words.
    func check(_ batch: borrowing RowBatch, row: Int, found: (Rule, String?, String) throws -> Void) throws {
        let cells = batch.cells(ofRow: row)
        var (column, index) = (0, 0)
        while column < kinds.count, index < rules.count {
            let cell = cells[column]
            let next = column + (cell.kind == .encoded ? max(1, cell.encodedSlots) : 1)
            defer { column = next }
            guard rules[index].column == column, cell.kind != .encoded else {
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

    /// True for the Decimal that is not a number, which is stored as text.
    private func isNotANumber(_ cell: Cell, _ batch: borrowing RowBatch, _ rule: Rule) -> Bool {
        rule.type == .decimal && cell.kind == .text && batch.bytes(cell).elementsEqual("NaN".utf8)
    }
}
