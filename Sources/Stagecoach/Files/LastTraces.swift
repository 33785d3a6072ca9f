import Glibc

/// The files of runs that are done, by which the same command knows its own destination.
///
/// Whoever tells the result removes them then, as the last act of the process: a process that is killed before tells the result
/// when it runs again. Without a trace, that run would be refused, because the destination exists.
package final class LastTraces {
    private var removals: [() -> Void] = []
    /// True if the run found the work done by a process that was killed before it had removed its traces.
    package internal(set) var areOfInterruptedRun = false

    package init() {}

    /// Removes a run's last files at once, or leaves that to the caller of the run.
    static func remove(leavingTo traces: LastTraces?, _ removal: @escaping () -> Void) {
        if let traces { traces.removals.append(removal) } else { removal() }
    }

    /// Removes the file at a path at once, or leaves it to the caller of the run.
    static func remove(_ path: String, leavingTo traces: LastTraces?) {
        remove(leavingTo: traces) { unlink(path) }
    }

    /// Leaves the files to a later run.
    func leave() { removals = [] }

    /// Removes the files, in the order in which they were left.
    package func remove() {
        for removal in removals { removal() }
        removals = []
    }
}
