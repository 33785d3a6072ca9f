import Diagnostics
import Glibc
import SpillStorage

/// The checksums of the pages that were written to a database file since the last synced checkpoint. They tell a resumed run
/// whether all these pages are in the file.
///
/// To sync a busy file takes some hundredths of a second. A later checkpoint that was not synced is valid too, if the file has
/// what it describes. After a kill of the process it has; after a failure of the machine whole sectors may be missing.
///
/// Memory: some bytes for each page that was overwritten.
/// Complexity: some hundred cycles for each page.
final class WrittenPages {
    /// The pages that were added to the file between one checkpoint and the next.
    private struct Part {
        let number: Int
        /// The number of the page before the first one.
        let after: UInt32
        var last: UInt32
        /// The sum of the pages' checksums, without reserved pages: these are added empty and overwritten later.
        var sum: UInt64 = 0
    }

    private var parts: [Part] = []
    private var begun = 0
    /// The checksums of the overwritten pages, each with the number of the part in which that happened.
    private var overwritten: [UInt32: (sum: UInt64, part: Int)] = [:]

    /// Begins a new part, because a checkpoint was taken.
    ///
    /// - Parameter page: the last page of the file.
    /// - Returns: the part's number.
    func begin(after page: UInt32) -> Int {
        begun += 1
        parts.append(Part(number: begun, after: page, last: page))
        return begun
    }

    /// Forgets the parts before a number: the checkpoint at which that part began is synced.
    func forget(before number: Int) {
        parts.removeAll { $0.number < number }
        overwritten = overwritten.filter { $0.value.part >= number }
    }

    /// Notes pages that are about to be added to the file.
    ///
    /// - Parameter sums: the checksum of each page.
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

    /// Notes that a page of the file is about to be overwritten.
    func note(overwritten page: UInt32, sum: UInt64) {
        guard let part = parts.last else { return }
        overwritten[page] = (sum, part.number)
    }

    /// Writes the checksums to a state.
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

    /// The checksum of a page with a number.
    static func sum(of page: UnsafeRawPointer, number: UInt32) -> UInt64 { FileSums.sum(of: page, number: number) }
}

extension DatabaseFileWriter {
    /// Begins to note the pages written from now on, because a checkpoint was taken that is about to be synced.
    ///
    /// - Returns: a number for ``forgetWritten(before:)``.
    package func beginWritten() -> Int {
        let written = output.written ?? WrittenPages()
        output.written = written
        return written.begin(after: output.pageCount)
    }

    /// Notes that the checkpoint with a number is synced.
    package func forgetWritten(before number: Int) { output.written?.forget(before: number) }

    /// Writes the checksums of all pages written since the last synced checkpoint. These pages must be in the file already.
    package func saveWritten(to state: inout StateWriter) { (output.written ?? WrittenPages()).save(to: &state) }

    /// Tells whether a file has all pages that ``saveWritten(to:)`` noted.
    ///
    /// - Throws: `journal.damaged` if the checksums cannot be read, `store.io` (74).
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

/// A file whose pages are summed. It is read with direct I/O if possible, because it was written that way.
///
/// Memory: 1 MiB, half of a huge page if there are huge pages.
private final class SummedFile {
    private let path: String
    private var descriptor: Int32
    private let space = SpareMemory.hugePage.take()
    private static let size = LargeMemory.hugePage / 2

    /// Opens the file.
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

    /// The sum of the checksums of some pages; nil if the file ends before the last one.
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
