import Diagnostics

/// The place of the files of some runs, and the space for a stored block that these runs share.
struct RunPlace {
    let directory: WorkDirectory
    let name: String
    let kind: BlockKind
    let scratch: RawBuffer
}

/// A sorted run of a log-structured merge: blocks in a file of their own, with the first words of each block in memory.
///
/// A written block never changes, so a reader that notes the number of blocks has a snapshot. The file is removed with the
/// object.
///
/// Memory: its ``BlockIndex``.
class SortedRun {
    /// A number that is unique among the runs of a memory; a cache tells runs apart by it.
    let number: Int
    /// The number of merges that its contents went through.
    let level: Int
    let file: BlockFile
    let index: BlockIndex

    init(_ place: RunPlace, number: Int, level: Int, indexWords: Int) throws(MigrationError) {
        self.number = number
        self.level = level
        file = try BlockFile(directory: place.directory, named: place.name, kind: place.kind, scratch: place.scratch)
        index = BlockIndex(words: indexWords, beside: place)
    }

    /// Restores the level, the file and the index of a saved run, which gets a new number.
    init(
        restoring coder: inout StateCoder, _ place: RunPlace, number: Int, indexWords: Int
    ) throws(MigrationError) {
        self.number = number
        level = try coder.reader.count(upTo: 1 << 20)
        file = try BlockFile(
            directory: place.directory, restoring: &coder, kind: place.kind, scratch: place.scratch)
        index = BlockIndex(words: indexWords, beside: place)
        try index.code(with: &coder)
    }

    final func saveRun(to coder: inout StateCoder) throws(MigrationError) {
        coder.writer.write(level)
        file.save(to: &coder)
        try index.code(with: &coder)
    }

    final var blockCount: Int { index.count }

    /// The offset of a block, or the file's end.
    final func offset(_ block: Int) throws(MigrationError) -> Int {
        block < blockCount ? try index.offset(block) : file.end
    }

    /// Reads the bytes of a block. Returns its offset.
    @discardableResult
    final func read(_ block: Int, into target: RawBuffer) throws(MigrationError) -> Int {
        let offset = try index.offset(block)
        try file.read(at: offset, next: try self.offset(block + 1), into: target)
        return offset
    }

    /// Gives the blocks before a number back to the disk. They must not be read any more.
    final func discard(before block: Int) throws(MigrationError) { try file.discard(before: try offset(block)) }
}

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
