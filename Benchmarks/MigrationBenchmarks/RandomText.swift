/// A repeatable random generator (xoshiro256**, seeded by SplitMix64): the same seed makes the same store anywhere.
struct BenchmarkGenerator {
    private var state: (UInt64, UInt64, UInt64, UInt64)

    init(seed: UInt64) {
        var mixer = seed
        func word() -> UInt64 {
            mixer &+= 0x9E37_79B9_7F4A_7C15
            var mixed = mixer
            mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
            mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
            return mixed ^ (mixed >> 31)
        }
        state = (word(), word(), word(), word())
    }

    mutating func next() -> UInt64 {
        let product = state.1 &* 5
        let result = ((product << 7) | (product >> 57)) &* 9
        let shifted = state.1 << 17
        state.2 ^= state.0
        state.3 ^= state.1
        state.1 ^= state.2
        state.0 ^= state.3
        state.2 ^= shifted
        state.3 = (state.3 << 45) | (state.3 >> 19)
        return result
    }

    /// A number in 0..<bound, for bounds below 2^32.
    mutating func below(_ bound: Int) -> Int { Int(((next() >> 32) &* UInt64(bound)) >> 32) }

    /// A number in 0..<1.
    mutating func unit() -> Double { Double(next() >> 11) * 0x1p-53 }

    /// Seconds since 2001, with milliseconds, over some twenty years.
    mutating func date() -> Double { Double(Int64(unit() * 7e11)) / 1000 }
}

/// Running text of invented words, the first of them more often, into a buffer that is reused.
struct RandomText {
    private static let syllables = [
        "bo", "ran", "til", "ves", "ga", "mer", "du", "lin", "es", "tor", "pi", "ca", "nol", "fe", "rus", "hal", "jo",
        "met", "sa", "wen", "o", "bri", "kel", "ta", "zun", "as", "ol", "den", "ri", "gu", "pel", "ma",
    ]
    private var words: [[UInt8]] = []
    /// The last text made.
    private(set) var bytes: [UInt8] = []

    init(_ generator: inout BenchmarkGenerator) {
        words = (0..<4096).map { _ in
            (0...generator.below(3)).flatMap { _ in Array(Self.syllables[generator.below(32)].utf8) }
        }
        bytes.reserveCapacity(256)
    }

    /// Makes a text of a length in the range, in bytes (all of them ASCII), with a capital at its start.
    mutating func make(_ lengths: ClosedRange<Int>, _ generator: inout BenchmarkGenerator) {
        let wanted = lengths.lowerBound + generator.below(lengths.count)
        bytes.removeAll(keepingCapacity: true)
        while bytes.count < wanted {
            let skew = generator.unit()
            let word = words[Int(skew * skew * skew * Double(words.count))]
            if bytes.count + word.count + 1 > lengths.upperBound { break }
            if !bytes.isEmpty { bytes.append(UInt8(ascii: " ")) }
            bytes.append(contentsOf: word)
        }
        while bytes.count < lengths.lowerBound { bytes.append(UInt8(ascii: "s")) }
        bytes[0] -= 32
    }

    /// Makes a given text.
    mutating func set(_ text: String) {
        bytes.removeAll(keepingCapacity: true)
        bytes.append(contentsOf: text.utf8)
    }

    /// Appends a number, with zeros to fill.
    mutating func append(_ number: Int, radix: Int = 10, width: Int = 0) {
        let digits = String(number, radix: radix)
        for _ in digits.utf8.count..<max(width, digits.utf8.count) { bytes.append(UInt8(ascii: "0")) }
        bytes.append(contentsOf: digits.utf8)
    }

    mutating func append(_ text: StaticString) {
        text.withUTF8Buffer { bytes.append(contentsOf: $0) }
    }

    /// Keeps the first bytes.
    mutating func cut(to count: Int) {
        if bytes.count > count { bytes.removeLast(bytes.count - count) }
    }
}
