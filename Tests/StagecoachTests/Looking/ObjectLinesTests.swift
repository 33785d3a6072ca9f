import CoreDataStore
import Foundation
import ManagedModel
import TestSupport
import Testing

@testable import Stagecoach

/// Lines of JSON that are written for many objects together are the encodings of the single ones.
@Suite("Objects as lines of JSON")
struct ObjectLinesTests {
    /// The lines of all objects of an entity, as encoding each gives them.
    private static func encoded(_ reader: ObjectReader, _ entity: String, _ predicate: String? = nil) throws -> String {
        var lines = ""
        try reader.forEach(of: entity, where: predicate) { object in
            lines += try JSONEncoder.text(object, [])
            return true
        }
        return lines
    }

    private static func written(
        _ reader: ObjectReader, _ entity: String, _ predicate: String? = nil, few: Int = 0
    ) throws -> String {
        reader.few = few
        var lines = ""
        let (count, hasMore) = try reader.writeLines(of: entity, where: predicate) { lines += $0 }
        #expect(count == lines.utf8.count { $0 == UInt8(ascii: "\n") })
        #expect(!hasMore)
        return lines
    }

    @Test("Random models and stores", arguments: RandomSeeds.seeds(40))
    func random(seed: UInt64) throws {
        let migration = try RandomMigration.explicit(seed: seed)
        let folder = try TemporaryFolder()
        try migration.store.write(path: folder.file("store.sqlite"))
        let reader = try ObjectReader(path: folder.file("store.sqlite"), model: migration.source)
        reader.mostMembers = 3
        for entity in reader.entityNames {
            let expected = try Self.encoded(reader, entity)
            for few in [0, 2] {
                let found = try Self.written(reader, entity, few: few)
                #expect(found == expected, "\(entity), the first \(few) one by one\n\(migration)")
                guard found == expected else { return }
            }
        }
        try reader.close()
    }

    /// A thing of each value that JSON writes in its own way, and an owner of all of them, of one that is missing and of itself.
    private func store(_ folder: TemporaryFolder) throws -> ManagedObjectModel {
        let model = try model(
            entity(
                "Thing",
                [
                    attribute("real", .double), attribute("single", .float), attribute("decimal", .decimal),
                    attribute("text", .string), attribute("date", .date), attribute("small", .integer16),
                    attribute("flag", .boolean), attribute("Zahl", .integer64), attribute("zahl", .integer32),
                ], [toMany("owners", "Owner", inverse: "things"), toOne("first", "Owner")]),
            entity("Owner", [], [toMany("things", "Thing", inverse: "owners")]),
            entity("Other", parent: "Thing"))
        let reals: [Double] = [
            0, -0.0, 1, -1, 0.1, 1e-4, 9.99e-5, 1e15, 1e16, 123_456_789.125, .leastNonzeroMagnitude,
            .greatestFiniteMagnitude,
            .infinity,
            -.infinity,
        ]
        let texts = ["", "\"\\/", (0..<0x20).map { String(UnicodeScalar(UInt8($0))) }.joined(), "\u{7F}é\u{2028}🚂"]
        try ReferenceStore.make(model) { store in
            store.insert("Owner", 1)
            for (index, real) in reals.enumerated() {
                let key = Int64(index + 1)
                store.insert(
                    index % 3 == 2 ? "Other" : "Thing", key,
                    [
                        "real": .real(real), "single": .real(Double(Float(real))), "decimal": .real(real),
                        "text": .text(texts[index % texts.count]), "date": .real(real),
                        "small": .integer(Int64(index) &* 20_000), "flag": .integer(Int64(index)),
                        "Zahl": .integer(index % 2 == 0 ? .min : .max),
                    ])
                store.setToOne("Thing", key, "first", index % 2 == 0 ? 1 : 7)
            }
            store.insert(
                "Thing", 90, ["text": .integer(7), "small": .real(1.5), "date": .integer(3), "real": .text("1")])
            store.setMembers("Owner", 1, "things", (1...Int64(reals.count)).map(\.self) + [80, 90])
        }.write(path: folder.file("store.sqlite"))
        return model
    }

    @Test("Numbers, signs, missing members and values of other types")
    func forms() throws {
        let folder = try TemporaryFolder()
        let reader = try ObjectReader(path: folder.file("store.sqlite"), model: try store(folder))
        for entity in ["Thing", "Owner", "Other"] {
            for members in [0, 2, 100] {
                reader.mostMembers = members
                #expect(
                    try Self.written(reader, entity) == Self.encoded(reader, entity), "\(entity), \(members) members")
            }
        }
        let predicate = "small > 30000 OR real == 0.1"
        #expect(try Self.written(reader, "Thing", predicate) == Self.encoded(reader, "Thing", predicate))
        #expect(try Self.encoded(reader, "Owner").contains(#""missing":["Thing/p80"]"#))
    }

    @Test("A limit ends the lines and says that there are more", arguments: [0, 256])
    func limit(few: Int) throws {
        let folder = try TemporaryFolder()
        let reader = try ObjectReader(path: folder.file("store.sqlite"), model: try store(folder))
        reader.few = few
        for (limit, expected, more) in [(0, 0, true), (2, 2, true), (15, 15, false), (99, 15, false)] {
            var lines = ""
            let (count, hasMore) = try reader.writeLines(of: "Thing", limit: limit) { lines += $0 }
            #expect((count, hasMore) == (expected, more), "\(limit)")
            #expect(lines.split(separator: "\n").count == expected)
        }
    }
}
