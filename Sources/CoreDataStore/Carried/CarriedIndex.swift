import Diagnostics
import ManagedModel

/// A fetch index of the model whose form is copied from the source: an R-tree, whose triggers may have an older form, or an
/// index whose statement cannot be predicted from the model.
package struct CarriedIndex: Sendable, Equatable {
    package let index: LeftOutIndex
    /// The CREATE statements, in order; for an R-tree those of its virtual table and its triggers.
    let statements: [String]
    /// The statement that fills an R-tree as its insert trigger would; nil for an index, because SQLite fills it.
    let fill: String?
}

extension SourceStore {
    /// Returns this store's R-trees, and those of its indexes that cannot be predicted, that a fresh destination can take over:
    /// of an entity of the same name, declared alike, in a table of the same name, over attributes with equal names, types and
    /// columns.
    ///
    /// - Parameters:
    ///   - schema: the schema of the destination.
    ///   - layout: the layout of this store.
    package func carriedIndexes(
        for schema: StoreSchema, from layout: StoreLayout
    ) throws(MigrationError) -> [CarriedIndex] {
        let counterparts = ModelCounterparts(of: schema, in: layout)
        var found: [CarriedIndex] = []
        for index in schema.leftOutIndexes + schema.trees.map(\.index) {
            let entity = schema.model.entity(at: index.entity)
            let table = schema.tables[schema.tableIndex(of: entity)].name
            guard let old = layout.schema.model.entity(named: entity.definition.name),
                layout.tables[layout.schema.tableIndex(of: old)].name == table,
                old.indexes.contains(where: { $0.isAlike(index.definition) })
            else { continue }
            let carried = try blamingData { () throws(MigrationError) in
                index.isTree ? try tree(index, on: table) : try plain(index, on: table)
            }
            guard let carried else { continue }
            let words = Set(
                (carried.statements + [carried.fill ?? ""]).flatMap { sql in
                    sql.uppercased().split { !($0.isLetter || $0.isNumber || $0 == "_") }.map(String.init)
                })
            // Each column among the words must mean the same. Entity numbers in a statement are those of this store.
            let source = layout.schema.tableIndex(of: old)
            guard let same = counterparts.equalColumns(ofTable: schema.tableIndex(of: entity), source),
                layout.tables[source].columns.allSatisfy({
                    same.contains($0.uppercased()) || !words.contains($0.uppercased())
                }), !words.contains("Z_ENT") || counterparts.hasEqualNumbers
            else { continue }
            found.append(carried)
        }
        return found
    }

    private func plain(_ index: LeftOutIndex, on table: String) throws(MigrationError) -> CarriedIndex? {
        let sql = try connection.text(
            "SELECT sql FROM sqlite_master WHERE type = 'index' AND name = \(SQLName.literal(index.name)) "
                + "AND tbl_name = \(SQLName.literal(table))")
        guard let sql, sql.hasPrefix("CREATE INDEX "), !sql.contains(";") else { return nil }
        return CarriedIndex(index: index, statements: [sql], fill: nil)
    }

    private func tree(_ index: LeftOutIndex, on table: String) throws(MigrationError) -> CarriedIndex? {
        let name = SQLName.literal(index.treeName)
        let sql = try connection.text("SELECT sql FROM sqlite_master WHERE type = 'table' AND name = \(name)")
        guard let sql, !sql.contains(";"), sql.uppercased().hasPrefix("CREATE VIRTUAL TABLE "),
            sql.uppercased().contains(" USING RTREE")
        else { return nil }
        let triggers = try connection.texts(
            """
            SELECT sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = \(SQLName.literal(table))
            AND substr(name, 1, length(\(name))) = \(name) ORDER BY rowid
            """)
        var statements = [sql]
        for sql in triggers {
            guard sql.hasPrefix("CREATE TRIGGER ") else { return nil }
            // Another tree's name may begin with this one's.
            let names = sql.split { !($0.isLetter || $0.isNumber || $0 == "_") }
            guard names.contains(where: { $0 == index.treeName }) else { continue }
            statements.append(sql)
        }
        guard let fill = statements.dropFirst().lazy.compactMap({ TreeTrigger.fill($0, index.treeName, table) }).first
        else { return nil }
        return CarriedIndex(index: index, statements: statements, fill: fill)
    }
}

