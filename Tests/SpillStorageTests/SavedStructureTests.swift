import Diagnostics
import Foundation
import Rows
import TestSupport
import Testing

@testable import SpillStorage

/// Structures that are saved while they are filled, in a folder as a killed process leaves it. A structure that is restored
/// from it behaves as one that was never interrupted.
@Suite("Structures that outlive the process")
struct SavedStructureTests {
    /// The work directory as it is after a kill: the files as they are now, with bytes behind them that no state knows, and
    /// a file of nobody.
    private func killed(_ folder: TemporaryFolder, _ number: Int, _ random: inout SeededGenerator) throws
        -> WorkDirectory
    {
        let (from, to) = (folder.file("work"), folder.file("killed-\(number)"))
        try FileManager.default.createDirectory(atPath: to, withIntermediateDirectories: false)
        for name in try FileManager.default.contentsOfDirectory(atPath: from) where name.hasSuffix(".spill") {
            var bytes = try Data(contentsOf: URL(fileURLWithPath: "\(from)/\(name)"))
            for _ in 0..<random.below(3000) { bytes.append(UInt8(truncatingIfNeeded: random.next())) }
            try bytes.write(to: URL(fileURLWithPath: "\(to)/\(name)"))
        }
        try Data("of no use".utf8).write(to: URL(fileURLWithPath: "\(to)/sort-7.spill"))
        return try WorkDirectory(path: to, keepsFiles: true)
    }

