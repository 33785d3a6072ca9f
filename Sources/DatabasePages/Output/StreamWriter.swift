import Diagnostics
import Dispatch
import SpillStorage

/// Writes one buffer of pages to the file while the next one is filled, in a thread of its own, once the file is large: handing
/// over costs processor time and saves the clock's. Small stores come by the thousand, and batches of them keep all processors
/// busy.
///
/// Memory: a thread's stack while it writes. One task at a time calls it.
package final class StreamWriter: @unchecked Sendable {
    /// From this place of the file on the caller does not wait, unless something else is asked for.
    package static let largeFile = 128 << 20
    private let threshold: Int

    // What is written, and with what: the queue's while a write is under way, else the caller's.
    private let queue = DispatchQueue(label: "pages")
    private let done = DispatchSemaphore(value: 0)
    private let body: (UnsafeRawBufferPointer, Int) throws(MigrationError) -> Void
    private var bytes = UnsafeRawBufferPointer(start: nil, count: 0)
    private var place = 0
    private var failure: MigrationError?
    private var isWriting = false
    /// Bytes of the file that are on their way to it; empty: none.
    private(set) var underWay = 0..<0

    /// - Parameters:
    ///   - threshold: the place from which on the caller does not wait.
    ///   - write: writes bytes at a place of the file; runs in another thread, one call at a time.
    init(
        from threshold: Int, _ write: @escaping (UnsafeRawBufferPointer, Int) throws(MigrationError) -> Void
    ) {
        self.threshold = threshold
        body = write
    }

    deinit { precondition(!isWriting, "a write is waited for") }

    /// Begins to write bytes, which stay as they are until ``wait()`` or the next call returns.
    ///
    /// - Throws: what the write before failed with.
    func begin(_ bytes: UnsafeRawBufferPointer, at place: Int) throws(MigrationError) {
        try wait()
        guard place >= threshold else { return try body(bytes, place) }
        self.bytes = bytes
        self.place = place
        underWay = place..<place + bytes.count
        isWriting = true
        queue.async { [self] in
            do throws(MigrationError) { try body(self.bytes, self.place) } catch { failure = error }
            done.signal()
        }
    }

    /// Writes bytes in this thread, behind what was begun.
    ///
    /// - Throws: what that or the write before failed with.
    func write(_ bytes: UnsafeRawBufferPointer, at place: Int) throws(MigrationError) {
        try wait()
        try body(bytes, place)
    }

    /// Waits until what was begun is written.
    ///
    /// - Throws: what it failed with.
    func wait() throws(MigrationError) {
        guard isWriting else { return }
        done.wait()
        isWriting = false
        underWay = 0..<0
        guard let error = failure else { return }
        failure = nil
        throw error
    }
}
