import Diagnostics

/// The unpacked blocks of sorted runs that were used last.
///
/// Memory: `slots` blocks of records, allocated when they are needed. A lookup of the block used last costs one comparison.
struct RecordBlockCache: ~Copyable {
    private struct Slot {
        var key: UInt64
        var records: UnsafeMutablePointer<UInt64>
        var count: Int
    }

    private var slots: [Slot] = []
    private var places: [UInt64: Int] = [:]
    private var recency: RecencyList
    private var last = -1
    private let blockWords: Int

    init(slots: Int, blockWords: Int) {
        recency = RecencyList(capacity: max(4, slots))
        self.blockWords = blockWords
    }

    deinit {
        for slot in slots { slot.records.deallocate() }
    }

    /// A block's records, valid until the next call.
    mutating func block(
        _ index: Int, of run: SortedRecordFile
    ) throws(MigrationError) -> (records: UnsafePointer<UInt64>, count: Int) {
        let key = UInt64(run.number) << 32 | UInt64(index)
        if last >= 0, slots[last].key == key { return (UnsafePointer(slots[last].records), slots[last].count) }
        if let place = places[key] {
            recency.touch(place)
            last = place
            return (UnsafePointer(slots[place].records), slots[place].count)
        }
        let (place, isFresh) = recency.take()
        if isFresh {
            slots.append(Slot(key: .max, records: .allocate(capacity: blockWords), count: 0))
        } else {
            places[slots[place].key] = nil
        }
        // If the read fails, the slot stays empty and no key leads to it.
        slots[place].key = .max
        last = -1
        slots[place].count = try run.read(index, into: slots[place].records)
        slots[place].key = key
        places[key] = place
        last = place
        return (UnsafePointer(slots[place].records), slots[place].count)
    }
}
