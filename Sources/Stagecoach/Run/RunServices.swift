import Diagnostics
import SpillStorage

/// The services that all stages of one run use: progress, cancellation, the profile, and sorts with their share of
/// memory.
final class RunServices {
    let progress: ProgressCounter
    let cancellation: CancellationFlag
    /// The profile of the run; nil if none was asked for.
    let profile: RunProfile?
    /// The number of sorts that may hold memory at a time; set once the links are planned.
    var concurrentSorts = RunServices.leastSorts
    private let work: WorkDirectory
    private let memoryLimit: Int
    private let sortMemory: Int
    /// The bytes of the source, or those that the destination is expected to take if they are more.
    private var storeBytes: Int { max(sourceBytes, progress.snapshot.expectedBytes) }
    private let sourceBytes: Int
    /// The time when unused heap memory was last given back, or when the run began.
    private var trimmed = ContinuousClock.now

    /// The number of sorts that hold memory at a time before the links are planned.
    static let leastSorts = 6

    init(_ inputs: RunInputs, progress: ProgressCounter, cancellation: CancellationFlag) {
        self.progress = progress
        self.cancellation = cancellation
        work = inputs.work
        memoryLimit = inputs.budget.limit
        sortMemory = inputs.budget.sorts
        let source = inputs.source.fingerprint
        sourceBytes = max(Int(source.size), Int(source.walSize ?? 0))
        profile = inputs.options.profiles ? RunProfile { [work] in work.bytesWritten } : nil
    }

    /// Begins a stage.
    ///
    /// - Parameter subjects: the names of the mappings or tables that the stage works on.
    func begin(_ phase: ProgressCounter.Phase, _ subjects: @autoclosure () -> [String] = []) {
        // Stages leave holes in the heap that the next stage does not fill: 7 MB at the load of 10 GB. Short stages
        // leave few, and memory given back would be asked for again.
        let now = ContinuousClock.now
        if trimmed.duration(to: now) > .milliseconds(100) {
            ProcessMemory.trim()
            trimmed = now
        }
        progress.begin(phase, subjects().joined(separator: ", "))
        profile?.begin(phase, subjects().joined(separator: ", "))
    }

    /// Ends the run if a cancellation was asked for. Called once a batch.
    func checkCancelled() throws {
        if let error = cancellation.error { throw error }
        progress.spilled(bytes: work.bytesWritten)
    }

    /// Returns an external sorter with its share of memory.
    func sorter(width: Int) -> RecordSorter { sorter(width: width, concurrent: concurrentSorts) }

    /// Returns an external sorter, one of so many that share the memory.
    func sorter(width: Int, concurrent: Int) -> RecordSorter {
        RecordSorter(directory: work, name: "sort", width: width, memory: max(256 << 10, sortMemory / concurrent))
    }

    /// Gives unused memory back before the destination is written, because the buffers that write it need memory of their
    /// own. Under a small limit the code that has run counts as well: writing runs other code.
    ///
    /// Small stores keep both as long as a quarter of the limit is free. They would only map the code again and fill the gaps of
    /// the heap.
    func releaseMemoryBeforeLoad() {
        let isNarrow = ProcessMemory.currentResident().map { $0 > memoryLimit / 4 * 3 } ?? false
        guard storeBytes > 32 << 20 || isNarrow else { return }
        ProcessMemory.trim()
        if memoryLimit <= 128 << 20 { ProcessMemory.releaseCode() }
    }
}
