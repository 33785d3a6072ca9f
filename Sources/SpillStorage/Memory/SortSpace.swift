/// Memory that the sorts of one table after the other take and give back: what was touched once costs the system no time again.
///
/// It is one piece, filled from its beginning on; it begins anew when all of it was given back. Who finds no room in it has
/// memory of its own.
///
/// Memory: the bytes it is made for, as far as they were ever touched, until ``release()``.
package final class SortSpace {
    /// Bytes that it has room for.
    package let byteCount: Int
    private var base: UnsafeMutableRawPointer?
    private var used = 0
    private var taken = 0
    /// Whether the memory goes when all of it was given back.
    private var isReleased = false

    /// Takes no memory before it is asked for some.
    package init(byteCount: Int) {
        precondition(byteCount >= 0)
        self.byteCount = byteCount
    }

    deinit { base?.deallocate() }

    /// Each piece begins on a page: it can be written past the system's page cache.
    private static func rounded(_ byteCount: Int) -> Int { (byteCount + 4095) & ~4095 }

    /// Room, not set to anything; nil where there is none left.
    fileprivate func take(byteCount wanted: Int) -> UnsafeMutableRawPointer? {
        guard wanted > 0, wanted <= byteCount - used else { return nil }
        let base = base ?? LargeMemory.allocate(byteCount: byteCount)
        self.base = base
        defer {
            used = min(byteCount, Self.rounded(used + wanted))
            taken += 1
        }
        return base + used
    }

    /// Gives the memory to the system: at once, or when what is taken was given back. It can be taken again.
    package func release() {
        isReleased = taken > 0
        guard taken == 0 else { return }
        base?.deallocate()
        base = nil
    }

    /// Takes the end of a piece back: what is taken next may begin there. Only of the piece that was taken last.
    fileprivate func trim(_ piece: UnsafeMutableRawPointer, byteCount: Int, to rest: Int) -> Bool {
        precondition(rest >= 0 && rest <= byteCount)
        guard let base, piece - base + Self.rounded(byteCount) == used else { return false }
        used = piece - base + Self.rounded(rest)
        return true
    }

    /// Takes a piece back.
    fileprivate func giveBack(_ piece: UnsafeMutableRawPointer, byteCount: Int) {
        precondition(taken > 0)
        taken -= 1
        if taken == 0 {
            used = 0
            if isReleased { release() }
        } else if let base, piece - base + Self.rounded(byteCount) == used {
            used = piece - base
        }
    }
}

/// Words to sort, of a ``SortSpace`` or by themselves; given back with it.
final class SortBuffer {
    let words: UnsafeMutablePointer<UInt64>
    private var byteCount: Int
    /// Where they are of; nil: they are by themselves.
    private let space: SortSpace?

    /// Words that are not set to anything.
    init(words count: Int, of space: SortSpace? = nil) {
        byteCount = count * MemoryLayout<UInt64>.stride
        if let space, let piece = space.take(byteCount: byteCount) {
            self.space = space
            words = piece.bindMemory(to: UInt64.self, capacity: count)
        } else {
            self.space = nil
            words = LargeMemory.allocate(words: count)
        }
    }

    /// Gives all but the first words back, where they are the last that were taken of their space: the scratch of a sort comes
    /// next to what is sorted, and fewer pages are touched.
    func trim(words count: Int) {
        let rest = count * MemoryLayout<UInt64>.stride
        if let space, space.trim(words, byteCount: byteCount, to: rest) { byteCount = rest }
    }

    deinit {
        if let space {
            space.giveBack(words, byteCount: byteCount)
        } else {
            words.deallocate()
        }
    }
}
