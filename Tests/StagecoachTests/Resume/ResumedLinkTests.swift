import CSQLite
import CoreDataStore
import Foundation
import ManagedModel
import Mapping
import Stagecoach
import TestSupport
import Testing

/// Join tables in runs whose journal cannot be written any more after some records, again and again until they are done:
/// links, counts and removed references are those of a run that nothing stopped.
@Suite("Links in resumed runs")
struct ResumedLinkTests {
    typealias Variant = MigrationComparison.Variant

    static let variants: [Variant] = [
        Variant(batchSize: 7), Variant(batchSize: 40, keys: .sequential), Variant(batchSize: 9, passes: 2),
        Variant(batchSize: 7, writer: .sqlite), Variant(batchSize: 16, keys: .sequential, writer: .sqlite),
        Variant(batchSize: 11, isStaged: true),
    ]

    /// Items with tags, and items with items, some of which do not exist any more.
    ///
    private func fixture(
        _ path: String, seed: UInt64, _ form: Form
    ) throws -> (old: ManagedObjectModel, new: ManagedObjectModel) {
        func version(_ isRequired: Bool) throws -> ManagedObjectModel {
            try model(
                entity(
                    "Item", [attribute("x", .integer64, required: isRequired)],
                    [
                        toMany("tags", "Tag", inverse: "items", ordered: form.isOrdered),
                        toMany("like", "Item", inverse: "likedBy"), toMany("likedBy", "Item", inverse: "like"),
                    ]),
                entity("Tag", [attribute("name", .string)], [toMany("items", "Item", inverse: "tags")]))
        }
        let (old, new) = (try version(false), try version(form.rejects))
        var generator = SeededGenerator(seed: seed)
        let (items, tags) = (250, 60)
        try ReferenceStore.make(old) { store in
            for key in 1...tags { store.insert("Tag", Int64(key), ["name": .text("tag \(key)")]) }
            for key in 1...items {
                store.insert("Item", Int64(key), ["x": generator.chance(9) ? .null : .integer(Int64(key))])
            }
            for key in 1...items {
                func some(of count: Int, _ most: Int) -> [Int64] {
                    Set((0..<generator.below(most)).map { _ in Int64(1 + generator.below(count)) }).sorted()
                }
                store.setMembers("Item", Int64(key), "tags", some(of: tags, 9))
                store.setMembers("Item", Int64(key), "like", some(of: items, 5))
            }
        }.write(path: path)
        let connection = try Connection(path: path, flags: SQLITE_OPEN_READWRITE)
        try connection.execute("DELETE FROM ZITEM WHERE Z_PK % 13 = 4; DELETE FROM ZTAG WHERE Z_PK % 17 = 5")
        try connection.close()
        return (old, new)
    }

    /// The rows of all join tables.
    private func links(_ path: String) throws -> [String] {
        let connection = try Connection(path: path, flags: SQLITE_OPEN_READONLY)
        var lines: [String] = []
        let tables = try connection.prepare(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name GLOB 'Z_[0-9]*'")
        while try tables.step() {
            let name = tables.text(0) ?? ""
            let rows = try connection.prepare("SELECT rowid, * FROM \"\(name)\"")
            while try rows.step() {
                lines.append(name + (0..<sqlite3_column_count(rows.handle)).map { " \(rows.text($0) ?? "")" }.joined())
            }
            let check = try connection.prepare("PRAGMA integrity_check")
            #expect(try check.step() && check.text(0) == "ok")
        }
        return lines
    }

    /// A form of the work.
    struct Form {
        var rejects = false
        /// True if the tags of an item have an order, so that links are sorted.
        var isOrdered = false
        var reader = StoreReader.pages
    }

    @Test(
        "Links and counts are neither lost nor doubled", arguments: variants,
        [
            Form(), Form(rejects: true), Form(isOrdered: true, reader: .sqlite), Form(reader: .sqlite),
            Form(rejects: true, isOrdered: true),
        ])
    func links(_ variant: Variant, _ form: Form) throws {
        let folder = try TemporaryFolder()
        for seed in RandomSeeds.seeds(1) {
            print("resumed links: seed \(seed)")
            let source = folder.file("source-\(seed).sqlite")
            let (old, new) = try fixture(source, seed: seed, form)
            let mapping = try MappingModel.inferred(from: old, to: new)
            var options = variant.options
            options.onInvalid = form.rejects ? .reject : .fail
            options.reader = form.reader
            func migration(_ name: String, _ options: MigrationOptions) -> Migration {
                Migration(
                    from: source, model: old, mapping: mapping, to: folder.file("\(name)-\(seed).sqlite"), model: new,
                    options: options)
            }
            let whole = try migration("whole", options).run()
            var generator = SeededGenerator(seed: seed &* 97 &+ 5)
            var attempts = 0
            for round in 0..<2 {
                let run = try KilledRun(&generator, options) { migration("new-\(round)", $0) }
                attempts += run.attempts
                #expect(run.report.counts == whole.counts, "seed \(seed), \(run.attempts) attempts")
                #expect(
                    run.report.rejects?.removedReferences == whole.rejects?.removedReferences,
                    "seed \(seed), \(run.attempts) attempts")
                #expect(
                    try links(folder.file("new-\(round)-\(seed).sqlite")) == links(folder.file("whole-\(seed).sqlite")),
                    "seed \(seed), \(run.attempts) attempts")
            }
            #expect(attempts > 3, "something was resumed")
            #expect(try links(folder.file("whole-\(seed).sqlite")).count > 500)
            if form.rejects { #expect(whole.rejects.map { $0.removedReferences > 0 } == true) }
        }
    }
}
