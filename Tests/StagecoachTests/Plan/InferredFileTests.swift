import Diagnostics
import Foundation
import ManagedModel
import Mapping
import Stagecoach
import TestSupport
import Testing

/// A migration by the unedited text of an inferred mapping model is the inferred one: outcome, rows, report.
@Suite("The text of an inferred mapping model")
struct InferredFileTests {
    static let seeds = RandomSeeds.seeds(30)

    /// The result of a run, without the parts in which two equal runs differ.
    private struct Outcome: Equatable {
        var error: String?
        var report: String?
        var store: ReferenceStore?

        static func == (one: Self, other: Self) -> Bool { one.error == other.error && one.report == other.report }
    }

    private struct Variant {
        var isStrict = false
        var onInvalid = InvalidObjects.fail
        var isStaged = false

        var options: MigrationOptions {
            var options = MigrationOptions()
            options.memoryRoom = 64 << 20
            options.strictValidation = isStrict
            options.onInvalid = onInvalid
            options.usesStoreSpecificMigrationManager = !isStaged
            return options
        }
    }

    private static let variants = [
        Variant(), Variant(isStrict: true), Variant(onInvalid: .reject), Variant(isStaged: true),
        Variant(isStrict: true, onInvalid: .reject, isStaged: true),
    ]

    private static func run(
        _ mapping: MappingModel, _ random: RandomMigration, _ source: String, _ variant: Variant
    ) throws -> Outcome {
        let folder = try TemporaryFolder()
        let path = folder.file("new.sqlite")
        let migration = Migration(
            from: source, model: random.source, mapping: mapping, to: path, model: random.destination,
            options: variant.options)
        var outcome = Outcome()
        do {
            var report = try migration.run()
            (report.destination, report.seconds, report.processorSeconds, report.peakMemory) = ("", 0, 0, 0)
            (report.memoryLimit, report.spilledBytes) = (0, 0)
            // What a file removes is meant, with the links to it; what inference removes is a loss.
            if let left = report.leftBehind {
                #expect(left.meant.allSatisfy { $0.reason == .removed || $0.values == nil }, "\(left.meant)")
                report.leftBehind = LeftBehind(
                    lines: left.lines.map { line in
                        var line = line
                        line.isMeant = nil
                        if line.reason == .removed { line.suggestions = nil }
                        return line
                    })
            }
            outcome.report = String(decoding: try report.json(), as: UTF8.self)
            outcome.store = try ReferenceStore.read(path: path, model: random.destination)
        } catch let error as MigrationError {
            let context = error.context
            let place = [context.entity, context.objectID, context.property, context.entityMapping, error.remedy]
            outcome.error = "\(error.category) \(error.code): \(error.message) \(place)"
        }
        return outcome
    }

    @Test("The file is read as the mapping model that was inferred, and does the same", arguments: seeds)
    func same(seed: UInt64) throws {
        let random = try RandomMigration.broken(seed: seed)
        guard
            let inferred = try? MappingModel.inferred(
                from: random.source, to: random.destination, unmappable: .leave)
        else { return }
        let text = try inferred.json()
        let read = try MappingModel.reading(
            json: Array(text.utf8), path: "inferred.json", source: random.source, destination: random.destination)
        #expect(read.differences(from: inferred) == [], "\(random)")
        #expect(read.rulesOfTheSource == .warn)
        #expect(try read.json() == text)
        let folder = try TemporaryFolder()
        let path = folder.file("source.sqlite")
        try random.store.write(path: path)
        for variant in Self.variants {
            let expected = try Self.run(inferred, random, path, variant)
            let found = try Self.run(read, random, path, variant)
            #expect(found == expected, "\(variant)\n\(random)")
            if let one = found.store, let other = expected.store {
                #expect(one.differences(from: other) == [], "\(variant)\n\(random)")
            }
        }
    }

