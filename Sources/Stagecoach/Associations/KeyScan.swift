import CoreDataStore
import Diagnostics
import ManagedModel
import Mapping
import Rows
import SpillStorage

/// The scan of keys before any rows: reads the keys of every source table once and fills the association tables of all mappings
/// that need no user code, for the whole plan. A reference to a later pass is then an ordinary lookup.
struct KeyScan {
    let run: MigrationRun
    let archive: AssociationArchive
    let keysBefore: KeysBefore
    let mappings: [PlannedMapping]
    let tables: [PlannedTable]
    /// The store that is filled, whose rows from before the run source objects may become.
    let destination: DestinationStore
    /// Collects the keys of a mapping whose filter needs objects. The columns begin with all own columns of the table.
    let collectByObjects: (DestinationKeys, SourceFilter, SourceColumns) throws -> Void
    /// The source tables whose keys the load collects, because they are not looked up before all their rows are read; each with
    /// the mapping whose load does.
    var unasked: [Int: Int] = [:]
    /// The source tables whose keys are collected while objects are made of their rows, each with the mapping that makes them;
    /// see ``PolicyPath``.
    var awaited: [Int: Int] = [:]

    /// Reads the keys.
    ///
    /// - Returns: the keys of every declarative mapping, by mapping index; the keys of every source table, by table; and the
    ///   still empty indices of the tables in ``awaited``.
    /// - Complexity: one pass over the tables' keys, and one more for each mapping with a filter; memory is the run's share
    ///   for keys, whatever the number of rows.
    func scan() throws -> (byMapping: [Int: DestinationKeys], byTable: [Int: KeyIndex], waiting: [Int: KeyIndex]) {
        var waiting: [Int: KeyIndex] = [:]
        var byMapping: [Int: DestinationKeys] = [:]
        var byTable: [Int: KeyIndex] = [:]
        var selected: [DestinationKeys] = []
        // Tables that are only looked up are scanned too, so that references to missing rows are counted as dangling.
        let scanned = Set(mappings.filter { !$0.belongsToPreviousModel }.compactMap(\.sourceTable)).union(
            argumentTables)
        let allowances = allowances(of: scanned)
        for table in scanned.sorted() {
            // Cancellation is checked for tables without a scan too. Nothing has been written yet.
            try run.services.checkCancelled()
            let allowance = allowances[table] ?? KeyScan.leastAllowance
            var all = KeyIndex(directory: run.inputs.work, name: "keys", memory: allowance)
            if awaited[table] != nil {
                waiting[table] = all
                continue
            }
            let (sets, plain) = makeSets(of: table, allowance: allowance)
            for keys in sets { byMapping[keys.mapping.index] = keys }
            if let own = unasked[table], let only = plain.values.first {
                byMapping[own]?.isFilledByLoad = true
                byTable[table] = only
                continue
            }
            try scan(table: table, all: all, byEntity: plain)
            try all.seal()
            for index in plain.values { try index.seal() }
            // If the table has rows of one entity only, that entity's index serves as the table's.
            if plain.count == 1, let only = plain.values.first, only.count == all.count { all = only }
            byTable[table] = all
            selected += sets.filter { $0.mapping.selectsRows }
        }
        for keys in selected.sorted(by: { $0.mapping.index < $1.mapping.index }) { try scanSelected(keys) }
        try numberKeys(of: byMapping)
        for (index, keys) in archive.keys { byMapping[index] = keys }
        return (byMapping, byTable, waiting)
    }

