import Diagnostics
import SpillStorage

/// The source objects of a mapping with `distinctBy` or `mergeBy` that make no object of their own: each shares that of its
/// maker, the source object of its group that makes one.
///
/// Memory: that of a ``KeyMap``; from the first call of ``others(of:)`` on, that of a ``RecordLog`` too.
final class SharedObjects {
    private let directory: WorkDirectory
    private let makers: KeyMap
    private let memory: Int
    /// The keys of the other objects by that of their maker; made when it is first asked for.
    private var reversed: RecordLog?

    /// The number of source objects that share an object.
    var count: Int { makers.count }

    /// - Parameter memory: the allowance in bytes.
    init(directory: WorkDirectory, memory: Int) {
        self.directory = directory
        self.memory = memory
        makers = KeyMap(directory: directory, name: "shared", memory: memory)
    }

    /// Adds a source object. Keys must ascend.
    func add(_ key: Int64, sharingWith maker: Int64) throws(MigrationError) { try makers.append(key, maker) }

    /// Ends the additions.
    func finish() throws(MigrationError) { try makers.seal() }

    /// Returns the key of the source object that makes the object of another one; nil if the other one shares none.
    ///
    /// - Complexity: as ``KeyMap/value(of:)``.
    func maker(of key: Int64) throws(MigrationError) -> Int64? { try makers.value(of: key) }

    /// Returns the keys of the source objects that share the object of a maker, ascending.
    ///
    /// - Complexity: O(log n) and the size of the answer; the first call sorts all of them.
    func others(of maker: Int64) throws(MigrationError) -> [Int64] {
        let log: RecordLog
        if let reversed {
            log = reversed
        } else {
            log = RecordLog(
                directory: directory, name: "sharing", width: 2, indexWords: 1, memory: RecordMemory(bytes: memory))
            let walk = walk()
            while let (key, maker) = try walk.next() { try log.append([SortKey.encode(maker), SortKey.encode(key)]) }
            reversed = log
        }
        var found: [Int64] = []
        try log.forEach(prefix: [SortKey.encode(maker)], words: 1) { found.append(SortKey.decode($0[1])) }
        return found
    }

    /// Returns a walk over the source objects, ascending, each with its maker.
    func walk() -> KeyMap.Walk { makers.walk() }

    /// Moves the keys to disk.
    func park() throws(MigrationError) {
        reversed = nil
        try makers.park()
    }
}
