import Diagnostics
import Glibc

/// The frames of a `-wal` up to its last commit: for each page the last one.
///
/// As in SQLite, a frame is valid if it bears the salts of the `-wal`'s header and if its checksum is that over all frames so
/// far. Frames behind the last one that commits are ignored.
///
/// Memory: 8 bytes a page in the `-wal`, and 8 bytes a frame while it is read.
package struct CommittedFrames {
    /// The `-wal`, opened for reading; the opener closes it.
    let descriptor: Int32
    /// The number of pages of the database after the last commit; 0 if nothing is committed.
    package private(set) var pageCount: UInt32 = 0
    /// For each page, its number and the number of its last frame in one word; ascending.
    private var frames: [UInt64] = []
    private let pageSize: Int

    private static let headerSize = 32
    private static let frameHeaderSize = 24

    /// Reads the `-wal` once.
    ///
    /// - Parameters:
    ///   - descriptor: the `-wal`, opened for reading; -1 if there is none.
    ///   - mostFrames: the most frames to accept.
    /// - Returns: nil if there are more frames, or if its pages have another size than the main file's.
    /// - Complexity: O(bytes of the -wal).
    package static func read(
        descriptor: Int32, pageSize: Int, mostFrames: Int, path: String
    ) throws(MigrationError) -> CommittedFrames? {
        var result = CommittedFrames(descriptor: descriptor, pageSize: pageSize)
        guard descriptor >= 0 else { return result }
        let size = frameHeaderSize + pageSize
        let space = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 8)
        defer { space.deallocate() }
        guard try read(descriptor, at: 0, headerSize, into: space, path) else { return result }
        let magic = word(space, 0)
        // The magic number has two forms, one for each byte order of checksums.
        guard magic & 0xFFFF_FFFE == 0x377F_0682 else { return result }
        var sum = Checksum(isBigEndian: magic & 1 == 1)
        sum.add(space, 24)
        guard sum.first == word(space, 24), sum.second == word(space, 28) else { return result }
        guard word(space, 4) == 3_007_000, Int(word(space, 8)) == pageSize else { return nil }
        let salts = (word(space, 16), word(space, 20))
        var found: [UInt64] = []
        var committed = 0
        while try read(descriptor, at: headerSize + found.count * size, size, into: space, path) {
            let page = word(space, 0)
            guard page > 0, word(space, 8) == salts.0, word(space, 12) == salts.1 else { break }
            sum.add(space, 8)
            sum.add(space + frameHeaderSize, pageSize)
            guard sum.first == word(space, 16), sum.second == word(space, 20) else { break }
            guard found.count < mostFrames else { return nil }
            found.append(UInt64(page) << 32 | UInt64(found.count))
            let pagesAfterCommit = word(space, 4)
            if pagesAfterCommit > 0 {
                committed = found.count
                result.pageCount = pagesAfterCommit
            }
        }
        found.removeLast(found.count - committed)
        found.sort()
        for (index, frame) in found.enumerated()
        where index + 1 == found.count || found[index + 1] >> 32 != frame >> 32 {
            result.frames.append(frame)
        }
        return result
    }

    private init(descriptor: Int32, pageSize: Int) {
        self.descriptor = descriptor
        self.pageSize = pageSize
    }

    /// The offset in the `-wal` of a page's last committed content; nil if it has none.
    func place(of page: UInt32) -> Int? {
        var low = 0
        var high = frames.count
        while low < high {
            let middle = (low + high) / 2
            if frames[middle] >> 32 < UInt64(page) { low = middle + 1 } else { high = middle }
        }
        guard low < frames.count, frames[low] >> 32 == UInt64(page) else { return nil }
        let frame = Int(frames[low] & 0xFFFF_FFFF)
        return Self.headerSize + frame * (Self.frameHeaderSize + pageSize) + Self.frameHeaderSize
    }

    private static func word(_ space: UnsafeMutableRawPointer, _ place: Int) -> UInt32 {
        UInt32(bigEndian: space.loadUnaligned(fromByteOffset: place, as: UInt32.self))
    }

    /// Reads a number of bytes. Returns false if the file ends before.
    private static func read(
        _ descriptor: Int32, at place: Int, _ count: Int, into space: UnsafeMutableRawPointer, _ path: String
    ) throws(MigrationError) -> Bool {
        let got = PosixFile.read(descriptor, into: space, count: count, at: Int64(place))
        guard got >= 0 else {
            throw MigrationError(
                "store.io", .io, "Reading the -wal failed: \(String(cString: strerror(errno)))",
                context: .init(path: path + "-wal"))
        }
        return got == count
    }

    /// SQLite's checksum of a `-wal`, which continues from frame to frame.
    private struct Checksum {
        let isBigEndian: Bool
        var first: UInt32 = 0
        var second: UInt32 = 0

        init(isBigEndian: Bool) { self.isBigEndian = isBigEndian }

        /// Adds bytes to the checksum; their number must be a multiple of eight.
        mutating func add(_ bytes: UnsafeMutableRawPointer, _ count: Int) {
            var (one, two) = (first, second)
            for place in stride(from: 0, to: count, by: 8) {
                let left = bytes.loadUnaligned(fromByteOffset: place, as: UInt32.self)
                let right = bytes.loadUnaligned(fromByteOffset: place + 4, as: UInt32.self)
                one = one &+ (isBigEndian ? UInt32(bigEndian: left) : UInt32(littleEndian: left)) &+ two
                two = two &+ (isBigEndian ? UInt32(bigEndian: right) : UInt32(littleEndian: right)) &+ one
            }
            (first, second) = (one, two)
        }
    }
}
