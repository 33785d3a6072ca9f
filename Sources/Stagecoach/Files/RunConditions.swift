import Foundation
import SpillStorage

/// The conditions that a run meets: the calls of the file system, and how often it saves its state.
///
/// A program has one set of them, that of its machine. A test that needs a checkpoint after each batch, or a disk that fails,
/// sets its own:
///
///     try RunConditions.$current.withValue(conditions) { try migration.run() }
package struct RunConditions: Sendable {
    /// The conditions of the current task.
    @TaskLocal package static var current = RunConditions()

    /// The system calls on the run's journal and spill files.
    package var fileCalls: any FileCalls = SystemFileCalls()
    /// The least and the greatest time between two checkpoints.
    package var checkpointInterval = Duration.milliseconds(500)

    package init() {}
}
