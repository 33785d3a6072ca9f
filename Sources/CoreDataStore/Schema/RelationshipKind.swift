import ManagedModel

/// The storage of a relationship's links, determined from the model alone.
enum RelationshipKind {
    case transient
    case toOne
    /// In the to-one column of the given inverse.
    case byInverse(RelationshipDescription)
    /// In a join table shared with the given to-many relationship.
    case join(RelationshipDescription)
    /// In a hidden column of the destination's table.
    case hidden

    /// Determines the storage. An inverse counts if it is stored and leads back into the owner's hierarchy. It need not name
    /// this relationship in turn: in ArtsyPartner 1.4 both `Image.artist` and `Image.thumbnail` claim `Artist.thumbnail`. A
    /// to-many relationship that claims the to-one of another shares that column; one that claims a to-many gets a join table
    /// of its own.
    init(_ relationship: RelationshipDescription) {
        if relationship.isTransient {
            self = .transient
        } else if !relationship.isToMany {
            self = .toOne
        } else if let inverse = relationship.inverseRelationship, !inverse.isTransient,
            inverse.destination.root == relationship.entity.root
        {
            self = inverse.isToMany ? .join(inverse) : .byInverse(inverse)
        } else {
            self = .hidden
        }
    }
}

extension RelationshipDescription {
    /// The relationship by the entity that declares it.
    package var reference: PropertyReference { PropertyReference(entity: entity.index, name: name) }
}

extension AttributeDescription {
    /// The attribute by the entity that declares it.
    package var reference: PropertyReference { PropertyReference(entity: declaringEntityIndex, name: name) }
}
