import Diagnostics

/// A walk over the keys of a ``KeyIndex``, ascending. Keys that are appended later are left out.
///
/// Memory: 512 keys. It keeps the index, and so its file, alive.
final class KeyWalk {
    private let index: KeyIndex
    private let end: Int
    private var rank = 0
    private var keys = [Int64](repeating: 0, count: 512)

    init(_ index: KeyIndex) {
        self.index = index
        end = index.count
    }

    /// Returns the next key with its rank; nil at the end.
    func next() throws(MigrationError) -> (key: Int64, rank: Int)? {
        guard rank < end else { return nil }
        if rank % keys.count == 0 {
            _ = try keys.withUnsafeMutableBufferPointer { space throws(MigrationError) in
                try index.keys(fromRank: rank, into: space)
            }
        }
        defer { rank += 1 }
        return (keys[rank % keys.count], rank)
    }
}