    private func spillFiles(_ directory: WorkDirectory) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: directory.path).filter { $0.hasSuffix(".spill") }
    }

    /// Saves a structure, restores it as after a kill, and checks that the state was read to its end.
    private func revived<Structure>(
        _ folder: TemporaryFolder, _ number: Int, _ random: inout SeededGenerator,
        _ saved: Structure, make: (WorkDirectory) -> Structure,
        code: (Structure, inout StateCoder) throws(MigrationError) -> Void
    ) throws -> Structure {
        var state = StateCoder()
        try code(saved, &state)
        let directory = try killed(folder, number, &random)
        let made = make(directory)
        var reader = StateCoder(reading: state.bytes)
        try code(made, &reader)
        try reader.finish()
        try directory.removeUnclaimed()
        #expect(try !spillFiles(directory).contains("sort-7.spill"))
        return made
    }

    // MARK: - Sets of keys

    private func keys(_ index: KeyIndex) throws -> [Int64] {
        var keys = [Int64](repeating: 0, count: index.count + 8)
        let found = try keys.withUnsafeMutableBufferPointer { space throws(MigrationError) in
            try index.keys(fromRank: 0, into: space)
        }
        return Array(keys[..<found])
    }

    @Test("A set of keys", arguments: [1 << 20, 20_000])
    func keyIndex(memory: Int) throws {
        var random = SeededGenerator(seed: 71 + UInt64(memory))
        let folder = try TemporaryFolder()
        let directory = try WorkDirectory(path: folder.file("work"))
        let index = KeyIndex(directory: directory, name: "keys", memory: memory)
        var revived: [KeyIndex] = []
        var all: [Int64] = []
        var key: Int64 = -900_000
        for round in 0..<6 {
            for _ in 0..<30_000 {
                key += round == 3 ? Int64(1 + random.below(4000)) : random.chance(40) ? Int64(1 + random.below(9)) : 1
                all.append(key)
                try index.append(key)
                for other in revived { try other.append(key) }
            }
            revived.append(
                try self.revived(
                    folder, round, &random, index,
                    make: { KeyIndex(directory: $0, name: "keys", memory: memory) },
                    code: { one, state throws(MigrationError) in try one.code(with: &state) }))
        }
        #expect(try keys(index) == all)
        for other in revived {
            #expect(other.count == all.count && other.lastKey == all.last)
            #expect(try keys(other) == all)
            for _ in 0..<300 {
                let probe = Int64(random.below(1_000_000)) - 900_100
                #expect(try other.rank(of: probe) == index.rank(of: probe))
                #expect(try other.contains(probe) == index.contains(probe))
            }
        }
    }

    // MARK: - Records

    private func records(_ log: RecordLog) throws -> [[UInt64]] {
        let words = UnsafeMutablePointer<UInt64>.allocate(capacity: log.width)
        defer { words.deallocate() }
        var found: [[UInt64]] = []
        let cursor = try log.scan()
        while try cursor.next(into: words) { found.append((0..<log.width).map { words[$0] }) }
        return found
    }

    @Test("A log of records, in order or not", arguments: [true, false])
    func recordLog(isAscending: Bool) throws {
        var random = SeededGenerator(seed: isAscending ? 81 : 82)
        let folder = try TemporaryFolder()
        let directory = try WorkDirectory(path: folder.file("work"))
        func make(_ directory: WorkDirectory) -> RecordLog {
            RecordLog(directory: directory, name: "log", width: 3, indexWords: 2, memory: 128 << 10)
        }
        let log = make(directory)
        var revived: [RecordLog] = []
        for round in 0..<12 {
            for number in 0..<6000 {
                let first = isAscending ? UInt64(round * 6000 + number) : UInt64(random.below(5000))
                let (second, third) = (UInt64(random.below(9)), random.next() >> 40)
                for one in [log] + revived { try one.append(first, second, third) }
            }
            guard round % 4 == 1 else { continue }
            revived.append(
                try self.revived(
                    folder, round, &random, log,
                    make: make, code: { one, state throws(MigrationError) in try one.code(with: &state) }))
        }
        let all = try records(log)
        #expect(all.count == 72_000)
        for other in revived { #expect(try records(other) == all) }
    }

    // MARK: - Pairs

    @Test("An association table of every form", arguments: 0..<5)
    func associations(kind: Int) throws {
        var random = SeededGenerator(seed: 90 + UInt64(kind))
        let folder = try TemporaryFolder()
        let directory = try WorkDirectory(path: folder.file("work"))
        func make(_ directory: WorkDirectory) -> AssociationTable {
            AssociationTable(directory: directory, name: "pairs", memory: 512 << 10)
        }
        let table = make(directory)
        var tables = [table]
        func reference(_ entity: Int, _ key: Int) -> ObjectReference {
            ObjectReference(entity: UInt32(entity), key: Int64(key))
        }
        for number in 0..<24_000 {
            let (source, destination): (ObjectReference, ObjectReference)
            switch kind {
            case 0: (source, destination) = (reference(1, number * 2), reference(2, 5 + number))
            case 1: (source, destination) = (reference(1, number / 2), reference(2, number * 3))
            case 2: (source, destination) = (reference(1, random.below(4000)), reference(2, random.below(4000)))
            case 3:
                let isWide = number > 15_000 && random.chance(60)
                (source, destination) = (
                    isWide ? ObjectReference(entity: 70_000, key: .min) : reference(1, random.below(900)),
                    reference(2, number)
                )
            default: (source, destination) = (reference(1, number), reference(number == 13_000 ? 3 : 2, number))
            }
            for one in tables { try one.add(source: source, destination: destination) }
            if number % 7919 == 0 {
                var found: [ObjectReference] = []
                // Makes the log the other way round.
                for one in tables { try one.sources(of: destination, into: &found) }
            }
            guard number == 0 || number == 6000 || number == 17_000 else { continue }
            tables.append(
                try revived(
                    folder, number, &random, table,
                    make: make, code: { one, state throws(MigrationError) in try one.code(with: &state) }))
        }
        func all(_ table: AssociationTable) throws -> [String] {
            let cursor = try table.destinationsInOrderOfFirstAssociation()
            var found: [String] = []
            while let pair = try cursor.next() { found.append("\(pair.source) \(pair.destination)") }
            try table.forEachSourceInOrderOfAssociation { found.append("\($0)") }
            return found
        }
        let expected = try all(table)
        #expect(!expected.isEmpty)
        for one in tables.dropFirst() {
            #expect(try all(one) == expected)
            #expect(one.countOfDestinations == table.countOfDestinations)
        }
    }

    // MARK: - Rows

    private func rows(_ spill: RowSpill) throws -> [String] {
        let reader = spill.makeReader()
        var batch = RowBatch(slots: spill.slots, rowCapacity: 50, byteTarget: 10_000)
        var rows: [String] = []
        while try reader.next(into: &batch) {
            for row in 0..<batch.count {
                let cells = (0..<spill.slots).map { slot in
                    let cell = batch[row, slot]
                    return cell.kind == .text
                        ? String(decoding: batch.bytes(cell), as: UTF8.self) : "\(cell.kind) \(cell.bits)"
                }
                rows.append("\(batch.key(row)) \(cells)")
            }
            batch.removeAll()
        }
        return rows
    }

    @Test("Rows, patched and deleted")
    func rowSpill() throws {
        var random = SeededGenerator(seed: 101)
        let folder = try TemporaryFolder()
        let directory = try WorkDirectory(path: folder.file("work"))
        func make(_ directory: WorkDirectory) -> RowSpill {
            RowSpill(directory: directory, name: "rows", slots: 3, memory: 512 << 10)
        }
        let spill = make(directory)
        var spills = [spill]
        var batch = RowBatch(slots: 3, rowCapacity: 1, byteTarget: 4096)
        var key: Int64 = 0
        for round in 0..<8 {
            for _ in 0..<3000 {
                batch.removeAll()
                let isPatch = key > 10 && !random.chance(3)
                if !isPatch { key += Int64(1 + random.below(3)) }
                let target = isPatch ? Int64(random.below(Int(key))) : key
                let row = batch.appendRow(key: target)
                batch[row, 0] = .integer(Int64(random.below(1000)))
                batch[row, 1] = isPatch && random.chance(2) ? .absent : .real(Double(random.below(50)))
                let text = String(repeating: "x", count: random.chance(300) ? 90_000 : random.below(60))
                text.utf8.withContiguousStorageIfAvailable {
                    batch.setBytes(UnsafeRawBufferPointer($0), kind: .text, row: row, slot: 2)
                }
                let isDeletion = isPatch && random.chance(9)
                for one in spills {
                    if isDeletion {
                        try one.delete(key: target)
                    } else if isPatch {
                        try one.patch(key: target, row: row, of: batch)
                    } else {
                        try one.append(row: row, of: batch)
                    }
                }
            }
            guard round % 3 == 1 else { continue }
            spills.append(
                try revived(
                    folder, round, &random, spill,
                    make: make, code: { one, state throws(MigrationError) in try one.code(with: &state) }))
        }
        let expected = try rows(spill)
        #expect(expected.count > 5000)
        for one in spills.dropFirst() {
            #expect(try rows(one) == expected)
            #expect(one.lastKey == spill.lastKey && one.appended == spill.appended)
        }
    }

    @Test("Rows of which the first were read for the last time and given back to the disk")
    func rowsGivenBack() throws {
        var random = SeededGenerator(seed: 121)
        let folder = try TemporaryFolder()
        let directory = try WorkDirectory(path: folder.file("work"))
        func make(_ directory: WorkDirectory) -> RowSpill {
            RowSpill(directory: directory, name: "rows", slots: 1, memory: 512 << 10)
        }
        let spill = make(directory)
        var batch = RowBatch(slots: 1, rowCapacity: 1000, byteTarget: 1 << 20)
        let count: Int64 = 500_000
        for key in 1...count {
            if batch.isFull { batch.removeAll() }
            let row = batch.appendRow(key: key)
            batch[row, 0] = .integer(Int64(bitPattern: random.next()))
            try spill.append(row: row, of: batch)
        }
        try spill.seal()
        let full = directory.bytesHeld
        let reader = spill.makeReader(isLast: true)
        var last: Int64 = 0
        for round in 0..<5 {
            for _ in 0..<80 {
                batch.removeAll()
                #expect(try reader.next(into: &batch))
                last = batch.key(batch.count - 1)
            }
            #expect(directory.bytesHeld < full)
            let resumed = try revived(
                folder, round, &random, spill,
                make: make, code: { one, state throws(MigrationError) in try one.code(with: &state) })
            let files = directory.saveState()
            try files.synchronize()
            files.removeUnneeded()
            let rest = resumed.makeReader(from: last + 1, isLast: true)
            var next = last + 1
            batch.removeAll()
            while try rest.next(into: &batch) {
                for row in 0..<batch.count {
                    #expect(batch.key(row) == next)
                    next += 1
                }
                batch.removeAll()
            }
            #expect(next == count + 1)
        }
    }

    // MARK: - Files

    @Test("A file that a state names stays until there are two later states; others are removed at once")
    func release() throws {
        let folder = try TemporaryFolder()
        let directory = try WorkDirectory(path: folder.file("work"))
        var log: RecordLog? = RecordLog(directory: directory, name: "log", width: 3, indexWords: 1, memory: 128 << 10)
        try log?.append(1, 2, 3)
        var state = StateCoder()
        try log?.code(with: &state)
        func takeState() throws {
            let files = directory.saveState()
            try files.synchronize()
            files.removeUnneeded()
        }
        try takeState()
        log = nil
        #expect(try spillFiles(directory).count == 1)
        try takeState()
        #expect(try spillFiles(directory).count == 1)
        try takeState()
        #expect(try spillFiles(directory).isEmpty)
        log = RecordLog(directory: directory, name: "log", width: 3, indexWords: 1, memory: 128 << 10)
        try log?.append(1, 2, 3)
        try log?.release()
        #expect(try spillFiles(directory).count == 1)
        log = nil
        #expect(try spillFiles(directory).isEmpty)
    }

    @Test("A state whose files are gone or cut, or that is no state, is refused")
    func damaged() throws {
        var random = SeededGenerator(seed: 111)
        let folder = try TemporaryFolder()
        let directory = try WorkDirectory(path: folder.file("work"))
        let table = AssociationTable(directory: directory, name: "pairs", memory: 512 << 10)
        for number in 0..<9000 {
            try table.add(
                source: ObjectReference(entity: 1, key: Int64(random.below(5000))),
                destination: ObjectReference(entity: 2, key: Int64(number)))
        }
        var state = StateCoder()
        try table.code(with: &state)
        func restore(_ bytes: [UInt8], in directory: WorkDirectory) throws {
            let made = AssociationTable(directory: directory, name: "pairs", memory: 512 << 10)
            var reader = StateCoder(reading: bytes)
            try made.code(with: &reader)
            try reader.finish()
        }
        for cut in [0, 1, state.bytes.count / 2, state.bytes.count - 1] {
            #expect(throws: MigrationError.self) {
                try restore(Array(state.bytes[..<cut]), in: try killed(folder, cut, &random))
            }
        }
        let short = try killed(folder, -1, &random)
        for name in try spillFiles(short) { #expect(truncate("\(short.path)/\(name)", 30) == 0) }
        #expect(throws: MigrationError.self) { try restore(state.bytes, in: short) }
        let empty = try killed(folder, -2, &random)
        try empty.removeSpillFiles()
        #expect(throws: MigrationError.self) { try restore(state.bytes, in: empty) }
    }

    @Test("A size that no file has is refused, and counts for nothing", arguments: [10_001, Int.max])
    func impossibleSize(size: Int) throws {
        let folder = try TemporaryFolder()
        let directory = try WorkDirectory(path: folder.file("work"))
        let file = try SpillFile(directory: directory, named: "rows")
        try [UInt8](repeating: 7, count: 10_000).withUnsafeBytes { try file.append($0) }
        var state = StateCoder()
        file.save(to: &state)
        let name = try #require(try spillFiles(directory).first)
        var other = StateWriter()
        other.write(name)
        other.write(size)
        other.write(0)
        for _ in 0..<2 {
            let error = #expect(throws: MigrationError.self) {
                var reader = StateCoder(reading: other.bytes)
                _ = try SpillFile(directory: directory, restoring: &reader)
            }
            #expect(error?.code == "journal.damaged")
        }
        #expect(directory.bytesHeld == 10_000)
    }

    /// The state of a spilled set of 40,000 keys of one range, with another size, number or kind of its chunk.
    @Test(
        "A chunk of keys that a state says to be other than it is in the file is refused, before it is read or then",
        arguments: [(8, 0, 3), (8_448, 1, 3), (80_000, 0, 2), (8_192, 0, 1), (8_192, 0, 5), (320_000, 0, 4), (0, 0, 0)])
    func otherChunk(bytes: Int, fewer: Int, kind: UInt64) throws {
        let folder = try TemporaryFolder()
        let directory = try WorkDirectory(path: folder.file("work"))
        let keys = KeyIndex(directory: directory, name: "keys", memory: 0)
        // Neither runs nor holes are fewer bytes than a bit for each.
        for key in 0..<Int64(40_000) { try keys.append(key + key / 2) }
        var state = StateCoder()
        try keys.code(with: &state)
        var reader = StateReader(state.bytes)
        var other = StateWriter()
        other.write(try reader.integer())
        other.write(try reader.flag())
        other.write(bytes: try reader.block())
        other.write(try reader.integer())
        other.write(try reader.integer())
        #expect(try reader.integer() == 1)
        other.write(1)
        other.write(try reader.integer())
        #expect(try reader.integer() == 40_000)
        other.write(40_000 - fewer)
        _ = try reader.integer()
        other.write(bytes)
        #expect(try reader.integer() == 3)
        other.write(kind)
        other.write(try reader.integer())
        try reader.finish()
        #expect(throws: MigrationError.self) {
            let made = KeyIndex(directory: directory, name: "keys", memory: 0)
            var state = StateCoder(reading: other.bytes)
            try made.code(with: &state)
            _ = try made.rank(of: 30_000)
        }
    }
}
