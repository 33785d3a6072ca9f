import Diagnostics
import Rows

extension SourceStore {
    /// Adds a row with values above the limit to a batch. Those of streamed slots become references.
    ///
    /// - Parameter streamed: slots whose values may be huge; only own columns are examined.
    /// - Returns: false if no streamed slot has a value above the limit; the batch is then unchanged.
    /// - Throws: `store.valueTooLarge` for another value above the limit; `store.damaged`, `store.io`.
    func rowWithHugeValues(
        _ key: Int64, table: Int, columns: [SelectedColumn], streamed: Set<Int>, in layout: StoreLayout,
        into batch: inout RowBatch
    ) throws(MigrationError) -> Bool {
        var slim = RowSelection(table: table, columns: columns)
        slim.afterKey = key == .min ? nil : key - 1
        slim.throughKey = key
        var found: [(slot: Int, value: HugeValue)] = []
        for slot in streamed.sorted() {
            guard case .own(let column) = columns[slot] else { continue }
            let source = hugeColumn(table: table, column: column, in: layout)
            guard let value = try source.value(key: key), value.count > valueLimit else { continue }
            found.append((slot, value))
            slim.columns[slot] = .computed(slot)
        }
        guard !found.isEmpty else { return false }
        var rest = RowBatch(slots: batch.slots, rowCapacity: 1, byteTarget: batch.byteTarget)
        guard try SelectionReader(self, slim, in: layout).next(into: &rest), rest.key(0) == key else {
            throw damaged("A row of \(layout.tables[table].name) is not found again", context(table, key, layout))
        }
        let row = batch.appendRow(key: key)
        for slot in 0..<batch.slots { batch.copy(rest[0, slot], from: rest, row: row, slot: slot) }
        for (slot, value) in found { batch[row, slot] = batch.store(value) }
        return true
    }

    /// Returns the reader of a column's huge values, one for each column.
    private func hugeColumn(table: Int, column: Int, in layout: StoreLayout) -> HugeColumn {
        if let known = hugeColumns[[table, column]] { return known }
        let made = HugeColumn(store: self, layout: layout, table: table, column: column)
        hugeColumns[[table, column]] = made
        return made
    }
}
