/// The forms of a chunk of keys: four for up to 65,536 keys of one range, of which only the low 16 bits (the offsets) are kept,
/// and one for keys that lie far apart.
///
/// Payloads in memory:
/// - `full`: nothing, every key of the range is present.
/// - `runs`: the number of runs, the start of each run, then the rank of each start, all UInt16 (at most 128 runs).
/// - `holes`: the largest offset; the number of missing offsets before each block of 512 offsets, and in all; then the offsets
///   below the largest that are missing, ascending (at most 2,048). All are UInt16.
/// - `bitmap`: 1,024 words, then the rank at every eighth word, UInt16.
/// - `sparse`: the keys themselves, Int64, ascending (at most 2,048), of any range.
///
/// On disk a bitmap is its words alone and sparse keys are one column of ``ColumnCodec``.
enum KeyContainer: UInt8 {
    case full = 0
    case runs = 1
    case bitmap = 3
    case sparse = 4
    case holes = 5

    static let rangeBits: Int64 = 16
    static let rangeSize = 65_536
    static let bitmapWords = 1_024
    static let bitmapBytes = bitmapWords * 8 + 128 * 2
    static let mostRuns = 128
    static let mostHoles = 2_048
    /// The number of missing offsets that are compared at once.
    private static let holesAtOnce = 32
    /// The number of words before the missing offsets: the largest offset, and where the missing offsets of each block begin.
    static let holesStart = 1 + rangeSize / 512 + 1
    static let mostSparse = 2_048
    /// Ranges with fewer keys than this are kept as sparse keys, so that the directory stays small.
    static let fewestInRange = 1_024

    /// The rank within a bitmap of the key with an offset, or -1.
    @inline(__always)
    static func bitmapRank(_ payload: UnsafeMutableRawPointer, offset: Int) -> Int {
        let words = payload.assumingMemoryBound(to: UInt64.self)
        let word = offset >> 6
        let bit = UInt64(1) << UInt64(offset & 63)
        guard words[word] & bit != 0 else { return -1 }
        let ranks = (payload + bitmapWords * 8).assumingMemoryBound(to: UInt16.self)
        var rank = Int(ranks[word >> 3])
        var before = word & ~7
        while before < word {
            rank += words[before].nonzeroBitCount
            before += 1
        }
        return rank + (words[word] & (bit &- 1)).nonzeroBitCount
    }

    /// Returns the number of missing offsets below an offset, and whether the offset itself is missing (or beyond the largest).
    @inline(__always)
    static func holesBefore(_ payload: UnsafeMutableRawPointer, offset: Int) -> (count: Int, isMissing: Bool) {
        let words = payload.assumingMemoryBound(to: UInt16.self)
        guard offset <= Int(words[0]) else { return (0, true) }
        let missing = words + holesStart
        var low = Int(words[1 + (offset >> 9)])
        let end = Int(words[2 + (offset >> 9)])
        let wanted = UInt16(truncatingIfNeeded: offset)
        let holes = Int(words[holesStart - 1])
        if end - low <= holesAtOnce, holes >= holesAtOnce {
            // Compare 32 at once. They may include offsets of neighbouring blocks, but all of these are smaller or all larger.
            let first = min(low, holes - holesAtOnce)
            var before: UInt32 = 0
            // No comparison operator: this way the compiler makes vector code.
            for place in 0..<holesAtOnce { before &+= (UInt32(missing[first + place]) &- UInt32(wanted)) &>> 31 }
            low = first + Int(before)
            return (low, low < end && missing[low] == wanted)
        }
        if end - low > 16 {
            low += lowerBound(missing + low, count: end - low, wanted)
        } else {
            while low < end, missing[low] < wanted { low += 1 }
        }
        return (low, low < end && missing[low] == wanted)
    }

    /// The range of present offsets without a gap around a present offset.
    ///
    /// - Parameter before: the number of missing offsets below it.
    @inline(__always)
    static func gapless(_ payload: UnsafeMutableRawPointer, around offset: Int, before: Int) -> ClosedRange<Int> {
        let words = payload.assumingMemoryBound(to: UInt16.self)
        let missing = words + holesStart
        let first = before > 0 ? Int(missing[before - 1]) + 1 : 0
        let last = before < Int(words[holesStart - 1]) ? Int(missing[before]) - 1 : Int(words[0])
        return min(first, offset)...max(last, offset)
    }

    /// The index of a key among ascending keys, or -1.
    ///
    /// If few keys are missing, the key is at most a few places before the place it would have without gaps; so this place is
    /// tried first.
    @inline(__always)
    static func index(of key: Int64, in keys: UnsafePointer<Int64>, count: Int) -> Int {
        guard count > 0, key >= keys[0] else { return -1 }
        let distance = key &- keys[0]
        if distance >= 0 {
            var index = Int(min(distance, Int64(count - 1)))
            let least = max(0, index - 8)
            while index > least, keys[index] > key { index -= 1 }
            if keys[index] <= key { return keys[index] == key ? index : -1 }
        }
        let index = lowerBound(keys, count: count, key)
        return index < count && keys[index] == key ? index : -1
    }

