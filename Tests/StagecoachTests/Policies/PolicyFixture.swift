import Foundation
import ManagedModel
import Mapping
import Stagecoach
import TestSupport

/// A policy whose methods are closures; without one it does what its superclass does.
final class ClosurePolicy: EntityMigrationPolicy {
    typealias Step = (EntityMapping, MigrationManager) throws -> Void
    typealias ObjectStep = (ManagedObject, EntityMapping, MigrationManager, () throws -> Void) throws -> Void

    /// The closures of one policy; `create` and `relate` get the default method as their last argument.
    struct Steps {
        var begin: Step?
        var create: ObjectStep?
        var endCreation: Step?
        var relate: ObjectStep?
        var endRelating: Step?
        var validate: Step?
        var end: Step?
        var log: PolicyLog?
    }

    var steps = Steps()

    private func run(_ name: String, _ step: Step?, _ mapping: EntityMapping, _ manager: MigrationManager) throws {
        steps.log?.lines.append("\(name) \(mapping.name ?? "")")
        try step?(mapping, manager)
    }

    override func begin(_ mapping: EntityMapping, with manager: MigrationManager) throws {
        try run("begin", steps.begin, mapping, manager)
    }
    override func createDestinationInstances(
        forSource sInstance: ManagedObject, in mapping: EntityMapping, manager: MigrationManager
    ) throws {
        steps.log?.lines.append("create \(mapping.name ?? "") p\(sInstance.objectID.key)")
        let standard = {
            try super.createDestinationInstances(forSource: sInstance, in: mapping, manager: manager)
        }
        if let create = steps.create { try create(sInstance, mapping, manager, standard) } else { try standard() }
    }
    override func endInstanceCreation(forMapping mapping: EntityMapping, manager: MigrationManager) throws {
        try run("created", steps.endCreation, mapping, manager)
    }
    override func createRelationships(
        forDestination dInstance: ManagedObject, in mapping: EntityMapping, manager: MigrationManager
    ) throws {
        steps.log?.lines.append("relate \(mapping.name ?? "") p\(dInstance.objectID.key)")
        let standard = { try super.createRelationships(forDestination: dInstance, in: mapping, manager: manager) }
        if let relate = steps.relate { try relate(dInstance, mapping, manager, standard) } else { try standard() }
    }
    override func endRelationshipCreation(forMapping mapping: EntityMapping, manager: MigrationManager) throws {
        try run("related", steps.endRelating, mapping, manager)
    }
    override func performCustomValidation(forMapping mapping: EntityMapping, manager: MigrationManager) throws {
        try run("validate", steps.validate, mapping, manager)
    }
    override func end(_ mapping: EntityMapping, manager: MigrationManager) throws {
        try run("end", steps.end, mapping, manager)
    }
}

/// A small store of persons, pets and things, and mappings that copy it.
final class PolicyFixture {
    let folder: TemporaryFolder
    let source: ManagedObjectModel
    let destination: ManagedObjectModel
    let store: ReferenceStore
    let sourcePath: String
    var mapping: MappingModel
    /// Batches of one row and the least memory, so that everything is spilled.
    var isTiny = true
    var change: (MigrationManager) -> Void = { _ in }
    private var policies: [String: ClosurePolicy.Steps] = [:]

    static let types: [AttributeDefinition] = [
        attribute("i16", .integer16), attribute("i32", .integer32), attribute("i64", .integer64),
        attribute("flag", .boolean), attribute("single", .float), attribute("real", .double),
        attribute("decimal", .decimal), attribute("text", .string), attribute("date", .date),
        attribute("data", .binaryData), attribute("large", .binaryData) { $0.allowsExternalBinaryDataStorage = true },
        attribute("uuid", .uuid), attribute("uri", .uri),
    ]

