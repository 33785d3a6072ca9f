import ManagedModel

// Changes of source objects by policies. They are seen by all that reads the source later.
extension ReferenceMigrator {
    /// Sets a relationship of a source object; the inverse follows at once.
    package func setSource(
        _ object: ReferenceObject, _ relationship: String, to members: [ReferenceObject]
    ) throws(ReferenceFailure) {
        guard let description = object.entity.relationship(named: relationship) else {
            throw .unsupported("\(object.entity) has no relationship \(relationship)")
        }
        noteHiddenOwners()
        object.dangling[relationship] = nil
        set(
            object, description,
            ReferenceClaim(members: members.map { ReferenceMember(object: $0) }, ordering: .list))
        sortMembers()
    }

    /// Deletes a source object and those that delete rules cascade to. All references to them become nil.
    package func deleteSource(_ object: ReferenceObject) {
        noteHiddenOwners()
        var round = [object]
        while !round.isEmpty {
            var next: [ReferenceObject] = []
            for object in round where !object.isDeleted {
                for relationship in object.entity.relationships where relationship.deleteRule == .cascade {
                    next += object.related(relationship.name)
                }
                for relationship in object.entity.relationships { unlinkAll(object, relationship) }
                for other in sourceObjects.joined() {
                    for relationship in other.entity.relationships where Self.inverse(of: relationship) == nil {
                        unlink(other, relationship, object)
                    }
                }
                object.isDeleted = true
            }
            round = next
        }
        sortMembers()
    }

    /// Sorts the members of relationships without an order by key, as a store gives them.
    private func sortMembers() {
        for object in sourceObjects.joined() {
            for relationship in object.entity.relationships where relationship.isToMany && !relationship.isOrdered {
                object.toMany[relationship.name]?.sort { $0.object.key < $1.object.key }
            }
        }
    }

    /// Notes the owners of to-many relationships without inverse, which the reader of a store leaves out.
    private func noteHiddenOwners() {
        for object in sourceObjects.joined() {
            for relationship in object.entity.relationships
            where relationship.isToMany && Self.inverse(of: relationship) == nil {
                for member in object.related(relationship.name) {
                    member.hiddenOwners[relationship.reference] = object
                }
            }
        }
    }
}
