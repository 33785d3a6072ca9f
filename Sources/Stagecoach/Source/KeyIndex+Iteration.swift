import SpillStorage

extension KeyIndex {
    /// Calls `body` with every key, ascending. Complexity: O(count); memory is 1,024 keys.
    func forEachKey(_ body: (Int64) throws -> Void) throws {
        let buffer = UnsafeMutableBufferPointer<Int64>.allocate(capacity: 1024)
        defer { buffer.deallocate() }
        var rank = 0
        while true {
            let filled = try keys(fromRank: rank, into: buffer)
            guard filled > 0 else { return }
            for position in 0..<filled { try body(buffer[position]) }
            rank += filled
        }
    }
}
