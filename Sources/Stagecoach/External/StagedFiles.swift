import Diagnostics
import Glibc
import PersistentStore
import SpillStorage

/// Which files of external data a mapping model's load has made, and what is in them: a line each, in the folder where they
/// stand until they are published. A run that goes on from a killed one looks whether they are what that one made.
///
/// A file that was carried over is what its source is; of one that was written the line has the sum.
/// Memory: a line; where they are checked, those of a file.
final class StagedFiles {
    private let path: String
    private var descriptor: Int32 = -1
    /// Lines so far.
    private(set) var count = 0

    /// The file's name, which is no reference's.
    private static let name = "made"

    /// - Parameter folder: that of the mapping model's files.
    init(in folder: String) { path = "\(folder)/\(Self.name)" }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// Adds a file that was made.
    ///
    /// - Parameter source: what it was carried over from; nil: its bytes were written.
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

    /// Checks the files that the lines of a folder tell of.
    ///
    /// - Parameter source: where those that were carried over come from.
    /// - Returns: how many lines are sound.
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
