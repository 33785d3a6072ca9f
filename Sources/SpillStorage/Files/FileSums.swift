import Diagnostics
import Glibc

/// The checksums of a file's blocks, in a file of their own beside it. With them a resumed run tells whether a file still holds
/// what the killed run wrote.
///
/// A run begins checksums for the files that it would need to resume. As long as they exist, every writer of the file notes the
/// blocks that it writes. After a kill the unfinished part is cut off, rolled back or written again, and noted again. If
/// checksums cannot be written, they are removed; a resumed run then begins anew.
///
/// The file `NAME-sums` has 8 bytes for each block of 4 KiB, in the processor's byte order. 0 stands for a block that nobody
/// wrote: it still holds what the file was copied from. 1 stands for a block that is being changed in place: it is not checked.
/// 2 at the first block stands for a transaction that has not ended: it matches no block.
///
/// Memory: the checksums of one write.
package final class FileSums {
    /// Bytes of a block.
    package static let block = 4096
    private static let width = MemoryLayout<UInt64>.stride

    private let path: String
    private let calls: any FileCalls
    private let descriptor: Int32
    private var isLost = false
    /// The checksums from before the current transaction; nil outside of one.
    private var before: TransactionSums?
    /// The checksum that the first block gets when the transaction has written all; nil while nothing is written in one.
    private var firstSum: UInt64?
    /// True while SQLite rolls a killed process's transaction back. What it writes then has to match the old checksums.
    private var isRollingBack = false

    private static let ending = "-sums"

    /// The path of the file with the checksums of another file.
    package static func path(of file: String) -> String { file + ending }

    /// Removes the checksums of a file.
    package static func remove(of file: String) {
        unlink(path(of: file))
        TransactionSums.remove(of: file)
    }

    /// Moves the checksums of a file to the name that the file itself takes next.
    package static func move(from file: String, to other: String) {
        // Checksums that cannot be moved stay no longer than their file.
        if rename(path(of: file), path(of: other)) != 0 { unlink(path(of: file)) }
    }

    /// Begins the checksums of a file.
    ///
    /// - Parameter limit: the number of bytes whose blocks are noted, from the file's beginning. 0 if it is empty or about to be
    ///   made; ``block`` if the rest was copied from another file, which is available when this one is checked.
    /// - Throws: `spill.full`, `spill.io` (74), `spill.permission` (77).
    package static func begin(
        _ file: String, upTo limit: Int = 0, calls: any FileCalls = SystemFileCalls()
    ) throws(MigrationError) {
        let path = path(of: file)
        let result = calls.openUninterrupted(
            path, flags: O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, mode: 0o600)
        guard result >= 0 else { throw SpillFailure.system("create", path, number: -result) }
        let sums = FileSums(path: path, descriptor: Int32(truncatingIfNeeded: result), calls: calls)
        guard limit > 0 else { return }
        try FilePieces.forEach(of: file, upTo: limit, calls) { bytes, place in
            sums.note(bytes, at: place) { _, _ in false }
        }
    }

    /// Opens the checksums of a file; nil if it has none.
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

    /// Syncs the checksums of a file to the disk, if it has any.
    ///
    /// - Returns: false with `errno` set if that fails.
    package static func synchronize(of file: String, calls: any FileCalls = SystemFileCalls()) -> Bool {
        let opened = calls.openUninterrupted(path(of: file), flags: O_RDONLY | O_CLOEXEC)
        guard opened >= 0 else { return opened == -Int(ENOENT) }
        let descriptor = Int32(truncatingIfNeeded: opened)
        defer { _ = calls.close(descriptor) }
        return calls.syncUninterrupted(descriptor) == 0
    }

    // MARK: - Noting

    /// Computes the checksums of whole blocks.
    ///
    /// - Parameters:
    ///   - first: the number of the first block, from 0.
    ///   - room: receives the checksums; its content is replaced.
    package static func sums(of bytes: UnsafeRawBufferPointer, from first: Int, in room: inout [UInt64]) {
        room.removeAll(keepingCapacity: true)
        guard let start = bytes.baseAddress else { return }
        for place in stride(from: 0, to: bytes.count / block * block, by: block) {
            room.append(sum(of: start + place, number: UInt32(truncatingIfNeeded: first + place / block + 1)))
        }
    }

    /// Notes the checksums of blocks that are about to be written.
    package func note(_ sums: [UInt64], from first: Int) {
        guard !isLost, !isRollingBack, !sums.isEmpty else { return }
        var sums = sums
        if before != nil {
            if firstSum == nil {
                guard let old = keep(1, from: 0), write([Self.unfinished], from: 0) else { return giveUp() }
                firstSum = old[0]
            }
            guard keep(sums.count, from: first) != nil else { return giveUp() }
            if first == 0 {
                firstSum = sums[0]
                sums[0] = Self.unfinished
            }
        }
        if !write(sums, from: first) { giveUp() }
    }

    /// Keeps the checksums of blocks for a rollback, and returns them; nil if that fails.
    private func keep(_ count: Int, from first: Int) -> [UInt64]? {
        var old = [UInt64](repeating: 0, count: count)
        let read = old.withUnsafeMutableBytes { calls.readWhole(descriptor, into: $0, at: first * Self.width) }
        return read >= 0 && before?.note(old, from: first) == true ? old : nil
    }

    private func write(_ sums: [UInt64], from first: Int) -> Bool {
        sums.withUnsafeBytes { calls.writeWhole(descriptor, from: $0, at: first * Self.width) } == 0
    }

    private func giveUp() {
        isLost = true
        _ = calls.unlink(path)
    }

    /// Begins a transaction that can be rolled back: the old checksums are kept until it ends.
    ///
    /// - Parameter rollsBack: true if the transaction is that of a killed process, which ends by being rolled back.
    package func beginTransaction(rollsBack: Bool = false) {
        isRollingBack = rollsBack
        before = TransactionSums(of: String(path.dropLast(Self.ending.count)), calls)
    }

    /// Records that all blocks of the transaction are written. It can still be rolled back.
    package func finishTransaction() {
        guard let sum = firstSum, !isLost else { return }
        firstSum = nil
        if !write([sum], from: 0) { giveUp() }
    }

    /// Ends the transaction.
    package func endTransaction() {
        finishTransaction()
        isRollingBack = false
        before?.forget()
    }

    /// Notes bytes that were written.
    ///
    /// - Parameters:
    ///   - place: their offset in the file.
    ///   - read: reads a block that was only partly written, with zeros behind the file's end; returns false if it cannot.
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

    /// Notes a block as it is in the file.
    package func noteBlock(at place: Int, _ read: (UnsafeMutableRawBufferPointer, Int) -> Bool) {
        withUnsafeTemporaryAllocation(byteCount: Self.block, alignment: 64) { space in
            space.initializeMemory(as: UInt8.self, repeating: 0)
            guard read(space, place), let start = space.baseAddress else { return }
            let number = place / Self.block
            note([Self.sum(of: start, number: UInt32(truncatingIfNeeded: number + 1))], from: number)
        }
    }

    /// Marks a block that is about to be changed in place, outside a transaction. A process killed before the block is noted
    /// again may have changed it or not, so it is not checked until then.
    package func suspend(block number: Int) { note([Self.underChange], from: number) }

    private static let underChange: UInt64 = 1
    private static let unfinished: UInt64 = 2

    /// The checksum of a block with a number; greater than 2.
    ///
    /// Eight lanes of words are summed side by side, and the running sums are summed too. So a lost sector changes at least one
    /// lane.
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
        return max(joined, unfinished + 1)
    }

    // MARK: - Checking

    /// Checks a file against its checksums.
    ///
    /// - Parameters:
    ///   - limit: the number of bytes to check, from the file's beginning.
    ///   - isWhole: true if the file was noted in one go and must not be shorter; a database states its own length.
    ///   - original: the file that this one was copied from, open for reading; nil if every block was noted.
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
        try FilePieces.forEach(of: file, upTo: limit, pastCache: true, calls) { bytes, place throws(MigrationError) in
            Self.sums(of: bytes, from: place / block, in: &found)
            end = place / block + found.count
            known = Array(repeating: 0, count: found.count)
            let count = known.withUnsafeMutableBytes {
                calls.readWhole(sums.descriptor, into: $0, at: place / block * width)
            }
            guard count >= 0 else { throw SpillFailure.system("read", sums.path, number: -count) }
            for index in found.indices where known[index] != found[index] && known[index] != underChange {
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

    /// The checksum of a whole file.
    ///
    /// - Throws: `journal.damaged` if the file is missing, `spill.io` (74).
    /// - Complexity: O(bytes), 1 MiB of memory.
    package static func sum(
        ofFile path: String, calls: any FileCalls = SystemFileCalls()
    ) throws(MigrationError) -> UInt64 {
        var room: [UInt64] = []
        var whole: UInt64 = 0
        let size = try FilePieces.forEach(of: path, upTo: .max, calls) { bytes, place in
            Self.sums(of: bytes, from: place / block, in: &room)
            for sum in room { whole &+= sum }
        }
        return whole &+ UInt64(truncatingIfNeeded: size) &* 0x9E37_79B9_7F4A_7C15
    }

    private static func isSame(
        _ bytes: UnsafeRawBufferPointer, as other: Int32, at place: Int, _ calls: any FileCalls
    ) -> Bool {
        var space = [UInt8](repeating: 0, count: block)
        guard space.withUnsafeMutableBytes({ calls.readWhole(other, into: $0, at: place) }) >= 0 else { return false }
        return bytes.elementsEqual(space)
    }

    static func damaged(_ file: String, _ what: String) -> MigrationError {
        StateReader.damaged("\(file.split(separator: "/").last ?? ""), \(what)")
    }
}
