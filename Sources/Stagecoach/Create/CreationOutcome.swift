/// What became of a source object in the call of its policy's creation method.
enum CreationOutcome {
    /// Something was associated with it.
    case migrated
    /// Objects were made, and none was associated with it.
    case unassociated
    /// Nothing was made.
    case dropped

    init(isAssociated: Bool, hasMade: Bool) {
        self = isAssociated ? .migrated : hasMade ? .unassociated : .dropped
    }
}

extension MigrationCounts.Mapping {
    /// Counts a source object.
    mutating func count(_ outcome: CreationOutcome) {
        switch outcome {
        case .migrated: migrated += 1
        case .unassociated: unassociated += 1
        case .dropped: droppedByPolicy += 1
        }
    }

    /// Takes over how many source objects have an association in the end: those that policies associate later were made
    /// something of before.
    ///
    /// - Parameter associated: source objects with an association, those of rejected objects included.
    mutating func settle(associated: Int) {
        let without = max(0, sourceObjects - filtered - associated)
        let later = max(0, associated - migrated - rejected)
        unassociated = min(without, max(0, unassociated - later))
        droppedByPolicy = without - unassociated
    }
}
