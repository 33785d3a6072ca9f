import Diagnostics
import Foundation
import Rows
import SpillStorage
import TestSupport
import Testing

@testable import CoreDataStore

/// Tables that are resumed from a checkpoint with sorted entries in files: the result equals a table that was filled at once.
@Suite("Sorts that outlive the process")
struct SavedSortTests {
    /// The state of the files that the resumed process finds.
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
        /// True if the files can be used.
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

    /// - Parameters:
    ///   - isJoin: whether links are loaded, else objects.
    ///   - isPacked: whether the highest keys are known, so that a link's entry is one word.
    @Test(
        "Entries in files are used by a resumed run",
        arguments: [(false, false), (true, false), (true, true)], Left.allCases)
    func goesOn(_ form: (isJoin: Bool, isPacked: Bool), left: Left) throws {
        let (isJoin, isPacked) = form
        var random = SeededGenerator(seed: 311 + (isJoin ? 1 : 0) + (left.isSound ? 0 : 2))
        let folder = try TemporaryFolder()
        let memory = left.isKept ? 16 << 20 : (isPacked ? 2 : 4) * 256 << 10
        let fixture = try SortedTableFixture(isJoin: isJoin, isPacked: isPacked)
        let (batchRows, batches) = (SortedTableFixture.batchRows, SortedTableFixture.batches)

        let work = try WorkDirectory(path: folder.file("work"))
        let store = try fixture.create(folder.file("store.sqlite"), IndexSorts(directory: work, memory: memory))
        let whole = try fixture.writer(store, nil)
        var killed: [(left: SortedTableFixture.Killed, rows: Int)] = []
        let times = Set((0..<3).map { (left.isKept ? 100 : 40) + $0 * (left.isKept ? 40 : 60) + random.below(35) })
        for number in 0..<batches {
            try whole.append(fixture.batch(number))
            guard times.contains(number) else { continue }
            // Entries in memory are in states that are not synced too.
            let fill = try #require(try whole.checkpoint(sorts: left.isKept && number % 2 == 0 ? .standing : .all))
            #expect(whole.namesFiles)
            // Entries after a checkpoint are in the file that a killed process leaves.
            let knowledge = store.knowledge
            let (copied, left) = try copy(folder, "killed-\(number)", left)
            killed.append(
                (.init(store: copied, work: left, fill: fill, knowledge: knowledge), (number + 1) * batchRows))
        }
        try fixture.finish(whole, store)
        let expected = try fixture.contents(folder.file("store.sqlite"))
        #expect(expected.count == batches * batchRows)
        for (one, rows) in killed {
            let directory = try WorkDirectory(path: one.work, keepsFiles: true)
            let again = try fixture.resume(
                one,
                IndexSorts(
                    directory: directory,
                    memory: left == .runsOfOtherMemory ? 2 * memory : left == .keptOfOtherMemory ? memory / 16 : memory)
            )
            let rest = try fixture.writer(again, one.fill)
            let settled = rest.open?.target.indexes.map(\.spilled.rows) ?? []
            #expect(!settled.isEmpty && settled.allSatisfy { $0 <= Int64(rows) })
            if left == .runs { #expect(settled.contains { $0 > Int64(rows / 4) }, "\(settled) of \(rows)") }
            // Nothing was written yet: what the directory has was taken over.
            if left == .kept { #expect(directory.bytesHeld >= settled.count * 128 << 10) }
            if left.isKept, left != .kept, left != .keptOfOtherMemory { #expect(directory.bytesHeld == 0) }
            try directory.removeUnclaimed()
            for number in (rows / batchRows)..<batches {
                try rest.append(fixture.batch(number))
                // Entries go to files in the second process too, and are told of.
                if number == batches - 1 { #expect(try rest.checkpoint(sorts: .all) != nil && rest.namesFiles) }
            }
            try fixture.finish(rest, again)
            #expect(try fixture.contents(one.store) == expected)
        }
    }

    /// A state that named an index as built, and also the entries from which it was built, could not be resumed.
    @Test(
        "States taken while indexes are built are resumed, whichever of them are built", arguments: [false, true])
    func whileBuilding(isSecondKept: Bool) throws {
        let folder = try TemporaryFolder()
        let fixture = try SortedTableFixture(isJoin: false, isPacked: false)
        let (batchRows, batches) = (SortedTableFixture.batchRows, SortedTableFixture.batches)
        let work = try WorkDirectory(path: folder.file("work"))
        // Runs of entries lie in files, or all of them are in memory and in files as well.
        let memory = isSecondKept ? 16 << 20 : 4 * 256 << 10
        let store = try fixture.create(folder.file("store.sqlite"), IndexSorts(directory: work, memory: memory))
        let whole = try fixture.writer(store, nil)
        for number in 0..<batches {
            try whole.append(fixture.batch(number))
            guard number % 100 == 50 else { continue }
            // As a state that reaches the disk.
            _ = try whole.checkpoint(sorts: .all)
            if let part = whole.beginWritten() { whole.forgetWritten(before: part) }
        }
        var killed: [SortedTableFixture.Killed] = []
        var problem: (any Error)?
        whole.passed = { writer throws(MigrationError) in
            for sorts in [PageTableWriter.SavedSorts.standing, .none] where writer.isComplete {
                guard let fill = try writer.checkpoint(sorts: sorts) else { continue }
                do {
                    let (copied, left) = try copy(folder, "killed-\(killed.count)", .runs)
                    killed.append(.init(store: copied, work: left, fill: fill, knowledge: store.knowledge))
                } catch { problem = error }
            }
        }
        try fixture.finish(whole, store)
        #expect(problem == nil)
        let expected = try fixture.contents(folder.file("store.sqlite"))
        #expect(expected.count == batches * batchRows)
        // Before the first index, after each of them, and on the way.
        #expect(killed.count >= 6)
        for one in killed {
            let directory = try WorkDirectory(path: one.work, keepsFiles: true)
            let again = try fixture.resume(one, IndexSorts(directory: directory, memory: memory))
            let rest = try fixture.writer(again, one.fill)
            try fixture.finish(rest, again)
            #expect(try fixture.contents(one.store) == expected)
        }
    }
}
