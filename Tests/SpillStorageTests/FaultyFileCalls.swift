import Diagnostics
import Glibc
import SpillStorage
import Synchronization
import TestSupport

/// System calls that go wrong on order: short, interrupted, or without space.
final class FaultyFileCalls: ForwardingFileCalls {
    private let spaceLeft: Atomic<Int>
    private let calls = Atomic<Int>(0)
    private let isUnsteady: Bool
    private let discards = Atomic<Int>(0)
    /// The file system cannot punch holes.
    private let keepsAll: Bool

    /// The number of locks that are still to be opened in a folder that is removed just before.
    private let departures: Atomic<Int>
    private let failedLookup: FailedLookup?

    /// Whose status cannot be told, and the error's number.
    enum FailedLookup: Sendable {
        case file(Int32)
        case path(Int32)
    }

    /// - Parameters:
    ///   - space: bytes that can be written before the disk is full.
    ///   - isUnsteady: every third read or write is interrupted, every other one is cut short.
    ///   - keepsAll: bytes cannot be given back before the file is gone.
    ///   - departures: how often a folder is gone when the lock in it is opened.
    ///   - failedLookup: what fails wherever a file's status is asked for.
    init(
        space: Int = .max, isUnsteady: Bool = false, keepsAll: Bool = false, departures: Int = 0,
        failedLookup: FailedLookup? = nil
    ) {
        self.failedLookup = failedLookup
        self.keepsAll = keepsAll
        self.departures = Atomic(departures)
        spaceLeft = Atomic(space)
        self.isUnsteady = isUnsteady
    }

    /// Reads and writes so far.
    var callCount: Int { calls.load(ordering: .relaxed) }

    /// Calls that gave bytes back, or tried to.
    var discardCount: Int { discards.load(ordering: .relaxed) }

    func discard(_ descriptor: Int32, at offset: Int, count: Int) -> Int {
        discards.add(1, ordering: .relaxed)
        return keepsAll ? -Int(EOPNOTSUPP) : system.discard(descriptor, at: offset, count: count)
    }

    func open(_ path: String, flags: Int32, mode: UInt32) -> Int {
        if path.hasSuffix("/lock"), departures.load(ordering: .relaxed) > 0 {
            departures.subtract(1, ordering: .relaxed)
            let real = realpath(String(path.dropLast(5)), nil)
            defer { free(real) }
            if let real { _ = system.removeDirectory(String(cString: real)) }
        }
        return system.open(path, flags: flags, mode: mode)
    }

    func status(of descriptor: Int32) throws(FileBytes.Failure) -> stat {
        if case .file(let number) = failedLookup { throw FileBytes.Failure(number: number) }
        return try system.status(of: descriptor)
    }

    func status(atPath path: String) throws(FileBytes.Failure) -> stat? {
        if case .path(let number) = failedLookup { throw FileBytes.Failure(number: number) }
        return try system.status(atPath: path)
    }

    func read(_ descriptor: Int32, into bytes: UnsafeMutableRawBufferPointer, at offset: Int) -> Int {
        let length = cut(bytes.count)
        guard length > 0 || bytes.isEmpty else { return -Int(EINTR) }
        return system.read(descriptor, into: UnsafeMutableRawBufferPointer(rebasing: bytes[..<length]), at: offset)
    }

    func write(_ descriptor: Int32, from bytes: UnsafeRawBufferPointer, at offset: Int) -> Int {
        let length = min(cut(bytes.count), spaceLeft.load(ordering: .relaxed))
        guard spaceLeft.load(ordering: .relaxed) > 0 else { return -Int(ENOSPC) }
        guard length > 0 else { return -Int(EINTR) }
        spaceLeft.subtract(length, ordering: .relaxed)
        return system.write(descriptor, from: UnsafeRawBufferPointer(rebasing: bytes[..<length]), at: offset)
    }

    private func cut(_ count: Int) -> Int {
        let number = calls.add(1, ordering: .relaxed).newValue
        guard isUnsteady else { return count }
        if number % 3 == 0 { return 0 }
        return number % 2 == 0 ? max(1, count / 3) : count
    }
}