    /// Models and a store of which both outcomes of a rule of the source are seen.
    @Test("Rules of the source are excused if the text says so, by row, count and link, and otherwise not")
    func stated() throws {
        var users = toMany("users", "User", inverse: "blog")
        users.minimumCount = 1
        users.isOptional = false
        func version(_ more: AttributeDefinition...) throws -> ManagedObjectModel {
            try model(
                entity(
                    "User",
                    [
                        attribute("age", .integer32) { $0.maximum = .integer(30) },
                        attribute("name", .string, required: true),
                    ] + more, [toOne("blog", "Blog", inverse: "users", required: true)]),
                entity("Blog", [], [users]))
        }
        let (old, new) = (try version(), try version(attribute("more", .string)))
        var store = ReferenceStore(model: old)
        store.insert("Blog", 1)
        store.insert("Blog", 2)
        store.insert("User", 1, ["age": .integer(1000), "name": .text("a")], toOne: ["blog": 1])
        store.insert("User", 2, ["age": .integer(20)], toOne: ["blog": 1])
        store.insert("User", 3, ["age": .integer(20), "name": .text("c")])
        let folder = try TemporaryFolder()
        let path = folder.file("old.sqlite")
        try store.write(path: path)
        let inferred = try MappingModel.inferred(from: old, to: new).json()
        func migrate(_ text: String, strict: Bool = false) throws -> MigrationReport {
            let mapping = try MappingModel.reading(
                json: Array(text.utf8), path: "users.json", source: old, destination: new)
            var options = MigrationOptions()
            options.memoryRoom = 64 << 20
            options.strictValidation = strict
            return try Migration(
                from: path, model: old, mapping: mapping, to: folder.file("\(UUID()).sqlite"), model: new,
                options: options
            ).run()
        }
        let report = try migrate(inferred)
        #expect(report.counts.warnings.values.reduce(0, +) >= 3, "\(report.counts.warnings)")
        let silent = try #require(
            throws: MigrationError.self, performing: { try migrate(inferred.replacing("\"warn\"", with: "\"error\"")) })
        #expect(silent.category == .data)
        #expect(silent.remedy?.contains("\"rulesOfTheSource\": \"warn\"") == true, "\(silent)")
        #expect(silent.remedy?.contains("(users.json, line 3)") == true, "\(silent)")
        let short = #"{"formatVersion": 2, "entityMappings": [{"sourceEntity": "User", "destinationEntity": "User"}]}"#
        let strict = try #require(throws: MigrationError.self) { try migrate(short) }
        #expect(strict.remedy?.contains("(users.json, line 1)") == true, "\(strict)")
        _ = try migrate(
            short.replacing("\"entity", with: "\"rulesOfTheSource\": \"warn\", \"entity").replacing(
                "{\"source", with: "{\"sourceEntity\": \"Blog\", \"destinationEntity\": \"Blog\"}, {\"source"))
        let asked = try #require(throws: MigrationError.self) { try migrate(inferred, strict: true) }
        #expect(asked.remedy?.contains("leave --strict-validation out") == true, "\(asked)")
        #expect(asked.remedy?.contains("rulesOfTheSource") == false, "\(asked)")
        // A value that is computed, or a rule that is new, is no old one.
        let computed = try #require(throws: MigrationError.self) {
            try migrate(inferred.replacing("\"$source.age\"", with: "\"$source.age + 0\""))
        }
        #expect(computed.context.property == "age" && computed.remedy?.contains("rulesOfTheSource") == false)
    }

    @Test("Versions of the format without the key are strict, and other words are refused")
    func words() throws {
        let one = try model(entity("A", [attribute("x", .string)]))
        func read(_ text: String) throws -> MappingModel {
            try MappingModel.reading(json: Array(text.utf8), path: "a.json", source: one, destination: one)
        }
        for version in 1...2 {
            let mapping = try read("{\"formatVersion\": \(version), \"entityMappings\": []}")
            #expect(mapping.rulesOfTheSource == .error && mapping.sourceVersionName == nil)
        }
        let named = try read(
            #"{"formatVersion": 2, "rulesOfTheSource": "warn", "from": "A 1", "to": "A 2", "entityMappings": []}"#)
        #expect(named.rulesOfTheSource == .warn)
        #expect(named.sourceVersionName == "A 1" && named.destinationVersionName == "A 2")
        #expect(try read(named.json()).json() == named.json())
        #expect((named.copy() as? MappingModel)?.destinationVersionName == "A 2")
        for bad in [#""rulesOfTheSource": "maybe""#, #""rulesOfTheSource": true"#, #""from": "A 1""#, #""to": """#] {
            #expect(throws: MigrationError.self, "\(bad)") {
                try read("{\"formatVersion\": 2, \(bad), \"entityMappings\": []}")
            }
        }
    }
}
