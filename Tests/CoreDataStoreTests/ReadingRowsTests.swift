import CSQLite
import Diagnostics
import Foundation
import Rows
import TestSupport
import Testing

@testable import CoreDataStore

@Suite("Rows, links and members come as they are stored")
struct ReadingRowsTests {
    let fixture: ReadingFixture
    let folder: TemporaryFolder

    init() throws {
        fixture = try ReadingFixture()
        folder = try TemporaryFolder()
    }

    private func open(valueLimit: Int = 1 << 26) throws -> (SourceStore, StoreLayout) {
        let store = try SourceStore(testing: try fixture.store(in: folder), valueLimit: valueLimit)
        return (store, try store.layout(for: fixture.model))
    }

    private func own(_ table: Int, _ names: String...) throws -> [SelectedColumn] {
        try names.map { .own(try fixture.column(table, $0)) }
    }

    @Test("Own columns keep their storage classes, at every batch size")
    func ownColumns() throws {
        let (store, layout) = try open()
        let person = try fixture.table("Person")
        let columns = try own(person, "ZAGE", "ZBORN", "ZNAME", "ZPHOTO", "Z_ENT")
        for capacity in 1...5 {
            let reader = try store.rows(RowSelection(table: person, columns: columns), in: layout)
            #expect(
                try lines(reader, slots: 5, rowCapacity: capacity) == [
                    "1 40 12.5r 'Ada' x0102 3", "2 30 99 'Bo' - 3", "5 - - '' x 3", "9 -7 0.25r 'Zoë' x00 3",
                ])
            var batch = RowBatch(slots: 5, rowCapacity: 2, byteTarget: 100)
            #expect(try !reader.next(into: &batch))
            #expect((batch.count) == 0)
        }
    }

    @Test("Entities and key ranges select rows")
    func selection() throws {
        let (store, layout) = try open()
        let animal = try fixture.table("Animal")
        let dog = try #require(fixture.model.entity(named: "Dog"))
        let cat = try #require(fixture.model.entity(named: "Animal"))
        func keys(_ entities: [Int]?, after: Int64? = nil, through: Int64? = nil) throws -> [String] {
            var selection = RowSelection(table: animal, columns: [], entities: entities)
            selection.afterKey = after
            selection.throughKey = through
            return try lines(try store.rows(selection, in: layout), slots: 0)
        }
        #expect(try keys(nil) == ["1", "2", "3", "4"])
        #expect(try keys([dog.index]) == ["2", "3"])
        #expect(try keys([cat.index]) == ["1", "4"])
        #expect(try keys([cat.index, dog.index], after: 1, through: 3) == ["2", "3"])
        #expect(try keys(nil, after: 4).isEmpty)
        #expect(try keys([]).isEmpty)
        #expect(try store.counts(table: animal, in: layout) == TableCounts(byEntity: [cat.index: 2, dog.index: 2]))
        #expect(try store.count(table: animal, in: layout) == 4)
        #expect(try store.greatestKey(table: animal, in: layout) == 4)
        #expect(layout.tables[animal].maximumKey == 1000)
    }

    @Test("Wrong entity numbers: ignored in a table of one entity, counted as strays in one of several")
    func strays() throws {
        let path = try fixture.store(in: folder)
        let stock = try ReadingFixture.stock(path)
        try stock.execute("UPDATE ZTAG SET Z_ENT = 1 WHERE Z_PK = 2; UPDATE ZANIMAL SET Z_ENT = 3 WHERE Z_PK = 2")
        try stock.execute("UPDATE ZANIMAL SET Z_ENT = NULL WHERE Z_PK = 3")
        try stock.close()
        let store = try SourceStore(testing: path)
        let layout = try store.layout(for: fixture.model)
        let tag = try fixture.table("Tag")
        let entity = try #require(fixture.model.entity(named: "Tag"))
        let tags = try store.rows(RowSelection(table: tag, columns: [], entities: [entity.index]), in: layout)
        #expect(try lines(tags, slots: 0) == ["1", "2", "3"])
        #expect(try store.counts(table: tag, in: layout) == TableCounts(byEntity: [entity.index: 3]))
        let animal = try fixture.table("Animal")
        let cat = try #require(fixture.model.entity(named: "Animal"))
        #expect(
            try store.counts(table: animal, in: layout) == TableCounts(byEntity: [cat.index: 2], strays: [3: 1, 0: 1]))
    }

    @Test("Related columns follow to-one relationships; null and dangling steps give null")
    func related() throws {
        let (store, layout) = try open()
        let person = try fixture.table("Person")
        let animal = try fixture.table("Animal")
        let boss = ToOneStep(column: try fixture.column(person, "ZBOSS"), destinationTable: person)
        let owner = ToOneStep(column: try fixture.column(animal, "ZOWNER"), destinationTable: person)
        let name = try fixture.column(person, "ZNAME")
        let people = try store.rows(
            RowSelection(
                table: person,
                columns: [
                    .related(path: [boss], column: name), .relatedKey(path: [boss]),
                    .related(path: [boss, boss], column: name), .own(boss.column),
                ]), in: layout)
        #expect(try lines(people, slots: 4) == ["1 - - - -", "2 'Ada' 1 - 1", "5 'Bo' 2 'Ada' 2", "9 - - - 77"])
        let animals = try store.rows(
            RowSelection(
                table: animal,
                columns: [.related(path: [owner, boss], column: name), .related(path: [owner], column: name)]),
            in: layout)
        #expect(try lines(animals, slots: 2) == ["1 - 'Ada'", "2 - 'Ada'", "3 - -", "4 'Ada' 'Bo'"])
    }

    @Test("The rows of a join table are read from its pages in the order of their ids, if pages are read")
    func joinRows() throws {
        let path = try fixture.store(in: folder)
        let join = fixture.schema.joinTables[0]
        let columns = join.sides.map(\.column)
        let store = try SourceStore(testing: path)
        store.readsPages = false
        #expect(try store.rows(ofTable: join.name, columns: columns) == nil)
        store.readsPages = true
        let reader = try #require(try store.rows(ofTable: join.name, columns: columns))
        var expected: [String] = []
        let statement = try store.query("SELECT rowid, \(columns[0]), \(columns[1]) FROM \(join.name) ORDER BY rowid")
        while try statement.step() {
            expected.append((0..<3).map { statement.text($0) ?? "-" }.joined(separator: " "))
        }
        #expect(expected.count == ReadingFixture.links.count)
        #expect(try lines(reader, slots: 2, rowCapacity: 2) == expected)
    }

    @Test("Links come in the order of either side, with their places, NULL keys left out")
    func links() throws {
        let path = try fixture.store(in: folder)
        let join = fixture.schema.joinTables[0]
        let people = try fixture.peopleSide()
        let stock = try ReadingFixture.stock(path)
        try stock.execute("INSERT INTO \(join.name) (\(join.sides[people].column)) VALUES (3)")
        try stock.close()
        let store = try SourceStore(testing: path)
        let layout = try store.layout(for: fixture.model)
        let place = join.sides[1 - people].orderColumn == nil ? people : 1 - people
        for side in 0..<2 {
            let reader = try store.links(joinTable: 0, in: layout, orderedBySide: side)
            var expected = ReadingFixture.links.map { person, tag, order -> [Int] in
                let keys = people == 0 ? [person, tag] : [tag, person]
                return keys + (place == 0 ? [order, -1] : [-1, order])
            }
            expected.sort { ($0[side], $0[1 - side]) < ($1[side], $1[1 - side]) }
            let text = expected.map { row in "0 " + row.map { $0 == -1 ? "-" : "\($0)" }.joined(separator: " ") }
            #expect(try lines(reader, slots: 4, rowCapacity: 2) == text)
        }
        #expect(try store.count(joinTable: 0, in: layout) == 6)
    }

    @Test("Members come by order, then key, with their entity; several cursors at once")
    func members() throws {
        let (store, layout) = try open()
        let animal = try fixture.table("Animal")
        let owner = try fixture.column(animal, "ZOWNER")
        let order = try fixture.column(animal, "Z_FOK_OWNER")
        func all(_ cursor: MemberCursor) throws -> [Member] {
            var result: [Member] = []
            while let member = try cursor.next() { result.append(member) }
            #expect(try cursor.next() == nil)
            return result
        }
        let first = try store.members(table: animal, column: owner, owners: 1...1, orderColumn: order, in: layout)
        #expect(try first.next() == Member(key: 2, fileNumber: 2, order: 2048))
        let second = try store.members(table: animal, column: owner, owners: 1...1, orderColumn: order, in: layout)
        #expect(
            try all(second) == [Member(key: 2, fileNumber: 2, order: 2048), Member(key: 1, fileNumber: 1, order: 3072)])
        #expect(try first.next() == Member(key: 1, fileNumber: 1, order: 3072))
        #expect(
            try all(try store.members(table: animal, column: owner, owners: 1...1, orderColumn: nil, in: layout)).map(
                \.key)
                == [1, 2])
        #expect(
            try all(try store.members(table: animal, column: owner, owners: 8...8, orderColumn: nil, in: layout))
                .isEmpty)

        let people = try fixture.peopleSide()
        #expect(
            try all(try store.joined(joinTable: 0, side: people, owners: 1...1, in: layout))
                == [Member(key: 2, fileNumber: 4, order: 2048), Member(key: 1, fileNumber: 4, order: 3072)])
        #expect(
            try all(try store.joined(joinTable: 0, side: people, owners: 9...9, in: layout))
                == [Member(key: 42, fileNumber: 0, order: 2048)])
        #expect(
            try all(try store.joined(joinTable: 0, side: 1 - people, owners: 1...1, in: layout)).map(\.key) == [1, 2])
    }

    @Test("A row is fetched by its key, again and again")
    func points() throws {
        let (store, layout) = try open()
        let person = try fixture.table("Person")
        let columns = try own(person, "ZNAME", "ZAGE")
        var batch = RowBatch(slots: 2, rowCapacity: 8, byteTarget: 1000)
        for key: Int64 in [9, 1, 3, 5, 1] {
            #expect(try store.row(table: person, key: key, columns: columns, in: layout, into: &batch) == (key != 3))
        }
        #expect((0..<batch.count).map { line(batch, $0) } == ["9 'Zoë' -7", "1 'Ada' 40", "5 '' -", "1 'Ada' 40"])
        let reader = try PointReader(store, table: person, columns: columns, in: layout)
        #expect(try reader.fetch(2, into: &batch))
        #expect(try !reader.fetch(.min, into: &batch))
        #expect(line(batch, 4) == "2 'Bo' 30")
    }

    @Test("Text of a UTF-16 file is UTF-8 in the batch")
    func utf16() throws {
        let path = try fixture.store(in: folder, setup: "PRAGMA encoding='UTF-16le'")
        let store = try SourceStore(testing: path)
        #expect(!store.isUTF8)
        let layout = try store.layout(for: fixture.model)
        let person = try fixture.table("Person")
        let reader = try store.rows(RowSelection(table: person, columns: try own(person, "ZNAME")), in: layout)
        #expect(try lines(reader, slots: 1) == ["1 'Ada'", "2 'Bo'", "5 ''", "9 'Zoë'"])
    }

    @Test("Long values over overflow pages come whole, at every page size", arguments: [512, 4096, 65536])
    func overflow(pageSize: Int) throws {
        let path = folder.file("store.sqlite")
        let writer = try fixture.make(path, setup: "PRAGMA page_size=\(pageSize)")
        var random = SeededGenerator(seed: UInt64(pageSize))
        var blobs: [[UInt8]] = []
        for key in 1...5 {
            let blob = (0..<(key * 150_001)).map { _ in UInt8(truncatingIfNeeded: random.next()) }
            let insert = try writer.prepare(
                "INSERT INTO ZPERSON (Z_PK, Z_ENT, Z_OPT, ZNAME, ZPHOTO) VALUES (?, 3, 1, ?, ?)")
            insert.bind(Int64(key), at: 1)
            insert.bind(String(repeating: "é", count: key * 70_000), at: 2)
            insert.bind(blob, at: 3)
            try insert.run()
            blobs.append(blob)
        }
        try writer.close()
        let store = try SourceStore(testing: path)
        let layout = try store.layout(for: fixture.model)
        let person = try fixture.table("Person")
        let reader = try store.rows(
            RowSelection(table: person, columns: try own(person, "ZNAME", "ZPHOTO")), in: layout)
        var batch = RowBatch(slots: 2, rowCapacity: 2, byteTarget: 1 << 16)
        var seen = 0
        while try reader.next(into: &batch) {
            for row in 0..<batch.count {
                #expect(batch.key(row) == Int64(seen + 1))
                #expect(batch[row, 0].length == UInt32((seen + 1) * 140_000))
                #expect(batch.bytes(batch[row, 1]).elementsEqual(blobs[seen]))
                seen += 1
            }
        }
        #expect(seen == 5)
    }

    @Test("A value above the limit is refused by name, with the size it needs")
    func valueLimit() throws {
        let path = folder.file("store.sqlite")
        let writer = try fixture.make(path)
        try fixture.insertRows(writer)
        try writer.execute("UPDATE ZPERSON SET ZPHOTO = zeroblob(300000) WHERE Z_PK = 5")
        try writer.execute("UPDATE ZPERSON SET ZNAME = hex(zeroblob(100000)) WHERE Z_PK = 9")
        try writer.close()
        let store = try SourceStore(testing: path, valueLimit: 100_000)
        let layout = try store.layout(for: fixture.model)
        let person = try fixture.table("Person")
        func error(_ names: String..., after: Int64? = nil) throws -> MigrationError? {
            var selection = RowSelection(
                table: person, columns: try names.map { .own(try fixture.column(person, $0)) })
            selection.afterKey = after
            return failure { _ = try lines(try store.rows(selection, in: layout), slots: names.count) }
        }
        let photo = try #require(try error("ZAGE", "ZPHOTO"))
        #expect(photo.code == "store.valueTooLarge")
        #expect(photo.category == .configuration)
        #expect(photo.context.entity == "Person")
        #expect(photo.context.objectID == "Person/p5")
        #expect(photo.context.property == "photo")
        #expect(photo.message.contains("ZPERSON.ZPHOTO has 300,000 bytes"))
        let name = try #require(try error("ZNAME", after: 5))
        #expect(name.context.objectID == "Person/p9")
        #expect(name.context.property == "name")
        #expect(name.message.contains("200,000"))
        // Columns beside the large value can be read.
        #expect(try error("ZAGE") == nil)
        var batch = RowBatch(slots: 1, rowCapacity: 2, byteTarget: 1000)
        let point = failure {
            _ = try store.row(
                table: person, key: 5, columns: try own(person, "ZPHOTO"), in: layout, into: &batch)
        }
        #expect(point?.context.objectID == "Person/p5")
        #expect(try store.row(table: person, key: 1, columns: try own(person, "ZPHOTO"), in: layout, into: &batch))
    }

    @Test("Random rows come back in key order from ranges cut anywhere")
    func ranges() throws {
        let seed = RandomSeeds.first
        print("seed \(seed)")
        var random = SeededGenerator(seed: seed)
        let path = folder.file("store.sqlite")
        let writer = try fixture.make(path)
        try writer.execute("BEGIN")
        var expected: [String] = []
        var key = -50
        for _ in 0..<2000 {
            key += 1 + random.below(5)
            let age = random.chance(4) ? nil : random.below(1000)
            try writer.execute(
                "INSERT INTO ZPERSON (Z_PK, Z_ENT, Z_OPT, ZAGE) VALUES (\(key), 3, 1, \(age.map(String.init) ?? "NULL"))"
            )
            expected.append("\(key) \(age.map(String.init) ?? "-")")
        }
        try writer.execute("COMMIT")
        try writer.close()
        let store = try SourceStore(testing: path)
        let layout = try store.layout(for: fixture.model)
        let person = try fixture.table("Person")
        var found: [String] = []
        var after: Int64 = -1000
        while after < Int64(key) {
            let through = after + Int64(random.below(900)) + 1
            var selection = RowSelection(table: person, columns: try own(person, "ZAGE"))
            selection.afterKey = after
            selection.throughKey = through
            found += try lines(try store.rows(selection, in: layout), slots: 1, rowCapacity: 1 + random.below(50))
            after = through
        }
        #expect(found == expected)
    }
}
