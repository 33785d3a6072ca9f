import Glibc
import SpillStorage
import Stagecoach
import Synchronization
import TestSupport

/// System calls of a disk on which a run's journal finds room for a number of records.
final class FailingJournal: ForwardingFileCalls {
    private struct State {
        /// Open descriptors of the journal.
        var journals: Set<Int32> = []
        /// True if the journal was written since it was synced last: each record is synced.
        var isWritten = false
        var recordsLeft: Int
    }
    private let state: Mutex<State>

    init(after records: Int) { state = Mutex(State(recordsLeft: records)) }

    func open(_ path: String, flags: Int32, mode: UInt32) -> Int {
        let descriptor = system.open(path, flags: flags, mode: mode)
        if path.hasSuffix("/run.journal") || path.hasSuffix("/run.journal-new") {
            state.withLock { _ = $0.journals.insert(Int32(descriptor)) }
        }
        return descriptor
    }

    func close(_ descriptor: Int32) -> Int {
        state.withLock { _ = $0.journals.remove(descriptor) }
        return system.close(descriptor)
    }

    func write(_ descriptor: Int32, from bytes: UnsafeRawBufferPointer, at offset: Int) -> Int {
        let isFull = state.withLock { state in
            guard state.journals.contains(descriptor) else { return false }
            state.isWritten = true
            return state.recordsLeft == 0
        }
        return isFull ? -Int(EIO) : system.write(descriptor, from: bytes, at: offset)
    }

    func sync(_ descriptor: Int32) -> Int {
        state.withLock { state in
            guard state.isWritten, state.journals.contains(descriptor) else { return }
            state.isWritten = false
            state.recordsLeft = max(0, state.recordsLeft - 1)
        }
        return system.sync(descriptor)
    }
}

extension RunConditions {
    /// Saves the state of a run after each unit of its load, and between all calls of user code.
    ///
    /// - Parameter failing: the number of records for which the journal has room; nil: any.
    static func savingOften(failingAfter records: Int? = nil) -> RunConditions {
        var conditions = RunConditions()
        conditions.checkpointInterval = .zero
        if let records { conditions.fileCalls = FailingJournal(after: records) }
        return conditions
    }
}
