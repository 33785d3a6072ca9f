import CoreDataStore
import Diagnostics
import Foundation
import ManagedModel
import Rows

// Changes of source objects by policies. They are kept beside the source and seen by everything that reads it later.
extension SourceObjects {
    /// The changes, made with the first one. Links that were left to the load are made before, because the load would read the
    /// changed source.
    private func begunChanges() throws(MigrationError) -> SourceObjectChanges {
        if let changes { return changes }
        try willChange?()
        let made = SourceObjectChanges(modelRun.inputs)
        modelRun.run.sourceChanges = made
        return made
    }

    // MARK: - Deleting

    /// Deletes an object, and with it the objects that its relationships' delete rules cascade to. Other objects lose their
    /// links to them. A rule that denies a deletion has no effect, as in Core Data: the source is never saved, so nothing
    /// validates it.
    func delete(_ object: ManagedObject) throws {
        let changes = try begunChanges()
        var round = DeletionRound(makeSorter: modelRun.services.sorter)
        try delete(object.place, changes, cascadingTo: &round)
        while !round.isEmpty {
            var next = DeletionRound(makeSorter: modelRun.services.sorter)
            try round.show { end in
                let entity = schema.model.entity(at: Int(end.entity))
                let place = ObjectPlace(entity: entity, key: end.key, table: schema.tableIndex(of: entity))
                try delete(place, changes, cascadingTo: &next)
            }
            round = next
        }
    }

    private func delete(
        _ place: ObjectPlace, _ changes: SourceObjectChanges, cascadingTo round: inout DeletionRound
    ) throws {
        guard try exists(place) else { return }
        try context?.willDelete(place)
        for relationship in place.entity.relationships where relationship.deleteRule == .cascade {
            try forEachPartner(of: place, relationship) { key, entity in
                try round.append(LinkEnd(key: key, entity: UInt32(entity.index)))
            }
        }
        try changes.delete(place.key, place.entity)
        rowCounts[place.table]?.byEntity[place.entity.index]? -= 1
        hasDeleted?()
        forget()
    }

    func deletedPlaces() throws -> [ObjectPlace] {
        var places: [ObjectPlace] = []
        guard let changes, changes.deleted > 0 else { return places }
        for table in schema.tables.indices {
            try changes.forEachChanged(table: table) { key in
                guard let entity = try changes.entity(ofDeleted: key, table: table),
                    try self.place(table: table, key: key) == nil
                else { return }
                places.append(ObjectPlace(entity: entity, key: key, table: table))
            }
        }
        return places
    }

    /// Shows the objects of a relationship that exist: key and entity.
    private func forEachPartner(
        of place: ObjectPlace, _ relationship: RelationshipDescription,
        _ body: (Int64, EntityDescription) throws -> Void
    ) throws {
        if relationship.isToMany {
            return try forEachMember(of: place.key, relationship) { key, _, entity in
                if let entity { try body(key, schema.model.entity(at: entity)) }
            }
        }
        guard case .toOne(_, let column, _, _) = schema.storage(of: relationship) else { return }
        let reference = try read(table: place.table, key: place.key) { batch, row throws(MigrationError) in
            batch[row, column]
        }
        guard let reference, reference.kind == .integer,
            let partner = try self.place(
                table: schema.tableIndex(of: relationship.destination), key: reference.integerValue)
        else { return }
        try body(partner.key, partner.entity)
    }

    // MARK: - The file's values

    /// Returns the value that a property has in the file, as `value(of:key:)` returns the current one.
    func committedValue(of object: ManagedObject, key name: String) throws -> Any? {
        let (place, inputs) = (object.place, modelRun.inputs)
        guard let property = properties.property(name, of: place.entity), let changes else {
            return try value(of: object, key: name)
        }
        func target(_ key: Int64) throws -> ManagedObject? {
            guard let entity = try self.entity(table: property.targetTable, key: key) else { return nil }
            return context?.object(at: ObjectPlace(entity: entity, key: key, table: property.targetTable))
        }
        if let relationship = property.relationship, property.isToMany {
            var members: [ManagedObject] = []
            let cursor = try inputs.source.members(
                of: relationship, owners: place.key...place.key, in: inputs.layout, inFile: true)
            while let member = try cursor?.next() { try target(member.key).map { members.append($0) } }
            return property.isOrdered ? NSOrderedSet(array: members) : NSSet(array: members)
        }
        guard try changes.hasChanged(place.key, table: place.table) else { return try value(of: object, key: name) }
        guard let column = property.column else { return nil }
        var row = RowBatch(slots: 1, rowCapacity: 1, byteTarget: 4096)
        let reader = try PointReader(
            inputs.source, table: place.table, columns: [.own(column)], in: inputs.layout, inFile: true)
        guard try reader.fetch(place.key, into: &row) else { return nil }
        if property.relationship != nil {
            return row[0, 0].kind == .integer ? try target(row[0, 0].integerValue) : nil
        }
        let found = try ValueBridge.object(row[0, 0], in: row, type: property.type, isExternal: property.isExternal)
        guard let reference = found as? ExternalFileReference else { return found }
        return try modelRun.external.data(reference, isSource: true, object.errorContext(property: name))
    }

