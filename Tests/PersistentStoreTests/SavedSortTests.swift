import Diagnostics
import Foundation
import Rows
import SpillStorage
import TestSupport
import Testing

@testable import PersistentStore

/// Tables that go on from a checkpoint with the sorted entries that lay in files: the file is as one that was filled at once.
@Suite("Sorts that outlive the process")
struct SavedSortTests {
    private typealias M = SchemaTestModel

    private static func schema() throws -> StoreSchema {
        try M.schema(
            M.entity(
                "Item", [M.attribute("number", .integer64), M.attribute("name", .string)],
                [
                    M.toOne("parent", "Item", inverse: "children"), M.toMany("children", "Item", inverse: "parent"),
                    M.toOne("list", "List", inverse: "items"), M.toMany("tags", "Tag", inverse: "items"),
                ]), M.entity("List", [], [M.toMany("items", "Item", inverse: "list")]),
            M.entity("Tag", [], [M.toMany("items", "Item", inverse: "tags")]))
    }

    /// A store as a killed process leaves it, and a work directory with what lay in files.
    private struct Killed {
        let store: String
        let work: String
        let fill: [UInt8]
        let knowledge: DestinationStore.Knowledge
        let rows: Int
    }

    /// What the process that goes on finds.
    enum Left: CaseIterable {
        /// Runs of sorted entries, as the memory was used up.
        case runs
        /// The same, but it has more memory: they are of no use to it.
        case runsOfOtherMemory
        /// Entries as they were in memory.
        case kept
        /// The same, for a sort that has too little memory for them.
        case keptOfOtherMemory
        /// The same with a wrong byte, half of it, none of it.
        case keptDamaged, keptCut, keptMissing

        var isKept: Bool { self != .runs && self != .runsOfOtherMemory }
        /// Whether the files are of use.
        var isSound: Bool { self == .runs || self == .kept }
    }

    private func copy(
        _ folder: TemporaryFolder, _ name: String, _ left: Left
    ) throws -> (store: String, work: String) {
        let (store, work) = (folder.file("\(name).sqlite"), folder.file("\(name)-work"))
        try FileManager.default.copyItem(atPath: folder.file("store.sqlite"), toPath: store)
        try FileManager.default.createDirectory(atPath: work, withIntermediateDirectories: false)
        for file in try FileManager.default.contentsOfDirectory(atPath: folder.file("work"))
        where file.hasSuffix(".spill") {
            // Behind what a state knows there may be more.
            var bytes = try Data(contentsOf: URL(fileURLWithPath: "\(folder.file("work"))/\(file)"))
            bytes.append(contentsOf: [1, 2, 3])
            switch left {
            case .keptDamaged: bytes[bytes.count / 3] ^= 1
            case .keptCut: bytes.removeLast(bytes.count / 2)
            case .keptMissing: continue
            default: break
            }
            try bytes.write(to: URL(fileURLWithPath: "\(work)/\(file)"))
        }
        return (store, work)
    }

    private func sorts(_ work: WorkDirectory, memory: Int) -> IndexSorts { IndexSorts(directory: work, memory: memory) }

