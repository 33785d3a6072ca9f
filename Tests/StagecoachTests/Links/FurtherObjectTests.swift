import ManagedModel
import Mapping
import Stagecoach
import TestSupport
import Testing

/// Lookups that give a to-one relationship more than one object: the others are counted, by relationship.
@Suite("Further objects of to-one relationships")
struct FurtherObjectTests {
    /// The inverse of `A.b` in the new version.
    enum Inverse: CaseIterable { case none, toMany, toOne }
    /// The expression that gives the objects.
    enum Lookup: String, CaseIterable {
        case byMapping, bySourceRelationship, subquery, longerPath

        var text: String {
            switch self {
            case .byMapping: by("BToB", "$source.bs")
            case .bySourceRelationship: via("bs", "$source.bs")
            case .subquery: by("BToB", "SUBQUERY($source.bs, $b, $b.y != 'none')")
            case .longerPath: by("BToB", "$source.bs.a.bs")
            }
        }
    }

    private static func source(ordered: Bool) throws -> ManagedObjectModel {
        try model(
            entity("A", [attribute("x", .string)], [toMany("bs", "B", inverse: "a", ordered: ordered)]),
            entity("B", [attribute("y", .string)], [toOne("a", "A", inverse: "bs")]))
    }

    private static func destination(_ inverse: Inverse) throws -> ManagedObjectModel {
        switch inverse {
        case .none:
            try model(entity("A", [], [toOne("b", "B")]), entity("B", [attribute("y", .string)]))
        case .toMany:
            try model(
                entity("A", [], [toOne("b", "B", inverse: "as")]),
                entity("B", [attribute("y", .string)], [toMany("as", "A", inverse: "b")]))
        case .toOne:
            try model(
                entity("A", [], [toOne("b", "B", inverse: "a")]),
                entity("B", [attribute("y", .string)], [toOne("a", "A", inverse: "b")]))
        }
    }

    /// A1 has B1, B2 and B3, A2 has B4, A3 has none.
    private func run(
        _ lookup: Lookup, _ inverse: Inverse, ordered: Bool = false, staged: Bool = false, decides: Bool = false
    ) throws -> (report: MigrationReport, check: CheckReport, differences: [String]) {
        let (old, new) = (try Self.source(ordered: ordered), try Self.destination(inverse))
        let folder = try TemporaryFolder()
        let path = folder.file("old.sqlite")
        try ReferenceStore.make(old) { store in
            for key in 1...3 { store.insert("A", Int64(key)) }
            for key in 1...4 {
                store.insert("B", Int64(key), ["y": .text("\(key)")], toOne: ["a": key == 4 ? 2 : 1])
            }
        }.write(path: path)
        let mapping = mappings(
            try mapping("AToA", "A", "A", relationships: ["b": lookup.text]),
            try mapping(
                "BToB", "B", "B", ["y": "$source.y"], relationships: decides ? ["a": via("a", "$source.a")] : [:]))
        let comparison = MigrationComparison(
            source: old, destination: new, mapping: mapping, sourcePath: path, folder: folder)
        let variant = MigrationComparison.Variant(isStaged: staged)
        let migration = Migration(
            from: path, model: old, mapping: mapping, to: folder.file("new.sqlite"), model: new,
            options: variant.options)
        let check = try migration.check()
        return (try migration.run(), check, try comparison.differences(variant))
    }

    private func lines(_ found: [FurtherObjects]?) -> [String] {
        (found ?? []).map { "\($0.relationship) \($0.inverse ?? "-") \($0.kept.rawValue) \($0.count)" }
    }

    @Test(
        "Every further object counts, whatever finds it, on both paths", arguments: Lookup.allCases, [false, true])
    func lookups(_ lookup: Lookup, staged: Bool) throws {
        for inverse in Inverse.allCases {
            for ordered in [false, true] {
                let (report, check, differences) = try run(lookup, inverse, ordered: ordered, staged: staged)
                #expect(differences == [])
                #expect(report.counts.surplusToOne == 2, "\(inverse) \(ordered)")
                #expect(lines(report.counts.furtherObjects) == ["A.b - first 2"])
                #expect(lines(check.furtherObjects) == ["A.b - first 2"])
                #expect(report.notes.contains("A.b: 2 further objects were left out, the first found was taken"))
            }
        }
    }

    @Test("Where the inverse has a say the note does not speak of the first one", arguments: [false, true])
    func decidedByInverse(staged: Bool) throws {
        let (report, _, differences) = try run(.byMapping, .toOne, staged: staged, decides: true)
        #expect(differences == [])
        #expect(lines(report.counts.furtherObjects) == ["A.b B.a lastLinked 2"])
        #expect(
            report.notes.contains(
                "A.b: 2 further objects were left out, the last that it or its inverse B.a linked stayed"))
    }

    @Test("One object for each is no surplus", arguments: [false, true])
    func none(staged: Bool) throws {
        let (old, new) = (try Self.source(ordered: false), try Self.destination(.none))
        let folder = try TemporaryFolder()
        let path = folder.file("old.sqlite")
        try ReferenceStore.make(old) { store in
            store.insert("A", 1)
            store.insert("B", 1, toOne: ["a": 1])
        }.write(path: path)
        let mapping = mappings(
            try mapping("AToA", "A", "A", relationships: ["b": by("BToB", "$source.bs")]),
            try mapping("BToB", "B", "B"))
        let report = try Migration(
            from: path, model: old, mapping: mapping, to: folder.file("new.sqlite"), model: new,
            options: MigrationComparison.Variant(isStaged: staged).options
        ).run()
        #expect(report.counts.surplusToOne == 0 && report.counts.furtherObjects == nil)
    }
}
