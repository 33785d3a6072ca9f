/// The result of a call of a policy's creation method for a source object.
enum CreationOutcome {
    /// An object was associated with the source object.
    case migrated
    /// Objects were made, but none was associated with the source object.
    case unassociated
    /// No object was made.
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

    /// Corrects the counts at the end of the stages. Source objects that a policy associated late were counted as unassociated
    /// before.
    ///
    /// - Parameter associated: the number of source objects with an association, including those of rejected objects.
    mutating func settle(associated: Int) {
        let without = max(0, sourceObjects - filtered - associated)
        let later = max(0, associated - migrated - rejected)
        unassociated = min(without, max(0, unassociated - later))
        droppedByPolicy = without - unassociated
    }
}
