import CoreDataStore
import ManagedModel
import Mapping

/// The simple in-memory three-stage migration with which the engine is compared: short, obvious, slow, O(stores) in memory. It
/// knows nothing of passes, batches, spills or files. Its rules are those of Semantics.md.
///
/// Decisions on which those rules are silent are marked "Decision" at the place that takes them.
package final class ReferenceMigrator {
    package let source: ReferenceStore
    package let destinationModel: ManagedObjectModel
    package let mappingModel: MappingModel
    /// Source objects by table and ascending key.
    package let sourceObjects: [[ReferenceObject]]
    /// All destination objects made so far in order of creation, deleted ones included.
    package internal(set) var objects: [ReferenceObject] = []
    package internal(set) var report = ReferenceReport()

    let destination: ReferenceStore
    let keys: ReferenceKeys
    /// True if invalid objects are left out.
    let rejectsInvalid: Bool
    let takenRoots: Set<String>
    /// False if later mapping models read the same source objects.
    private let ownsSource: Bool
    /// Attributes of objects whose value could not be computed.
    var valueErrors: [ObjectIdentifier: String] = [:]
    private let policyFactories: [String: () -> any ReferencePolicy]
    private let filters: [String: (ReferenceObject) -> Bool]
    private var policies: [any ReferencePolicy] = []

    /// The keys of the current mapping's objects by source object, if it has no policy.
    var reservedKeys: [ObjectIdentifier: Int64]?
    /// The groups of the mappings that have some, by mapping.
    private(set) var groups: [Int: ReferenceGroups] = [:]
    /// The existing objects that source objects became, by mapping and source object.
    private(set) var matched: [Int: [ObjectIdentifier: ReferenceObject]] = [:]
    /// True if source objects may become existing objects.
    var hasMatches: Bool { !matched.isEmpty }
    /// Key numbering by destination root entity's index.
    var numbering: [Int: ReferenceNumbering] = [:]
    /// Pairs by entity mapping, in order of association.
    var pairsByMapping: [Int: [(source: ReferenceObject, destination: ReferenceObject)]] = [:]
    /// Entity mappings of previous mapping models by name: their indices are negative, in order.
    private var previousMappings: [String: Int] = [:]
    /// Objects that the destination had before, and their links then.
    let existing: [ReferenceObject]
    var links: [ObjectIdentifier: ReferenceLinks] = [:]
    var pairsBySource: [ObjectIdentifier: [(mapping: Int, destination: ReferenceObject)]] = [:]
    /// The mapping and source that a default policy made an object from.
    var origins: [ObjectIdentifier: (mapping: Int, source: ReferenceObject)] = [:]
    /// Source objects that a mapping fetched and did not filter.
    var fetched: [(mapping: Int, source: ReferenceObject)] = []
    /// The members that an object had before it was rejected because of rejected ones, and how many of them were left then.
    var needed: [ObjectIdentifier: [(relationship: RelationshipDescription, members: [ReferenceObject], left: Int)]] =
        [:]
    /// The attribute whose value is being computed.
    private var valueErrorProperty: String?
    private var danglingSeen: Set<String> = []
    /// The pairs whose links policy code set, and those of them that it set before stage 2.
    var setPairs: Set<PropertyReference> = []
    var earlyPairs: Set<PropertyReference> = []
    /// The changes by policy code before stage 2.
    var earlyChanges: [ReferenceChange]? = []
    /// The same changes without those of deleted objects, and what policy code did from stage 2 on, for relating again.
    private var appliedChanges: [ReferenceChange] = []
    var laterActions: [ReferenceAction]?

    /// - Parameters:
    ///   - sourceObjects: the source's objects as the policies of previous mapping models left them; nil: as they are stored.
    ///   - destination: an existing store to append to; nil makes a fresh one.
    ///   - earlier: what previous mapping models associated; their objects are in the destination.
    ///   - previousNames: all entity mappings of those models, in order.
    ///   - takenRoots: root entities of objects that previous mapping models rejected: their keys are not given again.
    ///   - policies: makes the policy of an entity mapping; key: the mapping's policy class name.
    ///   - filters: stands for a mapping's source filter; key: the entity mapping's name.
    package init(
        source: ReferenceStore, sourceObjects: [[ReferenceObject]]? = nil, destinationModel: ManagedObjectModel,
        mappingModel: MappingModel,
        keys: ReferenceKeys = .auto, destination: ReferenceStore? = nil, earlier: [ReferenceAssociation] = [],
        previousNames: [String] = [], takenRoots: Set<String> = [], rejectsInvalid: Bool = false,
        policies: [String: () -> any ReferencePolicy] = [:],
        filters: [String: (ReferenceObject) -> Bool] = [:]
    ) {
        self.rejectsInvalid = rejectsInvalid
        self.takenRoots = takenRoots
        self.source = source
        self.destinationModel = destinationModel
        self.mappingModel = mappingModel
        self.keys = keys
        self.destination = destination ?? ReferenceStore(model: destinationModel)
        policyFactories = policies
        self.filters = filters
        self.sourceObjects = sourceObjects ?? source.objects()
        ownsSource = sourceObjects == nil
        existing = self.destination.objects().flatMap { $0 }
        objects = existing
        for object in existing {
            object.isExisting = true
            for relationship in object.entity.relationships
            where relationship.isToMany && Self.inverse(of: relationship) == nil {
                for member in object.related(relationship.name) {
                    member.hiddenOwners[relationship.reference] = object
                }
            }
        }
        for object in existing { links[ObjectIdentifier(object)] = ReferenceLinks(of: object) }
        associate(earlier, names: previousNames)
    }

    /// Makes the pairs of previous mapping models. Of equal names the latest mapping model's are given.
    private func associate(_ earlier: [ReferenceAssociation], names: [String]) {
        func key(_ entity: String, _ key: Int64) -> String { "\(entity)/\(key)" }
        let sources = Dictionary(
            self.sourceObjects.joined().map { (key($0.entity.definition.name, $0.key), $0) }, uniquingKeysWith: { $1 })
        let destinations = Dictionary(
            existing.map { (key($0.entity.definition.name, $0.key), $0) }, uniquingKeysWith: { $1 })
        let own = Set(mappings.map { $0.name ?? "" })
        for (position, name) in names.enumerated() where !own.contains(name) {
            previousMappings[name] = position - names.count
            for pair in earlier where pair.mapping == name {
                guard let source = sources[key(pair.sourceEntity, pair.sourceKey)],
                    let destination = destinations[key(pair.destinationEntity, pair.destinationKey)]
                else { continue }
                addPair(source, destination, position - names.count)
            }
        }
    }

    /// Runs several mapping models one after the other. Each appends to what those before made, looks up their objects, and
    /// reads the source as their policies left it.
    ///
    /// - Returns: the last outcome, its counts summed over all.
    package static func migrate(
        source: ReferenceStore, destinationModel: ManagedObjectModel, mappingModels: [MappingModel],
        keys: ReferenceKeys = .auto, destination: ReferenceStore? = nil, rejectsInvalid: Bool = false,
        policies: [String: () -> any ReferencePolicy] = [:]
    ) -> Result<ReferenceOutcome, ReferenceFailure> {
        var store = destination
        var associations: [ReferenceAssociation] = []
        var known: [String] = []
        var (dangling, further) = (0, 0)
        var rejects: [ReferenceReject] = []
        var migrated: [String: Int] = [:]
        var rejected: [String: Int] = [:]
        var last: Result<ReferenceOutcome, ReferenceFailure> = .failure(.unsupported("no mapping model"))
        let sourceObjects = source.objects()
        defer { dismantle(sourceObjects.flatMap { $0 }) }
        for model in mappingModels {
            last = ReferenceMigrator(
                source: source, sourceObjects: sourceObjects, destinationModel: destinationModel, mappingModel: model,
                keys: keys,
                destination: store, earlier: associations, previousNames: known,
                takenRoots: Set(rejects.compactMap { destinationModel.entity(named: $0.entity)?.root.definition.name }),
                rejectsInvalid: rejectsInvalid, policies: policies
            ).migrate()
            guard case .success(var outcome) = last else { return last }
            let names = model.entityMappings.map { $0.name ?? "" }
            associations.removeAll { names.contains($0.mapping) }
            known.removeAll(where: names.contains)
            known += names
            associations += outcome.report.associations
            dangling += outcome.report.danglingReferences
            further += outcome.report.furtherDestinations
            outcome.report.associations = associations
            outcome.report.danglingReferences = dangling
            outcome.report.furtherDestinations = further
            outcome.report.rejects = rejects + outcome.report.rejects
            outcome.report.migrated.merge(migrated) { $1 + $0 }
            outcome.report.rejected.merge(rejected) { $1 + $0 }
            (rejects, migrated, rejected) =
                (outcome.report.rejects, outcome.report.migrated, outcome.report.rejected)
            store = outcome.store
            last = .success(outcome)
        }
        return last
    }

    /// Tells which source objects a mapping's filter leaves out as well, by the mapping's name.
    package var leavesOut: ((String, ReferenceObject) -> Bool)?

    /// Runs the three stages and the save once.
    package func migrate() -> Result<ReferenceOutcome, ReferenceFailure> {
        defer { dismantle() }
        do throws(ReferenceFailure) {
            try decideKeys()
            try create()
            try relate()
            try validateCustom()
            let violations = rejectsInvalid ? try rejectInvalid() : validate()
            guard violations.isEmpty else { throw .invalid(violations) }
            let store = save()
            finishReport()
            return .success(ReferenceOutcome(store: store, report: report))
        } catch {
            return .failure(error)
        }
    }

    // MARK: The stages

    private func create() throws(ReferenceFailure) {
        // Decision: a mapping without policy has a key for each source object that passes its filter before any policy ran.
        // Keys of objects that a policy deletes or changes before the mapping's turn stay unused.
        var passing: [Int: [ReferenceObject]] = [:]
        for (index, mapping) in mappings.enumerated()
        where mapping.destinationEntityName != nil && !mapping.runsAsPolicy {
            for object in try rows(for: mapping) {
                guard try passes(object, mapping) else { continue }
                passing[index, default: []].append(object)
            }
            if let grouping = mapping.grouping {
                let found = try ReferenceGroups(passing[index] ?? [], grouping, self)
                groups[index] = found
                passing[index] = found.makers
            }
            if let matching = mapping.matching {
                let found = try matches(of: passing[index] ?? [], mapping, matching)
                matched[index] = found
                passing[index]?.removeAll { found[ObjectIdentifier($0)] != nil }
            }
        }
        for (index, mapping) in mappings.enumerated() {
            guard let name = mapping.destinationEntityName else {
                policies.append(ReferenceDefaultPolicy())
                continue
            }
            let policy = try makePolicy(mapping)
            policies.append(policy)
            try hook { try policy.begin(mapping, self) }
            let rows = try rows(for: mapping)
            if destinationModel.entity(named: name)?.isAbstract == true, rows.contains(where: { !$0.isDeleted }),
                !mapping.runsAsPolicy
            {
                throw .abstractDestination(mapping.name)
            }
            if !mapping.runsAsPolicy { reserveKeys(for: passing[index] ?? [], mapping) }
            defer { reservedKeys = nil }
            // Objects that pass only because policies changed them come last: their keys were not reserved.
            for object in rows.filter(hasKey) + rows.filter({ !hasKey($0) }) {
                // A policy of this mapping or one before deleted it.
                if object.isDeleted {
                    if mapping.runsAsPolicy || hasKey(object) {
                        fetched.append((index, object))
                    } else {
                        report.filtered[mapping.name, default: 0] += 1
                    }
                    continue
                }
                guard try passes(object, mapping) else {
                    report.filtered[mapping.name, default: 0] += 1
                    continue
                }
                if let row = matched[index]?[ObjectIdentifier(object)] {
                    fetched.append((index, object))
                    try associate(object, row, mapping)
                    continue
                }
                if let groups = groups[index] {
                    guard let maker = groups.maker(of: object) else {
                        report.filtered[mapping.name, default: 0] += 1
                        continue
                    }
                    if maker !== object {
                        fetched.append((index, object))
                        let made = pairsByMapping[index]?.first { $0.source === maker }?.destination
                        if let made { try associate(object, made, mapping) }
                        continue
                    }
                }
                if let forEach = mapping.forEach, try members(of: forEach, object).isEmpty {
                    report.filtered[mapping.name, default: 0] += 1
                    continue
                }
                try hook { try policy.createDestinationInstances(forSource: object, mapping, self) }
                fetched.append((index, object))
            }
            try hook { try policy.endInstanceCreation(mapping, self) }
        }
    }

    /// Tells whether a source object passes the mapping's filter. Unknown does not pass.
    private func passes(_ object: ReferenceObject, _ mapping: EntityMapping) throws(ReferenceFailure) -> Bool {
        if let leavesOut, leavesOut(mapping.name, object) { return false }
        if let filter = filters[mapping.name] { return filter(object) }
        guard let filter = mapping.sourceFilter else { return true }
        let evaluator = ReferenceEvaluator(migrator: self, source: object, destination: nil, isFilter: true)
        return try evaluator.holds(filter.node) ?? false
    }

    private func relate() throws(ReferenceFailure) {
        // Decision: the links of all mappings without policy are there before the first policy method of stage 2, but for
        // pairs that policy code set in stage 1.
        earlyPairs = setPairs
        resetLinks(but: earlyPairs)
        try resolveDeclarativeLinks()
        appliedChanges = (earlyChanges ?? []).filter { !$0.object.isDeleted }
        earlyChanges = nil
        laterActions = []
        for (index, mapping) in mappings.enumerated() where mapping.destinationEntityName != nil {
            if mapping.runsAsPolicy {
                for object in destinations(ofMapping: index) {
                    try hook { try policies[index].createRelationships(forDestination: object, mapping, self) }
                }
            } else {
                // Decision: in pairs that policy code has set, the order of the calls tells.
                laterActions?.append(.relateAll(index, setPairs))
                try relateAll(index, in: setPairs)
            }
            try hook { try policies[index].endRelationshipCreation(mapping, self) }
        }
    }

    /// Does what the default method would do for the objects of a mapping without policy, in some pairs.
    private func relateAll(_ index: Int, in pairs: Set<PropertyReference>) throws(ReferenceFailure) {
        guard !pairs.isEmpty else { return }
        // What the expressions find in vain or beside was counted the first time.
        let further = report.furtherDestinations
        defer { report.furtherDestinations = further }
        for object in destinations(ofMapping: index) {
            for (relationship, claim) in try relationshipValues(of: object, mapping: index)
            where pairs.contains(Self.pair(of: relationship)) {
                set(object, relationship, claim)
            }
        }
    }

    /// Sets a relationship as policy code did, as far as the objects are there.
    private func apply(_ change: ReferenceChange) {
        guard !change.object.isGone else { return }
        var claim = change.claim
        claim.members.removeAll { $0.object.isGone }
        set(change.object, change.relationship, claim)
    }

    /// Makes all links again as if rejected objects had never been there. Policies are not called: what they did is done
    /// again in the same order.
    func relateAgain() throws(ReferenceFailure) {
        let actions = laterActions ?? []
        for case .delete(let object) in actions { object.isDeleted = false }
        resetLinks(but: [])
        try resolveDeclarativeLinks()
        for change in appliedChanges { apply(change) }
        for action in actions {
            switch action {
            case .set(let change): apply(change)
            case .relate(let object, let mapping):
                guard !object.isGone else { continue }
                for (relationship, claim) in try relationshipValues(of: object, mapping: mapping) {
                    set(object, relationship, claim)
                }
            case .relateAll(let mapping, let pairs): try relateAll(mapping, in: pairs)
            case .delete(let object):
                unlinkEverywhere(object)
                object.isDeleted = true
            }
        }
    }

    private func validateCustom() throws(ReferenceFailure) {
        for (index, mapping) in mappings.enumerated() where mapping.destinationEntityName != nil {
            try hook { try policies[index].performCustomValidation(mapping, self) }
            try hook { try policies[index].end(mapping, self) }
        }
    }

    // MARK: Default methods

    /// Does the work of the default policy in stage 1: insert, compute the attributes, associate.
    ///
    /// - Parameter member: the member of a `forEach` that makes the object, and its place.
    package func createDestinationInstance(
        for source: ReferenceObject, _ mapping: EntityMapping, member: (object: ReferenceObject, index: Int)? = nil
    ) throws(ReferenceFailure) {
        let index = try mappingIndex(named: mapping.name)
        let object = try insert(mapping.destinationEntityName ?? "", from: source)
        origins[ObjectIdentifier(object)] = (index, source)
        do throws(ReferenceFailure) {
            try setAttributes(of: object, from: source, mapping, member)
        } catch {
            // An error that concerns one object rejects it.
            guard rejectsInvalid, let property = valueErrorProperty else { throw error }
            switch error {
            case .outOfRange, .divisionByZero: valueErrors[ObjectIdentifier(object)] = property
            default: throw error
            }
        }
        try associate(source, object, mapping)
        if let member { try associate(member.object, object, mapping) }
    }

    private func setAttributes(
        of object: ReferenceObject, from source: ReferenceObject, _ mapping: EntityMapping,
        _ member: (object: ReferenceObject, index: Int)?
    ) throws(ReferenceFailure) {
        var evaluator = ReferenceEvaluator(migrator: self, source: source, destination: object)
        evaluator.others = try fillers(of: source, mapping)
        evaluator.variables["member"] = member?.object
        evaluator.index = member?.index
        // In the order of the entity's attributes, so that of several values without a result the first is named.
        let order = object.entity.attributes.map(\.name)
        func place(_ property: PropertyMapping) -> Int { order.firstIndex(of: property.name ?? "") ?? order.count }
        for property in (mapping.attributeMappings ?? []).sorted(by: { place($0) < place($1) }) {
            valueErrorProperty = property.name
            guard let name = property.name, let expression = property.valueExpression else { continue }
            guard let attribute = object.entity.attribute(named: name) else {
                throw .unsupported("\(object.entity) has no attribute \(name)")
            }
            guard attribute.isStored else { continue }
            evaluator.copiesFloats = attribute.attributeType == .float && expression.node.isCopy
            var value = ReferenceValue.null
            switch try evaluator.evaluate(expression.node) {
            case .null: break
            case .value(let found, let type, let isExternal):
                value = try ReferenceConversion.convert(found, from: type, to: attribute)
                if attribute.attributeType == .binaryData {
                    value = try ReferenceConversion.withMarker(
                        value, from: isExternal, to: attribute.definition.allowsExternalBinaryDataStorage)
                }
            case .objects, .values: throw .mismatch("objects for \(object.entity).\(name)")
            }
            if value.isNull, property.replacesNil, let standard = attribute.definition.defaultValue {
                value = Self.insertionValue(standard, attribute)
            }
            object[name] = value
        }
    }

    /// A mapping's relationship expressions for one of its destination objects; `$source` is the first source.
    func relationshipValues(
        of object: ReferenceObject, mapping index: Int, from given: ReferenceObject? = nil
    ) throws(ReferenceFailure) -> [(RelationshipDescription, ReferenceClaim)] {
        let source = given ?? pairsByMapping[index]?.first { $0.destination === object }?.source
        var evaluator = ReferenceEvaluator(migrator: self, source: source, destination: object)
        if mappings[index].forEach != nil { evaluator.variables["member"] = origin(of: object, mapping: index)?.member }
        let fillers = try source.map { source throws(ReferenceFailure) in
            try self.fillers(of: source, mappings[index])
        }
        let merged =
            source.flatMap {
                mappings[index].grouping?.merge == nil ? nil : groups[index]?.others(of: $0)
            } ?? []
        var values: [(RelationshipDescription, ReferenceClaim)] = []
        for property in mappings[index].relationshipMappings ?? [] {
            guard let name = property.name, let expression = property.valueExpression else { continue }
            guard let relationship = object.entity.relationship(named: name) else {
                throw .unsupported("\(object.entity) has no relationship \(name)")
            }
            guard !relationship.isTransient else { continue }
            evaluator.others = relationship.isToMany ? [] : fillers ?? []
            // Decision: what counts is how often a lookup meets a missing row: once for each source object, also if
            // several of them reach one reference by a key path.
            // Each of the objects that members make asks by itself.
            let asking = mappings[index].forEach == nil ? source : object
            evaluator.place = "\(index) \(name) \(asking.map { "\($0)" } ?? "")"
            evaluator.sorting = property.sorting?.components
            switch try evaluator.evaluate(expression.node) {
            case .null:
                var claim = ReferenceClaim(members: [], ordering: .none)
                if relationship.isToMany { try add(merged, to: &claim, expression, relationship, object, index) }
                values.append((relationship, claim))
            case .value, .values: throw .mismatch("a value for \(object.entity).\(name)")
            case .objects(let members, let ordering):
                var fitting = members.filter { $0.object.entity.isKindOf(entity: relationship.destination) }
                // A to-one takes the first in mapping order.
                if !relationship.isToMany, let least = fitting.map(\.mapping).min() {
                    fitting = fitting.filter { $0.mapping == least } + fitting.filter { $0.mapping != least }
                }
                if !relationship.isToMany { report.furtherDestinations += max(0, fitting.count - 1) }
                var claim = ReferenceClaim(members: fitting, ordering: ordering)
                if relationship.isToMany {
                    try add(merged, to: &claim, expression, relationship, object, index)
                }
                values.append((relationship, claim))
            }
        }
        return values
    }

    /// Adds the members that the expression gives for the source objects that were merged into an object's own.
    ///
    /// Decision: members without an order stay without one.
    private func add(
        _ merged: [ReferenceObject], to claim: inout ReferenceClaim, _ expression: ValueExpression,
        _ relationship: RelationshipDescription, _ destination: ReferenceObject, _ index: Int
    ) throws(ReferenceFailure) {
        guard !merged.isEmpty else { return }
        func ordered(_ members: [ReferenceMember], _ ordering: ReferenceOrdering) -> [ReferenceMember] {
            guard case .copied = ordering else { return members }
            return members.sorted { ($0.order ?? .min, $0.object.key) < ($1.order ?? .min, $1.object.key) }
        }
        claim.members = ordered(claim.members, claim.ordering)
        if case .copied = claim.ordering { claim.ordering = .list }
        for source in merged {
            var evaluator = ReferenceEvaluator(migrator: self, source: source, destination: destination)
            evaluator.place = "\(index) \(relationship.name) \(source)"
            guard case .objects(let members, let ordering) = try evaluator.evaluate(expression.node) else { continue }
            if case .none = ordering {} else { claim.ordering = .list }
            let fitting = members.filter { $0.object.entity.isKindOf(entity: relationship.destination) }
            for member in ordered(fitting, ordering)
            where !claim.members.contains(where: { $0.object === member.object }) {
                claim.members.append(member)
            }
        }
    }

    /// The source objects that give a merged object the values that its own source object lacks.
    private func fillers(
        of source: ReferenceObject, _ mapping: EntityMapping
    ) throws(ReferenceFailure) -> [ReferenceObject] {
        guard mapping.grouping?.merge?.fills == true else { return [] }
        return groups[try mappingIndex(named: mapping.name)]?.others(of: source) ?? []
    }

    // MARK: Small things

    var mappings: [EntityMapping] { mappingModel.entityMappings }

    package func mappingIndex(named name: String) throws(ReferenceFailure) -> Int {
        if let index = mappings.firstIndex(where: { $0.name == name }) ?? previousMappings[name] { return index }
        throw .unknownMapping(name)
    }

    /// Counts what an object's relationship refers to in vain, once for each object that looks it up at a place.
    func noteDangling(_ object: ReferenceObject, _ relationship: String, for source: ReferenceObject?, at place: String)
    {
        let reader = source.map { "\($0)" } ?? ""
        guard let count = object.dangling[relationship],
            danglingSeen.insert("\(place) \(reader) \(object) \(relationship)").inserted
        else { return }
        report.danglingReferences += count
    }

    /// The rows of a mapping's source entity, without subentities, by ascending key.
    func rows(for mapping: EntityMapping) throws(ReferenceFailure) -> [ReferenceObject] {
        guard let name = mapping.sourceEntityName else { return [] }
        guard let entity = source.model.entity(named: name) else { throw .unsupported("no source entity \(name)") }
        return sourceObjects[source.schema.tableIndex(of: entity)].filter { $0.entity == entity }
    }

    private func makePolicy(_ mapping: EntityMapping) throws(ReferenceFailure) -> any ReferencePolicy {
        if mapping.forEach != nil { return ReferenceForEachPolicy() }
        guard mapping.hasPolicy else { return ReferenceDefaultPolicy() }
        guard let make = policyFactories[mapping.entityMigrationPolicyClassName ?? ""] else {
            throw .unsupported("policy \(mapping.entityMigrationPolicyClassName ?? "")")
        }
        return make()
    }

    private func hook(_ body: () throws -> Void) throws(ReferenceFailure) {
        do { try body() } catch let failure as ReferenceFailure { throw failure } catch { throw .policy("\(error)") }
    }

    func pairs(of source: ReferenceObject) -> [(mapping: Int, destination: ReferenceObject)] {
        (pairsBySource[ObjectIdentifier(source)] ?? []).filter { !$0.destination.isGone }
    }

    func addPair(_ source: ReferenceObject, _ object: ReferenceObject, _ mapping: Int) {
        let known = pairsBySource[ObjectIdentifier(source)] ?? []
        guard !known.contains(where: { $0.mapping == mapping && $0.destination === object }) else { return }
        pairsBySource[ObjectIdentifier(source), default: []].append((mapping, object))
        pairsByMapping[mapping, default: []].append((source, object))
    }

    /// Distinct destination objects of a mapping in order of first association.
    func destinations(ofMapping index: Int) -> [ReferenceObject] {
        var seen: Set<ObjectIdentifier> = []
        return (pairsByMapping[index] ?? []).map(\.destination).filter {
            !$0.isGone && seen.insert(ObjectIdentifier($0)).inserted
        }
    }

    /// The graph is full of cycles: takes it apart so that a test may run thousands.
    private func dismantle() {
        Self.dismantle(objects)
        if ownsSource { Self.dismantle(sourceObjects.flatMap { $0 }) }
        (earlyChanges, laterActions, appliedChanges) = (nil, nil, [])
        needed = [:]
    }

    private static func dismantle(_ objects: [ReferenceObject]) {
        for object in objects {
            object.toOne = [:]
            object.toMany = [:]
            object.hiddenOwners = [:]
        }
    }
}
