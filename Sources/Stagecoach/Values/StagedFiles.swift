import CoreDataStore
import Diagnostics
import Glibc
import SpillStorage

/// The record of the external data files that a mapping model's load has made, and of their contents: one line per file, in the
/// folder where the files are until they are published. A resumed run checks that the files are what the interrupted run made.
///
/// A carried file must equal its source; for a written file the line has the checksum. Memory: one line; in a check also the
/// memory for the checksum of a file.
final class StagedFiles {
    private let path: String
    private var descriptor: Int32 = -1
    /// The number of lines so far.
    private(set) var count = 0

    /// The name of the record file, which cannot be the name of a reference.
    private static let name = "made"

    /// - Parameter folder: the folder of the mapping model's files.
    init(in folder: String) { path = "\(folder)/\(Self.name)" }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// Records a file that was made.
    ///
    /// - Parameter source: the source file that was carried over; nil if the file's bytes were written.
    /// - Throws: `external.write`, `store.full`, `spill.io` (74).
    func note(_ file: ExternalReference, carriedFrom source: ExternalReference?) throws(MigrationError) {
        let made = "\(DestinationPath(path: path).folder)/\(file.name)"
        let content: String
        if let source { content = source.name } else { content = String(try FileSums.sum(ofFile: made), radix: 16) }
        if descriptor < 0 {
            descriptor = SystemCall.uninterrupted {
                open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
            }
            guard descriptor >= 0 else { throw failure() }
        }
        var rest = Array((SignedLine.signed("\(file.name) \(content)") + "\n").utf8)[...]
        while !rest.isEmpty {
            let written = SystemCall.uninterrupted {
                rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
            }
            guard written > 0 else { throw failure() }
            rest = rest.dropFirst(written)
        }
        count += 1
    }

    /// Checks the files that a folder's record lists.
    ///
    /// - Parameter source: the folder of the files that were carried over.
    /// - Returns: the number of sound lines.
    /// - Throws: `journal.damaged`, `spill.io`, `external.io` (74).
    static func check(in folder: String, source: ExternalFolder) throws(MigrationError) -> Int {
        guard let lines = fopen("\(folder)/\(name)", "re") else { return 0 }
        defer { fclose(lines) }
        var count = 0
        var buffer = [CChar](repeating: 0, count: 128)
        while fgets(&buffer, Int32(buffer.count), lines) != nil {
            let line = String(
                decoding: buffer.prefix { $0 != 0 && $0 != 10 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
            guard let words = SignedLine.text(of: line)?.split(separator: " "), words.count == 2,
                let file = ExternalReference(name: String(words[0]))
            else { continue }
            count += 1
            let found = try FileSums.sum(ofFile: "\(folder)/\(file.name)")
            let expected =
                try ExternalReference(name: String(words[1])).map { reference throws(MigrationError) in
                    try FileSums.sum(ofFile: source.path(of: reference))
                } ?? UInt64(words[1], radix: 16)
            guard found == expected else { throw StateReader.damaged("the external data \(file.name)") }
        }
        return count
    }

    private func failure() -> MigrationError {
        .writing("Noting external binary data", path: path, otherwise: "external.write")
    }
}
