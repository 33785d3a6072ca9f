import ManagedModel
import Mapping
import Stagecoach
import TestSupport

/// The operations of a scripted policy on objects, on the engine's side or on the reference's.
protocol PolicySide {
    associatedtype Object: AnyObject
    var mapping: EntityMapping { get }
    var mappingNames: [String] { get }
    var destinationModel: ManagedObjectModel { get }
    func entity(_ object: Object) -> EntityDescription
    func key(_ object: Object) -> Int64
    func createDefault(_ source: Object) throws
    func relateDefault(_ object: Object) throws
    func insert(_ entity: String) throws -> Object
    func delete(_ object: Object) throws
    func associate(_ source: Object, _ object: Object) throws
    func destinations(_ mapping: String, _ sources: [Object]?) throws -> [Object]
    func sources(_ mapping: String, _ destinations: [Object]?) throws -> [Object]
    func number(_ object: Object, _ attribute: String) -> Int64?
    func text(_ object: Object, _ attribute: String) -> String?
    func set(_ object: Object, _ attribute: String, number: Int64?) throws
    func set(_ object: Object, _ attribute: String, text: String?) throws
    func related(_ object: Object, _ relationship: String) -> [Object]
    func set(_ object: Object, _ relationship: String, to members: [Object]) throws
    func setSource(_ object: Object, _ relationship: String, to members: [Object]) throws
    func deleteSource(_ object: Object) throws
    func isDeleted(_ object: Object) -> Bool
}

/// The work of a scripted policy beyond the default methods.
struct PolicyActions: OptionSet, CustomStringConvertible {
    let rawValue: Int

    static let drops = PolicyActions(rawValue: 1)
    static let splits = PolicyActions(rawValue: 2)
    static let merges = PolicyActions(rawValue: 4)
    static let createsByHand = PolicyActions(rawValue: 8)
    static let insertsExtra = PolicyActions(rawValue: 16)
    static let setsEarly = PolicyActions(rawValue: 32)
    static let relatesAfterDefault = PolicyActions(rawValue: 64)
    static let relatesByHand = PolicyActions(rawValue: 128)
    static let changesInValidation = PolicyActions(rawValue: 256)
    static let changesInEnd = PolicyActions(rawValue: 512)
    static let deletes = PolicyActions(rawValue: 1024)
    static let deletesEarly = PolicyActions(rawValue: 2048)
    /// Most objects are left to the default methods, and nobody looks at them.
    static let isRare = PolicyActions(rawValue: 4096)
    static let count = 13
    // Not among those that are chosen at random for other tests.
    static let changesSources = PolicyActions(rawValue: 8192)
    static let deletesSources = PolicyActions(rawValue: 16384)

    var description: String {
        let names = [
            "drops", "splits", "merges", "createsByHand", "insertsExtra", "setsEarly", "relatesAfterDefault",
            "relatesByHand", "changesInValidation", "changesInEnd", "deletes", "deletesEarly", "isRare",
            "changesSources", "deletesSources",
        ]
        return names.indices.filter { rawValue & 1 << $0 != 0 }.map { names[$0] }.joined(separator: " ")
    }
}

extension PolicyActions {
    /// Gives about every second mapping that has a destination a policy, named after it.
    ///
    /// - Parameter choose: what the next policy does.
    /// - Returns: what each does, by its name.
    static func chosen(
        for mappings: [EntityMapping], _ generator: inout SeededGenerator,
        _ choose: (inout SeededGenerator) -> PolicyActions
    ) -> [String: PolicyActions] {
        var actions: [String: PolicyActions] = [:]
        for mapping in mappings where mapping.destinationEntityName != nil {
            guard generator.chance(2) else { continue }
            let name = "Policy\(mapping.name ?? "")"
            mapping.entityMigrationPolicyClassName = name
            actions[name] = choose(&generator)
        }
        return actions
    }
}

/// Lines that scripted policies write, to compare what they saw.
final class PolicyLog {
    var lines: [String] = []
}

