import Diagnostics

/// Writes one buffer of pages while the next one is filled, in a thread of its own, once the file is large.
///
/// Handing a buffer over costs processor time and saves elapsed time. So small files are written in the caller's thread: small
/// stores come by the thousand, and their batches keep all processors busy.
///
/// Where the system makes no thread, all is written in the caller's.
///
/// Memory: a thread's stack while it writes. Only one task at a time may call it.
package final class StreamWriter: @unchecked Sendable {
    /// The default offset in the file from which on the caller does not wait.
    package static let largeFile = 128 << 20
    private let threshold: Int

    // The write under way: its thread uses these while it writes, else the caller.
    private let work = BackgroundWork()
    private let body: (UnsafeRawBufferPointer, Int) throws(MigrationError) -> Void
    private var bytes = UnsafeRawBufferPointer(start: nil, count: 0)
    private var place = 0
    private var failure: MigrationError?
    private var isWriting = false
    /// The range of the file that is being written; empty if none.
    private(set) var underWay = 0..<0

    /// Makes a writer.
    ///
    /// - Parameters:
    ///   - threshold: the offset in the file from which on the caller does not wait.
    ///   - write: writes bytes at an offset of the file; runs in another thread, one call at a time.
    init(
        from threshold: Int, _ write: @escaping (UnsafeRawBufferPointer, Int) throws(MigrationError) -> Void
    ) {
        self.threshold = threshold
        body = write
    }

    deinit { precondition(!isWriting, "a write is waited for") }

    /// Begins to write bytes. They must not change until ``wait()`` or the next call returns.
    ///
    /// - Throws: the error of the write before.
    func begin(_ bytes: UnsafeRawBufferPointer, at place: Int) throws(MigrationError) {
        try wait()
        guard place >= threshold else { return try body(bytes, place) }
        self.bytes = bytes
        self.place = place
        underWay = place..<place + bytes.count
        isWriting = true
        work.begin { [self] in
            do throws(MigrationError) { try body(self.bytes, self.place) } catch { failure = error }
        }
    }

    /// Waits until the write under way has ended.
    ///
    /// - Throws: the error of that write.
    func wait() throws(MigrationError) {
        guard isWriting else { return }
        work.wait()
        isWriting = false
        underWay = 0..<0
        guard let error = failure else { return }
        failure = nil
        throw error
    }
}
