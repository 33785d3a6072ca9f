import CoreDataStore
import Diagnostics
import SpillStorage

/// The record of the external data files that a mapping model's load has made, and of their contents: one line per file, in the
/// folder where the files are until they are published. A resumed run checks that the files are there, with the size that they
/// had: their bytes were synced before the state that counts them. Memory: one line.
final class StagedFiles {
    private let folder: String
    private let lines: SignedLines
    /// The number of lines so far.
    private(set) var count = 0

    /// The name of the record file, which cannot be the name of a reference.
    private static let name = "made"

    /// - Parameter folder: the folder of the mapping model's files.
    init(in folder: String) {
        self.folder = folder
        lines = SignedLines(path: "\(folder)/\(Self.name)", writing: "Noting external binary data")
    }

    /// Records a file that was made.
    ///
    /// - Parameter source: the source file that was carried over; nil if the file's bytes were written.
    /// - Throws: `external.write`, `store.full`, `spill.io` (74).
    func note(_ file: ExternalReference, carriedFrom source: ExternalReference?) throws(MigrationError) {
        let content: String
        if let source {
            content = source.name
        } else {
            content = String(try DestinationPath.size(of: "\(folder)/\(file.name)"))
        }
        try lines.append("\(file.name) \(content)")
        count += 1
    }

    /// Checks the files that a folder's record lists.
    ///
    /// - Parameter source: the folder of the files that were carried over.
    /// - Returns: the number of sound lines.
    /// - Throws: `journal.damaged`, `destination.io` (74).
    static func check(in folder: String, source: ExternalFolder) throws(MigrationError) -> Int {
        var count = 0
        try SignedLines(path: "\(folder)/\(name)", writing: "").forEachLine { line throws(MigrationError) in
            let words = line.split(separator: " ")
            guard words.count == 2, let file = ExternalReference(name: String(words[0])) else { return }
            count += 1
            let path = "\(folder)/\(file.name)"
            let found = try DestinationPath.status(path) == nil ? nil : DestinationPath.size(of: path)
            let expected =
                try ExternalReference(name: String(words[1])).map { reference throws(MigrationError) in
                    try DestinationPath.size(of: source.path(of: reference))
                } ?? Int(words[1])
            guard let found, found == expected else { throw StateReader.damaged("the external data \(file.name)") }
        }
        return count
    }
}