/// One scripted policy: everything it does follows from its actions and the keys it sees.
final class PolicyScript<Side: PolicySide> {
    private let actions: PolicyActions
    private let log: PolicyLog
    var kept: [Int64: Side.Object] = [:]
    private var made: [Side.Object] = []

    init(_ actions: PolicyActions, _ log: PolicyLog) {
        self.actions = actions
        self.log = log
    }

    private func note(_ side: Side, _ text: String) { log.lines.append("\(side.mapping.name ?? "") \(text)") }

    private func id(_ side: Side, _ object: Side.Object) -> String { "\(side.entity(object))/p\(side.key(object))" }

    // MARK: - Stage 1

    func begin(_ side: Side) { note(side, "begin") }

    func create(_ source: Side.Object, _ side: Side) throws {
        let key = side.key(source)
        if actions.contains(.isRare), key % 7 != 3 { return try side.createDefault(source) }
        note(side, "create \(id(side, source)) \(values(source, side, inOrder: false))")
        if actions.contains(.changesSources), key % 3 == 1 { try changeSource(source, side, key) }
        if actions.contains(.deletesSources), key % 4 == 2 {
            // The object itself, or one that it refers to: a mapping may still get it, or has got it already.
            let others = side.entity(source).relationships.filter { !$0.isTransient }.flatMap {
                side.related(source, $0.name).sorted { side.key($0) < side.key($1) }
            }
            let victim = key % 8 == 2 ? source : others.first ?? source
            note(side, "delete \(id(side, victim))")
            try side.deleteSource(victim)
            if side.isDeleted(source) { return }
        }
        if actions.contains(.drops), key % 3 == 0 { return }
        if actions.contains(.merges), let known = kept[key % 4] {
            try side.associate(source, known)
            try side.associate(source, known)
            return
        }
        if actions.contains(.createsByHand), let name = side.mapping.destinationEntityName {
            let object = try side.insert(name)
            try touch(object, side, key)
            try side.associate(source, object)
        } else {
            try side.createDefault(source)
        }
        let created = try side.destinations(side.mapping.name, [source])
        note(side, "created \(created.map { id(side, $0) })")
        guard let first = created.first else { return }
        made.append(first)
        if actions.contains(.merges) { kept[key % 4] = first }
        if actions.contains(.splits), key % 2 == 0, let name = side.mapping.destinationEntityName {
            let second = try side.insert(name)
            try touch(second, side, key + 1)
            try side.associate(source, second)
        }
        if actions.contains(.insertsExtra), key % 4 == 1 { try insertExtra(side, key) }
        if actions.contains(.setsEarly) { try relate(first, side, key) }
        if actions.contains(.deletesEarly), key % 5 == 2 { try side.delete(first) }
    }

    /// Changes attributes of a source object, and one relationship to objects that it reaches.
    private func changeSource(_ source: Side.Object, _ side: Side, _ key: Int64) throws {
        try touch(source, side, key)
        let relationships = side.entity(source).relationships.filter { !$0.isTransient }
        guard !relationships.isEmpty else { return }
        let relationship = relationships[Int(key.magnitude % UInt64(relationships.count))]
        var candidates: [Side.Object] = [source]
        for other in relationships {
            for found in side.related(source, other.name).sorted(by: { side.key($0) < side.key($1) })
            where !candidates.contains(where: { $0 === found }) { candidates.append(found) }
        }
        candidates.removeAll { !side.entity($0).isKindOf(entity: relationship.destination) }
        let members = Array(candidates.suffix(relationship.isToMany ? 3 : 1))
        note(side, "set \(relationship.name) of \(id(side, source)) to \(members.map { id(side, $0) })")
        try side.setSource(source, relationship.name, to: members)
        note(side, "now \(values(source, side, inOrder: true))")
    }

    func endInstanceCreation(_ side: Side) throws {
        note(side, "created \(try side.destinations(side.mapping.name, nil).map { id(side, $0) })")
    }

    // MARK: - Stages 2 and 3

