import Diagnostics
import SpillStorage

/// The source objects of a mapping with `distinctBy` that make no object of their own, because they share that of another
/// one: each with the first source object of its group, which makes it.
///
/// Memory: that of a ``KeyMap``; from the first call of ``others(than:)`` on, that of a ``RecordLog`` too.
final class SharedObjects {
    private let directory: WorkDirectory
    private let firsts: KeyMap
    private let memory: Int
    /// The keys of the other objects by that of the first one; made when it is first asked for.
    private var reversed: RecordLog?

    /// The number of source objects that share an object.
    var count: Int { firsts.count }

    /// - Parameter memory: the allowance in bytes.
    init(directory: WorkDirectory, memory: Int) {
        self.directory = directory
        self.memory = memory
        firsts = KeyMap(directory: directory, name: "shared", memory: memory)
    }

    /// Adds a source object. Keys must ascend.
    ///
    /// - Parameter first: the key of the first source object of its group.
    func add(_ key: Int64, sharingWith first: Int64) throws(MigrationError) { try firsts.append(key, first) }

    /// Ends the additions.
    func finish() throws(MigrationError) { try firsts.seal() }

    /// Returns the key of the source object that makes the object of another one; nil if the other one shares none.
    ///
    /// - Complexity: as ``KeyMap/value(of:)``.
    func first(of key: Int64) throws(MigrationError) -> Int64? { try firsts.value(of: key) }

    /// Returns the keys of the source objects that share the object of a first one, ascending.
    ///
    /// - Complexity: O(log n) and the size of the answer; the first call sorts all of them.
    func others(than first: Int64) throws(MigrationError) -> [Int64] {
        let log: RecordLog
        if let reversed {
            log = reversed
        } else {
            log = RecordLog(
                directory: directory, name: "sharing", width: 2, indexWords: 1, memory: RecordMemory(bytes: memory))
            let walk = walk()
            while let (key, first) = try walk.next() { try log.append([SortKey.encode(first), SortKey.encode(key)]) }
            reversed = log
        }
        var found: [Int64] = []
        try log.forEach(prefix: [SortKey.encode(first)], words: 1) { found.append(SortKey.decode($0[1])) }
        return found
    }

    /// Returns a walk over the source objects, ascending, each with the first one of its group.
    func walk() -> KeyMap.Walk { firsts.walk() }

    /// Moves the keys to disk.
    func park() throws(MigrationError) {
        reversed = nil
        try firsts.park()
    }
}