    // MARK: - Setting

    func setValue(_ value: Any?, of object: ManagedObject, key name: String) throws {
        let place = object.place
        guard let property = properties.property(name, of: place.entity) else {
            throw ObjectFailure.unknownKey(name, object)
        }
        do {
            if let relationship = property.relationship {
                let members = try members(value, of: relationship)
                guard relationship.isToMany || members.count <= 1 else {
                    throw MigrationError(
                        "value.type", .data, "A to-one relationship was given \(members.count.counted("object"))")
                }
                try set(place, relationship, to: members)
            } else if let column = property.column {
                try setAttribute(value, property, column, of: place)
            } else {
                try transients.set(value, property, name, of: place)
            }
        } catch let error as MigrationError {
            throw error.inside(object.errorContext(property: name))
        }
    }

    private func setAttribute(
        _ value: Any?, _ property: ObjectProperties.Property, _ column: Int, of place: ObjectPlace
    ) throws(MigrationError) {
        guard try self.place(table: place.table, key: place.key) != nil else { return }
        try begunChanges().set(place.key, table: place.table, column: column) {
            batch, row, slot throws(MigrationError) in
            try ValueBridge.store(
                value, type: property.type, isExternal: property.isExternal, in: &batch, row: row, slot: slot)
        } then: { batch, cell throws(MigrationError) in
            try noteIndexed(cell, of: batch, place, column)
        }
        forget()
    }

    func changeMembers(of object: ManagedObject, key: String, adding added: [Any], removing removed: [Any]) throws {
        guard let relationship = properties.property(key, of: object.place.entity)?.relationship,
            relationship.isToMany
        else { throw ObjectFailure.unknownKey(key, object) }
        let place = object.place
        guard try exists(place) else { return }
        do {
            let present = Set(try partners(of: place, relationship).map(\.key))
            for member in try members(removed, of: relationship) where present.contains(member.key) {
                try unlink(place, relationship, member)
            }
            for member in try members(added, of: relationship) where !present.contains(member.key) {
                try link(place, relationship, member, at: nil)
            }
        } catch let error as MigrationError {
            throw error.inside(object.errorContext(property: key))
        }
    }

    /// Returns the objects in a policy's value: an object, a set, an ordered set or an array, without deleted ones, each once.
    private func members(_ value: Any?, of relationship: RelationshipDescription) throws -> [ObjectPlace] {
        let given = try GivenObjects(value)
        var seen: Set<Int64> = []
        var found: [ObjectPlace] = []
        for object in given.objects {
            guard object.context === context else { throw ObjectFailure.foreign(object) }
            guard object.entity.isKindOf(entity: relationship.destination) else {
                throw MigrationError(
                    "value.type", .data,
                    "An object of \(object.entity) does not fit a relationship to \(relationship.destination)")
            }
            if seen.insert(object.key).inserted, try exists(object.place) { found.append(object.place) }
        }
        // A set has no order of its own; ascending keys are the same in every run.
        if !given.isOrdered { found.sort { $0.key < $1.key } }
        return found
    }

    private func partners(of place: ObjectPlace, _ relationship: RelationshipDescription) throws -> [ObjectPlace] {
        var found: [ObjectPlace] = []
        let table = schema.tableIndex(of: relationship.destination)
        try forEachPartner(of: place, relationship) { key, entity in
            found.append(ObjectPlace(entity: entity, key: key, table: table))
        }
        return found
    }

    private func set(
        _ place: ObjectPlace, _ relationship: RelationshipDescription, to members: [ObjectPlace]
    ) throws {
        guard try exists(place), schema.storage(of: relationship) != .none else { return }
        let wanted = Set(members.map(\.key))
        var present: Set<Int64> = []
        for partner in try partners(of: place, relationship) {
            present.insert(partner.key)
            if !wanted.contains(partner.key) { try unlink(place, relationship, partner) }
        }
        for (position, member) in members.enumerated() {
            let order = relationship.isOrdered ? OrderingKey.key(at: Int64(position)) : nil
            if !present.contains(member.key) {
                try link(place, relationship, member, at: order)
            } else if let order {
                try move(member, to: order, in: relationship, of: place)
            }
        }
    }

    // MARK: - Links