    /// - Parameters:
    ///   - isJoin: whether links are loaded, else objects.
    ///   - isPacked: whether the highest keys are known, so that a link's entry is one word.
    @Test(
        "Entries in files are gone on with",
        arguments: [(false, false), (true, false), (true, true)], Left.allCases)
    func goesOn(_ form: (isJoin: Bool, isPacked: Bool), left: Left) throws {
        let (isJoin, isPacked) = form
        var random = SeededGenerator(seed: 311 + (isJoin ? 1 : 0) + (left.isSound ? 0 : 2))
        let schema = try Self.schema()
        let folder = try TemporaryFolder()
        let memory = left.isKept ? 16 << 20 : (isPacked ? 2 : 4) * 256 << 10
        let table = try #require(schema.tables.firstIndex { $0.name == "ZITEM" })
        let expectedKeys = isPacked ? schema.tables.map { $0.name == "ZITEM" ? 60_000 : 1_500_000 as Int64 } : nil
        let columns = isJoin ? 2 : schema.tables[table].columns.count
        func column(_ name: String) throws -> Int {
            try #require(schema.tables[table].columns.firstIndex { $0.name == name })
        }
        let (parent, list) = isJoin ? (0, 1) : (try column("ZPARENT"), try column("ZLIST"))
        // Batches of rows: the same for all.
        let batchRows = 700
        let batches = 220
        func batch(_ number: Int) -> RowBatch {
            var generator = SeededGenerator(seed: UInt64(number))
            var batch = RowBatch(slots: columns, rowCapacity: batchRows, byteTarget: 1 << 20)
            for place in 0..<batchRows {
                let key = Int64(number * batchRows + place + 1)
                let row = batch.appendRow(key: isJoin ? key : key * 3)
                if isJoin {
                    batch[row, 0] = .integer(key / 3)
                    batch[row, 1] = .integer(key % 3 * 500_000 + Int64(generator.below(400_000)))
                } else {
                    batch[row, EntityTable.entityColumn] = .integer(1)
                    batch[row, EntityTable.lockColumn] = .integer(1)
                    if !generator.chance(9) { batch[row, parent] = .integer(Int64(generator.below(500_000))) }
                    if !generator.chance(9) { batch[row, list] = .integer(Int64(generator.below(70))) }
                }
            }
            return batch
        }
        func writer(_ store: DestinationStore, _ state: [UInt8]?) throws -> PageTableWriter {
            let writer =
                isJoin
                ? try store.joinWriter(0, goingOnFrom: state) : try store.tableWriter(table, goingOnFrom: state)
            return try #require(writer as? PageTableWriter)
        }
        func finish(_ writer: PageTableWriter, _ store: DestinationStore) throws {
            try writer.finish()
            if isJoin { try store.createIndexes(joinTable: 0) } else { try store.createIndexes(table: table) }
            try WritingTestStore.finish(store)
        }

        let work = try WorkDirectory(path: folder.file("work"))
        let store = try WritingTestStore.create(schema, folder.file("store.sqlite"))
        store.writesPages = true
        store.indexSorts = sorts(work, memory: memory)
        store.expectedKeys = expectedKeys
        let whole = try writer(store, nil)
        var killed: [Killed] = []
        let times = Set((0..<3).map { (left.isKept ? 100 : 40) + $0 * (left.isKept ? 40 : 60) + random.below(35) })
        for number in 0..<batches {
            try whole.append(batch(number))
            guard times.contains(number) else { continue }
            // What is in memory is told of by states that nothing waits for too.
            let fill = try #require(try whole.checkpoint(sorts: left.isKept && number % 2 == 0 ? .standing : .all))
            #expect(whole.namesFiles)
            // What comes after a checkpoint is in the file that a killed process leaves.
            let knowledge = store.knowledge
            let (copied, left) = try copy(folder, "killed-\(number)", left)
            killed.append(
                Killed(store: copied, work: left, fill: fill, knowledge: knowledge, rows: (number + 1) * batchRows))
        }
        try finish(whole, store)
        let expected = try contents(folder.file("store.sqlite"), isJoin ? schema.joinTables[0].name : "ZITEM")
        #expect(expected.count == batches * batchRows)
        for one in killed {
            let directory = try WorkDirectory(path: one.work, keepsFiles: true)
            #expect(try DestinationStore.recover(one.store, vfs: nil) == 0)
            let again = try DestinationStore(
                resuming: one.store, schema: schema, knowledge: one.knowledge, stamp: 0, cacheBytes: 1 << 20, vfs: nil)
            again.writesPages = true
            again.indexSorts = sorts(
                directory,
                memory: left == .runsOfOtherMemory ? 2 * memory : left == .keptOfOtherMemory ? memory / 16 : memory)
            again.expectedKeys = expectedKeys
            let rest = try writer(again, one.fill)
            let settled = rest.open?.target.indexes.map(\.settled.rows) ?? []
            #expect(!settled.isEmpty && settled.allSatisfy { $0 <= Int64(one.rows) })
            if left == .runs { #expect(settled.contains { $0 > Int64(one.rows / 4) }, "\(settled) of \(one.rows)") }
            // Nothing was written yet: what the directory has was taken over.
            if left == .kept { #expect(directory.bytesHeld >= settled.count * 128 << 10) }
            if left.isKept, left != .kept, left != .keptOfOtherMemory { #expect(directory.bytesHeld == 0) }
            try directory.removeUnclaimed()
            for number in (one.rows / batchRows)..<batches {
                try rest.append(batch(number))
                // Entries go to files in the second process too, and are told of.
                if number == batches - 1 { #expect(try rest.checkpoint(sorts: .all) != nil && rest.namesFiles) }
            }
            try finish(rest, again)
            #expect(try contents(one.store, isJoin ? schema.joinTables[0].name : "ZITEM") == expected)
        }
    }

    /// The rows of a table, after SQLite has found all indexes to be what they should be.
    private func contents(_ path: String, _ table: String) throws -> [String] {
        let connection = try WritingTestStore.open(path)
        let check = try connection.prepare("PRAGMA integrity_check")
        #expect(try check.step() && check.text(0) == "ok")
        let names = try connection.prepare("SELECT name FROM pragma_table_info('\(table)') ORDER BY cid")
        var columns: [String] = []
        while try names.step() { columns.append(names.text(0) ?? "") }
        let list = columns.map { "ifnull(\"\($0)\", '-')" }.joined(separator: " || ' ' || ")
        let rows = try connection.prepare("SELECT \(list) FROM \"\(table)\" ORDER BY rowid")
        var found: [String] = []
        while try rows.step() { found.append(rows.text(0) ?? "") }
        return found
    }
}
