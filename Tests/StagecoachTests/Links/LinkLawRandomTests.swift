import CoreDataStore
import Diagnostics
import ManagedModel
import Mapping
import Stagecoach
import TestSupport
import Testing

/// Links of the source = links of the destination + links in the account, on random models whose relationships change their
/// cardinality, inverse, order and destination entity.
@Suite("The law of links, on random models")
struct LinkLawRandomTests {
    static let seeds = RandomSeeds.seeds(60)

    @Test("Every link and every order is made, or counted with its cause", arguments: seeds)
    func law(seed: UInt64) throws {
        let changed = try ChangedPairs(seed: seed)
        let folder = try TemporaryFolder()
        let path = folder.file("old.sqlite")
        try changed.store.write(path: path)
        for isStaged in [false, true] {
            var options = MigrationOptions()
            options.memoryRoom = 48 << 20
            options.usesStoreSpecificMigrationManager = !isStaged
            func migration(_ name: String) -> Migration {
                Migration(
                    from: path, model: changed.source, mapping: changed.mapping, to: folder.file(name),
                    model: changed.destination, options: options)
            }
            let name = "new-\(isStaged).sqlite"
            let report = try migration(name).run()
            let made = try ReferenceStore.read(path: folder.file(name), model: changed.destination)
            #expect(words(report.linksNotMade) == changed.expectedLinks(made), "\(changed)")
            #expect(orders(report.ordersNotKept) == changed.expectedOrders, "\(changed)")
            try expectCounts(try StoreVerification(migration(name)).run(), report, changed)
            let checked = try migration("checked").check()
            #expect(words(checked.linksNotMade) == words(report.linksNotMade), "\(changed)")
            #expect(orders(checked.ordersNotKept) == changed.expectedOrders, "\(changed)")
            // A plan knows the room, and never more than is lost.
            let planned = try migration("planned").plan().linksNotMade ?? []
            for line in planned {
                let lost = (report.linksNotMade ?? []).filter { $0.source == line.source }.reduce(0) { $0 + $1.links }
                #expect(line.links <= lost, "\(changed)")
            }
            options.onLoss = .refuse
            let isLost =
                (report.linksNotMade ?? []).contains(where: \.isLoss) || report.ordersNotKept != nil
                || report.leftBehind?.isEmpty == false
            var refusal: MigrationError?
            do { _ = try migration("refused-\(isStaged)").run() } catch let error as MigrationError { refusal = error }
            #expect(refusal?.code == (isLost ? "migration.loss" : nil), "\(changed)")
        }
    }

    /// The verification counts the links by itself, and finds as many that give way as the run.
    private func expectCounts(
        _ verified: VerificationReport, _ report: MigrationReport, _ changed: ChangedPairs
    ) throws {
        #expect(verified.isEqual, "\(changed) \(verified.differences)")
        for line in verified.sourceLinks {
            #expect(
                line.lost == 0 && line.links == line.made + line.withoutObject + line.givingWay, "\(changed) \(line)")
        }
        guard verified.notRecomputed.isEmpty else { return }
        // The two columns of a one-to-one pair disagree here. A link that only the unread one has is taken by nothing.
        let agreeing = changed.namesOfAgreeingPairs
        let taken = (report.linksNotMade ?? []).filter { $0.cause == .taken && agreeing.contains($0.source) }
        let givingWay = verified.sourceLinks.filter { $0.givingWay > 0 && agreeing.contains($0.relationship) }
        #expect(
            givingWay.map { "\($0.relationship) \($0.givingWay)" }.sorted()
                == taken.map { "\($0.source) \($0.links)" }.sorted(), "\(changed)")
    }

    private func words(_ lines: [LinksNotMade]?) -> [String: Int] {
        Dictionary((lines ?? []).map { ("\($0.source) \($0.cause.rawValue)", $0.links) }, uniquingKeysWith: +)
    }

    private func orders(_ lines: [OrdersNotKept]?) -> [String: Int] {
        Dictionary((lines ?? []).map { ($0.relationship, $0.lists) }, uniquingKeysWith: +)
    }
}

/// Two versions of a model with the same objects and other relationships, a store of the first and the mapping model between them.
private struct ChangedPairs: CustomStringConvertible {
    /// The form of a relationship and its inverse.
    struct Form {
        var isToMany: Bool
        var isOrdered: Bool
        /// True or false for a to-many or to-one inverse; nil: there is none.
        var inverseIsToMany: Bool?
        var inverseIsOrdered: Bool

        static func random(_ generator: inout SeededGenerator) -> Form {
            let (many, inverse) = (generator.chance(2), [nil, false, true][generator.below(3)])
            return Form(
                isToMany: many, isOrdered: many && generator.chance(3), inverseIsToMany: inverse,
                inverseIsOrdered: inverse == true && generator.chance(3))
        }
    }

    struct Pair {
        let number: Int
        let owner: String
        let member: String
        /// The entity of the members in the new version: the same or a subentity.
        let newMember: String
        let old: Form
        let new: Form
        /// True if the mapping model lists the relationship, and its inverse.
        let lists: (forward: Bool, inverse: Bool)