    /// Links two objects. What the link excludes is unlinked.
    ///
    /// - Parameter order: the member's place in an ordered relationship; nil for the end.
    private func link(
        _ owner: ObjectPlace, _ relationship: RelationshipDescription, _ member: ObjectPlace, at order: Int64?
    ) throws {
        let changes = try begunChanges()
        let inverse = LinkPlanner.mutualInverse(of: relationship)
        switch schema.storage(of: relationship) {
        case .toOne(_, let column, let entityColumn, let orderColumn):
            if let inverse, !inverse.isToMany {
                for other in try partners(of: member, inverse) where other.key != owner.key {
                    try unlink(member, inverse, other)
                }
            }
            let place = try inverse.flatMap { try changes.nextPlace(of: member.key, $0) }
            try refer(owner, to: member, column, entityColumn, orderColumn.map { ($0, place) })
            if let inverse, case .toOne(_, let column, let entityColumn, let orderColumn) = schema.storage(of: inverse)
            {
                try refer(member, to: owner, column, entityColumn, orderColumn.map { ($0, nil) })
            }
        case .toManyByInverse(_, let column, let entityColumn, let orderColumn):
            let place = try order ?? changes.nextPlace(of: owner.key, relationship)
            try refer(member, to: owner, column, entityColumn, orderColumn.map { ($0, place) })
        case .toManyHidden(_, let column, let orderColumn):
            let place = try order ?? changes.nextPlace(of: owner.key, relationship)
            try refer(member, to: owner, column, nil, orderColumn.map { ($0, place) })
        case .join(let table, let side):
            let place = try order ?? changes.nextPlace(of: owner.key, relationship)
            let back = try inverse.flatMap { try changes.nextPlace(of: member.key, $0) }
            for (side, keys) in sides(owner, relationship, member, side) {
                let places = side == 0 ? (back, place) : (place, back)
                try changes.link(keys, places: places, joinTable: table)
            }
        case .none: break
        }
        forget()
    }

    /// Changes the place of a member of an ordered relationship. The owner's place in the inverse stays.
    private func move(
        _ member: ObjectPlace, to order: Int64, in relationship: RelationshipDescription, of owner: ObjectPlace
    ) throws(MigrationError) {
        let changes = try begunChanges()
        switch schema.storage(of: relationship) {
        case .toManyByInverse(_, _, _, let column?), .toManyHidden(_, _, let column?):
            try changes.set(member.key, table: member.table, column: column, to: order)
        case .join(let table, let side):
            for (side, keys) in sides(owner, relationship, member, side) {
                try changes.setPlaces(keys, side == 0 ? (nil, order) : (order, nil), joinTable: table)
            }
        default: break
        }
        forget()
    }

    private func unlink(
        _ owner: ObjectPlace, _ relationship: RelationshipDescription, _ member: ObjectPlace
    ) throws {
        let changes = try begunChanges()
        switch schema.storage(of: relationship) {
        case .toOne(_, let column, let entityColumn, let orderColumn):
            try refer(owner, to: nil, column, entityColumn, orderColumn.map { ($0, nil) })
            if let inverse = LinkPlanner.mutualInverse(of: relationship),
                case .toOne(_, let column, let entityColumn, let orderColumn) = schema.storage(of: inverse)
            {
                try refer(member, to: nil, column, entityColumn, orderColumn.map { ($0, nil) })
            }
        case .toManyByInverse(_, let column, let entityColumn, let orderColumn):
            try refer(member, to: nil, column, entityColumn, orderColumn.map { ($0, nil) })
        case .toManyHidden(_, let column, let orderColumn):
            try refer(member, to: nil, column, nil, orderColumn.map { ($0, nil) })
        case .join(let table, let side):
            for (_, keys) in sides(owner, relationship, member, side) { try changes.unlink(keys, joinTable: table) }
        case .none: break
        }
        forget()
    }

    /// Sets the columns of a reference in an object's row.
    private func refer(
        _ place: ObjectPlace, to target: ObjectPlace?, _ column: Int, _ entityColumn: Int?,
        _ order: (column: Int, place: Int64?)?
    ) throws(MigrationError) {
        let changes = try begunChanges()
        try changes.set(place.key, table: place.table, column: column) { batch, row, slot in
            batch[row, slot] = target.map { Cell.integer($0.key) } ?? .null
        } then: { batch, cell throws(MigrationError) in
            try noteIndexed(cell, of: batch, place, column)
        }
        if let entityColumn {
            let number = target.map { Int64(modelRun.inputs.layout.fileNumber(ofEntity: $0.entity.index)) }
            try changes.set(place.key, table: place.table, column: entityColumn, to: number)
        }
        if let order { try changes.set(place.key, table: place.table, column: order.column, to: order.place) }
    }

    /// Adds a value that a column of an object got to the column's indexes.
    private func noteIndexed(
        _ cell: Cell, of batch: borrowing RowBatch, _ place: ObjectPlace, _ column: Int
    ) throws(MigrationError) {
        for (indexed, index) in indexes.indexes
        where indexed.table == place.table && indexed.column == .own(column) {
            try index.add(cell, of: batch, key: place.key)
        }
    }

    /// Returns the rows of a join table for a link: the owner's side, and the keys of both sides. A relationship that is its own
    /// inverse has a row for each direction.
    private func sides(
        _ owner: ObjectPlace, _ relationship: RelationshipDescription, _ member: ObjectPlace, _ side: Int
    ) -> [(side: Int, keys: (Int64, Int64))] {
        let keys = side == 0 ? (owner.key, member.key) : (member.key, owner.key)
        guard relationship.inverseRelationship == relationship, owner.key != member.key else { return [(side, keys)] }
        return [(side, keys), (1 - side, (keys.1, keys.0))]
    }
}
