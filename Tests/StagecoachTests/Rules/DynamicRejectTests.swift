import Foundation
import ManagedModel
import Mapping
import Stagecoach
import TestSupport
import Testing

/// Expressions that only objects can evaluate, where objects are rejected and over real mapping models.
@Suite("Expressions over objects: rejects and real mapping models")
struct DynamicRejectTests {
    @Test("Values of such expressions reject their objects only, by rule and by failure", arguments: [false, true])
    func rejects(isStaged: Bool) throws {
        let old = try model(
            entity("A", [attribute("name", .string), attribute("x", .integer64)], [toOne("next", "A")]))
        let new = try model(
            entity(
                "A",
                [
                    attribute("head", .string, required: true) { $0.maximumLength = 3 },
                    attribute("small", .integer16) { $0.maximum = .integer(50) },
                ], [toOne("next", "A", required: true)]))
        let entityMapping = try mapping(
            "A", "A", "A",
            [
                "head": "FUNCTION($source.name, 'stringByReplacingOccurrencesOfString:withString:', '-', '')",
                "small": "median({$source.x, $source.x})",
            ], relationships: ["next": by("A", "$source.next")])
        let folder = try TemporaryFolder()
        let source = folder.file("source.sqlite")
        try ReferenceStore.make(old) { store in
            let rows: [(ReferenceValue, ReferenceValue)] = [
                (.text("a-b"), .integer(7)), (.text("long-text"), .integer(7)), (.null, .integer(7)),
                (.text("x"), .integer(51)), (.text("y"), .integer(70_000)), (.text("z"), .integer(50)),
            ]
            for (index, row) in rows.enumerated() {
                let key = Int64(index + 1)
                // 6 refers to 2, which is rejected; 1 to itself.
                store.insert("A", key, ["name": row.0, "x": row.1], toOne: ["next": key == 6 ? 2 : 1])
            }
        }.write(path: source)
        var options = MigrationComparison.Variant(isStaged: isStaged).options
        options.batchSize = 2
        options.onInvalid = .reject
        options.rejectFile = folder.file("rejects.jsonl")
        let out = folder.file("out.sqlite")
        let report = try Migration(
            from: source, model: old, mapping: mappings(entityMapping), to: out, model: new, options: options
        ).run()
        let store = try ReferenceStore.read(path: out, model: new)
        #expect(store.column("A", "head") == [1: .text("ab")])
        #expect(store.column("A", "small") == [1: .integer(7)])
        let lines = try RejectLine.read(folder.file("rejects.jsonl")).map {
            "\($0.sourceID ?? "") \($0.property) \($0.rule)"
        }
        #expect(
            lines == [
                "A/p2 head maximumLength", "A/p3 head required", "A/p4 small maximum", "A/p5 small value",
                "A/p6 next reference",
            ] || lines.map { $0.prefix(9) } == ["A/p2 head", "A/p3 head", "A/p4 smal", "A/p5 smal", "A/p6 next"],
            "\(lines)")
        #expect(report.counts.mappings[0].rejected == 5 && report.counts.mappings[0].migrated == 1)
    }

    static let models: [(models: (String, String), mapping: String, store: String)] = [
        (
            ("objcio-moody/models/Moody.xcdatamodeld:Moody 2", "objcio-moody/models/Moody.xcdatamodeld:Moody 3"),
            "objcio-moody/mappings/Moody 2-Moody 3.xcmappingmodel", "objcio-moody/stores/Moody 2.moody"
        ),
        (
            ("objcio-moody/models/Moody.xcdatamodeld:Moody 3", "objcio-moody/models/Moody.xcdatamodeld:Moody 4"),
            "objcio-moody/mappings/Moody 3-Moody 4.xcmappingmodel", "objcio-moody/stores/Moody 3.moody"
        ),
    ]

    @Test(
        "A real mapping model gives the same store by programs, by objects, and through source expressions",
        .enabled(if: SharedStores.isPresent, "the folder of real stores is absent"), arguments: [0, 1])
    func realModels(index: Int) throws {
        let (models, mapping, store) = Self.models[index]
        func run(_ change: (MappingModel) throws -> Void) throws -> ReferenceStore {
            let fixture = try RealPolicyFixture(models, mapping: mapping, store: store)
            try change(fixture.mapping)
            try fixture.run()
            return try ReferenceStore.read(path: fixture.destinationPath, model: fixture.destination)
        }
        let programs = try run { _ in }
        #expect(programs.tables.contains { !$0.isEmpty })
        let objects = try run { model in
            for entity in model.entityMappings {
                for property in (entity.attributeMappings ?? []) + (entity.relationshipMappings ?? []) {
                    guard let text = property.valueExpression?.format else { continue }
                    property.valueExpression = try ValueExpression(
                        parsing: "TERNARY(median({1, 1}) == 1, \(text), nil)")
                }
            }
        }
        #expect(objects.differences(from: programs).isEmpty, "\(objects.differences(from: programs))")
        let filtered = try run { model in
            for entity in model.entityMappings where entity.sourceEntityName != nil {
                entity.sourceFilter = try SourcePredicate(format: "median({1, 1}) == 1")
            }
        }
        #expect(filtered.differences(from: programs).isEmpty, "\(filtered.differences(from: programs))")
        let fetched = try run { model in
            for entity in model.entityMappings {
                guard let name = entity.sourceEntityName else { continue }
                entity.sourceExpression = try ValueExpression(
                    parsing: "FETCH(FUNCTION($manager, 'fetchRequestForSourceEntityNamed:predicateString:"
                        + "includesSubentities:', '\(name)', 'median({1, 1}) == 1', NO), $manager.sourceContext, NO)")
            }
        }
        #expect(fetched.differences(from: programs).isEmpty, "\(fetched.differences(from: programs))")
    }
}
