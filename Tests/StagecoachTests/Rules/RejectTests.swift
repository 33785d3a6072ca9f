import CoreDataStore
import Diagnostics
import Foundation
import ManagedModel
import Mapping
import Stagecoach
import TestSupport
import Testing

/// Hand-made cases of rejects: values, chains, cycles, links, keys.
@Suite("Rejects")
struct RejectTests {
    /// Migrates a hand-made store with rejects.
    private func migrate(
        _ old: ManagedObjectModel, _ new: ManagedObjectModel, _ mapping: MappingModel,
        staged: Bool = false, keys: KeyChoice = .auto, _ fill: (inout ReferenceStore) -> Void
    ) throws -> (store: ReferenceStore, lines: [String], report: MigrationReport) {
        let folder = try TemporaryFolder()
        let source = folder.file("source.sqlite")
        try ReferenceStore.make(old, fill).write(path: source)
        var variant = MigrationComparison.Variant(isStaged: staged)
        variant.keys = keys
        var options = variant.options
        options.onInvalid = .reject
        options.rejectFile = folder.file("rejects.jsonl")
        let destination = folder.file("destination.sqlite")
        let report = try Migration(
            from: source, model: old, mapping: mapping, to: destination, model: new, options: options
        ).run()
        let lines = try RejectLine.read(folder.file("rejects.jsonl")).map {
            "\($0.sourceID ?? "nil") \($0.property) \($0.rule) \($0.value ?? "nil")"
        }
        return (try ReferenceStore.read(path: destination, model: new), lines, report)
    }

    @Test("A value that cannot be computed rejects its object only", arguments: [false, true])
    func values(staged: Bool) throws {
        let old = try model(entity("A", [attribute("x", .integer64), attribute("y", .integer64)]))
        let new = try model(entity("A", [attribute("small", .integer16), attribute("ratio", .integer64)]))
        let mapping = mappings(try mapping("A", "A", "A", ["small": "$source.x", "ratio": "$source.x / $source.y"]))
        let (store, lines, report) = try migrate(old, new, mapping, staged: staged) { store in
            store.insert("A", 1, ["x": .integer(8), "y": .integer(2)])
            store.insert("A", 2, ["x": .integer(70_000), "y": .integer(2)])
            store.insert("A", 3, ["x": .integer(8), "y": .integer(0)])
            store.insert("A", 4, ["x": .null, "y": .integer(0)])
        }
        #expect(Set(store.tables[0].keys) == [1, 4])
        #expect(lines.count == 2)
        #expect(lines.first?.hasPrefix("A/p2 small value ") == true, "\(lines)")
        #expect(lines.last?.hasPrefix("A/p3 ratio value ") == true, "\(lines)")
        #expect(lines.last?.contains("division by zero") == true, "\(lines)")
        #expect(report.counts.mappings[0].rejected == 2 && report.counts.mappings[0].migrated == 2)
    }

    /// - Parameter computesText: rows whose texts are computed are made one by one, others column by column.
    @Test(
        "Values that cannot be computed reject their objects among thousands", arguments: [false, true], [false, true])
    func valuesOfMany(staged: Bool, computesText: Bool) throws {
        let old = try model(
            entity("A", [attribute("x", .integer64), attribute("y", .integer64), attribute("name", .string)]))
        let new = try model(
            entity(
                "A",
                [
                    attribute("ratio", .integer64), attribute("name", .string),
                    attribute("kind", .string, default: .string("a constant text")), attribute("twice", .double),
                ]))
        let mapping = mappings(
            try mapping(
                "A", "A", "A",
                [
                    "ratio": "$source.x / $source.y", "name": "$source.name",
                    "kind": computesText ? "\"a constant text\"" : nil, "twice": "$source.x * 2.0",
                ]))
        let bad: Set<Int64> = [1, 2, 700, 1500, 1501, 4000, 5000]
        let (store, lines, report) = try migrate(old, new, mapping, staged: staged) { store in
            for key in 1...5000 as ClosedRange<Int64> {
                store.insert(
                    "A", key,
                    ["x": .integer(key), "y": .integer(bad.contains(key) ? 0 : 1), "name": .text("name of \(key)")])
            }
        }
        #expect(Set(store.tables[0].keys) == Set(1...5000).subtracting(bad))
        #expect(lines.count == bad.count && lines.allSatisfy { $0.contains(" ratio value ") })
        #expect(report.counts.mappings[0].migrated == 5000 - bad.count)
        for (key, row) in store.tables[0] {
            let values = Set(row.values)
            #expect(values.contains(.integer(key)) && values.contains(.text("name of \(key)")))
            #expect(values.contains(.text("a constant text")) && values.contains(.real(Double(key) * 2)))
        }
    }

