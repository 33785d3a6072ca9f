/// Memory that the sorts of one table after the other take and give back, so that its pages are touched only once.
///
/// It is one block, handed out from its beginning. It starts again from the beginning once everything was given back. A sort
/// that finds no room in it allocates memory of its own.
///
/// Memory: the bytes it is made for, as far as they were ever touched, until ``release()``.
package final class SortSpace {
    /// The size in bytes.
    package let byteCount: Int
    private var base: UnsafeMutableRawPointer?
    private var used = 0
    private var taken = 0
    /// True if the memory is to be freed once everything was given back.
    private var isReleased = false

    /// Makes a space. It takes no memory until it is asked for some.
    package init(byteCount: Int) {
        precondition(byteCount >= 0)
        self.byteCount = byteCount
    }

    deinit { base?.deallocate() }

    /// Rounds a size up to whole pages of 4 KiB: each piece begins on a page, so that it can be written with direct I/O.
    private static func rounded(_ byteCount: Int) -> Int { (byteCount + 4095) & ~4095 }

    /// Hands out uninitialized memory; nil if there is too little left.
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

    /// Frees the memory: at once, or when all pieces were given back. It can be taken again later.
    package func release() {
        isReleased = taken > 0
        guard taken == 0 else { return }
        base?.deallocate()
        base = nil
    }

    /// Takes the end of a piece back, if the piece was the last one handed out; the next piece may begin there.
    fileprivate func trim(_ piece: UnsafeMutableRawPointer, byteCount: Int, to rest: Int) -> Bool {
        precondition(rest >= 0 && rest <= byteCount)
        guard let base, piece - base + Self.rounded(byteCount) == used else { return false }
        used = piece - base + Self.rounded(rest)
        return true
    }

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

/// Words to sort, from a ``SortSpace`` or allocated; given back with the object.
final class SortBuffer {
    let words: UnsafeMutablePointer<UInt64>
    private var byteCount: Int
    /// The space that the words come from; nil if they were allocated.
    private let space: SortSpace?

    /// Takes uninitialized words.
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

    /// Gives all but the first words back, if these words were the last ones taken from their space. The scratch space of a
    /// sort then comes right behind its records, and fewer pages are touched.
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