    func relate(_ object: Side.Object, _ side: Side) throws {
        if actions.contains(.isRare), side.key(object) % 5 != 2 { return try side.relateDefault(object) }
        let sources = try side.sources(side.mapping.name, [object])
        note(side, "relate \(id(side, object)) of \(sources.map { id(side, $0) })")
        note(side, "before \(values(object, side, inOrder: true))")
        if !actions.contains(.relatesByHand) { try side.relateDefault(object) }
        if !actions.isDisjoint(with: [.relatesByHand, .relatesAfterDefault]) {
            try relate(object, side, side.key(object))
        }
        note(side, "after \(values(object, side, inOrder: true))")
    }

    func endRelationshipCreation(_ side: Side) throws {
        note(side, "related")
        if actions.contains(.deletes) { try deleteSome(side, remainder: 1) }
    }

    func validate(_ side: Side) throws {
        note(side, "validate")
        if actions.contains(.changesInValidation) { try changeAll(side, 3) }
    }

    func end(_ side: Side) throws {
        note(side, "end")
        if actions.contains(.changesInEnd) { try changeAll(side, 5) }
        if actions.contains(.insertsExtra) { try insertExtra(side, 7) }
        if actions.contains(.deletes) { try deleteSome(side, remainder: 0) }
    }

    // MARK: - Parts

    private func changeAll(_ side: Side, _ salt: Int64) throws {
        for name in side.mappingNames {
            for object in try side.destinations(name, nil) where (side.key(object) + salt) % 3 == 0 {
                note(side, "change \(id(side, object)) \(values(object, side, inOrder: true))")
                try touch(object, side, side.key(object) &+ salt)
                try relate(object, side, side.key(object) &+ salt)
            }
        }
    }

    private func deleteSome(_ side: Side, remainder: Int64) throws {
        for object in try side.destinations(side.mapping.name, nil) where side.key(object) % 5 == remainder {
            try side.delete(object)
        }
    }

    private func insertExtra(_ side: Side, _ key: Int64) throws {
        let entities = side.destinationModel.entities.filter { !$0.isAbstract }
        guard !entities.isEmpty else { return }
        let object = try side.insert(entities[Int(key.magnitude % UInt64(entities.count))].definition.name)
        try touch(object, side, key)
        note(side, "inserted \(id(side, object)) \(values(object, side, inOrder: true))")
    }

    /// Changes a few attributes.
    private func touch(_ object: Side.Object, _ side: Side, _ number: Int64) throws {
        for (position, attribute) in side.entity(object).attributes.enumerated() where attribute.isStored {
            guard (number &+ Int64(position)) % 2 == 0 else { continue }
            switch attribute.attributeType {
            case .integer16, .integer32, .integer64, .double, .float:
                try side.set(
                    object, attribute.name, number: number % 7 == 0 && attribute.isOptional ? nil : number % 97)
            case .boolean: try side.set(object, attribute.name, number: number & 1)
            case .string: try side.set(object, attribute.name, text: "policy \(number)")
            default: break
            }
        }
    }

    /// Sets some of an object's relationships to objects of all mappings.
    private func relate(_ object: Side.Object, _ side: Side, _ number: Int64) throws {
        for (position, relationship) in side.entity(object).relationships.enumerated()
        where !relationship.isTransient && (number &+ Int64(position)) % 2 == 0 {
            var candidates: [Side.Object] = []
            for name in side.mappingNames {
                for candidate in try side.destinations(name, nil)
                where side.entity(candidate).isKindOf(entity: relationship.destination)
                    && !candidates.contains(where: { $0 === candidate })
                {
                    candidates.append(candidate)
                }
            }
            guard !candidates.isEmpty, number % 6 != 4 else {
                try side.set(object, relationship.name, to: [])
                continue
            }
            var members: [Side.Object] = []
            for step in 0..<(relationship.isToMany ? 3 : 1) {
                let index = Int((number &* 7 &+ Int64(step * 5)).magnitude % UInt64(candidates.count))
                if !members.contains(where: { $0 === candidates[index] }) { members.append(candidates[index]) }
            }
            try side.set(object, relationship.name, to: members)
            let inverse = relationship.inverseRelationship?.name
            note(
                side,
                "set \(id(side, object)) \(relationship.name) to \(members.map { id(side, $0) }), inverses "
                    + "\(members.map { member in inverse.map { related(member, $0, side, inOrder: true) } ?? "" })")
        }
    }

