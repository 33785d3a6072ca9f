import Diagnostics

/// Views, indexes, triggers and virtual tables that a source store has beside its model: those that a fresh destination takes
/// over unchanged, and those that stay behind, with the reason.
///
/// An object is taken over if the destination has everything that it names, under the same names and with the same meaning, and
/// if SQLite compiles it over the destination's tables. None of them runs while rows are loaded.
package struct CarriedObjects: Sendable {
    struct Object: Sendable {
        let made: ForeignObject
        /// The statements that fill a virtual table from the rows; empty for other objects.
        var fill: [String] = []
        /// A query that returns a row if the destination's rows violate a unique index; nil for other objects.
        var breaks: String?
    }

    /// The objects in the order in which they are made.
    var objects: [Object] = []
    var left: [(object: ForeignObject, reason: String)] = []
    var furtherCount = 0

    /// Makes an empty set: nothing is taken over or left behind.
    package init() {}

    /// The CREATE statements of the objects that are taken over, by name.
    package var statements: [String: String] {
        Dictionary(objects.map { ($0.made.name, $0.made.sql) }, uniquingKeysWith: { first, _ in first })
    }

    private static let mostNames = 20

    /// One sentence for all objects that are taken over, and one for each reason to leave objects behind.
    package var notes: [String] {
        var notes: [String] = []
        let kinds: [ForeignObject.Kind] = [.trigger, .view, .index, .virtualTable]
        for kind in kinds {
            let names = objects.map(\.made).filter { $0.kind == kind }.map(\.name)
            guard !names.isEmpty else { continue }
            notes.append("Taken over from the source as \(Self.subject(kind, names)): \(Self.list(names))")
        }
        var reasons: [String] = []
        for (_, reason) in left where !reasons.contains(reason) { reasons.append(reason) }
        for reason in reasons {
            for kind in kinds {
                let names = left.filter { $0.object.kind == kind && $0.reason == reason }.map(\.object.name)
                guard !names.isEmpty else { continue }
                notes.append(
                    "Left behind, as the model does not ask for \(names.count == 1 ? "it" : "them") and \(reason): "
                        + "\(Self.count(kind, names)) \(Self.list(names))")
            }
        }
        if furtherCount > 0 {
            notes.append(
                "\(furtherCount.counted("further object")) of the source's schema \(furtherCount == 1 ? "is" : "are") left behind: it has more than are looked at"
            )
        }
        return notes
    }

    private static func subject(_ kind: ForeignObject.Kind, _ names: [String]) -> String {
        (names.count == 1 ? "it stands, " : "they stand, ") + count(kind, names)
    }

    private static func count(_ kind: ForeignObject.Kind, _ names: [String]) -> String {
        let plural = kind == .index ? "indexes" : "\(kind.rawValue)s"
        return names.count == 1 ? "the \(kind.rawValue)" : names.count.counted(kind.rawValue, plural)
    }

    /// Returns names for a note: the first of them, and the number of the others.
    static func list(_ names: [String]) -> String {
        names.prefix(mostNames).joined(separator: ", ")
            + (names.count > mostNames ? " and \((names.count - mostNames).grouped) more" : "")
    }
}

extension SourceStore {
    /// Decides which objects beside the model a fresh destination takes over.
    ///
    /// - Parameters:
    ///   - schema: the schema of the destination.
    ///   - layout: the layout of this store.
    ///   - carried: fetch indexes that the destination takes over already.
    /// - Throws: the errors of reading the file's schema. An object that cannot be taken over is no error.
    /// - Complexity: O(objects of both schemas); a scratch database in memory if there is any such object.
    package func carriedObjects(
        for schema: StoreSchema, from layout: StoreLayout
    ) throws(MigrationError) -> CarriedObjects {
        let foreign = try foreignObjects(beside: layout)
        var carried = CarriedObjects()
        carried.furtherCount = foreign.furtherCount
        guard !foreign.objects.isEmpty else { return carried }
        let meaning = CarriedMeaning(schema: schema, layout: layout)
        var candidates: [CarriedCandidate] = []
        for object in foreign.objects {
            // An object that the destination makes under the name is its own.
            if meaning.isMade(object.name) { continue }
            do throws(CarriedRefusal) {
                candidates.append(try meaning.candidate(object))
            } catch {
                carried.left.append((object, error.reason))
            }
        }
        guard !candidates.isEmpty else { return carried }
        let scratch = try ScratchSchema(schema)
        defer { scratch.close() }
        try scratch.check(candidates, source: self, into: &carried)
        return carried
    }

