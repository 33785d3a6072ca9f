/// The state of a run at one moment.
struct RunSample: Equatable {
    /// The seconds since the run began.
    var elapsed: Double
    var rows: Int
    /// The greatest resident memory since the previous sample, in bytes.
    var memory: Int
    var spilledBytes: Int
}

/// The samples of a run in bounded memory: at most ``SampleSeries/limit``, however long the run takes.
///
/// At the limit, neighbours are merged in pairs, and from then on each kept sample stands for twice as many given ones.
struct SampleSeries {
    static let limit = 600

    private(set) var samples: [RunSample] = []
    /// The number of given samples in one kept sample.
    private(set) var stride = 1
    /// The number of given samples in the last kept one so far.
    private var filled = 0

    /// Adds a sample, which must be later than all before.
    ///
    /// - Complexity: O(1) amortised; O(``limit``) of memory.
    mutating func add(_ sample: RunSample) {
        if filled < stride, let last = samples.last, filled > 0 {
            samples[samples.count - 1] = Self.merged(last, sample)
            filled += 1
            return
        }
        if samples.count == Self.limit {
            samples = Swift.stride(from: 0, to: samples.count, by: 2).map { index in
                Self.merged(samples[index], samples[index + 1])
            }
            stride *= 2
        }
        samples.append(sample)
        filled = 1
    }

    /// Merges two neighbours: the figures of the later one, with the greater memory of both.
    private static func merged(_ first: RunSample, _ second: RunSample) -> RunSample {
        var result = second
        result.memory = max(first.memory, second.memory)
        return result
    }
}
