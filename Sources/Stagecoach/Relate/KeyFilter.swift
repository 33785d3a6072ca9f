/// A set of keys that may answer yes for a key that is not in it, never no for one that is.
///
/// Keys that are given one after the other stand in it exactly, up to eight a byte; above that several share a bit.
/// Memory: grows with the greatest key up to the bytes it is given.
struct KeyFilter {
    private var words: [UInt64] = []
    private let mask: UInt64

    /// - Parameter bytes: the most it takes; the next smaller power of two is used.
    init(bytes: Int) {
        var size = 1024
        while size * 2 <= bytes { size *= 2 }
        mask = UInt64(size) * 8 - 1
    }

    mutating func insert(_ key: Int64) {
        let bit = UInt64(bitPattern: key) & mask
        let word = Int(bit >> 6)
        if word >= words.count {
            let wanted = max(word + 1, min(words.count * 2, Int((mask + 1) >> 6)))
            words.append(contentsOf: repeatElement(0, count: wanted - words.count))
        }
        words[word] |= 1 << (bit & 63)
    }

    func mayContain(_ key: Int64) -> Bool {
        let bit = UInt64(bitPattern: key) & mask
        let word = Int(bit >> 6)
        return word < words.count && words[word] & 1 << (bit & 63) != 0
    }

    mutating func removeAll() { words = [] }
}
