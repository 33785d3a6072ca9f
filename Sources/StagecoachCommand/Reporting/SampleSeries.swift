/// A moment of a run.
struct RunSample: Equatable {
    /// Seconds since the run began.
    var elapsed: Double
    var rows: Int
    /// Resident bytes: the most since the sample before.
    var memory: Int
    var spilledBytes: Int
}

/// Samples of a run in bounded memory: however long it takes, there are never more than ``SampleSeries/limit`` of them.
///
/// Where they would be more, neighbours are merged two by two, and from then on as many are taken together.
struct SampleSeries {
    static let limit = 600

    private(set) var samples: [RunSample] = []
    /// Samples given that one kept sample stands for.
    private(set) var stride = 1
    /// Samples that the last one stands for so far.
    private var filled = 0

    /// Adds a sample, later than all before it.
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

    /// What stands for two neighbours: the later one's figures, and the more memory of both.
    private static func merged(_ first: RunSample, _ second: RunSample) -> RunSample {
        var result = second
        result.memory = max(first.memory, second.memory)
        return result
    }
}