        var isRead: Bool { lists.forward || lists.inverse }
    }

    private static let entities = ["A", "B", "C"]
    let seed: UInt64
    let pairs: [Pair]
    let source: ManagedObjectModel
    let destination: ManagedObjectModel
    let mapping: MappingModel
    let store: ReferenceStore
    /// The entities of which only objects with a positive number are migrated.
    private let filtered: Set<String>

    var description: String { "seed \(seed) \(pairs) filtered \(filtered.sorted())" }

    /// C is a subentity of B.
    static func isKind(_ entity: String, of other: String) -> Bool {
        entity == other || (entity == "C" && other == "B")
    }

    init(seed: UInt64) throws {
        self.seed = seed
        var generator = SeededGenerator(seed: seed)
        pairs = (0..<1 + generator.below(3)).map { number in
            let (old, new) = (Form.random(&generator), Form.random(&generator))
            let member = Self.entities[generator.below(3)]
            let hasInverse = old.inverseIsToMany != nil && new.inverseIsToMany != nil
            let side = generator.below(3)
            return Pair(
                number: number, owner: Self.entities[generator.below(3)], member: member,
                newMember: member == "B" && generator.chance(5) ? "C" : member, old: old, new: new,
                lists: hasInverse ? (side != 1, side != 0) : (true, false))
        }
        source = try Self.model(pairs, isNew: false)
        destination = try Self.model(pairs, isNew: true)
        filtered = Set(Self.entities.filter { _ in generator.chance(5) })
        mapping = try Self.mapping(pairs, filtered)
        store = try Self.store(source, pairs, &generator)
    }

    private static func model(_ pairs: [Pair], isNew: Bool) throws -> ManagedObjectModel {
        var definition = ModelDefinition()
        definition.entities = entities.map { name in
            var relationships: [RelationshipDefinition] = []
            for pair in pairs {
                let (form, member) = isNew ? (pair.new, pair.newMember) : (pair.old, pair.member)
                let (own, inverse) = ("r\(pair.number)", form.inverseIsToMany.map { _ in "i\(pair.number)" })
                if pair.owner == name {
                    relationships.append(
                        form.isToMany
                            ? toMany(own, member, inverse: inverse, ordered: form.isOrdered)
                            : toOne(own, member, inverse: inverse))
                }
                if let inverse, member == name {
                    relationships.append(
                        form.inverseIsToMany == true
                            ? toMany(inverse, pair.owner, inverse: own, ordered: form.inverseIsOrdered)
                            : toOne(inverse, pair.owner, inverse: own))
                }
            }
            return entity(
                name, parent: name == "C" ? "B" : nil, name == "C" ? [] : [attribute("n", .integer64)], relationships)
        }
        return try ManagedObjectModel(definition)
    }

    private static func mapping(_ pairs: [Pair], _ filtered: Set<String>) throws -> MappingModel {
        let model = MappingModel()
        model.entityMappings = try entities.map { name in
            let mapping = try StagecoachTests.mapping("\(name)To\(name)", name, name, ["n": "$source.n"])
            if filtered.contains(name) {
                mapping.sourceFilter = try SourcePredicate(format: "n > 0")
            }
            var texts: [(String, String)] = []
            for pair in pairs {
                if pair.lists.forward, isKind(name, of: pair.owner) {
                    texts.append(("r\(pair.number)", "r\(pair.number)"))
                }
                if pair.lists.inverse, isKind(name, of: pair.newMember) {
                    texts.append(("i\(pair.number)", "i\(pair.number)"))
                }
            }
            mapping.relationshipMappings = try texts.map { property, read in
                PropertyMapping(
                    name: property, valueExpression: try ValueExpression(parsing: via(read, "$source.\(read)")))
            }
            return mapping
        }
        model.rulesOfTheSource = .error
        return model
    }

    /// A and B have ten objects each, some of B are of C; keys 90 and up do not exist.
    private static func store(
        _ model: ManagedObjectModel, _ pairs: [Pair], _ generator: inout SeededGenerator
    ) throws -> ReferenceStore {
        var random = generator
        defer { generator = random }
        return ReferenceStore.make(model) { store in
            var keys: [String: [Int64]] = [:]
            for key in 1...Int64(10) {
                for name in ["A", random.chance(2) ? "B" : "C"] {
                    store.insert(name, key, ["n": .integer(Int64(random.below(4)))])
                    for kind in entities where isKind(name, of: kind) { keys[kind, default: []].append(key) }
                }
            }
            for pair in pairs {
                let members = keys[pair.member] ?? []
                for owner in keys[pair.owner] ?? [] {
                    guard let member = members.isEmpty ? nil : members[random.below(members.count)] else { continue }
                    let relationship = "r\(pair.number)"
                    if pair.old.isToMany {
                        store.setMembers(
                            pair.owner, owner, relationship,
                            Set((0..<random.below(4)).map { _ in members[random.below(members.count)] }).sorted())
                    } else if !random.chance(4) {
                        store.setToOne(
                            pair.owner, owner, relationship,
                            random.chance(8) && pair.old.inverseIsToMany != false ? 90 : member)
                    }
                }
            }
        }
    }

    // MARK: - What the account should have

