import Diagnostics
import ManagedModel
import SpillStorage

// Deletion by the delete rules of relationships.
extension DestinationObjects {
    /// Deletes an object, and with it the objects that its relationships' rules cascade to. Every other object loses its links
    /// to them.
    ///
    /// The rules apply at once, to the links as they are now. If a rule denies a deletion, ``checkDenied()`` says so in the end,
    /// unless the objects that deny it are gone then. A link whose rule is No Action is removed like one to nullify, because no
    /// row may refer to a missing one.
    ///
    /// - Complexity: O(links of the deleted objects). Memory: ``LinkStore/mostHeld`` objects and links, the rest is on disk.
    func delete(_ object: ManagedObject) throws {
        var round = DeletionRound(makeSorter: modelRun.services.sorter)
        try delete(object.place, cascadingTo: &round)
        while !round.isEmpty {
            var next = DeletionRound(makeSorter: modelRun.services.sorter)
            try round.show { end in
                guard let entity = schema.entityByNumber[Int(end.entity)] else { return }
                try delete(place(entity: schema.model.entity(at: entity), key: end.key), cascadingTo: &next)
            }
            round = next
        }
    }

    /// Deletes one object.
    ///
    /// - Parameter round: gets the objects that have to be deleted next.
    private func delete(_ id: ObjectPlace, cascadingTo round: inout DeletionRound) throws {
        guard try exists(id) else { return }
        try context?.willDelete(id)
        for (store, _) in links.ends(of: id.entity) { try links.use(store) }
        for relationship in id.entity.relationships {
            guard let (store, side) = links.store(of: relationship) else { continue }
            switch relationship.deleteRule {
            case .cascade:
                try store.forEachPartner(of: id.key, side: side) { view throws(MigrationError) in
                    try round.append(view.partner)
                }
            case .deny:
                try store.forEachPartner(of: id.key, side: side) { view throws(MigrationError) in
                    try links.denied.append(end(id), view.partner, store, side)
                }
            case .nullify, .noAction: break
            }
        }
        if isStored(id) { try noteExistingPartners(of: id) }
        try links.unlinkAll(end(id), of: id.entity, isStored: isStored(id))
        try followers[id.table]?.willDelete(entity: id.entity.index, isStored: isStored(id))
        try rows[id.table].delete(id.key)
        hasDeletions = true
        try deletions.append(UInt64(id.entity.index), SortKey.encode(id.key), 0)
        try countDeletion(of: id)
        // An object from before the run was not counted as created.
        if !modelRun.inputs.isOlder(id.key, table: id.table) { createdByEntity[id.entity.index] -= 1 }
    }

    func deletedPlaces() throws -> [ObjectPlace] {
        var places: [ObjectPlace] = []
        guard deletions.count > 0 else { return places }
        try deletions.forEachRecord { words throws(MigrationError) in
            places.append(place(entity: schema.model.entity(at: Int(words[0])), key: SortKey.decode(words[1])))
        }
        return places
    }

    /// Notes that the existing objects linked to an object are changed by its deletion.
    private func noteExistingPartners(of id: ObjectPlace) throws(MigrationError) {
        for (store, side) in links.ends(of: id.entity) {
            guard let existing = store.existing, let partners = store.relationship(of: side.other) else { continue }
            let table = schema.tableIndex(of: partners.entity)
            for view in try existing.views(of: id.key, side: side)
            where existing.isExisting(view.partner.key, side: side.other) {
                try modelRun.touched?.note(view.partner.key, table: table, .values)
            }
        }
    }

    /// Counts the source object of a deleted row as dropped by a policy, if a mapping without a policy made the row.
    private func countDeletion(of id: ObjectPlace) throws(MigrationError) {
        for table in associations where table.isCreated && table.mapping.destination == id.entity {
            guard let keys = table.keys, try keys.sourceKey(of: id.key) != nil else { continue }
            modelRun.tally.counts.mappings[table.mapping.index].migrated -= 1
            modelRun.tally.counts.mappings[table.mapping.index].droppedByPolicy += 1
        }
    }

    /// Checks that no object is left that denied the deletion of another. One that was linked to a third object since does not
    /// deny it any more.
    ///
    /// - Throws: `validation.deniedDelete` (65) for the first such object; its `NSError` has up to a hundred.
    func checkDenied() throws {
        var errors = BrokenRuleErrors()
        try links.denied.show { object, member, number, side throws(MigrationError) in
            guard !errors.isFull, links.all.indices.contains(number) else { return }
            let store = links.all[number]
            guard let relationship = store.relationship(of: side), try exists(member) else { return }
            if store.isExclusive(side.other), try !store.partners(of: member.key, side: side.other).isEmpty { return }
            errors.add(denial(of: object, by: member, relationship))
        }
        try errors.end()
    }

    private func denial(
        of object: LinkEnd, by member: LinkEnd, _ relationship: RelationshipDescription
    ) -> MigrationError {
        func name(_ end: LinkEnd) -> String {
            let entity = schema.entityByNumber[Int(end.entity)].map { schema.model.entity(at: $0).definition.name }
            return "\(entity ?? "")/p\(end.key)"
        }
        var error = MigrationError(
            "validation.deniedDelete", .data,
            "The object was deleted, and its relationship \(relationship.name) denies that while it has objects: \(name(member))",
            remedy: "Delete \(name(member)) too, link it to another object, or relax the delete rule in the model",
            context: .init(
                entity: schema.entityByNumber[Int(object.entity)].map { schema.model.entity(at: $0).definition.name },
                objectID: name(object), property: relationship.name))
        var info: [String: Any] = [:]
        info[NSValidationObjectErrorKey] = self.object(of: object)
        info[NSValidationValueErrorKey] = self.object(of: member)
        error.cocoa = CocoaDetails(nil, info)
        return error
    }
}

/// The objects that the delete rules of one round of deletions lead to, in the order in which they were found.
struct DeletionRound {
    private let makeSorter: (Int) -> RecordSorter
    private var held: [LinkEnd] = []
    /// The objects beyond those held: number, key, Z_ENT.
    private var spilled: RecordSorter?

    init(makeSorter: @escaping (Int) -> RecordSorter) { self.makeSorter = makeSorter }

    var isEmpty: Bool { held.isEmpty }

    mutating func append(_ end: LinkEnd) throws(MigrationError) {
        guard held.count == LinkStore.mostHeld else { return held.append(end) }
        let sorter = spilled ?? makeSorter(3)
        spilled = sorter
        try sorter.append(UInt64(sorter.appended), SortKey.encode(end.key), UInt64(end.entity))
    }

    /// Shows the objects in order. May be called once.
    func show(_ body: (LinkEnd) throws -> Void) throws {
        for end in held { try body(end) }
        guard let records = try spilled?.finish() else { return }
        try withRecords(3) { words, _ in
            while try records.next(into: words) {
                try body(LinkEnd(key: SortKey.decode(words[1]), entity: UInt32(truncatingIfNeeded: words[2])))
            }
        }
    }
}
