import Diagnostics
import Foundation
import TestSupport
import Testing

@testable import SpillStorage

/// A work directory in a temporary folder, and ways to damage what is in it.
final class SpillFixture {
    let folder: TemporaryFolder
    let directory: WorkDirectory
    private var asked = 0

    init(calls: any FileCalls = SystemFileCalls()) throws {
        folder = try TemporaryFolder()
        directory = try WorkDirectory(path: folder.file("work"), calls: calls)
    }

    /// The spill files, in order of their names.
    func files() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: directory.path).filter { $0.hasSuffix(".spill") }.sorted()
            .map { directory.path + "/" + $0 }
    }

    /// The number of spill files that were ever made, from the number that the next one gets.
    func filesMade() throws -> Int {
        asked += 1
        let name = directory.file(named: "next").dropLast(".spill".count)
        return try #require(name.split(separator: "-").last.flatMap { Int($0) }) - asked
    }

    /// Changes one bit of a file, calls the closure, and changes it back.
    static func withDamage(in path: String, at offset: Int, bit: Int = 3, _ body: () throws -> Void) throws {
        let handle = try #require(FileHandle(forUpdatingAtPath: path))
        defer { try? handle.close() }
        func flip() throws {
            try handle.seek(toOffset: UInt64(offset))
            let byte = try #require(try handle.read(upToCount: 1)?.first)
            try handle.seek(toOffset: UInt64(offset))
            try handle.write(contentsOf: Data([byte ^ UInt8(1 << bit)]))
        }
        try flip()
        try body()
        try flip()
    }

    /// The offsets and lengths of a file's blocks.
    static func blocks(of path: String) throws -> [(offset: Int, length: Int)] {
        let data = try Data(contentsOf: URL(fileURLWithPath: path))
        var blocks: [(Int, Int)] = []
        var offset = BlockFile.headerBytes
        while offset + 16 <= data.count {
            var stored = 0
            for byte in (4..<8).reversed() { stored = stored << 8 | Int(data[offset + byte]) }
            stored &= 0x7FFF_FFFF
            blocks.append((offset, 16 + stored))
            offset += 16 + stored
        }
        return blocks
    }

    /// Expects the error of a damaged block that names the file.
    static func expectDamage(_ path: String? = nil, _ body: () throws -> Void) {
        do {
            try body()
            Issue.record("no error from a damaged block")
        } catch let error as MigrationError {
            #expect(error.code == "spill.damaged")
            #expect(error.category == .io)
            #expect(error.message.contains("block at byte"))
            if let path { #expect(error.context.path == OpenFolders.shown(path)) }
        } catch {
            Issue.record("another error: \(error)")
        }
    }
}

extension RecordLog {
    /// Makes an empty log with a memory of its own, of 128 KiB at least.
    convenience init(directory: WorkDirectory, name: String, width: Int, indexWords: Int, memory: Int) {
        self.init(
            directory: directory, name: name, width: width, indexWords: indexWords, memory: RecordMemory(bytes: memory))
    }
}

extension AssociationTable {
    /// Makes an empty table with an allowance of its own, of 512 KiB at least.
    convenience init(directory: WorkDirectory, name: String, memory: Int) {
        let memory = max(memory, 512 * 1024)
        self.init(directory: directory, name: name, memory: memory / 2, logs: RecordMemory(bytes: memory / 4 * 3))
    }
}