    init(persons: Int64 = 6) throws {
        folder = try TemporaryFolder()
        func family(_ extra: EntityDefinition?) throws -> ManagedObjectModel {
            var definition = ModelDefinition()
            definition.entities = [
                entity(
                    "Person", [attribute("name", .string), attribute("age", .integer16, default: .integer(5))],
                    [
                        toMany("pets", "Pet", inverse: "owner", ordered: true),
                        toMany("friends", "Person", inverse: "friendOf"),
                        toMany("friendOf", "Person", inverse: "friends"),
                        toOne("best", "Person"),
                    ] + (extra == nil ? [] : [toOne("badge", "Badge", inverse: "person")])),
                entity("Pet", [attribute("name", .string)], [toOne("owner", "Person", inverse: "pets")]),
                entity("Thing", Self.types),
            ]
            if let extra { definition.entities.append(extra) }
            return try ManagedObjectModel(definition)
        }
        source = try family(nil)
        destination = try family(
            entity("Badge", [attribute("code", .string)], [toOne("person", "Person", inverse: "badge")]))
        store = ReferenceStore.make(source) { store in
            for key in 1...persons {
                store.insert("Person", key, lock: 3, ["name": .text("person \(key)"), "age": .integer(key * 10)])
                store.insert("Pet", key, lock: 4, ["name": .text("pet \(key)")])
            }
            store.insert("Thing", 1)
            guard persons > 2 else { return }
            // Person 1 has pets 3, 1; person 2 has pet 2; the others have none.
            store.setMembers("Person", 1, "pets", [3, 1])
            store.setMembers("Person", 2, "pets", [2])
            store.setMembers("Person", 1, "friends", [2, 3])
            store.setToOne("Person", 1, "best", 2)
        }
        sourcePath = folder.file("source.sqlite")
        try store.write(path: sourcePath)
        mapping = mappings(
            try StagecoachTests.mapping(
                "Persons", "Person", "Person", ["name": "$source.name", "age": "$source.age"],
                relationships: [
                    "pets": by("Pets", "$source.pets"), "friends": by("Persons", "$source.friends"),
                    "best": by("Persons", "$source.best"),
                ]),
            try StagecoachTests.mapping(
                "Pets", "Pet", "Pet", ["name": "$source.name"],
                relationships: ["owner": by("Persons", "$source.owner")]),
            try StagecoachTests.mapping("Things", "Thing", "Thing"))
    }

    /// Gives an entity mapping a policy.
    func policy(_ mappingName: String, _ steps: ClosurePolicy.Steps) {
        mapping.entityMappingsByName[mappingName]?.entityMigrationPolicyClassName = "Tests.\(mappingName)Policy"
        policies["\(mappingName)Policy"] = steps
    }

    /// A manager that finds the policies.
    func manager() -> MigrationManager {
        let manager = MigrationManager(sourceModel: source, destinationModel: destination)
        manager.policies = PolicyRegistry()
        // The process of the tests holds more than a migration of its own would.
        manager.options.memoryLimit = 8 << 30
        for (name, steps) in policies {
            let carried = Unchecked(steps)
            manager.policies.register(name) {
                let policy = ClosurePolicy()
                policy.steps = carried.value
                return policy
            }
        }
        if isTiny {
            manager.options.batchSize = 1
            manager.options.memoryRoom = 20 << 20
        }
        manager.options.fullCheck = true
        change(manager)
        return manager
    }

    var destinationURL: URL { URL(fileURLWithPath: folder.file("destination.sqlite")) }
    var sourceURL: URL { URL(fileURLWithPath: sourcePath) }

    /// Migrates and reads the destination.
    @discardableResult
    func run(_ given: MigrationManager? = nil) throws -> ReferenceStore {
        let manager = given ?? self.manager()
        try? FileManager.default.removeItem(at: destinationURL)
        try manager.migrateStore(
            from: sourceURL, type: .sqlite, mapping: mapping, to: destinationURL, type: .sqlite)
        return try ReferenceStore.read(path: destinationURL.path, model: destination)
    }

    /// Returns the names of the files beside the source.
    func leftovers() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { !$0.hasPrefix("source.sqlite") }
            .sorted()
    }
}

extension ReferenceStore {
    /// Values of an attribute by key.
    func column(_ entity: String, _ attribute: String) -> [Int64: ReferenceValue] {
        keys(entity).reduce(into: [:]) { $0[$1] = value(entity, $1, attribute) }
    }

    /// Keys of an entity's table, ascending.
    func keys(_ entity: String) -> [Int64] {
        guard let description = model.entity(named: entity) else { return [] }
        return tables[schema.tableIndex(of: description)].keys.sorted()
    }

    /// Objects of the store, by key.
    func objects(_ entity: String) -> [Int64: ReferenceObject] {
        guard let description = model.entity(named: entity) else { return [:] }
        return Dictionary(
            objects()[schema.tableIndex(of: description)].map { ($0.key, $0) }, uniquingKeysWith: { $1 })
    }

    /// Z_MAX of an entity.
    func maximum(_ entity: String) -> Int64? {
        model.entity(named: entity).flatMap { primaryKey[schema.number(of: $0)]?.maximum }
    }

    /// Z_OPT of a row.
    func lock(_ entity: String, _ key: Int64) -> ReferenceValue { row(entity, key).values[1] }
}
