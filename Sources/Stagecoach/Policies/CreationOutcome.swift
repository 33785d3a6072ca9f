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

    /// Counts a source object with this outcome.
    func count(in line: inout MigrationCounts.Mapping) {
        switch self {
        case .migrated: line.migrated += 1
        case .unassociated: line.unassociated += 1
        case .dropped: line.droppedByPolicy += 1
        }
    }
}
