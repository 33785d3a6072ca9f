import CSQLite
import CoreDataStore
import Foundation
import ManagedModel
import Mapping
import TestSupport
import Testing

@testable import Stagecoach

/// The keys of source tables, and the counts of their values, in states of the row path.
@Suite("Keys that a killed run had read")
struct SavedKeysTests {
    private static func animals(_ dropped: [String]) throws -> ManagedObjectModel {
        func attributes(_ names: [String]) -> [AttributeDefinition] { names.map { attribute($0, .integer64) } }
        return try model(
            entity("Animal", attributes(["x"] + dropped)), entity("Cat", parent: "Animal"),
            entity("Dog", parent: "Animal"),
            entity("Toy", attributes(["y"] + dropped), [toOne("owner", "Animal")]),
            entity("Stray", attributes(["z"] + dropped)))
    }

    /// Writes a store whose sets of keys need a file: cats lie far apart, so that each key takes eight bytes.
    private func fill(_ path: String, _ model: ManagedObjectModel) throws {
        try ReferenceStore.make(model) { store in
            for number in 1...3000 as ClosedRange<Int64> {
                let (key, name) = (number * 70_001, number % 5 == 0 ? "Dog" : "Cat")
                var values = ["x": ReferenceValue.integer(number % 7)]
                if number % 3 == 0 { values["old"] = .integer(1) }
                store.insert(name, key, values)
            }
            for number in 1...900 as ClosedRange<Int64> {
                let toys = number % 2 == 0 ? ["y": ReferenceValue.integer(number), "old": .integer(2)] : [:]
                store.insert("Toy", number * 3, toys, toOne: ["owner": (number * 13 % 3100 + 1) * 70_001])
                store.insert("Stray", number, ["z": .integer(number), "old": .integer(number)])
            }
        }.write(path: path)
    }

    /// The rows of all tables of entities.
    private func rows(_ path: String) throws -> [String] {
        let connection = try Connection(path: path, flags: SQLITE_OPEN_READONLY)
        var lines: [String] = []
        for table in ["ZANIMAL", "ZTOY", "ZSTRAY"] {
            let rows = try connection.prepare("SELECT * FROM \(table) ORDER BY Z_PK")
            while try rows.step() {
                lines.append(
                    table + (0..<sqlite3_column_count(rows.handle)).map { " \(rows.text($0) ?? "-")" }.joined())
            }
        }
        return lines
    }

    @Test(
        "Sets in files, sets that entities share and filtered ones, and counts of values left behind",
        arguments: [StoreReader.pages, .sqlite], [nil, "x > 2"])
    func restored(reader: StoreReader, filter: String?) throws {
        let folder = try TemporaryFolder()
        let source = folder.file("old.sqlite")
        let (old, new) = (try Self.animals(["old"]), try Self.animals([]))
        try fill(source, old)
        let cats = try mapping("Cats", "Cat", "Cat", ["x": "$source.x"])
        if let filter {
            cats.sourceExpression = try ValueExpression(
                parsing: "FETCH(FUNCTION($manager, 'fetchRequestForSourceEntityNamed:predicateString:', 'Cat', "
                    + "'\(filter)'), $manager.sourceContext, NO)")
        }
        let mappings = mappings(
            cats, try mapping("Dogs", "Dog", "Dog", ["x": "$source.x"]),
            try mapping(
                "Toys", "Toy", "Toy", ["y": "$source.y"], relationships: ["owner": by("Cats", "$source.owner")]),
            try mapping("Strays", "Stray", "Stray", ["z": "$source.z"]))
        for (keys, writer) in [(KeyChoice.kept, StoreWriter.pages), (.sequential, .pages), (.sequential, .sqlite)] {
            var options = MigrationOptions()
            (options.reader, options.writer, options.batchSize, options.keys) = (reader, writer, 40, keys)
            func run(_ name: String, _ options: MigrationOptions) -> Migration {
                Migration(
                    from: source, model: old, mapping: mappings, to: folder.file(name), model: new, options: options)
            }
            let name = "\(keys)-\(writer).sqlite"
            let whole = try run("whole-\(name)", options).run()
            #expect(whole.leftBehind?.values == 1000 + 450 + 900)
            var generator = SeededGenerator(seed: 5)
            var attempts = 0
            for round in 0..<4 {
                let killed = try KilledRun(&generator, options) { run("\(round)-\(name)", $0) }
                let notes = killed.report.notes
                attempts += killed.attempts
                #expect(killed.attempts == 1 || killed.isResumed, "\(notes)")
                #expect(!notes.contains { $0.contains("could not be used") }, "\(notes)")
                #expect(killed.report.counts == whole.counts)
                #expect(killed.report.leftBehind == whole.leftBehind)
                #expect(try rows(folder.file("\(round)-\(name)")) == rows(folder.file("whole-\(name)")))
            }
            #expect(attempts > 6, "runs were resumed, some more than once")
        }
    }
}
