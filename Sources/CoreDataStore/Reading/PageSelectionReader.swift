import DatabasePages
import Diagnostics
import Rows

extension SourceStore {
    /// Returns a reader of a selection's rows from the file's pages.
    ///
    /// - Returns: nil if SQLite must read: see ``pagesRefusal``; a selection with columns of related rows; a table without
    ///   ordinary integer keys; a column that older rows lack and that has a default in the schema.
    func pageReader(_ selection: RowSelection, in layout: StoreLayout) throws(MigrationError) -> (any RowReader)? {
        guard readsPages else { return nil }
        return try blamingData { () throws(MigrationError) in
            let pages = try openPages()
            let source = layout.tables[selection.table]
            guard let file = pages.file else { return nil }
            let table: SourcePages.Table
            switch try pageTable(source.name, in: pages) {
            case .table(let found): table = found
            case .reason(let reason):
                noteFallback(source.name, reason)
                return nil
            }
            guard var request = request(selection, table, layout) else { return nil }
            request.tally = tally(ofTable: selection.table, table, layout)
            let scan = TableScan(file: file, root: table.root, request: request)
            let entity = layout.schema.entityName(of: layout.schema.tables[selection.table])
            return PageReader(store: self) { batch throws(MigrationError) in
                do throws(MigrationError) { try scan.fill(&batch) } catch { throw error.inside(.init(entity: entity)) }
            }
        }
    }

    /// Returns a scan of an index that has a join table's keys in the order of a side; nil if SQLite must read them.
    func pairScan(_ join: SourceJoinTable, side: Int) throws(MigrationError) -> PairScan? {
        guard readsPages, replaced[join.name.uppercased()] == nil else { return nil }
        guard join.sides.allSatisfy({ $0.orderColumn == nil }) else {
            noteFallback(join.name, "its links have places in an order")
            return nil
        }
        return try blamingData { () throws(MigrationError) in
            let pages = try openPages()
            let columns = [join.sides[side].column, join.sides[1 - side].column]
            guard let file = pages.file else { return nil }
            guard let root = try pages.index(ofTable: join.name, columns: columns, connection) else {
                noteFallback(join.name, "no index has its two keys as integers in the order that is read")
                return nil
            }
            return PairScan(file: file, root: root, table: join.name, slots: (side, 1 - side))
        }
    }

    /// Returns a table, or the reason why SQLite must read it.
    func pageTable(_ name: String, in pages: SourcePages) throws(MigrationError) -> SourcePages.TableOrReason {
        if let reason = replaced[name.uppercased()] { return .reason(reason) }
        return try pages.table(name, connection)
    }

    func openPages() throws(MigrationError) -> SourcePages {
        if let pages { return pages }
        let (made, refusal) = try SourcePages.open(connection, path: path)
        pages = made
        pagesRefusal = refusal
        return made
    }

    private func request(_ selection: RowSelection, _ table: SourcePages.Table, _ layout: StoreLayout) -> ScanRequest? {
        let source = layout.tables[selection.table]
        func column(_ index: Int) -> SourcePages.Table.Column? {
            let name = source.columns[index]
            guard let column = table.columns[name.lowercased()] else {
                noteFallback(source.name, "its schema has no column \(name)")
                return nil
            }
            guard column.isNullWhereAbsent else {
                noteFallback(source.name, "rows may lack a value of \(name) that the schema gives them")
                return nil
            }
            return column
        }
        var fields: [ScanRequest.Field] = []
        var keySlots: [Int] = []
        var columns: [Int: HugeColumn] = [:]
        for (slot, selected) in selection.columns.enumerated() {
            switch selected {
            case .own(let index), .related(path: [], column: let index):
                guard let column = column(index) else { return nil }
                fields.append(.init(field: column.field, slot: slot, affinity: column.affinity))
                columns[slot] = HugeColumn(store: self, layout: layout, table: selection.table, column: index)
            case .relatedKey(path: []): keySlots.append(slot)
            case .computed: break
            case .related, .relatedKey:
                noteFallback(source.name, "values of related rows are read together with its rows")
                return nil
            }
        }
        var request = ScanRequest(large: large(columns, streamed: selection.streamed))
        request.fields = fields
        request.keySlots = keySlots
        request.runs = fieldRuns(selection.runs, fields)
        if let numbers = entityNumbers(selection, in: layout) {
            guard let column = column(EntityTable.entityColumn) else { return nil }
            request.filter = .init(field: column.field, numbers: numbers.map(Int64.init))
        }
        request.after = selection.afterKey
        request.through = selection.throughKey
        return request
    }

    /// Returns the runs whose fields are adjacent in this file too, and whose columns have the required affinities.
    private func fieldRuns(_ runs: [RowSelection.Run], _ fields: [ScanRequest.Field]) -> [ScanRequest.FieldRun] {
        guard !runs.isEmpty else { return [] }
        let bySlot = Dictionary(fields.map { ($0.slot, $0) }, uniquingKeysWith: { first, _ in first })
        let asked = Dictionary(fields.map { ($0.field, 1) }, uniquingKeysWith: +)
        return runs.compactMap { run -> ScanRequest.FieldRun? in
            guard let first = run.slots.first.flatMap({ bySlot[$0]?.field }) else { return nil }
            for (place, slot) in run.slots.enumerated() {
                guard let field = bySlot[slot], field.field == first + place, asked[field.field] == 1,
                    field.affinity == ColumnAffinity(declaredType: run.types[place])
                else { return nil }
            }
            return ScanRequest.FieldRun(first: first, count: run.slots.count)
        }.sorted { $0.first < $1.first }
    }

    /// Returns the treatment of values above the limit.
    ///
    /// - Parameter columns: the huge columns, by slot.
    private func large(_ columns: [Int: HugeColumn], streamed: Set<Int>) -> ScanRequest.LargeValues {
        func column(_ slot: Int) -> HugeColumn {
            guard let column = columns[slot] else { preconditionFailure("slot \(slot) has no column") }
            return column
        }
        return .init(
            limit: valueLimit, streamed: streamed,
            reference: { HugeValue(source: column($0), key: $1, count: $2, isText: $3) },
            refusal: { column($0).refusal(key: $1, bytes: $2) })
    }
}
