import Diagnostics
import Foundation
import ManagedModel
import Mapping
import Stagecoach
import TestSupport
import Testing

@Suite("Losses that are meant, and objects that pass no filter")
struct MeantLossTests {
    private static let room = 48 << 20

    private static func lines(_ left: LeftBehind?) -> [String] {
        (left?.lines ?? []).map { "\($0.isMeant == true ? "meant" : "lost") \($0.sentence)" }
    }

    /// Four losses: two values of Animal.old, a value of Bin.z, and the link of a toy.
    @Test(
        "Names count for subentities, entities only for objects that become nothing, links by either end",
        arguments: [
            ([], 4), (["Animal.old"], 2), (["Cat.old"], 3), (["Cat.toys"], 3), (["Toy.owner"], 3),
            (["Animal", "Toy", "Bin"], 4), (["Animal.old", "Bin.z", "Toy.owner"], 0),
        ] as [(Set<String>, Int)])
    func names(allowed: Set<String>, lost: Int) throws {
        let folder = try TemporaryFolder()
        let old = try model(
            entity("Animal", [attribute("x", .integer64), attribute("old", .integer64)]),
            entity("Cat", parent: "Animal", [], [toMany("toys", "Toy", inverse: "owner")]),
            entity("Toy", [attribute("y", .integer64)], [toOne("owner", "Cat", inverse: "toys")]),
            entity("Bin", [attribute("z", .integer64)]))
        let new = try model(
            entity("Animal", [attribute("x", .integer64)]), entity("Cat", parent: "Animal"),
            entity("Toy", [attribute("y", .integer64)]), entity("Bin"))
        let path = folder.file("old.sqlite")
        try ReferenceStore.make(old) { store in
            store.insert("Animal", 1, ["x": .integer(1), "old": .integer(1)])
            store.insert("Cat", 2, ["x": .integer(1), "old": .integer(1)])
            store.insert("Toy", 1, ["y": .integer(1)], toOne: ["owner": 2])
            store.insert("Bin", 1, ["z": .integer(1)])
        }.write(path: path)
        var options = MigrationOptions()
        (options.memoryRoom, options.allowedLosses) = (Self.room, allowed)
        let left = try Migration(
            from: path, model: old, mapping: try MappingModel.inferred(from: old, to: new),
            to: folder.file("new.sqlite"), model: new, options: options
        ).run().leftBehind
        #expect((left?.values ?? 0) + (left?.links ?? 0) == lost, "\(Self.lines(left))")
        let meant = (left?.meant ?? []).reduce(0) { $0 + ($1.values ?? 0) + ($1.links ?? 0) }
        #expect(lost + meant == 4, "\(Self.lines(left))")
    }

    @Test(
        "A chain: names of the source and of the version whose step leaves the data, fused or not",
        arguments: [
            ("Order.memo", true), ("Order.memo", false), ("Order.note", true), ("Order.note", false), ("file", true),
            ("file", false),
        ])
    func chain(name: String, fuses: Bool) throws {
        let folder = try TemporaryFolder()
        var note = attribute("note", .string)
        note.renamingIdentifier = "memo"
        let number = attribute("x", .integer64)
        let versions = try [
            ModelVersion(name: "1", model: model(entity("Order", [attribute("memo", .string), number]))),
            ModelVersion(name: "2", model: model(entity("Order", [note, number]))),
            ModelVersion(name: "3", model: model(entity("Order", [number]))),
        ]
        let path = folder.file("old.sqlite")
        try ReferenceStore.make(versions[0].model) { store in
            store.insert("Order", 1, ["memo": .text("m"), "x": .integer(1)])
        }.write(path: path)
        let mappings = try (0..<2).map {
            try MappingModel.inferred(from: versions[$0].model, to: versions[$0 + 1].model)
        }
        if name == "file" { mappings[1].losses = ["Order.note"] }
        let steps = (0..<2).map {
            MigrationStep(from: versions[$0], to: versions[$0 + 1], mappingModels: [mappings[$0]])
        }
        func run(_ allowed: Set<String>, _ name: String) throws -> LeftBehind? {
            var options = MigrationOptions()
            (options.memoryRoom, options.allowedLosses, options.onLoss) = (Self.room, allowed, .refuse)
            let chain = ChainedMigration(from: path, steps: steps, to: folder.file(name), options: options)
            chain.fusesSteps = fuses
            return try chain.run().leftBehind
        }
        let left = try run(name == "file" ? [] : [name], "new.sqlite")
        #expect(left?.isEmpty == true && left?.meant.count == 1, "\(Self.lines(left))")
        #expect(left?.meant.first?.step == "2 → 3")
        guard name != "file" else { return }
        #expect(throws: MigrationError.self) { try run([], "refused.sqlite") }
        let unknown = try #require(throws: MigrationError.self) { try run(["Order.nota"], "unknown.sqlite") }
        #expect(unknown.code == "loss.unknownName" && unknown.category == .configuration)
    }