    /// The links of a pair, as owner and member.
    private static func links(_ store: ReferenceStore, _ pair: Pair) -> Set<ReferencePair> {
        guard let owner = store.model.entity(named: pair.owner),
            let relationship = owner.relationship(named: "r\(pair.number)")
        else { return [] }
        var links = column(store, relationship)
        if let inverse = relationship.inverseRelationship, !inverse.isToMany, !relationship.isToMany {
            links.formUnion(column(store, inverse).map { ReferencePair($0.second, $0.first) })
        }
        return links
    }

    private static func column(_ store: ReferenceStore, _ relationship: RelationshipDescription) -> Set<ReferencePair> {
        switch store.schema.storage(of: relationship) {
        case .none: return []
        case .toOne(let table, let column, _, _):
            return Set(
                store.tables[table].compactMap { key, row in
                    row.values[column].integer.map { ReferencePair(key, $0) }
                })
        case .toManyByInverse(let table, let column, _, _), .toManyHidden(let table, let column, _):
            return Set(
                store.tables[table].compactMap { key, row in
                    row.values[column].integer.map { ReferencePair($0, key) }
                })
        case .join(let table, let side):
            return Set(store.joins[table].keys.map { side == 0 ? $0 : ReferencePair($0.second, $0.first) })
        }
    }

    private func entityName(_ key: Int64, in kind: String) -> String? {
        guard let entity = source.entity(named: kind),
            let row = store.tables[store.schema.tableIndex(of: entity)][key]
        else { return nil }
        return store.entity(of: row)?.definition.name
    }

    private func isFiltered(_ key: Int64, _ entity: String) -> Bool {
        guard filtered.contains(entity) else { return false }
        return (store.value(entity, key, "n").integer ?? 0) <= 0
    }

    func expectedLinks(_ made: ReferenceStore) -> [String: Int] {
        var counts: [String: Int] = [:]
        for pair in pairs where pair.isRead {
            for link in Self.links(store, pair).subtracting(Self.links(made, pair)) {
                guard let cause = cause(link, pair) else { continue }
                counts["\(name(pair)) \(cause)", default: 0] += 1
            }
        }
        return counts
    }

    /// The source relationships of the pairs that are no one-to-one pairs in the old version.
    var namesOfAgreeingPairs: Set<String> {
        Set(pairs.filter { $0.old.isToMany || $0.old.inverseIsToMany != false }.map(name))
    }

    /// The source relationship that names a pair: the one whose column or join table's first side has the links.
    private func name(_ pair: Pair) -> String {
        let (own, inverse) = ("\(pair.owner).r\(pair.number)", "\(pair.member).i\(pair.number)")
        guard let other = pair.old.inverseIsToMany, let entity = source.entity(named: pair.owner),
            let relationship = entity.relationship(named: "r\(pair.number)"),
            let opposite = relationship.inverseRelationship
        else { return own }
        if pair.old.isToMany != other { return pair.old.isToMany ? inverse : own }
        if !pair.old.isToMany {
            let isFirst = (relationship.entity.index, relationship.name) < (opposite.entity.index, opposite.name)
            return isFirst ? own : inverse
        }
        guard case .join(_, let side) = store.schema.storage(of: relationship) else { return own }
        return side == 0 ? own : inverse
    }

    /// The cause; nil for a link that nothing reads because of the entities of its ends.
    private func cause(_ link: ReferencePair, _ pair: Pair) -> String? {
        guard let owner = entityName(link.first, in: pair.owner) else { return "dangling" }
        let isReadByOwner = pair.lists.forward && Self.isKind(owner, of: pair.owner)
        // An owner that became nothing takes its links with it, whatever they name.
        if isReadByOwner, isFiltered(link.first, owner) { return "filtered" }
        guard let member = entityName(link.second, in: pair.member) else { return "dangling" }
        let isReadByMember = pair.lists.inverse && Self.isKind(member, of: pair.newMember)
        guard isReadByOwner || isReadByMember else { return nil }
        if isFiltered(link.first, owner) || isFiltered(link.second, member) { return "filtered" }
        return Self.isKind(member, of: pair.newMember) ? "taken" : "otherEntity"
    }

    var expectedOrders: [String: Int] {
        var counts: [String: Int] = [:]
        for pair in pairs where pair.isRead {
            let links = Self.links(store, pair)
            if pair.old.isOrdered, !(pair.lists.forward && pair.new.isOrdered) {
                let lists = Dictionary(grouping: links, by: \.first).values.filter { $0.count > 1 }.count
                if lists > 0 { counts["\(pair.owner).r\(pair.number)"] = lists }
            }
            if pair.old.inverseIsOrdered, !(pair.lists.inverse && pair.new.inverseIsOrdered) {
                // The order of an object that cannot have the relationship any more goes with its links.
                let lists = Dictionary(grouping: links, by: \.second).filter { key, members in
                    members.count > 1
                        && entityName(key, in: pair.member).map { Self.isKind($0, of: pair.newMember) } ?? false
                }.count
                if lists > 0 { counts["\(pair.member).i\(pair.number)"] = lists }
            }
        }
        return counts
    }
}
