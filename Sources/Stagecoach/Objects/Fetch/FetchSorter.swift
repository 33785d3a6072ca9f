import Diagnostics
import Foundation
import Rows
import SpillStorage

/// Sorts the rows of a fetch. Rows beyond its batch are sorted on disk; with a limit it keeps no more rows than are
/// needed.
///
/// nil comes first, text is ordered by its bytes, and equal rows by their keys, as in SQLite. Memory: two batches;
/// during a merge, one batch shared by the runs. Complexity: O(n log n).
final class FetchSorter {
    private let inputs: RunInputs
    private let keys: [FetchOrder.Key]
    private let needed: Int?
    private var batch: RowBatch
    private var runs: [RowSpill] = []
    private var sequence: Int64 = 0

    /// The two slots after those of the sort keys: the row's key and its entity's index.
    private var keySlot: Int { keys.count }
    private var entitySlot: Int { keys.count + 1 }

    /// Creates an empty sorter.
    ///
    /// - Parameter needed: the number of results that are needed; nil: all.
    init(_ keys: [FetchOrder.Key], needed: Int?, inputs: RunInputs) {
        self.keys = keys
        self.inputs = inputs
        batch = FetchSorter.batch(slots: keys.count + 2, inputs)
        self.needed = needed
    }

    private static func batch(slots: Int, _ inputs: RunInputs) -> RowBatch {
        RowBatch(slots: slots, rowCapacity: inputs.fetchCapacity(slots: slots), byteTarget: inputs.budget.batch)
    }

    /// Adds a row.
    ///
    /// - Parameter value: reads a sort key's value from the object, given its key path.
    func add(_ source: borrowing RowBatch, row: Int, entity: Int, value: (String) throws -> Any?) throws {
        if batch.isFull { try makeRoom() }
        sequence += 1
        let target = batch.appendRow(key: sequence)
        for (slot, key) in keys.enumerated() {
            switch key.origin {
            case .slot(let from): copy(source[row, from], of: source, to: target, slot, key.options)
            case .keyPath(let path): set(try value(path), at: target, slot, key.options)
            }
        }
        batch[target, keySlot] = .integer(source.key(row))
        batch[target, entitySlot] = .integer(Int64(entity))
    }

    private func copy(
        _ cell: Cell, of source: borrowing RowBatch, to row: Int, _ slot: Int, _ options: String.CompareOptions
    ) {
        if cell.kind == .text, !options.isEmpty {
            let text = String(decoding: source.bytes(cell), as: UTF8.self)
            ColumnValue.text(text.folding(options: options, locale: nil)).store(in: &batch, row: row, slot: slot)
        } else {
            batch.copy(cell, from: source, row: row, slot: slot)
        }
    }

    private func set(_ value: Any?, at row: Int, _ slot: Int, _ options: String.CompareOptions) {
        let stored: ColumnValue
        switch ValueBridge.unwrapped(value) {
        case let decimal as NSDecimalNumber: stored = .decimal(decimal.decimalValue)
        case let text as String:
            stored = .text(options.isEmpty ? text : text.folding(options: options, locale: nil))
        case let date as Date: stored = .real(date.timeIntervalSinceReferenceDate)
        case let data as Data: stored = .blob(Array(data))
        case let uuid as UUID: stored = .blob(withUnsafeBytes(of: uuid.uuid) { Array($0) })
        case let url as URL: stored = .text(url.absoluteString)
        case let object as ManagedObject: stored = .integer(object.place.key)
        case let number as NSNumber:
            let kind = UInt8(bitPattern: number.objCType.pointee)
            let isReal = kind == UInt8(ascii: "d") || kind == UInt8(ascii: "f")
            stored = isReal ? .real(number.doubleValue) : .integer(number.int64Value)
        default: return
        }
        stored.store(in: &batch, row: row, slot: slot)
    }

    // MARK: - Order

    private func isBefore(_ left: borrowing RowBatch, _ one: Int, _ right: borrowing RowBatch, _ other: Int) -> Bool {
        for (slot, key) in keys.enumerated() {
            let order = FetchSorter.compare(left[one, slot], left, right[other, slot], right)
            if order != 0 { return key.isAscending ? order < 0 : order > 0 }
        }
        return left[one, keySlot].integerValue < right[other, keySlot].integerValue
    }

