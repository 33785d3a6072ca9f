import Diagnostics
import Glibc

/// The sums of a file's blocks, in a file of its own beside it: they tell a run that goes on from a killed one whether what
/// that one wrote is still what stands there.
///
/// Whoever writes to a file notes what it has written, as long as there are sums beside it; a run makes them for the files that
/// a later run may go on with. After a kill, what was under way is cut off, rolled back or written again, and noted with
/// that. Where sums cannot be written there are none any more: a run that goes on begins anew then.
///
/// The file `NAME-sums` has 8 bytes for each block of 4 KiB, in the processor's order. 0 stands for a block that nobody wrote: it
/// is what the file was copied from.
/// Memory: the sums of one write.
package final class FileSums {
    /// Bytes of a block.
    package static let block = 4096
    private static let width = MemoryLayout<UInt64>.stride

    private let path: String
    private let calls: any FileCalls
    private let descriptor: Int32
    private var isLost = false
    /// Where the sums from before a transaction are kept; nil outside of one.
    private var before: TransactionSums?

    private static let ending = "-sums"

    /// The file with the sums of another.
    package static func path(of file: String) -> String { file + ending }

    /// Removes the sums of a file.
    package static func remove(of file: String) {
        unlink(path(of: file))
        TransactionSums.remove(of: file)
    }

    /// Gives a file the sums of another, whose name it takes next.
    package static func move(from file: String, to other: String) { rename(path(of: file), path(of: other)) }

    /// Which blocks are noted when sums are begun.
    package enum Beginning {
        /// None: the file is empty, or is about to be made.
        case nothing
        /// The first: the rest of the file was copied from another, which is there when it is checked.
        case firstBlock
        /// All.
        case everything
    }

    /// Begins the sums of a file.
    ///
    /// - Throws: `spill.full`, `spill.io` (74), `spill.permission` (77).
    package static func begin(
        _ file: String, noting beginning: Beginning = .nothing, calls: any FileCalls = SystemFileCalls()
    ) throws(MigrationError) {
        let path = path(of: file)
        let result = calls.openUninterrupted(
            path, flags: O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, mode: 0o600)
        guard result >= 0 else { throw SpillFailure.system("create", path, number: -result) }
        let sums = FileSums(path: path, descriptor: Int32(truncatingIfNeeded: result), calls: calls)
        guard beginning != .nothing else { return }
        try forEachPiece(of: file, upTo: beginning == .firstBlock ? block : .max, calls) { bytes, place in
            sums.note(bytes, at: place) { _, _ in false }
        }
    }

    /// Opens the sums of a file; nil where it has none.
    package init?(of file: String, calls: any FileCalls = SystemFileCalls()) {
        path = Self.path(of: file)
        self.calls = calls
        let result = calls.openUninterrupted(path, flags: O_RDWR | O_CLOEXEC | O_NOFOLLOW, mode: 0)
        guard result >= 0 else { return nil }
        descriptor = Int32(truncatingIfNeeded: result)
    }

    private init(path: String, descriptor: Int32, calls: any FileCalls) {
        (self.path, self.descriptor, self.calls) = (path, descriptor, calls)
    }

    deinit { _ = calls.close(descriptor) }

    /// Brings the sums of a file to the disk, where it has some.
    ///
    /// - Returns: false with `errno` set where that fails.
    package static func synchronize(of file: String) -> Bool {
        let opened = SystemCall.uninterrupted { open(path(of: file), O_RDONLY | O_CLOEXEC) }
        guard opened >= 0 else { return errno == ENOENT }
        defer { close(opened) }
        return SystemCall.uninterrupted { fdatasync(opened) } == 0
    }

    // MARK: - Noting

    /// The sums of whole blocks.
    ///
    /// - Parameters:
    ///   - first: the number of the first, from 0.
    ///   - room: is filled with them.
    package static func sums(of bytes: UnsafeRawBufferPointer, from first: Int, in room: inout [UInt64]) {
        room.removeAll(keepingCapacity: true)
        guard let start = bytes.baseAddress else { return }
        for place in stride(from: 0, to: bytes.count / block * block, by: block) {
            room.append(sum(of: start + place, number: UInt32(truncatingIfNeeded: first + place / block + 1)))
        }
    }

    /// Notes the sums of blocks that are about to be written.
    package func note(_ sums: [UInt64], from first: Int) {
        guard !isLost, !sums.isEmpty else { return }
        if let before {
            var old = [UInt64](repeating: 0, count: sums.count)
            let count = old.withUnsafeMutableBytes { calls.readWhole(descriptor, into: $0, at: first * Self.width) }
            if count < 0 || !before.note(old, from: first) { return giveUp() }
        }
        let result = sums.withUnsafeBytes { calls.writeWhole(descriptor, from: $0, at: first * Self.width) }
        if result != 0 { giveUp() }
    }

    private func giveUp() {
        isLost = true
        _ = calls.unlink(path)
    }

    /// A transaction begins that can be rolled back: the sums from before are kept until it has ended.
    package func beginTransaction() { before = TransactionSums(of: String(path.dropLast(Self.ending.count)), calls) }

    /// The transaction has ended.
    package func endTransaction() { before?.forget() }

    /// Notes bytes that were written.
    ///
    /// - Parameters:
    ///   - place: where.
    ///   - read: reads a block that was written in part; zeros stand behind the file's end. False: it cannot be read.
    package func note(
        _ bytes: UnsafeRawBufferPointer, at place: Int, read: (UnsafeMutableRawBufferPointer, Int) -> Bool
    ) {
        var room: [UInt64] = []
        var next = place
        while next < place + bytes.count {
            let start = next / Self.block * Self.block
            let whole = (place + bytes.count - next) / Self.block * Self.block
            if start == next, whole > 0 {
                let part = UnsafeRawBufferPointer(rebasing: bytes[(next - place)..<(next - place + whole)])
                Self.sums(of: part, from: start / Self.block, in: &room)
                note(room, from: start / Self.block)
                next += whole
            } else {
                noteBlock(at: start, read)
                next = start + Self.block
            }
        }
    }

    /// Notes a block as it stands in the file.
    package func noteBlock(at place: Int, _ read: (UnsafeMutableRawBufferPointer, Int) -> Bool) {
        withUnsafeTemporaryAllocation(byteCount: Self.block, alignment: 64) { space in
            space.initializeMemory(as: UInt8.self, repeating: 0)
            guard read(space, place), let start = space.baseAddress else { return }
            let number = place / Self.block
            note([Self.sum(of: start, number: UInt32(truncatingIfNeeded: number + 1))], from: number)
        }
    }

    /// The sum of a block at its place; never 0.
    ///
    /// Words are summed eight side by side, and so are the sums themselves: what a lost sector changes shows in one of them.
    package static func sum(of block: UnsafeRawPointer, number: UInt32) -> UInt64 {
        var words = SIMD8<UInt64>(repeating: 0)
        var sums = SIMD8<UInt64>(repeating: 0)
        for offset in stride(from: 0, to: Self.block, by: 64) {
            words &+= block.loadUnaligned(fromByteOffset: offset, as: SIMD8<UInt64>.self)
            sums &+= words
        }
        var joined = UInt64(number) &+ 0x9E37_79B9_7F4A_7C15
        for lane in 0..<8 {
            joined = (joined ^ words[lane]) &* 0xFF51_AFD7_ED55_8CCD
            joined ^= joined >> 29
            joined = (joined ^ sums[lane]) &* 0xC4CE_B9FE_1A85_EC53
            joined ^= joined >> 32
        }
        return max(joined, 1)
    }

    // MARK: - Checking

    /// Checks that a file has what was noted.
    ///
    /// - Parameters:
    ///   - limit: bytes of it that are looked at, the first ones.
    ///   - isWhole: whether it was noted at once, and is not to be shorter: a database says itself how long it is.
    ///   - original: what it was copied from, open for reading; nil where all of it was noted.
    /// - Throws: `journal.damaged`, `spill.io` (74).
    /// - Complexity: O(bytes), 1 MiB of memory.
    package static func check(
        _ file: String, upTo limit: Int = .max, isWhole: Bool = false, copiedFrom original: Int32? = nil,
        calls: any FileCalls = SystemFileCalls()
    ) throws(MigrationError) {
        guard let sums = FileSums(of: file, calls: calls) else { throw damaged(file, "there are no sums of it") }
        var known: [UInt64] = []
        var found: [UInt64] = []
        var end = 0
        try forEachPiece(of: file, upTo: limit, calls) { bytes, place throws(MigrationError) in
            Self.sums(of: bytes, from: place / block, in: &found)
            end = place / block + found.count
            known = Array(repeating: 0, count: found.count)
            let count = known.withUnsafeMutableBytes {
                calls.readWhole(sums.descriptor, into: $0, at: place / block * width)
            }
            guard count >= 0 else { throw SpillFailure.system("read", sums.path, number: -count) }
            for index in found.indices where known[index] != found[index] {
                let part = UnsafeRawBufferPointer(rebasing: bytes[(index * block)..<((index + 1) * block)])
                guard known[index] == 0, let original,
                    isSame(part, as: original, at: place + index * block, calls)
                else { throw damaged(file, "the block at byte \(place + index * block)") }
            }
        }
        var status = stat()
        guard !isWhole || fstat(sums.descriptor, &status) == 0 && Int(status.st_size) <= end * width else {
            throw damaged(file, "it is too short")
        }
    }

    /// The sum of a whole file.
    ///
    /// - Throws: `journal.damaged` where it is not there, `spill.io` (74).
    /// - Complexity: O(bytes), 1 MiB of memory.
    package static func sum(
        ofFile path: String, calls: any FileCalls = SystemFileCalls()
    ) throws(MigrationError) -> UInt64 {
        var room: [UInt64] = []
        var whole: UInt64 = 0
        var status = stat()
        try forEachPiece(of: path, upTo: .max, calls) { bytes, place in
            Self.sums(of: bytes, from: place / block, in: &room)
            for sum in room { whole &+= sum }
        }
        guard stat(path, &status) == 0 else { throw damaged(path, "it is not there") }
        return whole &+ UInt64(truncatingIfNeeded: status.st_size) &* 0x9E37_79B9_7F4A_7C15
    }

    private static func isSame(
        _ bytes: UnsafeRawBufferPointer, as other: Int32, at place: Int, _ calls: any FileCalls
    ) -> Bool {
        var space = [UInt8](repeating: 0, count: block)
        guard space.withUnsafeMutableBytes({ calls.readWhole(other, into: $0, at: place) }) >= 0 else { return false }
        return bytes.elementsEqual(space)
    }

    private static func damaged(_ file: String, _ what: String) -> MigrationError {
        StateReader.damaged("\(file.split(separator: "/").last ?? ""), \(what)")
    }

    /// Shows a file in pieces of whole blocks; zeros stand behind its end.
    private static func forEachPiece(
        of file: String, upTo limit: Int, _ calls: any FileCalls,
        _ body: (UnsafeRawBufferPointer, Int) throws(MigrationError) -> Void
    ) throws(MigrationError) {
        let opened = calls.openUninterrupted(file, flags: O_RDONLY | O_CLOEXEC | O_NOFOLLOW, mode: 0)
        guard opened != -Int(ENOENT) else { throw damaged(file, "it is not there") }
        guard opened >= 0 else { throw SpillFailure.system("open", file, number: -opened) }
        let descriptor = Int32(truncatingIfNeeded: opened)
        defer { _ = calls.close(descriptor) }
        let space = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: block)
        defer { space.deallocate() }
        var place = 0
        while place < limit {
            let part = UnsafeMutableRawBufferPointer(rebasing: space[..<min(space.count, limit - place)])
            let count = calls.readWhole(descriptor, into: part, at: place)
            guard count >= 0 else { throw SpillFailure.system("read", file, number: -count) }
            guard count > 0 else { return }
            let whole = (count + block - 1) / block * block
            UnsafeMutableRawBufferPointer(rebasing: space[count..<whole])
                .initializeMemory(as: UInt8.self, repeating: 0)
            try body(UnsafeRawBufferPointer(rebasing: space[..<whole]), place)
            place += whole
        }
    }
}