    @inline(__always)
    static func lowerBound<T: Comparable>(_ items: UnsafePointer<T>, count: Int, _ item: T) -> Int {
        partition(count: count) { items[$0] < item }
    }

    /// The first of some ascending places that does not pass a test; all places before it pass.
    @inline(__always)
    static func partition(count: Int, isBefore: (Int) -> Bool) -> Int {
        var low = 0
        var length = count
        while length > 0 {
            let half = length >> 1
            if isBefore(low + half) {
                low += half + 1
                length -= half + 1
            } else {
                length = half
            }
        }
        return low
    }

    /// Writes the keys from a rank within the container on, at most `limit` of them. Returns their number.
    func fill(
        _ payload: UnsafeMutableRawPointer?, count: Int, base: Int64, from rank: Int,
        into target: UnsafeMutablePointer<Int64>, limit: Int
    ) -> Int {
        let wanted = min(limit, count - rank)
        guard wanted > 0 else { return 0 }
        guard let payload else {
            for index in 0..<wanted { target[index] = base &+ Int64(rank + index) }
            return wanted
        }
        switch self {
        case .full: break
        case .holes: Self.fillBetweenHoles(payload, count: count, base: base, from: rank, into: target, wanted: wanted)
        case .sparse:
            let keys = payload.assumingMemoryBound(to: Int64.self)
            for index in 0..<wanted { target[index] = keys[rank + index] }
        case .runs:
            let (starts, ranks, runs) = Self.runParts(payload)
            var run = Self.lowerBound(ranks, count: runs, UInt16(truncatingIfNeeded: rank))
            if run == runs || Int(ranks[run]) != rank { run -= 1 }
            var index = 0
            while index < wanted {
                let end = run + 1 < runs ? Int(ranks[run + 1]) : count
                while index < wanted && rank + index < end {
                    target[index] = base &+ Int64(Int(starts[run]) + rank + index - Int(ranks[run]))
                    index += 1
                }
                run += 1
            }
        case .bitmap:
            let ranks = UnsafePointer((payload + Self.bitmapWords * 8).assumingMemoryBound(to: UInt16.self))
            Self.fillFromBitmap(payload, ranks: ranks, base: base, from: rank, into: target, wanted: wanted)
        }
        return wanted
    }

    /// Writes the keys of a bitmap from a rank on.
    ///
    /// - Parameter ranks: the number of keys before each block of eight words; nil if the ranks are not all set.
    static func fillFromBitmap(
        _ payload: UnsafeMutableRawPointer, ranks: UnsafePointer<UInt16>? = nil, base: Int64, from rank: Int,
        into target: UnsafeMutablePointer<Int64>, wanted: Int
    ) {
        let words = payload.assumingMemoryBound(to: UInt64.self)
        var word = 0
        var before = 0
        if let ranks {
            // Of blocks with equal ranks only the last one has keys.
            var block = lowerBound(ranks, count: bitmapWords / 8, UInt16(truncatingIfNeeded: rank + 1))
            block = max(0, block - 1)
            word = block * 8
            before = Int(ranks[block])
        }
        while word < bitmapWords {
            let here = words[word].nonzeroBitCount
            if before + here > rank { break }
            before += here
            word += 1
        }
        var index = 0
        var skip = rank - before
        while index < wanted && word < bitmapWords {
            var bits = words[word]
            if skip > 0 {
                bits = droppingLow(skip, of: bits)
                skip = 0
            }
            while bits != 0 && index < wanted {
                target[index] = base &+ Int64(word * 64 + bits.trailingZeroBitCount)
                bits &= bits &- 1
                index += 1
            }
            word += 1
        }
    }

    /// Returns a word without its lowest set bits.
    @inline(__always)
    private static func droppingLow(_ count: Int, of word: UInt64) -> UInt64 {
        var left = count
        // Whole bytes first: a loop over single bits takes 32 steps on average.
        var shift: UInt64 = 0
        while shift < 56 {
            let here = ((word >> shift) & 0xFF).nonzeroBitCount
            if here > left { break }
            left -= here
            shift += 8
        }
        var bits = (word >> shift) << shift
        while left > 0 {
            bits &= bits &- 1
            left -= 1
        }
        return bits
    }

