import Diagnostics
import SpillStorage

/// A call by which user code changed links.
struct LinkChange {
    enum Kind: UInt64 {
        /// A relationship was set; the members are all its members.
        case set
        /// Members were added at the end.
        case add
        /// Members were removed.
        case remove
        /// A default method related the owner.
        case relate
        /// The owner was deleted.
        case delete
        /// The deferred links of the store were made.
        case makeDeferred
        /// The default methods of a mapping without a policy set the links of the store.
        case relateAll
    }

    var kind: Kind
    var store = 0
    var side = LinkStore.Side.first
    var owner: LinkEnd
    var members: [LinkMember] = []
}

// Calls about a whole mapping have no owner, and in its place what they are about.
extension LinkChange {
    /// The deferred links of a store were made, when so many objects of a mapping were related.
    static func makeDeferred(_ store: LinkStore, mapping: Int, related: Int) -> LinkChange {
        LinkChange(
            kind: .makeDeferred, store: store.number, owner: LinkEnd(key: Int64(related), entity: UInt32(mapping)))
    }

    /// The default methods of a mapping without a policy set the links of a store.
    static func relateAll(_ store: LinkStore, mapping: Int) -> LinkChange {
        LinkChange(kind: .relateAll, store: store.number, owner: LinkEnd(key: 0, entity: UInt32(mapping)))
    }

    /// Returns the change of a default policy method, which set the relationships of a destination object.
    ///
    /// - Parameters:
    ///   - owner: the destination object.
    ///   - source: the key of its source object.
    ///   - mapping: the index of the mapping.
    static func relate(_ owner: LinkEnd, from source: Int64, mapping: Int) -> LinkChange {
        LinkChange(
            kind: .relate, owner: owner, members: [LinkMember(end: LinkEnd(key: source, entity: UInt32(mapping)))])
    }

    /// The mapping of a `.makeDeferred`, `.relateAll` or `.relate`.
    var mapping: Int { Int(kind == .relate ? members.first?.end.entity ?? 0 : owner.entity) }
    /// The number of related objects of a `.makeDeferred`.
    var related: Int { Int(owner.key) }
    /// The key of the source object of a `.relate`.
    var source: Int64 { members.first?.end.key ?? 0 }
}

/// The changes to links by user code, in call order, to be made again without objects that are rejected.
///
/// Memory: a share of the memory of all links, and while they are made again the members of one call.
final class LinkChanges {
    /// The words of a record: sequence, store and side, position, owner, both Z_ENTs, member, the two words of its
    /// ``MemberOrder``. Position 0 is the call itself; the first word of its place is the kind of change.
    private static let width = 8
    private let log: RecordLog
    /// Deleted objects: key, Z_ENT, the sequence of the deletion; 0 for objects of an existing store deleted in stage 1.
    private let deletions: RecordLog
    private let record: UnsafeMutablePointer<UInt64>
    /// The number of calls so far, which is the sequence of the last one.
    private(set) var sequence: UInt64 = 0
    /// The sequence of the last call that was made again; nil unless calls are being made again.
    private var replayed: UInt64?
    /// The number of records written, for tests of the cost of changes.
    private(set) var writtenRecords = 0

    init(directory: WorkDirectory, memory: RecordMemory) {
        log = RecordLog(
            directory: directory, name: "links-set", width: LinkChanges.width, indexWords: 1, memory: memory)
        deletions = RecordLog(directory: directory, name: "links-gone", width: 3, indexWords: 1, memory: memory)
        record = .allocate(capacity: LinkChanges.width)
        record.initialize(repeating: 0, count: LinkChanges.width)
    }

    deinit { record.deallocate() }

    /// Writes the changes, or restores them: this instance must be empty. The part in memory goes to the logs' files before.
    func code(with coder: inout StateCoder) throws(MigrationError) {
        try log.code(with: &coder)
        try deletions.code(with: &coder)
        try coder.code(&sequence)
    }

    /// Records one call.
    func append(_ change: LinkChange) throws(MigrationError) {
        sequence += 1
        writtenRecords += 1 + change.members.count
        for position in 0...change.members.count {
            let member = position > 0 ? change.members[position - 1] : LinkMember(end: LinkEnd(key: 0, entity: 0))
            let (kind, value) = member.order.words
            record[0] = sequence
            record[1] = UInt64(change.store) << 1 | (change.side == .first ? 0 : 1)
            record[2] = UInt64(position)
            record[3] = SortKey.encode(change.owner.key)
            record[4] = UInt64(change.owner.entity) << 32 | UInt64(member.end.entity)
            record[5] = SortKey.encode(member.end.key)
            record[6] = position > 0 ? kind : change.kind.rawValue
            record[7] = value
            try log.append(record)
        }
    }

    /// Records that an object was deleted.
    ///
    /// - Parameter isAtOnce: true if the deletion comes before all other calls when they are made again; else its place is
    ///   that of the last call.
    func noteDeletion(of object: LinkEnd, isAtOnce: Bool) throws(MigrationError) {
        record[0] = SortKey.encode(object.key)
        record[1] = UInt64(object.entity)
        record[2] = isAtOnce ? 0 : sequence
        try deletions.append(record)
    }

    /// Shows the objects whose deletion comes before all other calls.
    func forEachDeletionAtOnce(_ body: (LinkEnd) throws(MigrationError) -> Void) throws(MigrationError) {
        guard deletions.count > 0 else { return }
        let cursor = try deletions.scan()
        while try cursor.next(into: record) {
            guard record[2] == 0 else { continue }
            try body(LinkEnd(key: SortKey.decode(record[0]), entity: UInt32(truncatingIfNeeded: record[1])))
        }
    }

    /// Tells whether an object was deleted by a call that has not been made again yet.
    func isDeletedLater(_ object: LinkEnd) throws(MigrationError) -> Bool {
        guard let replayed, deletions.count > 0 else { return false }
        var prefix = SortKey.encode(object.key)
        var isFound = false
        try deletions.forEach(prefix: &prefix, words: 1) {
            if $0[1] == UInt64(object.entity), $0[2] > replayed { isFound = true }
        }
        return isFound
    }

    /// Begins to make the calls again: none has been made yet.
    func beginReplay() { replayed = 0 }

    /// Shows the calls in order, to make them again.
    func replay(_ body: (LinkChange) throws -> Void) throws {
        defer { replayed = nil }
        let cursor = try log.scan()
        var call: LinkChange?
        while try cursor.next(into: record) {
            guard record[2] == 0 else {
                call?.members.append(
                    LinkMember(
                        end: LinkEnd(
                            key: SortKey.decode(record[5]), entity: UInt32(truncatingIfNeeded: record[4])),
                        order: MemberOrder(kind: record[6], value: record[7])))
                continue
            }
            let next = LinkChange(
                kind: LinkChange.Kind(rawValue: record[6]) ?? .set, store: Int(record[1] >> 1),
                side: record[1] & 1 == 0 ? .first : .second,
                owner: LinkEnd(key: SortKey.decode(record[3]), entity: UInt32(truncatingIfNeeded: record[4] >> 32)))
            let number = record[0]
            if let call { try body(call) }
            call = next
            replayed = number
        }
        if let call { try body(call) }
    }
}