    @Test("A chain of required references is followed to its end in both directions", arguments: [1, -1])
    func chain(direction: Int64) throws {
        let before = [attribute("x", .integer64)]
        let old = try model(entity("N", before, [toOne("next", "N")]))
        let new = try model(
            entity("N", [attribute("x", .integer64, required: true)], [toOne("next", "N", required: true)]))
        let mapping = mappings(
            try mapping("N", "N", "N", ["x": "$source.x"], relationships: ["next": via("next", "$source.next")]))
        // A ring of 200 that stays, and a chain of 200 that hangs on an object without a value.
        let (store, lines, report) = try migrate(old, new, mapping) { store in
            for key in 1...200 as ClosedRange<Int64> {
                store.insert("N", key, ["x": .integer(key)], toOne: ["next": key % 200 + 1])
            }
            for index in 0..<200 as Range<Int64> {
                let key = direction > 0 ? 201 + index : 400 - index
                store.insert(
                    "N", key, ["x": index == 199 ? .null : .integer(key)],
                    toOne: ["next": index == 199 ? 1 : key + direction])
            }
        }
        #expect(store.tables[0].keys.sorted() == Array(1...200))
        #expect(lines.count == 200)
        #expect(lines.filter { $0.contains(" reference N/p") }.count == 199)
        #expect(report.rejects?.rounds == 199)
    }

    @Test(
        "Optional references, links and places of rejects are taken away; keys and Z_MAX stay",
        arguments: [KeyChoice.kept, .sequential])
    func references(keys: KeyChoice) throws {
        func versions(_ required: Bool) throws -> ManagedObjectModel {
            try model(
                entity(
                    "Item", [attribute("x", .integer64, required: required)],
                    [
                        toOne("list", "List", inverse: "items"), toMany("tags", "Tag", inverse: "items"),
                        toOne("best", "Item"),
                    ]),
                entity("List", [], [toMany("items", "Item", inverse: "list", ordered: true)]),
                entity("Tag", [], [toMany("items", "Item", inverse: "tags")]))
        }
        let (old, new) = (try versions(false), try versions(true))
        let mapping = try MappingModel.inferred(from: old, to: new)
        let (store, lines, report) = try migrate(old, new, mapping, keys: keys) { store in
            store.insert("List", 1)
            store.insert("Tag", 1)
            for key in [1, 2, 3, 5] as [Int64] {
                store.insert("Item", key, ["x": key == 2 || key == 5 ? .null : .integer(key)], toOne: ["best": 2])
            }
            store.setMembers("List", 1, "items", [1, 2, 3])
            store.setMembers("Tag", 1, "items", [1, 2])
        }
        #expect(lines == ["Item/p2 x required nil", "Item/p5 x required nil"])
        let item = try #require(new.entity(named: "Item"))
        let table = store.schema.tableIndex(of: item)
        let items = store.tables[table]
        #expect(items.keys.sorted() == [1, 3])
        #expect(store.maximum(of: item) == (keys == .kept ? 5 : 4))
        #expect(store.joins[0].count == 1)
        // Two items lose `best`, one link goes; what rejects refer to is not counted.
        #expect(report.rejects?.removedReferences == 3)
        let order = try #require(store.schema.tables[table].columns.firstIndex { $0.name.hasPrefix("Z_FOK") })
        #expect(items[3]?.values[order] == .integer(2048 + 2 * 1024))
    }

    @Test("Of equal values the lowest key stays, and NULL never conflicts")
    func unique() throws {
        let attributes = [attribute("a", .string), attribute("b", .integer64)]
        let old = try model(entity("U", attributes))
        let new = try model(entity("U", attributes, unique: [["a", "b"]]))
        let rows: [(String?, Int64?)] = [
            ("x", 1), ("x", 2), ("x", 1), ("x", nil), ("x", nil), (nil, 1), (nil, 1), ("x", 2),
        ]
        let (store, lines, _) = try migrate(old, new, try MappingModel.inferred(from: old, to: new)) { store in
            for (index, row) in rows.enumerated() {
                store.insert(
                    "U", Int64(index + 1),
                    ["a": row.0.map { .text($0) } ?? .null, "b": row.1.map { .integer($0) } ?? .null])
            }
        }
        #expect(lines == ["U/p3 a, b unique x, 1", "U/p8 a, b unique x, 2"])
        #expect(store.tables[0].count == 6)
    }