    /// Returns the objects beside the model as left behind, because the destination is an existing store.
    package func leftObjects(beside layout: StoreLayout) throws(MigrationError) -> CarriedObjects {
        let foreign = try foreignObjects(beside: layout)
        var carried = CarriedObjects()
        carried.left = foreign.objects.map { ($0, "the destination keeps its own schema") }
        carried.furtherCount = foreign.furtherCount
        return carried
    }
}

/// An object that names only things with the same meaning in the destination.
struct CarriedCandidate {
    let object: ForeignObject
    let tokens: SQLTokens
}

/// The reason why an object stays behind, as a clause that follows "and".
struct CarriedRefusal: Error {
    let reason: String
}

/// The meaning of the names of a source's schema in a destination's schema.
struct CarriedMeaning {
    private let counterparts: ModelCounterparts
    /// The columns of the source's tables with the same meaning in the destination, by table, in upper case; nil for a table
    /// that means something else.
    private var equal: [String: Set<String>?] = [:]
    /// All columns of the source's tables. In upper case.
    private var columns: [String: Set<String>] = [:]
    /// Names that the destination's own schema has. In upper case.
    private var made: Set<String>
    /// Columns with numbers of entities.
    private var numberColumns: Set<String> = ["Z_ENT"]

    init(schema: StoreSchema, layout: StoreLayout) {
        counterparts = ModelCounterparts(of: schema, in: layout)
        let form = FrameworkForm(version: .max, schema: schema)
        made = Set((Array(form.tables.keys) + form.indexes.keys + form.triggers.keys).map { $0.uppercased() })
        for index in schema.leftOutIndexes { made.insert(index.name.uppercased()) }
        for (index, table) in layout.tables.enumerated() {
            let name = table.name.uppercased()
            columns[name] = Set(table.columns.map { $0.uppercased() } + ["Z_PK"])
            let own = schema.tables.firstIndex { $0.name.uppercased() == name }
            equal[name] = .some(own.flatMap { counterparts.equalColumns(ofTable: $0, index) })
            for (column, name) in zip(layout.schema.tables[index].columns, table.columns) {
                if case .toOneEntity = column.role { numberColumns.insert(name.uppercased()) }
            }
        }
        for (index, table) in layout.joinTables.enumerated() {
            let name = table.name.uppercased()
            let all = Set(table.sides.flatMap { [$0.column, $0.orderColumn].compactMap { $0?.uppercased() } })
            columns[name] = all
            let own = schema.joinTables.first { $0.name.uppercased() == name }
            equal[name] = .some(own.map { counterparts.isEqual($0, index) } ?? false ? all : nil)
        }
    }

    func isMade(_ name: String) -> Bool { made.contains(name.uppercased()) }

    func candidate(_ object: ForeignObject) throws(CarriedRefusal) -> CarriedCandidate {
        guard object.sql.utf8.count <= ForeignObjects.longest, let tokens = SQLTokens(object.sql) else {
            throw CarriedRefusal(reason: "its text is not understood")
        }
        let words = tokens.words
        for table in words.intersection(columns.keys).sorted() {
            guard let same = equal[table] ?? nil else {
                throw CarriedRefusal(reason: "\(table) is not the same in the new version")
            }
            let changed = words.intersection(columns[table] ?? []).subtracting(same)
            if let column = changed.min() {
                throw CarriedRefusal(reason: "\(table).\(column) is not the same in the new version")
            }
        }
        if tokens.compares(numberColumns), !counterparts.hasEqualNumbers {
            throw CarriedRefusal(reason: "it compares numbers of entities, which are others in the new version")
        }
        return CarriedCandidate(object: object, tokens: tokens)
    }
}
