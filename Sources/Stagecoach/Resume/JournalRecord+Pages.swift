import CoreDataStore

extension JournalRecord.State {
    /// The extent of the store's pages in this state; nil if SQLite alone wrote them.
    func filledPages(in schema: StoreSchema) -> DestinationStore.FilledPages? {
        guard let pages else { return nil }
        let rows = zip(schema.tables.map(\.name), progress.rowsWritten)
        let links = zip(schema.joinTables.map(\.name), progress.linksWritten)
        return .init(pages: pages, empty: Set((Array(rows) + Array(links)).filter { $0.1 == 0 }.map(\.0)))
    }
}
