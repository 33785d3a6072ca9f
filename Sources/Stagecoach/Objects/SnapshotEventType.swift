/// The events after which Core Data sets an object's values anew; see ``ManagedObject/awake(fromSnapshotEvents:)``.
public struct SnapshotEventType: OptionSet, Sendable {
    public let rawValue: UInt
    public init(rawValue: UInt) { self.rawValue = rawValue }

    /// An insertion was undone.
    public static let undoInsertion = SnapshotEventType(rawValue: 1 << 1)
    /// A deletion was undone.
    public static let undoDeletion = SnapshotEventType(rawValue: 1 << 2)
    /// A change was undone.
    public static let undoUpdate = SnapshotEventType(rawValue: 1 << 3)
    /// Changes were dropped.
    public static let rollback = SnapshotEventType(rawValue: 1 << 4)
    /// The object was refreshed.
    public static let refresh = SnapshotEventType(rawValue: 1 << 5)
    /// A conflict was resolved.
    public static let mergePolicy = SnapshotEventType(rawValue: 1 << 6)
}
