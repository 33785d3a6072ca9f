import Diagnostics
import Glibc

/// Reads a file once, from its beginning, in pieces of whole blocks of ``FileSums/block`` bytes.
///
/// The pages of a large store were written past the system's page cache. Loading them into it costs several times as much as a
/// checksum of them, so they can be read past it too.
///
/// Memory: 1 MiB.
struct FilePieces {
    private static let size = 1 << 20
    /// The most bytes of a file that is read through the page cache in any case.
    private static let mostCached = 8 << 20

    private let file: String
    private let calls: any FileCalls
    private let descriptor: Int32
    /// The file, opened for direct I/O; nil if it is not, or if the file system refuses.
    private var direct: Int32?
    /// The bytes of the file that can be read with direct I/O, which reads whole blocks.
    private var directLength = 0

    /// Passes a file to a closure, piece by piece. Behind the file's end, the last block is padded with zeros.
    ///
    /// - Parameters:
    ///   - limit: the number of bytes to read, a multiple of ``FileSums/block``, or `Int.max`.
    ///   - pastCache: true to read a large file past the page cache, if the file system allows it.
    ///   - body: receives a piece and its offset in the file.
    /// - Returns: the number of bytes read, without the padding.
    /// - Throws: `journal.damaged` if the file is missing, `spill.io` (74), and what the closure throws.
    @discardableResult
    static func forEach(
        of file: String, upTo limit: Int, pastCache: Bool = false, _ calls: any FileCalls,
        _ body: (UnsafeRawBufferPointer, Int) throws(MigrationError) -> Void
    ) throws(MigrationError) -> Int {
        var pieces = try FilePieces(file, pastCache: pastCache, calls)
        defer { pieces.close() }
        let space = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: FileSums.block)
        defer { space.deallocate() }
        var (place, bytes) = (0, 0)
        while place < limit {
            let part = UnsafeMutableRawBufferPointer(rebasing: space[..<min(space.count, limit - place)])
            let count = try pieces.read(into: part, at: place)
            guard count > 0 else { break }
            bytes += count
            let whole = (count + FileSums.block - 1) / FileSums.block * FileSums.block
            UnsafeMutableRawBufferPointer(rebasing: space[count..<whole])
                .initializeMemory(as: UInt8.self, repeating: 0)
            try body(UnsafeRawBufferPointer(rebasing: space[..<whole]), place)
            place += whole
        }
        return bytes
    }

    private init(_ file: String, pastCache: Bool, _ calls: any FileCalls) throws(MigrationError) {
        (self.file, self.calls) = (file, calls)
        let flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW
        let opened = calls.openUninterrupted(file, flags: flags)
        guard opened != -Int(ENOENT) else { throw FileSums.damaged(file, "it is not there") }
        guard opened >= 0 else { throw SpillFailure.system("open", file, number: -opened) }
        descriptor = Int32(truncatingIfNeeded: opened)
        guard pastCache, let length = (try? calls.status(of: descriptor))?.st_size, length > Self.mostCached else {
            return
        }
        let other = calls.openUninterrupted(file, flags: flags | FileFlags.direct)
        if other >= 0 { direct = Int32(truncatingIfNeeded: other) }
        directLength = Int(length)
    }

    private mutating func read(into part: UnsafeMutableRawBufferPointer, at place: Int) throws(MigrationError) -> Int {
        if let direct, place + part.count <= directLength {
            if calls.readWhole(direct, into: part, at: place) == part.count { return part.count }
            _ = calls.close(direct)
            self.direct = nil
        }
        let count = calls.readWhole(descriptor, into: part, at: place)
        guard count >= 0 else { throw SpillFailure.system("read", file, number: -count) }
        return count
    }

    private func close() {
        _ = calls.close(descriptor)
        if let direct { _ = calls.close(direct) }
    }
}