    /// Compares two cells in SQLite's order of storage classes: NULL, numbers, text, blobs.
    private static func compare(
        _ left: Cell, _ one: borrowing RowBatch, _ right: Cell, _ other: borrowing RowBatch
    ) -> Int {
        let (first, second) = (rank(left), rank(right))
        if first != second { return first < second ? -1 : 1 }
        switch first {
        case 0: return 0
        case 1:
            if left.kind == .integer, right.kind == .integer {
                let (a, b) = (left.integerValue, right.integerValue)
                return a == b ? 0 : a < b ? -1 : 1
            }
            let a = left.kind == .integer ? Double(left.integerValue) : left.realValue
            let b = right.kind == .integer ? Double(right.integerValue) : right.realValue
            return a == b ? 0 : a < b ? -1 : 1
        default:
            let (a, b) = (one.bytes(left), other.bytes(right))
            for (x, y) in zip(a, b) where x != y { return x < y ? -1 : 1 }
            return a.count == b.count ? 0 : a.count < b.count ? -1 : 1
        }
    }

    private static func rank(_ cell: Cell) -> Int {
        switch cell.kind {
        case .null, .absent, .rawRecord: 0
        case .integer, .real, .reference: 1
        case .text: 2
        case .blob, .huge: 3
        }
    }

    /// Returns the positions of the batch's rows in sorted order.
    private func order() -> [Int] {
        (0..<batch.count).sorted { isBefore(batch, $0, batch, $1) }
    }

    /// Drops rows that no result needs, or writes a run.
    private func makeRoom() throws {
        let order = order()
        if let needed, needed <= batch.count / 2 {
            var kept = FetchSorter.batch(slots: batch.slots, inputs)
            for index in order.prefix(needed) { kept.append(row: index, of: batch, key: batch.key(index)) }
            // If the kept rows alone have too many bytes, write them as a run.
            if !kept.isFull {
                batch = kept
                return
            }
        }
        try writeRun(order)
    }

    private func makeRun() -> RowSpill {
        RowSpill(directory: inputs.work, name: "fetch-sort", slots: batch.slots, memory: inputs.budget.spill / 16)
    }

    private func writeRun(_ order: [Int]) throws {
        let run = makeRun()
        var out = RowBatch(slots: batch.slots, rowCapacity: 1, byteTarget: 4096)
        for (place, index) in order.prefix(needed ?? .max).enumerated() {
            out.removeAll()
            out.append(row: index, of: batch, key: Int64(place))
            try run.append(row: 0, of: out)
        }
        runs.append(run)
        batch.removeAll()
        guard runs.count == FetchSorter.fanIn else { return }
        let merged = makeRun()
        var place: Int64 = 0
        try forEachMerged { head in
            out.removeAll()
            out.append(row: head.row, of: head.batch, key: place)
            try merged.append(row: 0, of: out)
            place += 1
            return true
        }
        runs = [merged]
    }

    private static let fanIn = 16

    /// Shows the rows of all runs in order, until the body returns false.
    private func forEachMerged(_ body: (RowHead) throws -> Bool) throws {
        var heads = try runs.map { run in
            let most = inputs.fetchCapacity(slots: run.slots)
            return try RowHead(slots: run.slots, rows: most, inputs: inputs, heads: runs.count, run.makeReader().next)
        }
        try heads.merge(by: { isBefore($0.batch, $0.row, $1.batch, $1.row) }, body)
    }

    /// Calls a closure with keys and entities in order, until it returns false.
    func visit(_ body: (_ key: Int64, _ entity: Int) throws -> Bool) throws {
        if !runs.isEmpty, !batch.isEmpty { try writeRun(order()) }
        guard !runs.isEmpty else {
            for row in order()
            where try !body(batch[row, keySlot].integerValue, Int(batch[row, entitySlot].integerValue)) {
                return
            }
            return
        }
        try forEachMerged { head in
            try body(head.batch[head.row, keySlot].integerValue, Int(head.batch[head.row, entitySlot].integerValue))
        }
    }
}
