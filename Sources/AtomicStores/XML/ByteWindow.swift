import Diagnostics
import Glibc

/// The bytes of a file from its beginning to its end, a window of them in memory at a time.
///
/// Memory: the window. Whoever reads goes forward only.
final class ByteWindow {
    /// The size of the window in bytes.
    static let size = 128 << 10

    let path: String
    private let descriptor: Int32
    private let space: UnsafeMutablePointer<UInt8>
    @exclusivity(unchecked) private var place: UnsafeMutablePointer<UInt8>
    @exclusivity(unchecked) private var end: UnsafeMutablePointer<UInt8>
    /// The offset in the file of the byte after the window.
    @exclusivity(unchecked) private var loaded = 0
    /// Called once a window.
    private let checkCancelled: () throws(MigrationError) -> Void

    /// Opens a file.
    ///
    /// - Throws: `store.permission` (77), `store.io` (74).
    init(
        path: String, checkCancelled: @escaping () throws(MigrationError) -> Void = {}
    ) throws(MigrationError) {
        self.path = path
        self.checkCancelled = checkCancelled
        descriptor = SystemCall.uninterrupted { open(path, O_RDONLY | O_CLOEXEC) }
        guard descriptor >= 0 else { throw AtomicStoreError.system("opened", errno, path) }
        space = .allocate(capacity: Self.size)
        place = space
        end = space
    }

    deinit {
        space.deallocate()
        close(descriptor)
    }

    /// The offset in the file of the next byte.
    var offset: Int { loaded - (end - place) }

    /// Returns the next byte without passing it; nil at the end of the file.
    @inline(__always)
    func peek() throws(MigrationError) -> UInt8? {
        if place == end, try !load() { return nil }
        return place.pointee
    }

    /// Passes a number of bytes that were seen.
    @inline(__always)
    func pass(_ count: Int = 1) { place += count }

    /// Returns the bytes of the window that were not passed, one at least; nil at the end of the file.
    @inline(__always)
    func rest() throws(MigrationError) -> UnsafeBufferPointer<UInt8>? {
        if place == end, try !load() { return nil }
        return UnsafeBufferPointer(start: place, count: end - place)
    }

    /// Tells whether the next bytes are those of a text.
    func isAt(_ text: StaticString) throws(MigrationError) -> Bool {
        let count = text.utf8CodeUnitCount
        while end - place < count {
            guard try load() else { return false }
        }
        return memcmp(place, text.utf8Start, count) == 0
    }

    /// Reads more of the file behind the bytes that were not passed. Returns false at the end of the file.
    private func load() throws(MigrationError) -> Bool {
        try checkCancelled()
        let kept = end - place
        space.update(from: place, count: kept)
        place = space
        end = space + kept
        let read = SystemCall.uninterrupted { Glibc.read(descriptor, end, Self.size - kept) }
        guard read >= 0 else { throw AtomicStoreError.system("read", errno, path) }
        end += read
        loaded += read
        return read > 0
    }

    /// The number of the line with an offset, from 1: the file is read again up to there.
    func line(at offset: Int) -> Int {
        var line = 1
        var done = 0
        var piece = [UInt8](repeating: 0, count: 1 << 16)
        while done < offset {
            let wanted = min(piece.count, offset - done)
            let read = SystemCall.uninterrupted { pread(descriptor, &piece, wanted, off_t(done)) }
            guard read > 0 else { break }
            for byte in piece[..<read] where byte == UInt8(ascii: "\n") { line += 1 }
            done += read
        }
        return line
    }
}
