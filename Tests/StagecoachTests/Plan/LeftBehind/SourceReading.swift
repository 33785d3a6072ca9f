import CoreDataStore
import Foundation
import ManagedModel
import Mapping
import TestSupport

/// The values and links of a source and what of them the texts of a mapping model's expressions name: short and slow, what the
/// engine's account is compared with.
struct SourceReading {
    let store: ReferenceStore
    let mapping: MappingModel
    private var schema: StoreSchema { store.schema }
    private var model: ManagedObjectModel { store.model }
    /// `Entity.property` by the entity of the object, whose value expressions read.
    private var read: Set<String> = []
    private var migrated: Set<String> = []

    init(_ store: ReferenceStore, _ mapping: MappingModel, destination: ManagedObjectModel) {
        self.store = store
        self.mapping = mapping
        for entity in mapping.entityMappings ?? [] {
            guard let name = entity.sourceEntityName, let source = model.entity(named: name),
                let target = entity.destinationEntityName.flatMap({ destination.entity(named: $0) })
            else { continue }
            migrated.insert(name)
            let stored = target.attributes.filter { StoreSchema(model: destination).column(of: $0) != nil }.map(\.name)
            for property in (entity.attributeMappings ?? []) + (entity.relationshipMappings ?? []) {
                guard let expression = property.valueExpression, let name = property.name,
                    stored.contains(name) || target.relationship(named: name)?.isTransient == false
                else { continue }
                note(expression.format, from: source)
            }
        }
    }

    /// Notes all key paths in a text: from `$source`, and from a SUBQUERY's variable.
    private mutating func note(_ text: String, from source: EntityDescription) {
        var paths = ["source": [String]()]
        for match in text.matches(of: #/SUBQUERY\(\$source((?:\.[#@\w]+)*), \$(\w+),/#) {
            paths[String(match.2)] = names(match.1)
        }
        for match in text.matches(of: #/\$(\w+)((?:\.[#@\w]+)*)/#) {
            guard let before = paths[String(match.1)] else { continue }
            follow(before + names(match.2), from: [source])
        }
    }

    private func names(_ path: Substring) -> [String] {
        path.split(separator: ".").map { $0.hasPrefix("#") ? String($0.dropFirst()) : String($0) }
            .filter { !$0.hasPrefix("@") }
    }

    private mutating func follow(_ path: [String], from start: [EntityDescription]) {
        guard let name = path.first else { return }
        for entity in start {
            guard entity.attribute(named: name) != nil || entity.relationship(named: name) != nil else { continue }
            read.insert("\(entity.definition.name).\(name)")
            guard let next = entity.relationship(named: name)?.destination else { continue }
            follow(Array(path.dropFirst()), from: next.withDescendants)
        }
    }

    /// Values and links by the line of the account that they belong to; `""`: what is read.
    var counts: [String: Int] {
        var counts: [String: Int] = [:]
        for (table, rows) in store.tables.enumerated() {
            for row in rows.values {
                guard let entity = store.entity(of: row, inTable: table) else { continue }
                for attribute in entity.attributes {
                    guard let column = schema.column(of: attribute), !row.values[column].isNull else { continue }
                    let declaring = model.entity(at: attribute.declaringEntityIndex).definition.name
                    add(1, "\(declaring).\(attribute.name)", [(entity, attribute.name)], entity, &counts)
                }
            }
        }
        for entity in model.entities {
            for definition in entity.definition.relationships {
                if let relationship = entity.relationship(named: definition.name) { addLinks(relationship, &counts) }
            }
        }
        return counts
    }

    private func add(
        _ count: Int, _ line: String, _ ends: [(EntityDescription, String)], _ owner: EntityDescription?,
        _ counts: inout [String: Int]
    ) {
        let isRead = ends.contains { read.contains("\($0.0.definition.name).\($0.1)") }
        let isGone = owner.map { !migrated.contains($0.definition.name) } ?? false
        counts[isRead ? "" : isGone ? owner?.definition.name ?? "" : line, default: 0] += count
    }

    /// Each link once, at the side that the pair is named by.
    private func addLinks(_ relationship: RelationshipDescription, _ counts: inout [String: Int]) {
        let (owners, members) = (
            schema.tableIndex(of: relationship.entity), schema.tableIndex(of: relationship.destination)
        )
        func end(_ key: Int64, _ table: Int) -> EntityDescription? {
            store.tables[table][key].flatMap { store.entity(of: $0, inTable: table) }
        }
        func add(_ owner: Int64, _ member: Int64, _ opposite: [String]) {
            let (one, other) = (end(owner, owners), end(member, members))
            let ends =
                (one.map { [($0, relationship.name)] } ?? []) + (other.map { end in opposite.map { (end, $0) } } ?? [])
            self.add(1, "\(relationship.entity.definition.name).\(relationship.name)", ends, one, &counts)
        }
        switch schema.storage(of: relationship) {
        case .none, .toManyByInverse: break
        case .toOne(let table, let column, _, _):
            var opposite = relationship.inverseRelationship.map { [$0.name] } ?? []
            if let inverse = relationship.inverseRelationship, !inverse.isToMany,
                inverse.inverseRelationship == relationship
            {
                let isFirst =
                    (relationship.entity.index, relationship.name) < (inverse.entity.index, inverse.name)
                guard isFirst || inverse == relationship else { return }
                opposite = [inverse.name]
            }
            for (key, row) in store.tables[table] {
                if let member = row.values[column].integer { add(key, member, opposite) }
            }
        case .toManyHidden(let table, let column, _):
            for (key, row) in store.tables[table] {
                if let owner = row.values[column].integer { add(owner, key, []) }
            }
        case .join(let table, let side):
            let sides = schema.joinTables[table].sides.map(\.relationship)
            guard side == 0 || sides[0] == sides[1] else { return }
            for pair in store.joins[table].keys {
                add(side == 0 ? pair.first : pair.second, side == 0 ? pair.second : pair.first, [sides[1 - side].name])
            }
        }
    }
}