    /// Makes the empty sets of keys of the mappings that read a table.
    ///
    /// - Returns: the keys of each mapping; and the indices of the mappings that read all objects of an entity, by entity, which
    ///   share them.
    private func makeSets(of table: Int, allowance: Int) -> (sets: [DestinationKeys], plain: [Int: KeyIndex]) {
        var plain: [Int: KeyIndex] = [:]
        var sets: [DestinationKeys] = []
        for mapping in mappings where mapping.sourceTable == table && mapping.isDeclarative {
            let entity = mapping.selectsRows ? nil : mapping.source?.index
            let index =
                entity.flatMap { plain[$0] } ?? KeyIndex(directory: archive.directory, name: "keys", memory: allowance)
            let mode = tables.first { $0.mappings.contains(mapping.index) }?.keys ?? .sequential
            let keys = DestinationKeys(mapping: mapping, mode: mode, index: index)
            keys.holdsEveryRow = entity != nil
            sets.append(keys)
            if let entity { plain[entity] = index }
        }
        return (sets, plain)
    }

    /// Gives mappings with sequential keys the key before their first one.
    private func numberKeys(of byMapping: [Int: DestinationKeys]) throws(MigrationError) {
        for table in tables where table.keys == .sequential {
            var base = keysBefore.highestKeys[table.table]
            for index in table.mappings {
                guard let keys = byMapping[index] else { continue }
                keys.base = base
                let (next, overflow) = base.addingReportingOverflow(Int64(keys.index.count))
                guard !overflow else { throw DestinationKeys.exhausted(after: base, keys.mapping.context.entity) }
                base = next
            }
        }
    }

    /// The tables in which relationship mappings look objects up.
    private var argumentTables: [Int] {
        mappings.filter { !$0.belongsToPreviousModel }.flatMap(\.relationships).compactMap { planned in
            if case .lookup(let argument, _)? = planned.value { argument.table } else { nil }
        }
    }

    static let leastAllowance = 64 << 10

    /// Divides memory into shares. Small needs are met first; the others share the rest.
    static func shares(of room: Int, needs: [Int]) -> [Int] {
        var shares = Array(repeating: leastAllowance, count: needs.count)
        var (left, count) = (room, needs.count)
        for index in needs.indices.sorted(by: { (needs[$0], $0) < (needs[$1], $1) }) {
            shares[index] = max(leastAllowance, min(needs[index], left / count))
            left = max(0, left - shares[index])
            count -= 1
        }
        return shares
    }

    /// Returns the size in bytes of each index of a table.
    ///
    /// Keys that are looked up in any order get the memory they need if there is room, because reading an index from disk again
    /// and again costs more than all else. The other indices are read in order, block by block.
    private func allowances(of scanned: Set<Int>) -> [Int: Int] {
        let own = mappings.filter { !$0.belongsToPreviousModel && $0.isDeclarative }
        func indices(of table: Int) -> Int {
            let reading = own.filter { $0.sourceTable == table }
            let entities = Set(reading.filter { !$0.selectsRows }.compactMap { $0.source?.index }).count
            let selected = reading.filter(\.selectsRows).count
            return max(1, entities == 1 ? 1 + selected : 1 + entities + selected)
        }
        let referenced = Set(
            own.flatMap(\.relationships).compactMap { planned -> Int? in
                guard case .lookup(let argument, _)? = planned.value else { return nil }
                if case .toMany(let steps, let relationship, let table) = argument, steps.isEmpty {
                    guard case .join = run.inputs.layout.schema.storage(of: relationship) else { return nil }
                    return table
                }
                return argument.table
            })
        func need(_ table: Int) -> Int { run.inputs.keyBytes(ofTable: table) }
        let ordered = scanned.sorted {
            (referenced.contains($0) ? 0 : 1, need($0), $0) < (referenced.contains($1) ? 0 : 1, need($1), $1)
        }
        // Indices of mappings stay for the lookups of later mapping models, so each model has its share.
        let indexCount = run.inputs.mappingCount + scanned.count
        var room = run.inputs.budget.keys / max(1, indexCount) * (own.count + scanned.count)
        var left = scanned.reduce(0) { $0 + indices(of: $1) }
        var allowances: [Int: Int] = [:]
        for table in ordered {
            let count = indices(of: table)
            left -= count
            let most =
                referenced.contains(table) ? (room - left * KeyScan.leastAllowance) / count : room / (count + left)
            let given = max(KeyScan.leastAllowance, min(need(table), most))
            allowances[table] = given
            room -= given * count
        }
        return allowances
    }

