import CoreDataStore
import ManagedModel

/// Decides which data a run leaves behind and what has to be counted for it: see ``LeftBehind``.
///
/// Attributes are judged for each entity's own objects. Links are judged by both ends, because a pair of inverses is
/// one set of links: a link is carried over if an expression reads the relationship at either end. A pair is named by
/// one of its sides: a to-one's column, the hidden column of a to-many without inverse, or the first side of a join
/// table.
struct LeftBehindPlan {
    typealias Reading = ReadProperties.Reading

    /// Values of one property in one column, of entities that share a fate.
    struct Item {
        let line: Key
        let isLink: Bool
        let count: Count
    }

    /// The way an item is counted.
    enum Count {
        /// By the values of a column in the rows of some entities.
        case column(table: Int, column: Int, entities: [Int])
        /// By the values of a column in the rows of the table's entities that do not have its property: those that are not of
        /// the owner.
        case beside(table: Int, column: Int, owner: Int)
        /// By all rows of a join table.
        case join(Int)
        /// By the links whose ends belong to given entities.
        case pairs(CountedLinks, Set<CountedLinks.Ends>)
    }

    /// The identity of a line of the account.
    struct Key: Hashable {
        var entity: Int
        var property: String?
        var reason: LeftBehind.Reason
        /// True if it is meant to stay behind.
        var isMeant = false
    }

    let layout: StoreLayout
    let reads: ReadProperties
    let census: SourceCensus
    let meant: MeantLosses
    private(set) var items: [Item] = []
    /// Entities whose objects have no destination, each with the reason.
    private(set) var gone: [Int: LeftBehind.Reason] = [:]

    init(mappings: [PlannedMapping], layout: StoreLayout, census: SourceCensus, meant: MeantLosses) {
        self.layout = layout
        self.census = census
        self.meant = meant
        reads = ReadProperties(mappings: mappings, schema: layout.schema)
        for entity in model.entities where census.count(of: entity) > 0 && !reads.migrated.contains(entity.index) {
            gone[entity.index] = reads.named.contains(entity.index) ? .removed : .withoutMapping
        }
        addAttributes()
        addOtherEntities()
        for set in SourceLinkSet.all(in: schema) {
            let owners = set.relationship.entity.withDescendants.filter(hasObjects)
            let members = set.relationship.destination.withDescendants.filter(hasObjects)
            add(set.relationship, set.opposite, set.links, owners.map(\.index), members.map(\.index))
        }
    }

    private var model: ManagedObjectModel { layout.schema.model }
    private var schema: StoreSchema { layout.schema }

    /// The columns whose values have to be counted, by table.
    var columns: [Int: Set<Int>] {
        var columns: [Int: Set<Int>] = [:]
        for item in items {
            switch item.count {
            case .column(let table, let column, _), .beside(let table, let column, _):
                columns[table, default: []].insert(column)
            case .join, .pairs: continue
            }
        }
        return columns
    }

    /// The tables of one entity whose objects have a destination, where rows with another entity number count.
    var tablesOfOneEntity: Set<Int> {
        Set(
            schema.tables.indices.filter { table in
                let entities = schema.tables[table].entities
                return entities.count == 1 && isMigrated(table)
            })
    }

    /// Tells whether objects of a table have a destination.
    func isMigrated(_ table: Int) -> Bool {
        schema.tables[table].entities.contains { gone[$0] == nil && hasObjects(model.entity(at: $0)) }
    }

    /// Returns the entities of a table that have objects with a destination, and are not of another entity.
    func entities(ofTable table: Int, beside owner: Int) -> [Int] {
        schema.tables[table].entities.filter { index in
            let entity = model.entity(at: index)
            return gone[index] == nil && hasObjects(entity) && !entity.isKindOf(entity: model.entity(at: owner))
        }
    }

    private func hasObjects(_ entity: EntityDescription) -> Bool { census.count(of: entity) > 0 }

    /// Returns the identity of the line about objects of an entity that stay behind for a reason.
    func line(ofObjects entity: Int, _ reason: LeftBehind.Reason) -> Key {
        Key(
            entity: entity, property: nil, reason: reason,
            isMeant: meant.covers(entity: model.entity(at: entity), property: nil))
    }

    /// Returns the line for a property's values in one entity's objects; nil if the values are carried over.
    private func line(
        _ property: PropertyReference, of entity: Int, _ reading: Reading, isMeant: Bool
    ) -> Key? {
        switch reading {
        case .expression: return nil
        case .code:
            return Key(entity: property.entity, property: property.name, reason: .policy, isMeant: isMeant)
        case .filter, .unread: break
        }
        if let reason = gone[entity] { return line(ofObjects: entity, reason) }
        return Key(
            entity: property.entity, property: property.name, reason: reading == .filter ? .filterOnly : .unread,
            isMeant: isMeant)
    }

    /// Adds an item of a line; does nothing if the values are carried over.
    private mutating func add(_ line: Key?, isLink: Bool, _ count: Count) {
        if let line { items.append(Item(line: line, isLink: isLink, count: count)) }
    }

