import Foundation
import ManagedModel
import Mapping
import Stagecoach
import TestSupport
import Testing

/// A policy that only calls `super` changes nothing: where another policy sets links, the result is the same with such policies
/// on all other mappings and without.
@Suite("Policies that only call super, beside policies that set links")
struct PolicyNeutralityTests {
    /// `STAGECOACH_RUNS` sets how many.
    static let seeds = RandomSeeds.seeds(40)

    @Test("A random migration has the same links with them and without", arguments: seeds)
    func random(seed: UInt64) throws {
        let migration = try LinkSetting(seed: seed)
        let bare = try migration.run(isBare: true)
        let dressed = try migration.run(isBare: false)
        #expect(bare == dressed, "\(migration)\n\(bare.filter { !dressed.contains($0) }.sorted())")
    }

    /// What a policy sets on one side in stage 1 costs no link that another mapping declares on the other side.
    @Test(
        "Links that another mapping declares are added in stage 2",
        arguments: [
            (nil, nil, ["new1": 1, "new2": 2]),
            ("assets", nil, ["a1": 1, "a2": 1, "a3": 2]),
            ("assets", "chain", ["a1": 1, "a2": 1, "a3": 2]),
            (nil, "chain", ["a1": 1, "a2": 1, "a3": 2, "new1": 1, "new2": 2]),
        ] as [(String?, String?, [String: Int64])])
    func chains(assets: String?, chain: String?, expected: [String: Int64]) throws {
        for isOrdered in [false, true] {
            for isBare in [true, false] {
                let found = try Self.chains(assets, chain, isOrdered: isOrdered, isBare: isBare)
                #expect(found == expected, "ordered \(isOrdered), bare \(isBare)")
            }
        }
    }

    /// The two sides read the two ends of one relationship, but the to-one reads the to-many: it takes the first member only, so
    /// the sides contradict each other. Mapping models let the to-one side decide; calls of a policy's `super` let the later one win.
    @Test("Sides that read each other's end crosswise", arguments: [false, true])
    func crossed(isBare: Bool) throws {
        var definition = ModelDefinition()
        definition.entities = [
            entity("Note", [], [toOne("about", "Note", inverse: "notes"), toMany("notes", "Note", inverse: "about")])
        ]
        let model = try ManagedObjectModel(definition)
        let folder = try TemporaryFolder()
        try ReferenceStore.make(model) { store in
            for key in 1...Int64(2) { store.insert("Note", key, [:]) }
            store.setMembers("Note", 1, "notes", [1, 2])
        }.write(path: folder.file("old.sqlite"))
        let mapping = mappings(
            try StagecoachTests.mapping(
                "Notes", "Note", "Note",
                relationships: ["about": by("Notes", "$source.notes"), "notes": by("Notes", "$source.about")],
                policy: isBare ? nil : "Super"))
        let manager = MigrationManager(sourceModel: model, destinationModel: model)
        manager.policies = PolicyRegistry()
        manager.policies.register("Super") { ClosurePolicy() }
        try manager.migrateStore(
            from: URL(fileURLWithPath: folder.file("old.sqlite")), type: .sqlite, mapping: mapping,
            to: URL(fileURLWithPath: folder.file("new.sqlite")), type: .sqlite)
        let store = try ReferenceStore.read(path: folder.file("new.sqlite"), model: model)
        let found = store.objects("Note").mapValues { $0.toOne["about"]?.key }
        #expect(found == [1: isBare ? 1 : 2, 2: nil])
    }

