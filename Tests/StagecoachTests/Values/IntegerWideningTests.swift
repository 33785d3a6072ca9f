import Diagnostics
import ManagedModel
import Mapping
import Stagecoach
import TestSupport
import Testing

/// Attributes whose new type is a wider integer: inferred, and carried over as they stand.
@Suite("Integers that become wider")
struct IntegerWideningTests {
    /// Integers by size.
    private static let integers: [AttributeType] = [.boolean, .integer16, .integer32, .integer64]

    /// A node with an attribute of each given type, renamed ones among them, and a composite with one more.
    private static func version(
        _ types: [AttributeType], _ element: AttributeType, isOld: Bool = false
    ) throws -> ManagedObjectModel {
        var definition = ModelDefinition()
        let attributes = types.enumerated().map { index, type in
            attribute(index == 0 && isOld ? "muted" : "a\(index)", type) {
                if index == 0, !isOld { $0.renamingIdentifier = "muted" }
            }
        }
        definition.composites = ["Place": [attribute("floor", element)]]
        definition.entities = [entity("Node", attributes + [CompositeFixture.composite("place", "Place")])]
        return try ManagedObjectModel(definition)
    }

    private static let rows: [[String: ReferenceValue]] = [
        [
            "muted": .integer(1), "a1": .integer(-32768), "a2": .integer(2_147_483_647),
            "place.floor": .integer(32767),
        ],
        ["muted": .integer(0), "a1": .integer(7)],
    ]

    private static func store(_ model: ManagedObjectModel) throws -> ReferenceStore {
        ReferenceStore.make(model) { store in
            for (index, row) in rows.enumerated() { store.insert("Node", Int64(index + 1), row) }
        }
    }

    private static func expected(_ row: [String: ReferenceValue], _ name: String) -> ReferenceValue {
        row[name == "a0" ? "muted" : name] ?? .null
    }

    @Test(
        "Run, check, verification and the file of infer carry the values as they stand, on every path",
        arguments: [false, true], [false, true])
    func carried(isStaged: Bool, isFromFile: Bool) throws {
        let old = try Self.version([.boolean, .integer16, .integer32], .integer16, isOld: true)
        let new = try Self.version([.integer16, .integer32, .integer64], .integer64)
        let folder = try TemporaryFolder()
        let path = folder.file("old.sqlite")
        try Self.store(old).write(path: path)
        var mapping = try MappingModel.inferred(from: old, to: new)
        let text = try mapping.json()
        if isFromFile {
            let read = try MappingModel.reading(json: Array(text.utf8), path: "m.json", source: old, destination: new)
            #expect(read.differences(from: mapping) == [])
            mapping = read
        }
        var options = MigrationOptions()
        options.usesStoreSpecificMigrationManager = !isStaged
        let migration = Migration(
            from: path, model: old, mapping: mapping, to: folder.file("new.sqlite"), model: new, options: options)
        #expect(try migration.check().violations.isEmpty)
        let report = try migration.run()
        #expect(report.leftBehind == nil && report.isStaged == isStaged)
        #expect(try StoreVerification(migration).run().isEqual)
        let copy = try ReferenceStore.read(path: folder.file("new.sqlite"), model: new)
        for (index, row) in Self.rows.enumerated() {
            for name in ["a0", "a1", "a2", "place.floor"] {
                #expect(copy.column("Node", name)[Int64(index + 1)] == Self.expected(row, name), "\(name)")
            }
        }
    }

    @Test("Every integer becomes every wider one over two steps that run as one")
    func chain() throws {
        let versions = [
            try Self.version([.boolean, .boolean, .integer16], .boolean),
            try Self.version([.boolean, .integer16, .integer32], .integer16),
            try Self.version([.integer32, .integer64, .integer64], .integer32),
        ]
        let steps = try zip(versions, versions.dropFirst()).map { try MappingModel.inferred(from: $0, to: $1) }
        let composed = try MappingComposition.compose(
            steps[0], steps[1], source: versions[0], middle: versions[1], destination: versions[2], excuses: true)
        let attributes = composed.entityMappings.first?.attributeMappings ?? []
        #expect(
            attributes.map { "\($0.name ?? "")=\($0.valueExpression?.format ?? "-")" }
                == ["a0=$source.a0", "a1=$source.a1", "a2=$source.a2", "place.floor=$source.place.floor"])
    }

    @Test("A narrower integer and every other number are still refused, also in a composite")
    func refused() throws {
        for (index, old) in Self.integers.enumerated() {
            for new in Self.integers.prefix(index) + [.double, .float, .decimal] {
                for isElement in [false, true] {
                    let error = #expect(throws: MigrationError.self) {
                        try MappingModel.inferred(
                            from: Self.version([isElement ? .date : old], isElement ? old : .date),
                            to: Self.version([isElement ? .date : new], isElement ? new : .date))
                    }
                    #expect(error?.code == "inference.attributeType", "\(old) \(new) \(isElement)")
                }
            }
        }
    }
}
