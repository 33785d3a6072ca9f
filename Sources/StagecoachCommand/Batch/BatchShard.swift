/// A share of a batch: every count-th store, from index on.
struct BatchShard: Equatable {
    /// The index of the share, from 0.
    var index: Int
    var count: Int

    static let whole = BatchShard(index: 0, count: 1)
}

extension BatchShard {
    /// Parses `I/N`, I from 0 to N - 1.
    ///
    /// - Returns: nil if the text does not have this form.
    init?(_ text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, let index = Int(parts[0]), let count = Int(parts[1]), index >= 0, index < count else {
            return nil
        }
        self.init(index: index, count: count)
    }

    /// Returns the share of a scheduler's task: of a Slurm job array (`SLURM_ARRAY_TASK_ID`, `…_COUNT`, `…_MIN`, `…_STEP`) or
    /// of an indexed Kubernetes job (`JOB_COMPLETION_INDEX`, and `JOB_COMPLETIONS`, which the job must set).
    ///
    /// - Returns: nil if no scheduler sets these variables.
    /// - Throws: `schedulerShard` if their values are invalid.
    static func ofScheduler(_ environment: [String: String]) throws(UsageError) -> BatchShard? {
        if let id = environment["SLURM_ARRAY_TASK_ID"] {
            let first = Int(environment["SLURM_ARRAY_TASK_MIN"] ?? "0") ?? 0
            let step = max(1, Int(environment["SLURM_ARRAY_TASK_STEP"] ?? "1") ?? 1)
            guard let id = Int(id), let count = environment["SLURM_ARRAY_TASK_COUNT"].flatMap(Int.init), id >= first,
                count > 0, (id - first) / step < count
            else { throw .schedulerShard("SLURM_ARRAY_TASK_ID", other: "SLURM_ARRAY_TASK_COUNT") }
            return BatchShard(index: (id - first) / step, count: count)
        }
        if let index = environment["JOB_COMPLETION_INDEX"] {
            guard let index = Int(index), let count = environment["JOB_COMPLETIONS"].flatMap(Int.init), index >= 0,
                index < count
            else { throw .schedulerShard("JOB_COMPLETION_INDEX", other: "JOB_COMPLETIONS") }
            return BatchShard(index: index, count: count)
        }
        return nil
    }

    /// Returns the share's indices among a number of entries.
    func places(of count: Int) -> [Int] { Array(stride(from: index, to: count, by: self.count)) }
}