    /// Migrates chains with their assets; a policy sets the assets of each chain to a new one. Returns the chain of each asset.
    private static func chains(
        _ assets: String?, _ chain: String?, isOrdered: Bool, isBare: Bool
    ) throws -> [String: Int64] {
        var definition = ModelDefinition()
        definition.entities = [
            entity("Asset", [attribute("name", .string)], [toOne("chain", "Chain", inverse: "assets")]),
            entity(
                "Chain", [attribute("n", .integer64)],
                [toMany("assets", "Asset", inverse: "chain", ordered: isOrdered)]),
        ]
        let model = try ManagedObjectModel(definition)
        let folder = try TemporaryFolder()
        try ReferenceStore.make(model) { store in
            for key in 1...Int64(2) { store.insert("Chain", key, ["n": .integer(key)]) }
            for key in 1...Int64(3) { store.insert("Asset", key, ["name": .text("a\(key)")]) }
            store.setMembers("Chain", 1, "assets", [1, 2])
            store.setMembers("Chain", 2, "assets", [3])
        }.write(path: folder.file("old.sqlite"))
        let mapping = mappings(
            try StagecoachTests.mapping(
                "Chains", "Chain", "Chain", ["n": "$source.n"],
                relationships: ["assets": assets.map { by("Assets", "$source.\($0)") }],
                policy: "Chains"),
            try StagecoachTests.mapping(
                "Assets", "Asset", "Asset", ["name": "$source.name"],
                relationships: ["chain": chain.map { by("Chains", "$source.\($0)") }], policy: isBare ? nil : "Super"))
        let manager = MigrationManager(sourceModel: model, destinationModel: model)
        manager.policies = PolicyRegistry()
        manager.options.memoryLimit = 8 << 30
        manager.policies.register("Super") { ClosurePolicy() }
        manager.policies.register("Chains") {
            let policy = ClosurePolicy()
            policy.steps.create = { source, mapping, manager, standard in
                try standard()
                let made = manager.destinationInstances(
                    forEntityMappingName: mapping.name, sourceInstances: [source])
                let new = EntityDescription.insertNewObject(forEntityName: "Asset", into: manager.destinationContext)
                new.setValue("new\(source.objectID.key)", forKey: "name")
                made.first?.setValue(isOrdered ? NSOrderedSet(object: new) : Set([new]) as Any, forKey: "assets")
            }
            return policy
        }
        try manager.migrateStore(
            from: URL(fileURLWithPath: folder.file("old.sqlite")), type: .sqlite, mapping: mapping,
            to: URL(fileURLWithPath: folder.file("new.sqlite")), type: .sqlite)
        let store = try ReferenceStore.read(path: folder.file("new.sqlite"), model: model)
        var found: [String: Int64] = [:]
        for asset in store.objects("Asset").values {
            guard case .text(let name) = asset["name"], let chain = asset.toOne["chain"] else { continue }
            if case .integer(let number) = chain["n"] { found[name] = number }
        }
        return found
    }
}

/// A model of three entities with relationships of all forms, a store, a mapping model that lists either side, both or none, and
/// policies that set either side in stage 1 or 2.
private struct LinkSetting: CustomStringConvertible {
    /// A relationship and its inverse.
    struct Pair {
        let number: Int
        let owner: String
        let member: String
        let isToMany: Bool
        let isOrdered: Bool
        /// True or false for a to-many or to-one inverse; nil: there is none.
        let inverseIsToMany: Bool?
        let inverseIsOrdered: Bool
        let lists: (forward: Bool, inverse: Bool)

        init(_ number: Int, _ random: inout SeededGenerator) {
            self.number = number
            owner = LinkSetting.entities[random.below(3)]
            member = LinkSetting.entities[random.below(3)]
            isToMany = random.chance(2)
            isOrdered = isToMany && random.chance(3)
            inverseIsToMany = [nil, false, true][random.below(3)]
            inverseIsOrdered = inverseIsToMany == true && random.chance(3)
            lists = (!random.chance(3), inverseIsToMany != nil && !random.chance(3))
        }
    }

    enum Moment: CaseIterable {
        case create, endCreation, beforeDefault, afterDefault, endRelating
    }

    /// What a policy does for some of its objects: it sets a side of a pair.
    struct Action {
        let moment: Moment
        let pair: Pair
        let isInverse: Bool
    }

    static let entities = ["A", "B", "C"]
    let seed: UInt64
    let pairs: [Pair]
    let order: [String]
    let actions: [String: [Action]]
    let model: ManagedObjectModel
    let store: ReferenceStore

    var description: String {
        "seed \(seed) order \(order) "
            + pairs.map {
                "\($0.owner).r\($0.number)\($0.isToMany ? "*" : "")\($0.isOrdered ? "o" : "")\($0.lists.forward ? "!" : "") "
                    + "\($0.member).\($0.inverseIsToMany.map { _ in "i" } ?? "-")\($0.inverseIsToMany == true ? "*" : "")"
                    + "\($0.inverseIsOrdered ? "o" : "")\($0.lists.inverse ? "!" : "")"
            }.joined(separator: ", ")
            + " actions \(actions.mapValues { $0.map { "\($0.moment) \($0.isInverse ? "i" : "r")\($0.pair.number)" } })"
    }

