import Diagnostics
import Foundation
import Glibc
import TestSupport
import Testing

@testable import SpillStorage

@Suite("Sums of a file's blocks") struct FileSumsTests {
    /// Writes at a place of a file and notes it, as SQLite's files and pages of our own are.
    private func write(_ bytes: [UInt8], at place: Int, to path: String, _ sums: FileSums?) throws {
        let descriptor = open(path, O_RDWR | O_CREAT, 0o600)
        defer { close(descriptor) }
        #expect(pwrite(descriptor, bytes, bytes.count, off_t(place)) == bytes.count)
        bytes.withUnsafeBytes {
            sums?.note($0, at: place) { pread(descriptor, $0.baseAddress, $0.count, off_t($1)) >= 0 }
        }
    }

    private func random(_ count: Int, _ generator: inout SeededGenerator) -> [UInt8] {
        (0..<count).map { _ in UInt8(truncatingIfNeeded: generator.next()) }
    }

    private func isSound(_ path: String, isWhole: Bool = false, copiedFrom original: Int32? = nil) -> Bool {
        failure { try FileSums.check(path, isWhole: isWhole, copiedFrom: original) } == nil
    }

    @Test(
        "Random writes, whole blocks and parts of some, are noted; any other bit is seen",
        arguments: 0..<8 as Range<UInt64>)
    func noted(seed: UInt64) throws {
        let folder = try TemporaryFolder()
        let path = folder.file("file")
        var generator = SeededGenerator(seed: seed)
        try FileSums.begin(path)
        let sums = try #require(FileSums(of: path))
        var size = 0
        for _ in 0..<40 {
            let place = generator.chance(2) ? generator.below(size + 1) : generator.below(size / 4096 + 1) * 4096
            let count = generator.chance(2) ? 4096 * (1 + generator.below(3)) : 1 + generator.below(9000)
            try write(random(count, &generator), at: min(place, size), to: path, sums)
            size = max(size, min(place, size) + count)
        }
        #expect(isSound(path))
        let whole = try Data(contentsOf: URL(fileURLWithPath: path))
        for _ in 0..<40 {
            let place = generator.below(whole.count)
            try write([whole[place] ^ UInt8(1 << generator.below(8))], at: place, to: path, nil)
            let error = failure { try FileSums.check(path) }
            #expect(error?.code == "journal.damaged" && error?.message.contains("\(place / 4096 * 4096)") ?? false)
            #expect(isSound(path) == false)
            try write([whole[place]], at: place, to: path, nil)
        }
        #expect(isSound(path))
    }

    @Test("Unwritten blocks are those of the file's original")
    func copied() throws {
        let folder = try TemporaryFolder()
        let (path, other) = (folder.file("file"), folder.file("other"))
        var generator = SeededGenerator(seed: 5)
        let bytes = random(40_000, &generator)
        for file in [path, other] { try Data(bytes).write(to: URL(fileURLWithPath: file)) }
        // A copy's first block is another one.
        try write([1, 1], at: 18, to: path, nil)
        try FileSums.begin(path, upTo: FileSums.block)
        let sums = try #require(FileSums(of: path))
        try write(random(5000, &generator), at: 20_000, to: path, sums)
        let original = open(other, O_RDONLY)
        defer { close(original) }
        #expect(isSound(path, copiedFrom: original))
        #expect(!isSound(path))
        for place in [0, 9000, 21_000, 39_999] {
            let now = try Data(contentsOf: URL(fileURLWithPath: path))[place]
            try write([now ^ 4], at: place, to: path, nil)
            #expect(!isSound(path, copiedFrom: original))
            try write([now], at: place, to: path, nil)
        }
        #expect(isSound(path, copiedFrom: original))
    }

