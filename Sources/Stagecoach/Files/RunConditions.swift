import Foundation
import SpillStorage

/// The conditions that a run meets: the processors, the calls of the file system, and how often it saves its state.
///
/// A program has one set of them, that of its machine. A test that needs a checkpoint after each batch, or a disk that fails,
/// sets its own:
///
///     try RunConditions.$current.withValue(conditions) { try migration.run() }
package struct RunConditions: Sendable {
    /// The conditions of the current task.
    @TaskLocal package static var current = RunConditions()

    /// The number of processors. With two or more, two threads call policies that allow it.
    package var processorCount = ProcessInfo.processInfo.activeProcessorCount
    /// The shortest call of a policy that is worth a second thread, which copies its results once more.
    package var leastConcurrentCall = Duration.microseconds(5)
    /// The system calls on the run's journal and spill files.
    package var fileCalls: any FileCalls = SystemFileCalls()
    /// The least and the greatest time between two checkpoints.
    package var checkpointIntervals = Duration.milliseconds(30)...Duration.milliseconds(500)

    package init() {}
}
