import CoreDataStore
import Rows

/// The search for neighbouring columns of a source table that every mapping of a scan copies to neighbouring columns and that
/// nothing reads on the way. Their values are copied from page to page in their stored form.
struct CopiedColumns {
    /// The copies of each mapping: column and place among its other steps, by slot. Columns that rules check are left out.
    let copies: [[Int: (column: Int, order: Int)]]
    let slots: SourceColumns
    let source: EntityTable
    let destination: EntityTable
    /// The columns of the destination that are read when its rows are written.
    let watched: Set<Int>

    /// Returns the runs of two or more columns. Complexity: O(columns × mappings).
    func find() -> [RowSelection.Run] {
        var slotByColumn: [Int: Int] = [:]
        for slot in slots.streamed {
            if case .own(let column) = slots.columns[slot] { slotByColumn[column] = slot }
        }
        var runs: [RowSelection.Run] = []
        var run = RowSelection.Run(slots: [], types: [])
        func close() {
            if run.slots.count > 1 { runs.append(run) }
            run = RowSelection.Run(slots: [], types: [])
        }
        for column in source.columns.indices {
            guard let slot = slotByColumn[column], let type = type(of: slot, from: column) else {
                close()
                continue
            }
            if let last = run.slots.last, !follow(last, slot) || run.slots.count == Cell.mostEncoded { close() }
            run.slots.append(slot)
            run.types.append(type)
        }
        close()
        return runs
    }

    /// Returns the declared type of the columns to which a slot is copied. Returns nil if its values cannot be copied as they
    /// are.
    private func type(of slot: Int, from column: Int) -> String? {
        var type: String?
        for mapping in copies {
            guard let copy = mapping[slot], !watched.contains(copy.column) else { return nil }
            guard destination.columns[copy.column].storesAlike(source.columns[column]) else { return nil }
            type = destination.columns[copy.column].type
        }
        return type
    }

    /// Tells whether all mappings copy two slots to consecutive columns, at the same place among their steps.
    private func follow(_ first: Int, _ second: Int) -> Bool {
        copies.allSatisfy { mapping in
            guard let first = mapping[first], let second = mapping[second] else { return false }
            return second.column == first.column + 1 && second.order == first.order
        }
    }
}