    private func related(_ object: Side.Object, _ name: String, _ side: Side, inOrder: Bool) -> String {
        var keys = side.related(object, name).map { id(side, $0) }
        if side.entity(object).relationship(named: name)?.isOrdered != true { keys.sort() }
        return keys.joined(separator: ",")
    }

    private func values(_ object: Side.Object, _ side: Side, inOrder: Bool) -> String {
        var parts: [String] = []
        for attribute in side.entity(object).attributes where attribute.isStored {
            switch attribute.attributeType {
            case .integer16, .integer32, .integer64, .boolean:
                parts.append("\(attribute.name)=\(side.number(object, attribute.name).map(String.init) ?? "nil")")
            case .string: parts.append("\(attribute.name)=\(side.text(object, attribute.name) ?? "nil")")
            default: break
            }
        }
        for relationship in side.entity(object).relationships where !relationship.isTransient {
            parts.append("\(relationship.name)=[\(related(object, relationship.name, side, inOrder: inOrder))]")
        }
        return parts.joined(separator: " ")
    }
}

// MARK: - The engine's side

struct EngineSide: PolicySide {
    let mapping: EntityMapping
    let manager: MigrationManager
    let createDefaultMethod: (ManagedObject) throws -> Void
    let relateDefaultMethod: (ManagedObject) throws -> Void

    var mappingNames: [String] { manager.mappingModel.entityMappings.map(\.name) }
    var destinationModel: ManagedObjectModel { manager.destinationModel }
    func entity(_ object: ManagedObject) -> EntityDescription { object.entity }
    func key(_ object: ManagedObject) -> Int64 { object.objectID.key }
    func createDefault(_ source: ManagedObject) throws { try createDefaultMethod(source) }
    func relateDefault(_ object: ManagedObject) throws { try relateDefaultMethod(object) }
    func insert(_ entity: String) -> ManagedObject {
        EntityDescription.insertNewObject(forEntityName: entity, into: manager.destinationContext)
    }
    func delete(_ object: ManagedObject) { manager.destinationContext.delete(object) }
    func associate(_ source: ManagedObject, _ object: ManagedObject) {
        manager.associate(sourceInstance: source, withDestinationInstance: object, for: mapping)
    }
    func destinations(_ mapping: String, _ sources: [ManagedObject]?) -> [ManagedObject] {
        manager.destinationInstances(forEntityMappingName: mapping, sourceInstances: sources)
    }
    func sources(_ mapping: String, _ destinations: [ManagedObject]?) -> [ManagedObject] {
        manager.sourceInstances(forEntityMappingName: mapping, destinationInstances: destinations)
    }
    func number(_ object: ManagedObject, _ attribute: String) -> Int64? {
        (object.value(forKey: attribute) as? NSNumber)?.int64Value
    }
    func text(_ object: ManagedObject, _ attribute: String) -> String? { object.value(forKey: attribute) as? String }
    func set(_ object: ManagedObject, _ attribute: String, number: Int64?) {
        object.setValue(number.map { NSNumber(value: $0) }, forKey: attribute)
    }
    func set(_ object: ManagedObject, _ attribute: String, text: String?) { object.setValue(text, forKey: attribute) }
    func related(_ object: ManagedObject, _ relationship: String) -> [ManagedObject] {
        switch object.value(forKey: relationship) {
        case let one as ManagedObject: [one]
        case let set as NSSet: set.allObjects.compactMap { $0 as? ManagedObject }
        case let set as NSOrderedSet: set.array.compactMap { $0 as? ManagedObject }
        default: []
        }
    }
    func set(_ object: ManagedObject, _ relationship: String, to members: [ManagedObject]) {
        guard object.entity.relationship(named: relationship)?.isToMany == true else {
            object.setValue(members.first, forKey: relationship)
            return
        }
        object.setValue(NSOrderedSet(array: members), forKey: relationship)
    }
    func setSource(_ object: ManagedObject, _ relationship: String, to members: [ManagedObject]) {
        set(object, relationship, to: members)
    }
    func deleteSource(_ object: ManagedObject) { manager.sourceContext.delete(object) }
    func isDeleted(_ object: ManagedObject) -> Bool { object.isDeleted }
}