    init(seed: UInt64) throws {
        self.seed = seed
        var random = SeededGenerator(seed: seed)
        let pairs = (0..<1 + random.below(3)).map { Pair($0, &random) }
        self.pairs = pairs
        var rest = Self.entities
        order = (0..<3).map { _ in rest.remove(at: random.below(rest.count)) }
        var actions: [String: [Action]] = [:]
        for _ in 0..<1 + random.below(3) {
            let pair = pairs[random.below(pairs.count)]
            let isInverse = pair.inverseIsToMany != nil && random.chance(2)
            let entity = isInverse ? pair.member : pair.owner
            let moment = Moment.allCases[random.below(Moment.allCases.count)]
            actions[entity, default: []].append(Action(moment: moment, pair: pair, isInverse: isInverse))
        }
        self.actions = actions
        model = try Self.model(pairs)
        store = Self.store(model, pairs, &random)
    }

    private static func model(_ pairs: [Pair]) throws -> ManagedObjectModel {
        var definition = ModelDefinition()
        definition.entities = entities.map { name in
            var relationships: [RelationshipDefinition] = []
            for pair in pairs {
                let (own, inverse) = ("r\(pair.number)", pair.inverseIsToMany.map { _ in "i\(pair.number)" })
                if pair.owner == name {
                    relationships.append(
                        pair.isToMany
                            ? toMany(own, pair.member, inverse: inverse, ordered: pair.isOrdered)
                            : toOne(own, pair.member, inverse: inverse))
                }
                guard let inverse, pair.member == name else { continue }
                relationships.append(
                    pair.inverseIsToMany == true
                        ? toMany(inverse, pair.owner, inverse: own, ordered: pair.inverseIsOrdered)
                        : toOne(inverse, pair.owner, inverse: own))
            }
            return entity(name, [attribute("n", .integer64)], relationships)
        }
        return try ManagedObjectModel(definition)
    }

    private static func store(
        _ model: ManagedObjectModel, _ pairs: [Pair], _ generator: inout SeededGenerator
    ) -> ReferenceStore {
        var random = generator
        defer { generator = random }
        return ReferenceStore.make(model) { store in
            for entity in entities { for key in 1...Int64(5) { store.insert(entity, key, ["n": .integer(key)]) } }
            for pair in pairs {
                // Of a one-to-one pair both columns agree, as in a store that Core Data wrote.
                var free = Array(1...Int64(5))
                for owner in 1...Int64(5) {
                    let members = Set((0..<random.below(4)).map { _ in Int64(1 + random.below(5)) }).sorted()
                    if pair.isToMany {
                        store.setMembers(pair.owner, owner, "r\(pair.number)", members)
                    } else if pair.inverseIsToMany == false {
                        guard !members.isEmpty else { continue }
                        let member = free.remove(at: random.below(free.count))
                        store.setToOne(pair.owner, owner, "r\(pair.number)", member)
                        store.setToOne(pair.member, member, "i\(pair.number)", owner)
                    } else if let member = members.first {
                        store.setToOne(pair.owner, owner, "r\(pair.number)", member)
                    }
                }
            }
        }
    }

    private func mapping(isBare: Bool) throws -> MappingModel {
        let model = MappingModel()
        model.entityMappings = try order.map { name in
            let hasActions = actions[name] != nil
            let mapping = try StagecoachTests.mapping(
                "\(name)s", name, name, ["n": "$source.n"], policy: hasActions ? name : isBare ? nil : "Super")
            mapping.relationshipMappings = try pairs.flatMap { pair in
                (pair.lists.forward && pair.owner == name ? ["r\(pair.number)"] : [])
                    + (pair.lists.inverse && pair.member == name ? ["i\(pair.number)"] : [])
            }.map { property in
                PropertyMapping(
                    name: property, valueExpression: try ValueExpression(parsing: via(property, "$source.\(property)")))
            }
            return mapping
        }
        return model
    }