    /// Computes the ranks of a bitmap, one for every eighth word, and stores them behind its words. Returns the number of its keys.
    static func setRanks(_ payload: UnsafeMutableRawPointer) -> Int {
        let words = payload.assumingMemoryBound(to: UInt64.self)
        let ranks = (payload + bitmapWords * 8).assumingMemoryBound(to: UInt16.self)
        var rank = 0
        for word in 0..<bitmapWords {
            if word & 7 == 0 { ranks[word >> 3] = UInt16(truncatingIfNeeded: rank) }
            rank += words[word].nonzeroBitCount
        }
        return rank
    }

    /// Makes a compact form of the keys of a bitmap: its kind, its payload (nil for `full`) and the payload's size in bytes.
    static func make(
        _ bitmap: UnsafeMutableRawPointer, count: Int
    ) -> (kind: KeyContainer, payload: UnsafeMutableRawPointer?, bytes: Int) {
        if count == rangeSize { return (.full, nil, 0) }
        let words = bitmap.assumingMemoryBound(to: UInt64.self)
        var runs = 0
        var carry: UInt64 = 0
        for word in 0..<bitmapWords {
            runs += (words[word] & ~(words[word] << 1 | carry)).nonzeroBitCount
            carry = words[word] >> 63
        }
        if runs <= mostRuns { return makeRuns(words, runs: runs) }
        var word = bitmapWords - 1
        while words[word] == 0 { word -= 1 }
        let last = word * 64 + 63 - words[word].leadingZeroBitCount
        if last + 1 - count <= mostHoles { return makeHoles(words, last: last, holes: last + 1 - count) }
        let payload = UnsafeMutableRawPointer.allocate(byteCount: bitmapBytes, alignment: 8)
        payload.copyMemory(from: bitmap, byteCount: bitmapWords * 8)
        _ = setRanks(payload)
        return (.bitmap, payload, bitmapBytes)
    }

    private static func makeHoles(
        _ words: UnsafeMutablePointer<UInt64>, last: Int, holes: Int
    ) -> (kind: KeyContainer, payload: UnsafeMutableRawPointer?, bytes: Int) {
        let bytes = (holesStart + holes) * 2
        let payload = UnsafeMutableRawPointer.allocate(byteCount: bytes, alignment: 8)
        payload.storeBytes(of: UInt16(truncatingIfNeeded: last), as: UInt16.self)
        let (missing, _) = holeParts(payload)
        var index = 0
        for word in 0...(last >> 6) {
            var bits = ~words[word]
            if word == last >> 6, last & 63 < 63 { bits &= (1 << UInt64((last & 63) + 1)) &- 1 }
            while bits != 0 {
                missing[index] = UInt16(truncatingIfNeeded: word * 64 + bits.trailingZeroBitCount)
                bits &= bits &- 1
                index += 1
            }
        }
        let starts = payload.assumingMemoryBound(to: UInt16.self) + 1
        var before = 0
        for block in 0..<holesStart - 1 {
            while before < holes, Int(missing[before]) < block << 9 { before += 1 }
            starts[block] = UInt16(truncatingIfNeeded: before)
        }
        return (.holes, payload, bytes)
    }

    static func holeParts(
        _ payload: UnsafeMutableRawPointer
    ) -> (missing: UnsafeMutablePointer<UInt16>, last: Int) {
        let words = payload.assumingMemoryBound(to: UInt16.self)
        return (words + holesStart, Int(words[0]))
    }

    /// Tells whether a payload with a number of keys can have a number of bytes.
    func isBytes(_ bytes: Int, ofKeys keys: Int) -> Bool {
        switch self {
        case .full: bytes == 0 && keys == Self.rangeSize
        case .runs: bytes >= 6 && (bytes - 2) % 4 == 0 && bytes <= 2 + Self.mostRuns * 4
        case .bitmap: bytes == Self.bitmapBytes
        case .sparse: bytes == keys * 8
        case .holes: bytes >= Self.holesStart * 2 && bytes % 2 == 0 && bytes <= (Self.holesStart + Self.mostHoles) * 2
        }
    }

    /// Tells whether the numbers in a payload agree with its keys and bytes, so that damaged ones never lead past its end.
    func isWhole(_ payload: UnsafeMutableRawPointer, keys: Int, bytes: Int) -> Bool {
        switch self {
        case .runs: Self.isWhole(runs: payload, keys: keys, bytes: bytes)
        case .holes: Self.isWhole(holes: payload, keys: keys, bytes: bytes)
        case .bitmap: Self.setRanks(payload) == keys
        case .full, .sparse: true
        }
    }

    /// Tells whether a payload's runs follow each other and have the right number of keys.
    private static func isWhole(runs payload: UnsafeMutableRawPointer, keys: Int, bytes: Int) -> Bool {
        guard 2 + Int(payload.load(as: UInt16.self)) * 4 == bytes else { return false }
        let (starts, ranks, runs) = runParts(payload)
        guard runs > 0, ranks[0] == 0 else { return false }
        for run in 0..<runs {
            let (next, border) = run + 1 < runs ? (Int(ranks[run + 1]), Int(starts[run + 1])) : (keys, rangeSize)
            let length = next - Int(ranks[run])
            if length <= 0 || Int(starts[run]) + length > border { return false }
        }
        return true
    }