/// Runs the first stage of a script as a policy of the engine, and leaves the others to the default methods.
class EngineCreationPolicy: EntityMigrationPolicy {
    var script = PolicyScript<EngineSide>([], PolicyLog())

    final func side(_ mapping: EntityMapping, _ manager: MigrationManager) -> EngineSide {
        EngineSide(
            mapping: mapping, manager: manager,
            createDefaultMethod: { source in
                try self.createDefault(source, mapping, manager)
            },
            relateDefaultMethod: { object in
                try self.relateDefault(object, mapping, manager)
            })
    }

    private func createDefault(
        _ source: ManagedObject, _ mapping: EntityMapping, _ manager: MigrationManager
    ) throws {
        try super.createDestinationInstances(forSource: source, in: mapping, manager: manager)
    }

    private func relateDefault(
        _ object: ManagedObject, _ mapping: EntityMapping, _ manager: MigrationManager
    ) throws {
        try super.createRelationships(forDestination: object, in: mapping, manager: manager)
    }

    override func begin(_ mapping: EntityMapping, with manager: MigrationManager) throws {
        script.begin(side(mapping, manager))
    }
    override func createDestinationInstances(
        forSource sInstance: ManagedObject, in mapping: EntityMapping, manager: MigrationManager
    ) throws {
        try script.create(sInstance, side(mapping, manager))
    }
    override func endInstanceCreation(forMapping mapping: EntityMapping, manager: MigrationManager) throws {
        try script.endInstanceCreation(side(mapping, manager))
    }
}

/// Runs a script as a policy of the engine.
class EnginePolicy: EngineCreationPolicy {
    override func createRelationships(
        forDestination dInstance: ManagedObject, in mapping: EntityMapping, manager: MigrationManager
    ) throws {
        try script.relate(dInstance, side(mapping, manager))
    }
    override func endRelationshipCreation(forMapping mapping: EntityMapping, manager: MigrationManager) throws {
        try script.endRelationshipCreation(side(mapping, manager))
    }
    override func performCustomValidation(forMapping mapping: EntityMapping, manager: MigrationManager) throws {
        try script.validate(side(mapping, manager))
    }
    override func end(_ mapping: EntityMapping, manager: MigrationManager) throws {
        try script.end(side(mapping, manager))
    }
}

// MARK: - The reference's side

struct ReferenceSide: PolicySide {
    let mapping: EntityMapping
    let migrator: ReferenceMigrator

