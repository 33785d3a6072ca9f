import Diagnostics
import Glibc
import SpillStorage

/// System calls that are the kernel's own but for those that a test has others for.
package protocol ForwardingFileCalls: FileCalls {}

extension ForwardingFileCalls {
    /// The kernel's own.
    package var system: SystemFileCalls { SystemFileCalls() }

    package func makeDirectory(_ path: String, mode: UInt32) -> Int { system.makeDirectory(path, mode: mode) }
    package func removeDirectory(_ path: String) -> Int { system.removeDirectory(path) }
    package func names(in path: String) -> [String]? { system.names(in: path) }
    package func open(_ path: String, flags: Int32, mode: UInt32) -> Int { system.open(path, flags: flags, mode: mode) }
    package func close(_ descriptor: Int32) -> Int { system.close(descriptor) }
    package func read(_ descriptor: Int32, into bytes: UnsafeMutableRawBufferPointer, at offset: Int) -> Int {
        system.read(descriptor, into: bytes, at: offset)
    }
    package func write(_ descriptor: Int32, from bytes: UnsafeRawBufferPointer, at offset: Int) -> Int {
        system.write(descriptor, from: bytes, at: offset)
    }
    package func discard(_ descriptor: Int32, at offset: Int, count: Int) -> Int {
        system.discard(descriptor, at: offset, count: count)
    }
    package func sync(_ descriptor: Int32) -> Int { system.sync(descriptor) }
    package func unlink(_ path: String) -> Int { system.unlink(path) }
    package func lock(_ descriptor: Int32) -> Int { system.lock(descriptor) }
    package func status(of descriptor: Int32) throws(FileBytes.Failure) -> stat {
        try system.status(of: descriptor)
    }
    package func status(atPath path: String) throws(FileBytes.Failure) -> stat? {
        try system.status(atPath: path)
    }
}