    /// Tells whether a payload has the number of holes that goes with its keys.
    static func isWhole(holes payload: UnsafeMutableRawPointer, keys: Int, bytes: Int) -> Bool {
        let holes = holeParts(payload).last + 1 - keys
        guard holes >= 0, holes <= mostHoles, bytes == (holesStart + holes) * 2 else { return false }
        let starts = payload.assumingMemoryBound(to: UInt16.self) + 1
        let missing = starts - 1 + holesStart
        guard starts[0] == 0, Int(starts[holesStart - 2]) == holes, holes == 0 || missing[holes - 1] < starts[-1]
        else { return false }
        // Differences whose sign says it, so that the compiler makes vector code: a large set's chunks come from disk often.
        var signs: Int32 = 0
        for block in 1..<holesStart - 1 { signs |= Int32(starts[block]) &- Int32(starts[block - 1]) }
        var hole = 1
        while hole < holes {
            signs |= Int32(missing[hole]) &- Int32(missing[hole - 1]) &- 1
            hole += 1
        }
        return signs >= 0
    }

    /// Writes the keys of a payload of holes from a rank on.
    private static func fillBetweenHoles(
        _ payload: UnsafeMutableRawPointer, count: Int, base: Int64, from rank: Int,
        into target: UnsafeMutablePointer<Int64>, wanted: Int
    ) {
        let (missing, last) = holeParts(payload)
        let holes = last + 1 - count
        // A hole is below the key of a rank if at most that many keys are before the hole: skip these.
        var hole = Self.partition(count: holes) { Int(missing[$0]) - $0 <= rank }
        var offset = rank + hole
        var index = 0
        while index < wanted {
            let end = hole < holes ? Int(missing[hole]) : last + 1
            while offset < end, index < wanted {
                target[index] = base &+ Int64(offset)
                offset += 1
                index += 1
            }
            offset += 1
            hole += 1
        }
    }

    /// Makes a payload of runs. It begins with their number, so that the ranks can be found.
    private static func makeRuns(
        _ words: UnsafeMutablePointer<UInt64>, runs: Int
    ) -> (kind: KeyContainer, payload: UnsafeMutableRawPointer?, bytes: Int) {
        let bytes = 2 + runs * 4
        let payload = UnsafeMutableRawPointer.allocate(byteCount: bytes, alignment: 8)
        payload.storeBytes(of: UInt16(truncatingIfNeeded: runs), as: UInt16.self)
        let (starts, ranks, _) = runParts(payload)
        var run = 0
        var rank = 0
        var carry: UInt64 = 0
        for word in 0..<bitmapWords {
            let bits = words[word]
            var begins = bits & ~(bits << 1 | carry)
            while begins != 0 {
                let bit = begins.trailingZeroBitCount
                starts[run] = UInt16(truncatingIfNeeded: word * 64 + bit)
                ranks[run] = UInt16(truncatingIfNeeded: rank + (bits & ((1 << UInt64(bit)) &- 1)).nonzeroBitCount)
                run += 1
                begins &= begins &- 1
            }
            rank += bits.nonzeroBitCount
            carry = bits >> 63
        }
        return (.runs, payload, bytes)
    }

    private static func runParts(
        _ payload: UnsafeMutableRawPointer
    ) -> (starts: UnsafeMutablePointer<UInt16>, ranks: UnsafeMutablePointer<UInt16>, runs: Int) {
        let words = payload.assumingMemoryBound(to: UInt16.self)
        let runs = Int(words[0])
        return (words + 1, words + 1 + runs, runs)
    }

    /// The run that contains an offset, and the rank of its first key.
    @inline(__always)
    static func run(
        _ payload: UnsafeMutableRawPointer, count: Int, offset: Int
    ) -> (offsets: ClosedRange<Int>, rank: Int)? {
        let (starts, ranks, runs) = runParts(payload)
        // Count the runs that begin at the offset or before. No comparison operator: this way the compiler makes vector code.
        var before: UInt32 = 0
        for place in 0..<runs { before &+= (UInt32(starts[place]) &- UInt32(truncatingIfNeeded: offset + 1)) &>> 31 }
        let run = Int(before) - 1
        guard run >= 0 else { return nil }
        let (start, rank) = (Int(starts[run]), Int(ranks[run]))
        let last = start + (run + 1 < runs ? Int(ranks[run + 1]) : count) - rank - 1
        // A damaged chunk may have empty runs.
        guard offset <= last, start <= last else { return nil }
        return (start...last, rank)
    }
}