/// Recognises an insert trigger of an R-tree: `CREATE TRIGGER … AFTER INSERT ON T … [WHEN (…)] BEGIN INSERT OR REPLACE INTO
/// <tree> [(columns)] VALUES (NEW.Z_PK, …); END`.
enum TreeTrigger {
    /// Returns the statement that fills the tree for all rows as the trigger does for a new row. Returns nil unless the trigger
    /// only inserts one row, made of the new row's own values.
    static func fill(_ sql: String, _ tree: String, _ table: String) -> String? {
        let words = sql.uppercased()
        guard words.utf8.count == sql.utf8.count, words.contains(" AFTER INSERT ON "),
            let begin = words.firstRange(of: " BEGIN "), let end = words.ranges(of: "END").last
        else { return nil }
        let head = String(words[..<begin.lowerBound])
        var body = String(words[begin.upperBound..<end.lowerBound]).trimmed
        guard body.hasSuffix(";") else { return nil }
        body = String(body.dropLast()).trimmed
        guard !body.contains(";"), let values = body.ranges(of: "VALUES").last else { return nil }
        let target = body[..<values.lowerBound]
        let opening = target.firstIndex(of: "(") ?? target.endIndex
        let into = target[..<opening].filter { !$0.isWhitespace && $0 != "\"" }
        let name = tree.uppercased()
        guard ["INSERTORREPLACEINTO\(name)", "INSERTINTO\(name)"].contains(String(into)),
            let columns = columns(String(target[opening...]).trimmed)
        else { return nil }
        let terms = String(body[values.upperBound...]).trimmed
        guard terms.hasPrefix("("), terms.hasSuffix(")"), let list = ofRow(String(terms.dropFirst().dropLast())) else {
            return nil
        }
        var condition = "1"
        if let when = head.ranges(of: " WHEN ").last {
            guard let own = ofRow(String(head[when.upperBound...])) else { return nil }
            condition = own
        }
        let quoted = SQLName.quoted(table)
        return
            "INSERT OR REPLACE INTO \(SQLName.quoted(tree))\(columns) SELECT \(list) FROM \(quoted) AS t WHERE \(condition)"
    }

    /// Returns a list of the tree's columns in brackets, as used in a statement; empty for none, nil for any other text.
    private static func columns(_ text: String) -> String? {
        guard !text.isEmpty else { return "" }
        let names = text.dropFirst().dropLast()
        let isPlain = names.unicodeScalars.allSatisfy { scalar in
            scalar.isASCII && (scalar.properties.isAlphabetic || "0123456789_, \"".unicodeScalars.contains(scalar))
        }
        return text.hasPrefix("(") && text.hasSuffix(")") && isPlain ? " (\(names))" : nil
    }

    /// Returns an expression on the row itself, in upper case: column names ignore case. Text literals do not, and are refused.
    private static func ofRow(_ text: String) -> String? {
        let plain = text.unicodeScalars.allSatisfy { scalar in
            scalar.isASCII
                && (scalar.properties.isAlphabetic || "0123456789_.,()<>=+-*/ \"".unicodeScalars.contains(scalar))
        }
        guard plain, !text.contains("SELECT"), !text.contains("OLD.") else { return nil }
        return text.replacing("NEW.", with: "t.")
    }
}

extension FetchIndexDefinition {
    /// Tells whether another index is declared alike. A cached model lists an expression like a property.
    fileprivate func isAlike(_ other: FetchIndexDefinition) -> Bool {
        name == other.name && partialIndexPredicate == other.partialIndexPredicate
            && elements.map(\.subject) == other.elements.map(\.subject)
            && elements.map(\.isRTree) == other.elements.map(\.isRTree)
            && elements.map(\.isAscending) == other.elements.map(\.isAscending)
    }
}

extension FetchIndexElement {
    fileprivate var subject: String? { propertyName ?? expression }
}

extension String {
    /// The text without blanks at both ends.
    fileprivate var trimmed: String {
        String(drop(while: \.isWhitespace).reversed().drop(while: \.isWhitespace).reversed())
    }
}
