import Diagnostics

/// The schema of a file by name, as in `sqlite_master`, without the objects that Core Data makes beside those of the model.
struct StoredObjects {
    /// The greatest number of objects that are read.
    static let most = 100_000

    /// The SQL of the tables by name; below, that of indexes and triggers.
    private(set) var tables: [String: String] = [:]
    private(set) var indexes: [String: String] = [:]
    private(set) var triggers: [String: String] = [:]
    var all: [String: String] {
        tables.merging(indexes) { first, _ in first }.merging(triggers) { first, _ in first }
    }
    /// True if the file has more than are read.
    private(set) var isTruncated = false

    init(_ connection: Connection) throws(MigrationError) {
        // Persistent history, CloudKit mirroring and what virtual tables keep their content in are no part of the model.
        let virtual = try connection.virtualTables()
        let statement = try connection.prepare(
            "SELECT type, name, sql, tbl_name FROM sqlite_master WHERE sql IS NOT NULL")
        var count = 0
        while try statement.step() {
            guard let name = statement.text(1), let sql = statement.text(2), let table = statement.text(3) else {
                continue
            }
            if CoreDataTables.isOwn(table, virtual: virtual) || CoreDataTables.isBookkeeping(name) { continue }
            count += 1
            guard count <= Self.most else {
                isTruncated = true
                return
            }
            switch statement.text(0) {
            case "index": indexes[name] = sql
            case "trigger": triggers[name] = sql
            default: tables[name] = sql
            }
        }
    }
}

/// The comparison of a file's schema with the statements of one framework's form, byte by byte.
struct SchemaComparison {
    private(set) var equal = StoreFidelity.Equal()
    private(set) var differences: [StoreFidelity.Difference] = []
    private(set) var notes: [String] = []

    /// Returns the comparison with fewer differences: with the form of a framework version or today's form, which a migrated
    /// store has with the framework version of its source.
    static func best(of stored: StoredObjects, version: Int64, schema: StoreSchema) -> SchemaComparison {
        let own = SchemaComparison(of: stored, with: FrameworkForm(version: version, schema: schema))
        let new = SchemaComparison(of: stored, with: FrameworkForm(version: .max, schema: schema))
        return new.differences.count < own.differences.count ? new : own
    }

    private init(of stored: StoredObjects, with form: FrameworkForm) {
        var tables = form.tables
        var indexes = form.indexes
        var joins = Set(form.schema.joinTables.map(\.name))
        // Core Data names the join table of a pair on one entity after either side.
        for join in form.schema.joinTables {
            guard join.isOnOneEntity, let alternative = join.alternativeName, stored.tables[join.name] == nil,
                stored.tables[alternative] != nil
            else { continue }
            var other = join
            other.name = alternative
            other.sides = join.sides.reversed()
            tables[join.name] = nil
            tables[alternative] = StoreSchema.statement(other)
            indexes[join.index.name] = nil
            if form.hasJoinIndexes { indexes[other.index.name] = other.index.statement }
            joins.remove(join.name)
            joins.insert(alternative)
            notes.append("The join table \(join.name) has its other name, \(alternative)")
        }
        // An index whose form is not predicted, and an R-tree in an older form, are no difference: Core Data made them.
        for left in form.schema.leftOutIndexes where indexes[left.name] == nil && stored.indexes[left.name] != nil {
            indexes[left.name] = stored.indexes[left.name]
            notes.append("The index \(left.name) is there, in a form that is not predicted")
        }
        compare(.table, tables, stored.tables) { comparison, name in
            if joins.contains(name) { comparison.equal.joinTables += 1 } else { comparison.equal.tables += 1 }
        }
        compare(.index, indexes, stored.indexes) { comparison, _ in comparison.equal.indexes += 1 }
        compare(.trigger, form.triggers, stored.triggers) { comparison, _ in comparison.equal.triggers += 1 }
    }

    private mutating func compare(
        _ subject: StoreFidelity.Subject, _ expected: [String: String], _ found: [String: String],
        count: (inout SchemaComparison, String) -> Void
    ) {
        for name in Set(expected.keys).union(found.keys).sorted() {
            // Framework 973 has two blanks before WHERE.
            let isEqual =
                expected[name] == found[name]
                || subject == .index
                    && expected[name]?.split(separator: " ") == found[name]?.split(separator: " ")
            if isEqual {
                count(&self, name)
            } else {
                differences.append(
                    .init(subject: subject, name: name, expected: expected[name], found: found[name]))
            }
        }
    }
}