    /// Migrates, and returns a line for each object and relationship.
    ///
    /// - Parameter isBare: true to give only the mappings that set links a policy.
    func run(isBare: Bool) throws -> [String] {
        let folder = try TemporaryFolder()
        try store.write(path: folder.file("old.sqlite"))
        let manager = MigrationManager(sourceModel: model, destinationModel: model)
        manager.policies = PolicyRegistry()
        manager.options.memoryLimit = 8 << 30
        manager.policies.register("Super") { ClosurePolicy() }
        for name in actions.keys {
            let setter = Unchecked(LinkSetter(actions: actions[name] ?? [], seed: seed))
            manager.policies.register(name) {
                let policy = ClosurePolicy()
                policy.steps = setter.value.steps()
                return policy
            }
        }
        try manager.migrateStore(
            from: URL(fileURLWithPath: folder.file("old.sqlite")), type: .sqlite, mapping: mapping(isBare: isBare),
            to: URL(fileURLWithPath: folder.file("new.sqlite")), type: .sqlite)
        let made = try ReferenceStore.read(path: folder.file("new.sqlite"), model: model)
        func name(_ object: ReferenceObject) -> Int64 { object["n"].integer ?? 0 }
        return Self.entities.flatMap { entity in
            made.objects(entity).values.flatMap { object in
                object.entity.relationships.map { relationship in
                    let members = object.related(relationship.name).map(name)
                    return "\(entity) \(name(object)) \(relationship.name) \(members.sorted())"
                }
            }
        }.sorted()
    }
}

/// The work of a policy that sets links: all follows from the seed and from the numbers of the objects that it sees.
private struct LinkSetter {
    let actions: [LinkSetting.Action]
    let seed: UInt64

    func steps() -> ClosurePolicy.Steps {
        var steps = ClosurePolicy.Steps()
        steps.create = { source, mapping, manager, standard in
            try standard()
            for object in manager.destinationInstances(forEntityMappingName: mapping.name, sourceInstances: [source]) {
                act(.create, object, manager)
            }
        }
        func all(_ moment: LinkSetting.Moment) -> ClosurePolicy.Step {
            { mapping, manager in
                let made = manager.destinationInstances(forEntityMappingName: mapping.name, sourceInstances: nil)
                for object in made { act(moment, object, manager) }
            }
        }
        steps.endCreation = all(.endCreation)
        steps.endRelating = all(.endRelating)
        steps.relate = { object, _, manager, standard in
            act(.beforeDefault, object, manager)
            try standard()
            act(.afterDefault, object, manager)
        }
        return steps
    }

    private func number(_ object: ManagedObject) -> Int64 { (object.value(forKey: "n") as? NSNumber)?.int64Value ?? 0 }

    private func act(_ moment: LinkSetting.Moment, _ object: ManagedObject, _ manager: MigrationManager) {
        for (index, action) in actions.enumerated() where action.moment == moment {
            var random = SeededGenerator(seed: seed &* 31 &+ UInt64(index) &* 7 &+ UInt64(number(object)))
            guard random.chance(2) else { continue }
            let pair = action.pair
            let (target, isToMany) =
                action.isInverse ? (pair.owner, pair.inverseIsToMany == true) : (pair.member, pair.isToMany)
            var members: [ManagedObject] = []
            let known = manager.destinationInstances(forEntityMappingName: "\(target)s", sourceInstances: nil)
                .sorted { number($0) < number($1) }
            for _ in 0..<random.below(3) where !known.isEmpty {
                let member = known[random.below(known.count)]
                if !members.contains(member) { members.append(member) }
            }
            if random.chance(2) {
                let new = EntityDescription.insertNewObject(forEntityName: target, into: manager.destinationContext)
                new.setValue(100 + number(object) * 10 + Int64(index), forKey: "n")
                members.append(new)
            }
            let key = "\(action.isInverse ? "i" : "r")\(pair.number)"
            if !isToMany {
                object.setValue(members.first, forKey: key)
            } else if random.chance(3) {
                object.mutableSetValue(forKey: key).addObjects(from: members)
            } else {
                object.setValue(NSOrderedSet(array: members), forKey: key)
            }
        }
    }
}
