import Diagnostics
import SpillStorage

/// A change that policy code made to a relationship.
enum LinkChange: UInt64 {
    /// The relationship was set; the members of the change are all its members.
    case set
    /// The members were added at the end.
    case add
    /// The members were removed.
    case remove
}

/// The changes to relationships that policy code made in stage 1, in call order. They are replayed after the links of the
/// mapping models have been made.
///
/// Memory: a share of the memory of all links, and during the replay the members of one call.
final class ChangesBeforeRelate {
    /// The words of a record: sequence, store and side, position, owner, both Z_ENTs, member, the two words of its
    /// ``MemberOrder``. Position 0 is the call itself; the first word of its place is the kind of change.
    private static let width = 8
    private let log: RecordLog
    /// The deleted objects of the existing store: key, Z_ENT.
    private let deletions: RecordLog
    private let record: UnsafeMutablePointer<UInt64>
    private var sequence: UInt64 = 0
    /// The number of records written, for tests of the cost of changes.
    private(set) var writtenRecords = 0

    init(directory: WorkDirectory, memory: RecordMemory) {
        log = RecordLog(
            directory: directory, name: "links-set", width: ChangesBeforeRelate.width, indexWords: 1, memory: memory)
        deletions = RecordLog(directory: directory, name: "links-gone", width: 2, indexWords: 1, memory: memory)
        record = .allocate(capacity: ChangesBeforeRelate.width)
        record.initialize(repeating: 0, count: ChangesBeforeRelate.width)
    }

    deinit { record.deallocate() }

    var isEmpty: Bool { log.count == 0 }

    /// Encodes the changes. Flushes their in-memory part to the logs' files.
    func save(to state: inout StateWriter) throws(MigrationError) {
        try log.save(to: &state)
        try deletions.save(to: &state)
        state.write(sequence)
    }

    /// Restores encoded changes. Must be called on an empty instance.
    func restore(from state: inout StateReader) throws(MigrationError) {
        try log.restore(from: &state)
        try deletions.restore(from: &state)
        sequence = try state.word()
    }

    /// Records one call.
    func append(
        _ change: LinkChange, store: Int, side: LinkStore.Side, owner: LinkEnd, members: [LinkMember]
    ) throws(MigrationError) {
        sequence += 1
        writtenRecords += 1 + members.count
        for position in 0...members.count {
            let member = position > 0 ? members[position - 1] : LinkMember(end: LinkEnd(key: 0, entity: 0))
            let (kind, value) = member.order.words
            record[0] = sequence
            record[1] = UInt64(store) << 1 | (side == .first ? 0 : 1)
            record[2] = UInt64(position)
            record[3] = SortKey.encode(owner.key)
            record[4] = UInt64(owner.entity) << 32 | UInt64(member.end.entity)
            record[5] = SortKey.encode(member.end.key)
            record[6] = position > 0 ? kind : change.rawValue
            record[7] = value
            try log.append(record)
        }
    }

    /// Records that an object of the existing store was deleted.
    func noteDeletion(of object: LinkEnd) throws(MigrationError) {
        record[0] = SortKey.encode(object.key)
        record[1] = UInt64(object.entity)
        try deletions.append(record)
    }

    /// Shows the deleted objects of the existing store.
    func forEachDeletion(_ body: (LinkEnd) throws(MigrationError) -> Void) throws(MigrationError) {
        guard deletions.count > 0 else { return }
        let cursor = try deletions.scan()
        while try cursor.next(into: record) {
            try body(LinkEnd(key: SortKey.decode(record[0]), entity: UInt32(truncatingIfNeeded: record[1])))
        }
    }

    /// Shows the calls in order: the change, store, side, owner and members.
    func forEachChange(
        _ body: (LinkChange, Int, LinkStore.Side, LinkEnd, [LinkMember]) throws(MigrationError) -> Void
    ) throws(MigrationError) {
        let cursor = try log.scan()
        var call: (change: LinkChange, number: Int, side: LinkStore.Side, owner: LinkEnd)?
        var members: [LinkMember] = []
        while try cursor.next(into: record) {
            guard record[2] == 0 else {
                members.append(
                    LinkMember(
                        end: LinkEnd(
                            key: SortKey.decode(record[5]), entity: UInt32(truncatingIfNeeded: record[4])),
                        order: MemberOrder(kind: record[6], value: record[7])))
                continue
            }
            let next = (
                change: LinkChange(rawValue: record[6]) ?? .set, number: Int(record[1] >> 1),
                side: record[1] & 1 == 0 ? LinkStore.Side.first : .second,
                owner: LinkEnd(key: SortKey.decode(record[3]), entity: UInt32(truncatingIfNeeded: record[4] >> 32))
            )
            if let call { try body(call.change, call.number, call.side, call.owner, members) }
            call = next
            members.removeAll(keepingCapacity: true)
        }
        if let call { try body(call.change, call.number, call.side, call.owner, members) }
    }
}
