import Diagnostics

/// A sorted run of a log-structured merge: its level is the number of merges that its contents went through.
protocol SortedRun {
    var level: Int { get }
}

extension SortedRecordFile: SortedRun {}
extension EntryRun: SortedRun {}
extension SortedRowFile: SortedRun {}

// The oldest run comes first. Levels never rise towards newer runs.
extension Array where Element: SortedRun {
    /// True if so many of the newest runs are of one level, which calls for their merge.
    func areDue(_ number: Int) -> Bool { count >= number && self[count - number].level == self[count - 1].level }

    /// Replaces the newest runs by one run of the next level.
    ///
    /// - Parameter merge: makes the run from those that it replaces.
    mutating func replaceNewest(
        _ number: Int, by merge: (ArraySlice<Element>, _ level: Int) throws(MigrationError) -> Element
    ) throws(MigrationError) {
        let newest = self[(count - number)...]
        let merged = try merge(newest, (newest.map(\.level).max() ?? 0) + 1)
        removeLast(number)
        append(merged)
    }
}

extension [SortedRecordFile] {
    /// Appends sorted records to the newest run if they come in order, so that they make one long run, otherwise as a new run.
    mutating func append(
        sorted records: UnsafePointer<UInt64>, count: Int, making run: () throws(MigrationError) -> SortedRecordFile
    ) throws(MigrationError) {
        if let last, !RecordOrder.isLess(records, last.last, words: last.width) {
            return try last.append(records, count: count)
        }
        let run = try run()
        try run.append(records, count: count)
        append(run)
    }

    /// Merges the newest runs into one.
    ///
    /// - Parameter isOnlyReading: true if nobody else reads them, so that the merge gives back what it has read.
    mutating func mergeNewest(
        _ number: Int, isOnlyReading: Bool, making run: (_ level: Int) throws(MigrationError) -> SortedRecordFile
    ) throws(MigrationError) {
        try replaceNewest(number) { newest, level throws(MigrationError) in
            let merged = try run(level)
            var merger = RecordMerger(
                newest.map { RecordSource(run: $0, isOnlyReading: isOnlyReading) }, width: merged.width)
            while let record = try merger.current() {
                try merged.append(record)
                try merger.advance()
            }
            try merged.flush()
            return merged
        }
        // The freed blocks lie between others on the heap, so malloc does not give them back by itself.
        if let last, last.count * last.width * 8 > 4 << 20 { ProcessMemory.trim() }
    }
}
