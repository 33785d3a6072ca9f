import CoreDataStore
import ManagedModel

extension LeftBehindPlan {
    /// Counts the data that is left behind. Readers may have counted tables; the others are read.
    ///
    /// - Parameters:
    ///   - source: counts the values of ``columns``.
    ///   - checkCancelled: called from time to time.
    /// - Returns: nil if nothing is left behind.
    /// - Throws: `store.damaged`, `store.io`; the error of the check.
    /// - Complexity: O(pages of the tables that no reader has read).
    func count(in source: SourceStore, checkCancelled: () throws -> Void = {}) throws -> LeftBehind? {
        var values: [Int: ValueCounts] = [:]
        for table in columns.keys.sorted() {
            values[table] = try source.valueCounts(table: table, in: layout, checkCancelled: checkCancelled)
        }
        var counts: [Key: (values: Int?, links: Int?)] = [:]
        for item in items {
            let found: Int
            switch item.count {
            case .column(let table, let column, let entities):
                found = entities.reduce(0) { $0 + (values[table]?[column, $1] ?? 0) }
            case .beside(let table, let column, let owner):
                found = entities(ofTable: table, beside: owner).reduce(0) { $0 + (values[table]?[column, $1] ?? 0) }
            case .join(let table): found = Int(clamping: try source.count(joinTable: table, in: layout))
            case .pairs(let ends, let wanted):
                found = try pairs(ends, wanted, in: source, checkCancelled: checkCancelled)
            }
            guard found > 0 else { continue }
            if item.isLink {
                counts[item.line, default: (nil, nil)].links = (counts[item.line]?.links ?? 0) + found
            } else {
                counts[item.line, default: (nil, nil)].values = (counts[item.line]?.values ?? 0) + found
            }
        }
        for (entity, reason) in gone {
            let key = line(ofObjects: entity, reason)
            counts[key] = (counts[key]?.values ?? 0, counts[key]?.links ?? 0)
        }
        return account(counts)
    }

    /// Counts the wrong numbers of the source that the destination has right. Takes as long as ``count(in:checkCancelled:)``.
    func correctedBookkeeping(
        in source: SourceStore, checkCancelled: () throws -> Void
    ) throws -> [CorrectedBookkeeping]? {
        var lines: [CorrectedBookkeeping] = []
        let compared = tablesOfOneEntity
        for (table, own) in layout.tables.enumerated() where isMigrated(table) {
            var line = CorrectedBookkeeping(entity: layout.schema.entityName(of: layout.schema.tables[table]))
            if compared.contains(table) {
                let counts = try source.valueCounts(table: table, in: layout, checkCancelled: checkCancelled)
                line.otherNumbers = counts.otherNumbers > 0 ? counts.otherNumbers : nil
            }
            if let stated = own.statedMaximum, own.maximumKey > stated {
                (line.statedMaximum, line.highestKey) = (Int(stated), Int(own.maximumKey))
            }
            if line.otherNumbers != nil || line.statedMaximum != nil { lines.append(line) }
        }
        return lines.isEmpty ? nil : lines
    }

    /// Returns the account for a source that does not exist yet. It has no counts.
    func uncounted() -> LeftBehind? {
        // Nothing should be in rows of other entities, so only a count can tell that something is.
        let keys =
            items.map(\.line).filter { $0.reason != .otherEntity } + gone.map { line(ofObjects: $0.key, $0.value) }
        return account(
            Dictionary(keys.map { ($0, (nil, nil)) }, uniquingKeysWith: { first, _ in first }), isCounted: false)
    }

    private func account(_ counts: [Key: (values: Int?, links: Int?)], isCounted: Bool = true) -> LeftBehind? {
        let model = layout.schema.model
        let lines = counts.map { key, count in
            let entity = model.entity(at: key.entity)
            return LeftBehind.Line(
                entity: entity.definition.name, property: key.property, reason: key.reason,
                objects: key.property == nil && isCounted ? census.count(of: entity) : nil, values: count.values,
                links: count.links, isMeant: key.isMeant ? true : nil)
        }
        return lines.isEmpty ? nil : LeftBehind(lines: lines)
    }

    /// Counts links by the entities of their ends. Complexity: O(links); for each link the rows of both ends are read.
    private func pairs(
        _ ends: CountedLinks, _ wanted: Set<CountedLinks.Ends>, in source: SourceStore,
        checkCancelled: () throws -> Void
    ) throws -> Int {
        let (owners, members) = (layout.tables[ends.owners], layout.tables[ends.members])
        func entity(_ alias: String, _ table: SourceTable) -> String {
            "\(alias).\(SQLName.quoted(table.columns[EntityTable.entityColumn])), \(alias).\"Z_PK\""
        }
        let (ownerTable, memberTable) = (SQLName.quoted(owners.name), SQLName.quoted(members.name))
        var sql = "SELECT \(entity("o", owners)), \(entity("m", members)) FROM "
        switch ends.place {
        case .owners(_, let column):
            let name = "o." + SQLName.quoted(owners.columns[column])
            sql += "\(ownerTable) o LEFT JOIN \(memberTable) m ON m.\"Z_PK\" = \(name) WHERE \(name) IS NOT NULL"
        case .members(_, let column):
            let name = "m." + SQLName.quoted(members.columns[column])
            sql += "\(memberTable) m LEFT JOIN \(ownerTable) o ON o.\"Z_PK\" = \(name) WHERE \(name) IS NOT NULL"
        case .join(let table, let side):
            let join = layout.joinTables[table]
            let (owner, member) = (SQLName.quoted(join.sides[side].column), SQLName.quoted(join.sides[1 - side].column))
            sql +=
                "\(SQLName.quoted(join.name)) j LEFT JOIN \(ownerTable) o ON o.\"Z_PK\" = j.\(owner) "
                + "LEFT JOIN \(memberTable) m ON m.\"Z_PK\" = j.\(member)"
        }
        let statement = try source.query(sql)
        func end(_ table: Int, at column: Int32) -> Int? {
            guard !statement.isNull(column + 1) else { return nil }
            return layout.entity(inTable: table, forFileNumber: Int(statement.integer(column)))
        }
        var count = 0
        var rows = 0
        while try statement.step() {
            if wanted.contains(.init(owner: end(ends.owners, at: 0), member: end(ends.members, at: 2))) { count += 1 }
            rows += 1
            if rows % 100_000 == 0 { try checkCancelled() }
        }
        return count
    }
}