    private mutating func addAttributes() {
        for entity in model.entities where hasObjects(entity) {
            for attribute in entity.attributes where !attribute.isDerived {
                guard let column = schema.column(of: attribute) else { continue }
                let reading = reads.reading(attribute.reference, of: entity.index)
                let table = schema.tableIndex(of: entity)
                add(
                    line(
                        attribute.reference, of: entity.index, reading,
                        isMeant: meant.covers(entity: entity, property: attribute.name)), isLink: false,
                    .column(table: table, column: column, entities: [entity.index]))
            }
        }
    }

    /// Adds the columns of attributes and to-one relationships, in the rows of entities of the table that do not have them.
    private mutating func addOtherEntities() {
        for (index, table) in schema.tables.enumerated() where table.entities.count > 1 {
            for (column, definition) in table.columns.enumerated() {
                let (property, isLink): (PropertyReference, Bool)
                switch definition.role {
                case .attribute(let reference): (property, isLink) = (reference, false)
                case .toOne(let reference): (property, isLink) = (reference, true)
                case .entity, .lock, .toOneEntity, .order, .hiddenOwner, .hiddenOrder: continue
                }
                let owner = model.entity(at: property.entity)
                guard !entities(ofTable: index, beside: property.entity).isEmpty,
                    owner.attribute(named: property.name)?.isDerived != true
                else { continue }
                add(
                    Key(
                        entity: property.entity, property: property.name, reason: .otherEntity,
                        isMeant: meant.covers(entity: owner, property: property.name)), isLink: isLink,
                    .beside(table: index, column: column, owner: property.entity))
            }
        }
    }

    // MARK: - Links

    private func isMeantToVanish(_ entity: Int) -> Bool {
        gone[entity] != nil && meant.covers(entity: model.entity(at: entity), property: nil)
    }

    private mutating func add(
        _ relationship: RelationshipDescription, _ opposite: [RelationshipDescription], _ ends: CountedLinks,
        _ owners: [Int], _ members: [Int]
    ) {
        func fate(_ owner: Int?, _ member: Int?) -> Reading {
            let own = owner.map { reads.reading(relationship.reference, of: $0) } ?? .unread
            let others = member.map { member in opposite.map { reads.reading($0.reference, of: member) } } ?? []
            return max(own, others.max() ?? .unread)
        }
        /// Returns the line for links between two entities; nil if the links are carried over. A link to a missing
        /// object counts with its owner.
        func line(_ owner: Int?, _ member: Int?) -> Key? {
            self.line(
                relationship.reference, of: owner ?? -1, fate(owner, member), isMeant: isMeant(owner, member))
        }
        /// Links are one set for a pair of inverses, so either end declares them; so does a member that is meant to vanish.
        func isMeant(_ owner: Int?, _ member: Int?) -> Bool {
            let owner = owner.map(model.entity(at:)) ?? relationship.entity
            if meant.covers(entity: owner, property: relationship.name) { return true }
            guard let member else { return false }
            return isMeantToVanish(member)
                || opposite.contains { meant.covers(entity: model.entity(at: member), property: $0.name) }
        }
        let lines = owners.map { owner in members.map { line(owner, $0) } + [line(owner, nil)] }
        let known = members.isEmpty || opposite.isEmpty && !members.contains(where: isMeantToVanish)
        let byOwner = lines.map { line in known ? [line[line.count - 1]] : Array(line.dropLast()) }
        let isTold = byOwner.allSatisfy { lines in lines.allSatisfy { $0 == lines[0] } }
        if isTold, case .owners(let table, let column) = ends.place {
            for (owner, lines) in zip(owners, byOwner) {
                add(lines[0], isLink: true, .column(table: table, column: column, entities: [owner]))
            }
            return
        }
        let all = Set(byOwner.flatMap { $0 })
        if let line = all.first, all.count == 1 {
            switch ends.place {
            case .join(let table, _): add(line, isLink: true, .join(table))
            case .members(let table, let column), .owners(let table, let column):
                add(line, isLink: true, .column(table: table, column: column, entities: schema.tables[table].entities))
            }
            return
        }
        guard !owners.isEmpty else { return }
        var byLine: [Key: Set<CountedLinks.Ends>] = [:]
        for owner in owners + [nil] {
            for member in members + [nil] {
                guard let key = line(owner, member) else { continue }
                byLine[key, default: []].insert(.init(owner: owner, member: member))
            }
        }
        items += byLine.map { Item(line: $0, isLink: true, count: .pairs(ends, $1)) }
    }
}

extension AttributeDescription {
    /// `Entity.name`, with the entity that declares it.
    var label: String { "\(entityName).\(name)" }
}

extension RelationshipDescription {
    /// `Entity.name`, with the entity that declares it.
    var label: String { "\(entity.definition.name).\(name)" }

    /// Tells whether a relationship is the first side of a pair, by entity and name.
    func isNamedBefore(_ other: RelationshipDescription) -> Bool {
        (entity.index, name) < (other.entity.index, other.name)
    }
}