    @Test("A file's null and remove mapping; what inference removes stays a loss", arguments: [true, false])
    func file(isFile: Bool) throws {
        let folder = try TemporaryFolder()
        let old = try model(
            entity("Page", [attribute("keep", .string), attribute("cache", .string), attribute("gone", .string)]),
            entity("Theme", [attribute("t", .string)]))
        let new = try model(entity("Page", [attribute("keep", .string), attribute("cache", .string)]))
        let path = folder.file("old.sqlite")
        try ReferenceStore.make(old) { store in
            store.insert("Page", 1, ["keep": .text("k"), "cache": .text("c"), "gone": .text("g")])
            store.insert("Theme", 1, ["t": .text("t")])
        }.write(path: path)
        let json = #"""
            {"formatVersion": 2, "entityMappings": [
             {"sourceEntity": "Page", "destinationEntity": "Page", "attributes": {"cache": null, "gone": null}},
             {"sourceEntity": "Theme", "mappingType": "remove"}]}
            """#
        let file = folder.file("map.json")
        try json.write(toFile: file, atomically: false, encoding: .utf8)
        let mapping =
            isFile
            ? try MappingModel.read(path: file, sourceModel: old, destinationModel: new)
            : try MappingModel.inferred(from: old, to: new)
        var options = MigrationOptions()
        (options.memoryRoom, options.onLoss) = (Self.room, isFile ? .refuse : .warn)
        let left = try Migration(
            from: path, model: old, mapping: mapping, to: folder.file("new.sqlite"), model: new, options: options
        ).run().leftBehind
        #expect(
            Self.lines(left)
                == (isFile
                    ? [
                        "meant Page.cache, 1 value, is read by no entity mapping",
                        "meant Page.gone, 1 value, is read by no entity mapping",
                        "meant Theme, 1 object, 1 value, has only a remove mapping",
                    ]
                    : [
                        "lost Page.gone, 1 value, is read by no entity mapping",
                        "lost Theme, 1 object, 1 value, has only a remove mapping",
                    ]))
        #expect((left?.objects, left?.values) == (isFile ? (0, 0) : (1, 2)))
    }

    @Test(
        "Objects that pass no filter, on both paths, with rejects, and in resumed runs",
        arguments: [false, true], [false, true])
    func passesNoFilter(isStaged: Bool, rejects: Bool) throws {
        let folder = try TemporaryFolder()
        let old = try StagecoachTests.model(
            entity("Task", [attribute("kind", .integer64)]), entity("Note", [attribute("kind", .integer64)]))
        let new = try StagecoachTests.model(
            entity("Chore", [attribute("kind", .integer64)]),
            entity("Errand", [attribute("kind", .integer64)], unique: rejects ? [["kind"]] : []),
            entity("Note", [attribute("kind", .integer64)]))
        let path = folder.file("old.sqlite")
        try ReferenceStore.make(old) { store in
            for key in 1...4000 as ClosedRange<Int64> {
                store.insert("Task", key * 7, ["kind": key % 1000 == 0 ? .null : .integer(key % 10)])
                store.insert("Note", key, ["kind": .integer(key % 10)])
            }
        }.write(path: path)
        func filtered(_ name: String, _ from: String, _ to: String, _ filter: String) throws -> EntityMapping {
            let one = try mapping(name, from, to, ["kind": "$source.kind"])
            one.sourceFilter = try SourcePredicate(format: filter)
            return one
        }
        // The filter of Note's only mapping is meant.
        let model = mappings(
            try filtered("C", "Task", "Chore", "kind < 5"), try filtered("E", "Task", "Errand", "kind >= 5"),
            try filtered("N", "Note", "Note", "kind < 5"))
        var options = MigrationOptions()
        (options.memoryRoom, options.batchSize) = (Self.room, 50)
        options.usesStoreSpecificMigrationManager = !isStaged
        if rejects { options.onInvalid = .reject }
        func migration(_ name: String, _ options: MigrationOptions) -> Migration {
            Migration(from: path, model: old, mapping: model, to: folder.file(name), model: new, options: options)
        }
        func words(_ gaps: [PassesNoFilter]?) -> [String] { (gaps ?? []).map(\.sentence) }
        let wanted = [
            "4 Task pass no filter and become nothing (Task/p7000, Task/p14000, Task/p21000, Task/p28000)"
        ]
        #expect(words(try migration("planned", options).plan().passesNoFilter) == wanted)
        #expect(words(try migration("checked", options).check().passesNoFilter) == wanted)
        var generator = SeededGenerator(seed: 3)
        let killed = try KilledRun(&generator, options) { migration("killed.sqlite", $0) }
        #expect(words(killed.report.counts.passesNoFilter) == wanted)
        options.onLoss = .refuse
        let refused = try #require(throws: MigrationError.self) { try migration("refused.sqlite", options).run() }
        #expect(refused.code == "migration.loss" && refused.message.contains(wanted[0]))
        options.allowedLosses = ["Task"]
        let meant = try migration("meant.sqlite", options).run().counts.passesNoFilter
        #expect(meant?.map(\.isMeant) == [true] && meant?.first?.objects == 4)
    }
}
