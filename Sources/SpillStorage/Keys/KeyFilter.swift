/// A set of keys with false positives: it may claim to contain a key that was not inserted, but never denies one that was.
///
/// Dense keys are stored exactly, up to eight keys per byte; above that, several keys share a bit. Memory: grows with the
/// greatest key up to the given size.
package struct KeyFilter {
    @usableFromInline var words: [UInt64] = []
    @usableFromInline let mask: UInt64

    /// - Parameter bytes: the maximum size, rounded down to a power of two.
    package init(bytes: Int) {
        var size = 1024
        while size * 2 <= bytes { size *= 2 }
        mask = UInt64(size) * 8 - 1
    }

    @inlinable package mutating func insert(_ key: Int64) {
        let bit = UInt64(bitPattern: key) & mask
        let word = Int(bit >> 6)
        if word >= words.count {
            let wanted = max(word + 1, min(words.count * 2, Int((mask + 1) >> 6)))
            words.append(contentsOf: repeatElement(0, count: wanted - words.count))
        }
        words[word] |= 1 << (bit & 63)
    }

    @inlinable package func mayContain(_ key: Int64) -> Bool {
        let bit = UInt64(bitPattern: key) & mask
        let word = Int(bit >> 6)
        return word < words.count && words[word] & 1 << (bit & 63) != 0
    }

    package mutating func removeAll() { words = [] }
}
