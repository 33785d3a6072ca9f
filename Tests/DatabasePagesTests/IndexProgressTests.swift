import DatabasePages
import Diagnostics
import Foundation
import Rows
import SpillStorage
import TestSupport
import Testing

/// Index trees with a part of their entries, which another sorter of the same entries completes.
@Suite struct IndexProgressTests {
    /// The contents of an index's columns.
    enum Form: CaseIterable {
        /// One integer, two in one word, two with the row's id in another.
        case integer, packedPair, pair
        /// Three integers, and numbers with fractions: words of their own.
        case three, real
        /// One integer, some of them too large for half a word.
        case largeIntegers

        var columns: Int {
            switch self {
            case .integer, .real, .largeIntegers: 1
            case .packedPair, .pair: 2
            case .three: 3
            }
        }

        var affinity: ColumnAffinity { self == .real ? .real : .integer }
    }

    private static let rows = 40_000

    /// Values by row and column.
    private func cells(_ form: Form, isUnique: Bool, seed: UInt64) -> [[Cell]] {
        var generator = SeededGenerator(seed: seed)
        var order = Array(1...Int64(Self.rows))
        if isUnique { order.shuffle(using: &generator) }
        return order.map { own in
            (0..<form.columns).map { slot in
                let value = isUnique && slot == 0 ? own : Int64(generator.next() % 900)
                switch form {
                case .real: return .real(Double(value) / 4)
                case .largeIntegers: return .integer(value % 50 == 7 ? value << 40 : value)
                default: return !isUnique && value % 40 == 0 ? .null : .integer(value)
                }
            }
        }
    }

    private func sorter(_ form: Form, isUnique: Bool, _ work: WorkDirectory, memory: Int) -> IndexSorter {
        let most: Int64? = form == .packedPair ? Int64(Self.rows) : nil
        return IndexSorter(
            terms: (0..<form.columns).map {
                IndexTerm(slot: $0, affinity: form.affinity, isAscending: true, mostExpected: most)
            }, isUnique: isUnique, directory: work, memory: memory)
    }

    private func fill(_ sorter: IndexSorter, _ cells: [[Cell]]) throws {
        var batch = RowBatch(slots: cells[0].count, rowCapacity: 1000, byteTarget: 1 << 16)
        for (place, row) in cells.enumerated() {
            let number = batch.appendRow(key: Int64(place) + 1)
            for (slot, cell) in row.enumerated() { batch[number, slot] = cell }
            guard batch.isFull || place == cells.count - 1 else { continue }
            try sorter.append(batch, firstID: nil)
            batch.removeAll()
        }
    }

    /// Makes a file with an empty index.
    private func make(_ path: String, _ form: Form) throws -> UInt32 {
        let database = try TestDatabase(path)
        let columns = (0..<form.columns).map { "c\($0)" }
        try database.execute(
            "PRAGMA page_size=4096; PRAGMA auto_vacuum=2; CREATE TABLE t(Z_PK INTEGER PRIMARY KEY, "
                + columns.map { "\($0) \(form == .real ? "FLOAT" : "INTEGER")" }.joined(separator: ", ")
                + "); CREATE INDEX i ON t(\(columns.joined(separator: ", ")))")
        return try database.root(of: "i")
    }

    /// - Parameter isOther: whether the second sorter has too little memory for the entries.
    @Test(
        "A tree is the same, whether or not another process completes it", arguments: Form.allCases, [false, true])
    func goesOn(_ form: Form, isOther: Bool) throws {
        let seed: UInt64 = .random(in: 0..<1 << 32)
        print("a resumed tree: seed \(seed)")
        for isUnique in [false, true] {
            let folder = try TemporaryFolder()
            let path = folder.file("store")
            let root = try make(path, form)
            let cells = cells(form, isUnique: isUnique, seed: seed)
            let work = try WorkDirectory(path: folder.file("work"))
            let whole = sorter(form, isUnique: isUnique, work, memory: 8 << 20)
            try fill(whole, cells)
            let writer = try DatabaseFileWriter(path: path)
            let loader = writer.index(root: root)
            var states: [(progress: [UInt8], pages: [UInt8], existing: UInt32)] = []
            let outcome = try whole.build(into: loader) { progress throws(MigrationError) in
                var (told, pages) = (StateWriter(), StateWriter())
                progress.write(to: &told)
                try writer.save(tables: [], indexes: [loader], to: &pages)
                do {
                    try FileManager.default.copyItem(atPath: path, toPath: folder.file("killed-\(states.count)"))
                } catch { throw MigrationError("test.copy", .internal, "\(error)") }
                states.append((told.bytes, pages.bytes, writer.existingPages))
            }
            #expect(outcome == .built)
            try writer.finish()
            #expect(states.count >= 8)
            let expected = try Data(contentsOf: URL(fileURLWithPath: path))
            for (number, state) in states.enumerated() where (number + Int(seed % 3)) % 3 == 0 {
                let copy = folder.file("killed-\(number)")
                let directory = try WorkDirectory(path: folder.file("work-\(number)"))
                let other = sorter(form, isUnique: isUnique, directory, memory: isOther ? 256 << 10 : 8 << 20)
                try fill(other, cells)
                var told = StateReader(state.progress)
                let progress = try IndexProgress(from: &told)
                try told.finish()
                let writer = try DatabaseFileWriter(path: copy, pages: state.existing)
                let loader = writer.index(root: root)
                var pages = StateReader(state.pages)
                try writer.restore(tables: [], indexes: [loader], emptied: ([], [root]), from: &pages)
                try pages.finish()
                var calls = 0
                let outcome = try other.build(into: loader, after: progress) { next throws(MigrationError) in
                    calls += 1
                    #expect(next.entries > progress.entries)
                }
                #expect(outcome == .built && (calls > 0 || isOther || number == states.count - 1))
                try writer.finish()
                // Pages come in the same order.
                #expect(try Data(contentsOf: URL(fileURLWithPath: copy)) == expected, "\(number)")
            }
        }
    }

    @Test("Values that come twice are found behind the entries that a tree has, and over their end", arguments: [1, 2])
    func duplicates(columns: Int) throws {
        let folder = try TemporaryFolder()
        let path = folder.file("store")
        let form: Form = columns == 1 ? .integer : .pair
        let root = try make(path, form)
        let work = try WorkDirectory(path: folder.file("work"))
        let rows = Int64(12_000)
        func sorter(_ value: (Int64) -> Int64) throws -> IndexSorter {
            let sorter = self.sorter(form, isUnique: true, work, memory: 8 << 20)
            try fill(sorter, (1...rows).map { Array(repeating: .integer(value($0)), count: columns) })
            return sorter
        }
        var first: IndexProgress?
        let writer = try DatabaseFileWriter(path: path)
        _ = try sorter { $0 }.build(into: writer.index(root: root)) { progress throws(MigrationError) in
            first = first ?? progress
        }
        let progress = try #require(first)
        for twice in [Int64(progress.entries), Int64(progress.entries) + 1, rows - 1] {
            let again = try sorter { $0 > twice ? $0 - 1 : $0 }
            #expect(try again.build(into: writer.index(root: root), after: progress) == .duplicates)
        }
        let fewer = self.sorter(form, isUnique: true, work, memory: 8 << 20)
        #expect(throws: MigrationError.self) { try fewer.build(into: writer.index(root: root), after: progress) }
    }
}