    /// Reads the keys of a table.
    ///
    /// - Parameters:
    ///   - all: receives the keys of all rows.
    ///   - byEntity: receives the keys of some entities' rows, by entity.
    private func scan(
        table: Int, all: KeyIndex, byEntity: [Int: KeyIndex]
    ) throws {
        let reader = try run.inputs.source.rows(
            RowSelection(table: table, columns: [.own(EntityTable.entityColumn)]), in: run.inputs.layout)
        var batch = run.inputs.sourceBatch(slots: 1)
        // Neighbouring rows are mostly of one entity, so the index is looked up only if the entity number changes.
        var number: Int64 = -1
        var index: KeyIndex?
        while try reader.next(into: &batch) {
            try run.services.checkCancelled()
            try all.append(contentsOf: batch.keys(0..<batch.count))
            var row = 0
            while row < batch.count {
                let current = batch[row, 0].integerValue
                var end = row + 1
                while end < batch.count, batch[end, 0].integerValue == current { end += 1 }
                if current != number {
                    number = current
                    let entity = run.inputs.layout.entity(
                        inTable: table, forFileNumber: Int(truncatingIfNeeded: number))
                    index = entity.flatMap { byEntity[$0] }
                }
                try index?.append(contentsOf: batch.keys(row..<end))
                row = end
            }
        }
    }

    /// Reads the keys of the rows that make objects of a mapping with a filter, a grouping or rows to match.
    private func scanSelected(_ keys: DestinationKeys) throws {
        guard keys.mapping.grouping != nil || keys.mapping.matching != nil else { return try scanFiltered(keys) }
        var passing: DestinationKeys?
        if keys.mapping.filter != nil {
            let index = KeyIndex(directory: run.inputs.work, name: "keys", memory: KeyScan.leastAllowance)
            let filtered = DestinationKeys(mapping: keys.mapping, mode: keys.mode, index: index)
            try scanFiltered(filtered)
            passing = filtered
        }
        if let matching = keys.mapping.matching {
            let scan = MatchScan(
                run: run, mapping: keys.mapping, matching: matching, passing: passing?.index, keysBefore: keysBefore,
                destination: destination)
            keys.matched = try scan.find(makers: keys.index, in: archive.directory)
            return
        }
        guard let grouping = keys.mapping.grouping else { return }
        let shared = SharedObjects(directory: archive.directory, memory: run.inputs.budget.keys / 4)
        try GroupScan(run: run, mapping: keys.mapping, grouping: grouping, passing: passing?.index)
            .find(makers: keys.index, shared: shared)
        keys.shared = shared
    }

    /// Reads the keys of the rows that pass a mapping's filter.
    private func scanFiltered(_ keys: DestinationKeys) throws {
        let mapping = keys.mapping
        guard let filter = mapping.filter, let entity = mapping.source, let table = mapping.sourceTable else { return }
        let own = mapping.filterNeedsObjects ? run.inputs.layout.schema.tables[table].columns.count : 0
        var slots = SourceColumns(entity: entity, schema: run.inputs.layout.schema, columns: (0..<own).map { .own($0) })
        let passing = try SourceFilter(filter, of: mapping, slots: &slots)
        if passing.needsObjects {
            try collectByObjects(keys, passing, slots)
            return try keys.index.seal()
        }
        let reader = try SourceReader(run: run, slots: slots, table: table, entities: [entity.index])
        var batch = run.inputs.sourceBatch(slots: slots.columns.count)
        while try reader.next(into: &batch) {
            try run.services.checkCancelled()
            for row in 0..<batch.count where try passing.passes(batch, row, object: { nil }, variables: [:]) {
                try keys.index.append(batch.key(row))
            }
        }
        try keys.index.seal()
    }
}