    var mappingNames: [String] { migrator.mappingModel.entityMappings.map(\.name) }
    var destinationModel: ManagedObjectModel { migrator.destinationModel }
    func entity(_ object: ReferenceObject) -> EntityDescription { object.entity }
    func key(_ object: ReferenceObject) -> Int64 { object.key }
    func createDefault(_ source: ReferenceObject) throws {
        try migrator.createDestinationInstance(for: source, mapping)
    }
    func relateDefault(_ object: ReferenceObject) throws { try migrator.createRelationships(for: object, mapping) }
    func insert(_ entity: String) throws -> ReferenceObject { try migrator.insert(entity) }
    func delete(_ object: ReferenceObject) throws { try migrator.delete(object) }
    func setSource(_ object: ReferenceObject, _ relationship: String, to members: [ReferenceObject]) throws {
        try migrator.setSource(object, relationship, to: members)
    }
    func deleteSource(_ object: ReferenceObject) { migrator.deleteSource(object) }
    func isDeleted(_ object: ReferenceObject) -> Bool { object.isDeleted }
    func associate(_ source: ReferenceObject, _ object: ReferenceObject) throws {
        try migrator.associate(source, object, mapping)
    }
    func destinations(_ mapping: String, _ sources: [ReferenceObject]?) throws -> [ReferenceObject] {
        try migrator.destinationInstances(mapping, sources: sources)
    }
    func sources(_ mapping: String, _ destinations: [ReferenceObject]?) throws -> [ReferenceObject] {
        try migrator.sourceInstances(mapping, destinations: destinations)
    }
    func number(_ object: ReferenceObject, _ attribute: String) -> Int64? {
        switch object[attribute] {
        case .integer(let number): number
        case .real(let number): Int64(number)
        default: nil
        }
    }
    func text(_ object: ReferenceObject, _ attribute: String) -> String? {
        if case .text(let text) = object[attribute] { text } else { nil }
    }
    func set(_ object: ReferenceObject, _ attribute: String, number: Int64?) {
        let type = object.entity.attribute(named: attribute)?.attributeType
        let isReal = type == .double || type == .float
        object[attribute] = number.map { isReal ? .real(Double($0)) : .integer($0) } ?? .null
    }
    func set(_ object: ReferenceObject, _ attribute: String, text: String?) {
        object[attribute] = text.map { .text($0) } ?? .null
    }
    func related(_ object: ReferenceObject, _ relationship: String) -> [ReferenceObject] {
        guard object.entity.relationship(named: relationship)?.isToMany == true,
            let members = object.toMany[relationship]
        else { return object.related(relationship) }
        return members.sorted { ($0.order ?? .min, $0.object.key) < ($1.order ?? .min, $1.object.key) }.map(\.object)
    }
    func set(_ object: ReferenceObject, _ relationship: String, to members: [ReferenceObject]) throws {
        try migrator.set(object, relationship, to: members)
    }
}

/// Runs a script as a policy of the reference.
class ScriptedReferenceCreationPolicy: ReferencePolicy {
    fileprivate let script: PolicyScript<ReferenceSide>

    init(_ actions: PolicyActions, _ log: PolicyLog) { script = PolicyScript(actions, log) }

    fileprivate func side(_ mapping: EntityMapping, _ migrator: ReferenceMigrator) -> ReferenceSide {
        ReferenceSide(mapping: mapping, migrator: migrator)
    }

    func begin(_ mapping: EntityMapping, _ migrator: ReferenceMigrator) { script.begin(side(mapping, migrator)) }
    func createDestinationInstances(
        forSource source: ReferenceObject, _ mapping: EntityMapping, _ migrator: ReferenceMigrator
    ) throws {
        try script.create(source, side(mapping, migrator))
    }
    func endInstanceCreation(_ mapping: EntityMapping, _ migrator: ReferenceMigrator) throws {
        try script.endInstanceCreation(side(mapping, migrator))
    }
    func createRelationships(
        forDestination destination: ReferenceObject, _ mapping: EntityMapping, _ migrator: ReferenceMigrator
    ) throws {
        try migrator.createRelationships(for: destination, mapping)
    }
    func endRelationshipCreation(_ mapping: EntityMapping, _ migrator: ReferenceMigrator) throws {}
    func performCustomValidation(_ mapping: EntityMapping, _ migrator: ReferenceMigrator) throws {}
    func end(_ mapping: EntityMapping, _ migrator: ReferenceMigrator) throws {}
}

/// Runs a script as a policy of the reference migrator.
final class ScriptedReferencePolicy: ScriptedReferenceCreationPolicy {
    override func createRelationships(
        forDestination destination: ReferenceObject, _ mapping: EntityMapping, _ migrator: ReferenceMigrator
    ) throws {
        try script.relate(destination, side(mapping, migrator))
    }
    override func endRelationshipCreation(_ mapping: EntityMapping, _ migrator: ReferenceMigrator) throws {
        try script.endRelationshipCreation(side(mapping, migrator))
    }
    override func performCustomValidation(_ mapping: EntityMapping, _ migrator: ReferenceMigrator) throws {
        try script.validate(side(mapping, migrator))
    }
    override func end(_ mapping: EntityMapping, _ migrator: ReferenceMigrator) throws {
        try script.end(side(mapping, migrator))
    }
}