    @Test("A survivor of one constraint that another object needs frees no value again")
    func never() throws {
        // 1 and 2 share a name; 1 is rejected for its value, so 2 stays. 3 needs 4, which shares its name with 2.
        let old = try model(entity("P", [attribute("name", .string), attribute("x", .integer64)], [toOne("of", "P")]))
        let new = try model(
            entity(
                "P", [attribute("name", .string), attribute("x", .integer64, required: true)], [toOne("of", "P")],
                unique: [["name"]]))
        let (_, lines, _) = try migrate(old, new, try MappingModel.inferred(from: old, to: new)) { store in
            store.insert("P", 1, ["name": .text("n")])
            store.insert("P", 2, ["name": .text("n"), "x": .integer(1)])
            store.insert("P", 3, ["name": .text("o"), "x": .integer(1)], toOne: ["of": 4])
            store.insert("P", 4, ["name": .text("n"), "x": .integer(1)])
        }
        #expect(lines == ["P/p1 x required nil", "P/p4 name unique n"])
    }

    @Test("Lengths of data leave the marker of inline storage out, and large integers are not rounded")
    func bounds() throws {
        func binary(_ change: @escaping (inout AttributeDefinition) -> Void) -> AttributeDefinition {
            attribute("d", .binaryData) {
                $0.allowsExternalBinaryDataStorage = true
                change(&$0)
            }
        }
        let old = try model(entity("B", [binary { _ in }, attribute("n", .integer64), attribute("t", .string)]))
        let new = try model(
            entity(
                "B",
                [
                    binary {
                        $0.minimumLength = 2
                        $0.maximumLength = 3
                    }, attribute("n", .integer64) { $0.maximum = .integer(9_007_199_254_740_992) },
                    attribute("t", .string) { $0.regularExpression = "(?=a).*z" },
                ]))
        let (_, lines, _) = try migrate(old, new, try MappingModel.inferred(from: old, to: new)) { store in
            store.insert("B", 1, ["d": .blob([1, 7, 7]), "n": .integer(9_007_199_254_740_992), "t": .text("abcz")])
            store.insert("B", 2, ["d": .blob([1, 7])])
            store.insert("B", 3, ["d": .blob([1, 7, 7, 7, 7])])
            // The length of a value in a file is not known: this one does not exist.
            store.insert("B", 4, ["d": .blob([2] + Array("6FE1C5C4-0F9E-4B53-9F3D-2C7B2E6D5A10".utf8) + [0])])
            store.insert("B", 5, ["n": .integer(9_007_199_254_740_993)])
            store.insert("B", 6, ["t": .text("xz")])
            store.insert("B", 7, ["t": .text("az\n")])
        }
        #expect(
            lines == [
                "B/p2 d minimumLength 1 bytes", "B/p3 d maximumLength 4 bytes",
                "B/p5 n maximum 9007199254740993", "B/p6 t pattern xz", "B/p7 t pattern az\n",
            ])
    }

    @Test("Nothing to reject leaves an empty file")
    func none() throws {
        let simple = try model(entity("A", [attribute("x", .integer64)]))
        let (store, lines, report) = try migrate(simple, simple, try MappingModel.inferred(from: simple, to: simple)) {
            $0.insert("A", 1)
        }
        #expect(store.rowCount == 1 && lines.isEmpty)
        #expect(report.rejects?.objects == 0)
    }

    @Test(
        "A check counts values, rules, duplicates and dangling references, by the objects' sources",
        arguments: [false, true])
    func check(staged: Bool) throws {
        let old = try model(
            entity("A", [attribute("x", .integer64), attribute("y", .integer64)], [toOne("b", "B")]), entity("B"))
        let new = try model(
            entity(
                "A", [attribute("x", .integer64) { $0.maximum = .integer(5) }, attribute("half", .integer64)],
                [toOne("b", "B")], unique: [["x"]]), entity("B"))
        let mapping = mappings(
            try mapping("B", "B", "B"),
            try mapping(
                "A", "A", "A", ["x": "$source.x", "half": "10 / $source.y"], relationships: ["b": by("B", "$source.b")])
        )
        let folder = try TemporaryFolder()
        let source = folder.file("source.sqlite")
        try ReferenceStore.make(old) { store in
            store.insert("B", 1)
            for key in 1...9 as ClosedRange<Int64> {
                store.insert(
                    "A", key, ["x": .integer(key % 7), "y": .integer(key % 4)], toOne: ["b": key == 3 ? 77 : 1])
            }
        }.write(path: source)
        var options = MigrationComparison.Variant(keys: .sequential, isStaged: staged).options
        options.workDirectory = folder.path
        let before = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        let report = try Migration(
            from: source, model: old, mapping: mapping, to: "", model: new, options: options
        ).check()
        // Of 8, which has the x of 1, nothing else is looked at once its half has no value.
        let lines = report.violations.map { "\($0.property) \($0.rule.rawValue) \($0.samples.compactMap(\.sourceID))" }
        #expect(
            lines == [
                #"half value ["A/p4", "A/p8"]"#, #"x maximum ["A/p6"]"#, #"x unique ["A/p9"]"#,
            ])
        let dangling = report.danglingReferences.map { "\($0.entity).\($0.property) \($0.count) \($0.samples)" }
        #expect(dangling == [#"A.b 1 ["A/p3"]"#])
        #expect(report.rejectedObjects == 4 && report.objects == 10)
        #expect(report.fails(options))
        options.onInvalid = .reject
        options.maximumRejects = 4
        #expect(!report.fails(options))
        options.maximumRejects = 3
        #expect(report.fails(options))
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == before)
    }

    @Test("The report names the first ten objects of each rule")
    func samples() throws {
        let old = try model(entity("A", [attribute("x", .integer64), attribute("y", .integer64)]))
        let new = try model(
            entity(
                "A",
                [attribute("x", .integer64) { $0.maximum = .integer(5) }, attribute("y", .integer64, required: true)]))
        let folder = try TemporaryFolder()
        let source = folder.file("source.sqlite")
        try ReferenceStore.make(old) { store in
            for key in 1...60 as ClosedRange<Int64> {
                store.insert("A", key, key <= 40 ? ["x": .integer(key + 5), "y": .integer(1)] : ["x": .integer(1)])
            }
        }.write(path: source)
        var options = MigrationOptions()
        options.onInvalid = .reject
        let report = try Migration(
            from: source, model: old,
            mapping: mappings(try mapping("A", "A", "A", ["x": "$source.x", "y": "$source.y"])),
            to: folder.file("new.sqlite"), model: new, options: options
        ).run()
        let sample = try #require(report.rejects?.sample)
        #expect(sample.map(\.id) == (Array(1...10) + Array(41...50)).map { "A/p\($0)" })
        #expect(sample.map(\.rule) == Array(repeating: .maximum, count: 10) + Array(repeating: .required, count: 10))
    }

    @Test("An object whose value failed and that a policy then deletes is no reject")
    func deleted() throws {
        let old = try model(entity("A", [attribute("x", .integer64)]))
        let new = try model(entity("A", [attribute("x", .integer16)]))
        let mapping = mappings(try mapping("A", "A", "A", ["x": "$source.x"], policy: "Deleting"))
        let folder = try TemporaryFolder()
        let source = folder.file("source.sqlite")
        try ReferenceStore.make(old) { store in
            for key in 1...3 as ClosedRange<Int64> { store.insert("A", key, ["x": .integer(key * 20_000)]) }
        }.write(path: source)
        let manager = MigrationManager(sourceModel: old, destinationModel: new)
        manager.policies = PolicyRegistry()
        manager.policies.register("Deleting") {
            let policy = EnginePolicy()
            // Deletes objects whose key is a multiple of five, or 2 more: the second.
            policy.script = PolicyScript([.deletesEarly], PolicyLog())
            return policy
        }
        manager.options.onInvalid = .reject
        try manager.migrateStore(
            from: URL(fileURLWithPath: source), type: .sqlite, mapping: mapping,
            to: URL(fileURLWithPath: folder.file("new.sqlite")), type: .sqlite)
        let report = try #require(manager.report)
        #expect(report.rejects?.sample.map(\.sourceID) == ["A/p3"])
        let line = report.counts.mappings[0]
        #expect(line.migrated == 1 && line.rejected == 1 && line.droppedByPolicy == 1)
    }
}
