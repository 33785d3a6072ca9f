import Glibc
import Synchronization

/// The descriptor of a spill file. The file has it from the time when it is opened or used until another file needs it: a process
/// may have few files open, and a merge may read from dozens.
///
/// States: closed, -1, before ``open(flags:)`` and after ``close()``, or while others need the descriptors; open. A use opens a
/// closed file again. Descriptors of files in use stay: ``use(_:)`` holds the lock, and who looks for a descriptor to close passes
/// over locked ones.
final class SpillDescriptor: Sendable {
    private let path: String
    private let calls: any FileCalls
    private let descriptor = Mutex<Int32>(-1)

    init(_ path: String, _ calls: any FileCalls) { (self.path, self.calls) = (path, calls) }

    /// Opens the file, and makes it if the flags say so. Returns a negative error number if that fails.
    func open(flags: Int32) -> Int {
        descriptor.withLock { descriptor in
            descriptor = -1
            return Self.open(self, flags, &descriptor)
        }
    }

    private static func open(_ file: SpillDescriptor, _ flags: Int32, _ descriptor: inout Int32) -> Int {
        OpenFiles.makeRoom()
        while true {
            let result = file.calls.openUninterrupted(
                file.path, flags: flags | O_RDWR | O_CLOEXEC | O_NOFOLLOW, mode: 0o600)
            let isFull = result == -Int(EMFILE) || result == -Int(ENFILE)
            if isFull, OpenFiles.closeOne() { continue }
            guard result >= 0 else { return result }
            descriptor = Int32(truncatingIfNeeded: result)
            OpenFiles.note(file)
            return result
        }
    }

    /// Calls a closure with the open descriptor. Returns its result, or a negative error number if the file cannot be opened again.
    func use(_ body: (Int32) -> Int) -> Int {
        descriptor.withLock { descriptor in
            if descriptor < 0 {
                let result = Self.open(self, 0, &descriptor)
                guard result >= 0 else { return result }
            }
            return body(descriptor)
        }
    }

    /// Closes the file for good.
    func close() {
        OpenFiles.forget(self)
        descriptor.withLock { descriptor in
            if descriptor >= 0 { _ = calls.close(descriptor) }
            descriptor = -1
        }
    }

    /// Closes the descriptor, unless the file is in use. Returns true if one is free now.
    func closeIfIdle() -> Bool {
        descriptor.withLockIfAvailable { descriptor in
            guard descriptor >= 0 else { return false }
            _ = calls.close(descriptor)
            descriptor = -1
            return true
        } ?? false
    }
}