    @Test("A file that was noted at once is not shorter, not gone, and not without its sums")
    func whole() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("file")
        var generator = SeededGenerator(seed: 6)
        for count in [0, 1, 4096, 10_000] {
            let bytes = random(count, &generator)
            try Data(bytes).write(to: URL(fileURLWithPath: path))
            try FileSums.begin(path, upTo: .max)
            #expect(isSound(path, isWhole: true))
            guard count > 0 else { continue }
            for shorter in [0, count / 2, count - 1] {
                try Data(bytes[..<shorter]).write(to: URL(fileURLWithPath: path))
                #expect(!isSound(path, isWhole: true), "\(shorter) of \(count)")
            }
            unlink(path)
            #expect(!isSound(path, isWhole: true))
            try Data(bytes).write(to: URL(fileURLWithPath: path))
            FileSums.remove(of: path)
            #expect(!isSound(path, isWhole: true))
        }
    }

    @Test("A large file is checked to its last byte, past the page cache or not, and if direct reads fail")
    func large() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("file")
        var generator = SeededGenerator(seed: 7)
        for count in [9 << 20, (9 << 20) + 4096, (9 << 20) + 5001] {
            try Data(random(count, &generator)).write(to: URL(fileURLWithPath: path))
            try FileSums.begin(path, upTo: .max)
            #expect(isSound(path, isWhole: true))
            // Pieces that are cut short end at places where direct reads fail.
            try FileSums.check(path, isWhole: true, calls: FaultyFileCalls(isUnsteady: true))
            for place in [0, 5_000_000, (9 << 20) - 1, count - 1] {
                let now = try Data(contentsOf: URL(fileURLWithPath: path))[place]
                try write([now ^ 1], at: place, to: path, nil)
                let error = failure { try FileSums.check(path) }
                #expect(error?.message.contains("byte \(place / 4096 * 4096)") ?? false, "\(count), \(place)")
                // Blocks behind the limit are not checked.
                #expect(failure { try FileSums.check(path, upTo: place / 4096 * 4096) } == nil)
                try write([now], at: place, to: path, nil)
            }
            #expect(isSound(path, isWhole: true))
        }
    }

    @Test("A block that is being changed in place is not checked until it is noted again; the others are")
    func suspended() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("file")
        try FileSums.begin(path)
        let sums = try #require(FileSums(of: path))
        try write([UInt8](repeating: 7, count: 8192), at: 0, to: path, sums)
        sums.suspend(block: 0)
        #expect(isSound(path))
        try write([8], at: 30, to: path, nil)
        #expect(isSound(path))
        try write([9], at: 31, to: path, sums)
        #expect(isSound(path))
        try write([8], at: 32, to: path, nil)
        #expect(!isSound(path))
        sums.suspend(block: 0)
        try write([8], at: 5000, to: path, nil)
        #expect(!isSound(path))
    }

    @Test("Sums that cannot be written are missing: a resumed run finds the file damaged")
    func lost() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("file")
        try FileSums.begin(path)
        let sums = try #require(FileSums(of: path, calls: FaultyFileCalls(space: 0)))
        try write([UInt8](repeating: 7, count: 8192), at: 0, to: path, sums)
        #expect(!FileManager.default.fileExists(atPath: FileSums.path(of: path)))
        #expect(!isSound(path))
    }

    @Test("A whole file's sum tells its length; an absent file is damage, one that cannot be read an error of its own")
    func wholes() throws {
        let folder = try TemporaryFolder()
        var sums: Set<UInt64> = []
        for count in [0, 1, 4095, 4096, 4097, 1 << 20, (1 << 20) + 1] {
            let path = folder.file("\(count)")
            try Data(repeating: 0, count: count).write(to: URL(fileURLWithPath: path))
            sums.insert(try FileSums.sum(ofFile: path))
            let again = try FileSums.sum(ofFile: path, calls: FaultyFileCalls(isUnsteady: true))
            #expect(sums.contains(again))
        }
        #expect(sums.count == 7)
        #expect(failure { _ = try FileSums.sum(ofFile: folder.file("absent")) }?.code == "journal.damaged")
        let error = failure { _ = try FileSums.sum(ofFile: folder.path) }
        #expect(error?.code == "spill.io" && error?.context.path == folder.path, "\(String(describing: error))")
        // Its size is what was read: a status that cannot be told does not make it look damaged.
        let calls = FaultyFileCalls(failedLookup: .path(EIO))
        #expect(sums.contains(try FileSums.sum(ofFile: folder.file("4097"), calls: calls)))
    }
}
