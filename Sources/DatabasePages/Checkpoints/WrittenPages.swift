import Diagnostics
import Glibc
import SpillStorage

/// Sums of the pages that were written to a database file since a checkpoint that stands on the disk: they tell later whether
/// all of it is in the file.
///
/// To bring a file to the disk takes a busy one some hundredths of a second. A checkpoint that was taken meanwhile holds too
/// where the file has what it describes: after the process was killed it does, after the machine failed it may not, and what
/// is missing then are whole sectors.
///
/// Memory: some bytes for each page that was written over.
/// Complexity: a page is summed in some hundred cycles.
final class WrittenPages {
    /// Pages that were added to the file since a checkpoint, and until the next one.
    private struct Part {
        let number: Int
        /// The page before the first.
        let after: UInt32
        var last: UInt32
        /// Of all but those that no tree may use: they come empty and are written over.
        var sum: UInt64 = 0
    }

    private var parts: [Part] = []
    private var begun = 0
    /// Sums of the pages that were written over, and the number of the part when they were.
    private var overwritten: [UInt32: (sum: UInt64, part: Int)] = [:]

    /// A checkpoint was taken behind a page: what is written from now on is a part of its own.
    ///
    /// - Returns: the part's number.
    func begin(after page: UInt32) -> Int {
        begun += 1
        parts.append(Part(number: begun, after: page, last: page))
        return begun
    }

    /// The checkpoint with which a part began stands on the disk: parts before it need not be known any more.
    func forget(before number: Int) {
        parts.removeAll { $0.number < number }
        overwritten = overwritten.filter { $0.value.part >= number }
    }

    /// Pages are about to be added to the file.
    ///
    /// - Parameter sums: of each of them.
    func note(_ sums: [UInt64], from first: UInt32) {
        guard !parts.isEmpty, !sums.isEmpty else { return }
        var sum: UInt64 = 0
        for (place, own) in sums.enumerated() {
            guard !PageGeometry.isReserved(first &+ UInt32(truncatingIfNeeded: place)) else { continue }
            sum &+= own
        }
        parts[parts.count - 1].sum &+= sum
        parts[parts.count - 1].last = first &+ UInt32(truncatingIfNeeded: sums.count) &- 1
    }

    /// A page of the file is about to be written over.
    func note(overwritten page: UInt32, sum: UInt64) {
        guard let part = parts.last else { return }
        overwritten[page] = (sum, part.number)
    }

    /// Writes the sums.
    func save(to state: inout StateWriter) {
        state.write(parts.count)
        for part in parts {
            state.write(part.after)
            state.write(part.last)
            state.write(part.sum)
        }
        state.write(overwritten.count)
        for (page, known) in overwritten.sorted(by: { $0.key < $1.key }) {
            state.write(page)
            state.write(known.sum)
        }
    }

    /// The sum of a page at its place.
    static func sum(of page: UnsafeRawPointer, number: UInt32) -> UInt64 { FileSums.sum(of: page, number: number) }
}

extension DatabaseFileWriter {
    /// A checkpoint was taken that is about to be brought to the disk: what is written from now on is summed.
    ///
    /// - Returns: a number for ``forgetWritten(before:)``.
    package func beginWritten() -> Int {
        let written = output.written ?? WrittenPages()
        output.written = written
        return written.begin(after: output.pageCount)
    }

    /// The checkpoint of that number stands on the disk.
    package func forgetWritten(before number: Int) { output.written?.forget(before: number) }

    /// Writes the sums of what was written since the last checkpoint that stands on the disk; all of it must be in the file.
    package func saveWritten(to state: inout StateWriter) { (output.written ?? WrittenPages()).save(to: &state) }

    /// Whether a file has all that ``saveWritten(to:)`` tells of.
    ///
    /// - Throws: `journal.damaged` where the sums say nothing, `store.io` (74).
    /// - Complexity: O(pages that were written).
    package static func isWritten(_ sums: [UInt8], in path: String) throws(MigrationError) -> Bool {
        var state = StateReader(sums)
        let file = try SummedFile(path)
        for _ in 0..<(try state.count(upTo: 1 << 16)) {
            let (after, last, sum) = (try state.page(), try state.page(), try state.word())
            guard after <= last else { throw StateReader.damaged("the sum of pages") }
            guard try file.sum(after: after, through: last) == sum else { return false }
        }
        for _ in 0..<(try state.count(upTo: Int(UInt32.max))) {
            let (page, sum) = (try state.page(), try state.word())
            guard page > 0 else { throw StateReader.damaged("the sum of a page") }
            guard try file.sum(after: page - 1, through: page, takesReserved: true) == sum else { return false }
        }
        try state.finish()
        return true
    }
}

/// A file whose pages are summed: read past the page cache where they were written past it.
///
/// Memory: 1 MiB, of a huge page where there are such.
private final class SummedFile {
    private let path: String
    private var descriptor: Int32
    private let space = SpareMemory.hugePage.take()
    private static let size = LargeMemory.hugePage / 2

    /// - Throws: `store.io` (74).
    init(_ path: String) throws(MigrationError) {
        self.path = path
        descriptor = open(path, O_RDONLY | O_CLOEXEC | FileFlags.direct)
        if descriptor < 0 { descriptor = PosixFile.openReadOnly(path) }
        guard descriptor >= 0 else { throw PageFailure.system("Opening", path, number: Int(errno)) }
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
        SpareMemory.hugePage.leave(space)
    }

    /// The sum of some pages; nil where the file ends before the last.
    func sum(after: UInt32, through last: UInt32, takesReserved: Bool = false) throws(MigrationError) -> UInt64? {
        var sum: UInt64 = 0
        var next = after
        while next < last {
            let count = min(Int(last - next), Self.size / PageGeometry.pageSize)
            let place = Int64(next) * Int64(PageGeometry.pageSize)
            var read = PosixFile.read(descriptor, into: space, count: count * PageGeometry.pageSize, at: place)
            if read < 0, errno == EINVAL {
                close(descriptor)
                descriptor = PosixFile.openReadOnly(path)
                read = PosixFile.read(descriptor, into: space, count: count * PageGeometry.pageSize, at: place)
            }
            guard read >= 0 else { throw PageFailure.system("Reading", path, number: Int(errno)) }
            guard read == count * PageGeometry.pageSize else { return nil }
            for index in 0..<count {
                next += 1
                guard takesReserved || !PageGeometry.isReserved(next) else { continue }
                sum &+= WrittenPages.sum(of: space + index * PageGeometry.pageSize, number: next)
            }
        }
        return sum
    }
}
