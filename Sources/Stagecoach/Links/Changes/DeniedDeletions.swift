import Diagnostics
import SpillStorage

/// The objects that were deleted against the delete rule of a relationship, with the objects that deny it.
///
/// Memory: a share of the memory of all links.
final class DeniedDeletions {
    /// The deleted object, the one that denies it, both Z_ENTs, and the store with the side of the relationship.
    private let log: RecordLog

    init(directory: WorkDirectory, memory: RecordMemory) {
        log = RecordLog(directory: directory, name: "links-denied", width: 4, indexWords: 1, memory: memory)
    }

    func code(with coder: inout StateCoder) throws(MigrationError) { try log.code(with: &coder) }

    /// Notes the deletion of an object.
    ///
    /// - Parameters:
    ///   - member: an object of the relationship.
    ///   - side: the side on which the deleted object is the owner.
    func append(
        _ object: LinkEnd, _ member: LinkEnd, _ store: LinkStore, _ side: LinkStore.Side
    ) throws(MigrationError) {
        try log.append(
            SortKey.encode(object.key), SortKey.encode(member.key),
            UInt64(object.entity) << 32 | UInt64(member.entity),
            UInt64(store.number) << 1 | (side == .first ? 0 : 1))
    }

    /// Shows the deletions by the key of the deleted object: it, the object that denies it, the number of the store, the side.
    func show(
        _ body: (LinkEnd, LinkEnd, Int, LinkStore.Side) throws(MigrationError) -> Void
    ) throws(MigrationError) {
        guard log.count > 0 else { return }
        try log.forEachRecord { words throws(MigrationError) in
            try body(
                LinkEnd(key: SortKey.decode(words[0]), entity: UInt32(truncatingIfNeeded: words[2] >> 32)),
                LinkEnd(key: SortKey.decode(words[1]), entity: UInt32(truncatingIfNeeded: words[2])),
                Int(words[3] >> 1), words[3] & 1 == 0 ? .first : .second)
        }
    }
}
