import Diagnostics
import ManagedModel
import PersistentStore
import Rows

/// What relationships of the objects in a window lead to, read for many of them at once.
///
/// A policy that follows a relationship of each object costs a few queries a window, not one an object. The first
/// object of a window is read alone: only who asks again is worth reading ahead for.
/// Memory: an allowance for each of at most ``most`` to-many relationships and as many tables.
final class WindowRelations {
    static let most = 4

    /// Members of consecutive owners.
    final class Members {
        /// Owners whose members are all here.
        let owners: ClosedRange<Int64>
        private let starts: [Int64: Range<Int>]
        private let members: [Member]

        init(owners: ClosedRange<Int64>, starts: [Int64: Range<Int>], members: [Member]) {
            self.owners = owners
            self.starts = starts
            self.members = members
        }

        func members(of owner: Int64) -> ArraySlice<Member> { starts[owner].map { members[$0] } ?? [] }
    }

    /// Rows of a table that objects of the window refer to.
    final class Related {
        /// Keys that were asked for.
        let keys: ClosedRange<Int64>
        let asked: Set<Int64>
        var batch: RowBatch

        init(keys: ClosedRange<Int64>, asked: Set<Int64>, batch: consuming RowBatch) {
            self.keys = keys
            self.asked = asked
            self.batch = batch
        }

        /// The place of a row; nil where it is not here.
        func row(_ key: Int64) -> Int? {
            guard asked.contains(key), batch.count > 0 else { return nil }
            var low = 0
            var high = batch.count - 1
            while low < high {
                let middle = (low + high) / 2
                if batch.key(middle) < key { low = middle + 1 } else { high = middle }
            }
            return batch.key(low) == key ? low : nil
        }
    }

    private let session: MigrationSession
    /// Queries that read for several objects.
    private(set) var groupedReads = 0
    private var asks: [PropertyReference: Int] = [:]
    private var members: [PropertyReference: Members] = [:]
    private var related: [Int: Related] = [:]
    private var firstKey: Int64?

    init(session: MigrationSession) { self.session = session }

    /// Members that a relationship may keep here.
    private var memberLimit: Int { max(64, session.budget.batch / 64 / WindowRelations.most) }

    /// Forgets what is here where the window has moved on.
    func enter(windowFrom key: Int64) {
        guard firstKey != key else { return }
        removeAll()
        firstKey = key
    }

    func removeAll() {
        asks.removeAll(keepingCapacity: true)
        members.removeAll(keepingCapacity: true)
        related.removeAll(keepingCapacity: true)
        firstKey = nil
    }

    /// Whether a relationship was asked for before in this window.
    private func isAskedAgain(_ reference: PropertyReference) -> Bool {
        let count = asks[reference, default: 0] + 1
        asks[reference] = count
        return count > 1
    }

    // MARK: - To-many

    /// The members of an owner, where they are here or worth reading with those of others; nil to read them alone.
    ///
    /// - Parameters:
    ///   - last: the greatest key in the window.
    ///   - open: reads the members of a range of owners.
    func members(
        of owner: Int64, _ reference: PropertyReference, last: Int64,
        open: (ClosedRange<Int64>) throws(MigrationError) -> GroupedMemberCursor?
    ) throws(MigrationError) -> ArraySlice<Member>? {
        if let known = members[reference], known.owners.contains(owner) { return known.members(of: owner) }
        guard isAskedAgain(reference), owner < last, let cursor = try open(owner...last) else { return nil }
        groupedReads += 1
        var found: [Member] = []
        var starts: [Int64: Range<Int>] = [:]
        var current: Int64?
        var begin = 0
        var through = last
        while let (next, member) = try cursor.next() {
            if next != current {
                if let current { starts[current] = begin..<found.count }
                current = next
                begin = found.count
            }
            guard found.count < memberLimit else {
                // The last owner's members are not all here.
                through = next - 1
                found.removeLast(found.count - begin)
                current = nil
                break
            }
            found.append(member)
        }
        if let current { starts[current] = begin..<found.count }
        guard through >= owner else { return nil }
        if members.count >= WindowRelations.most, members[reference] == nil { members.removeAll() }
        let group = Members(owners: owner...through, starts: starts, members: found)
        members[reference] = group
        return group.members(of: owner)
    }

    // MARK: - To-one

    /// The rows of a table that are here and hold a key that was asked for.
    func related(_ table: Int, _ key: Int64) -> Related? {
        guard let known = related[table], known.asked.contains(key) else { return nil }
        return known
    }

    /// Reads what the rows of a window refer to, where the relationship was asked for before.
    ///
    /// - Parameters:
    ///   - key: the key that is asked for now.
    ///   - table: the table referred to.
    ///   - references: the keys that rows of the window hold, from the one at hand on.
    func noteReference(
        to key: Int64, _ reference: PropertyReference, table: Int, references: () -> [Int64]
    ) throws(MigrationError) {
        if let known = related[table], known.asked.contains(key) { return }
        guard isAskedAgain(reference) else { return }
        let columns = session.layout.schema.tables[table].columns.count
        let capacity = max(8, session.rowCapacity(slots: columns) / WindowRelations.most)
        var wanted: Set<Int64> = [key]
        for next in references() where wanted.count < capacity { wanted.insert(next) }
        guard wanted.count > 1 else { return }
        let keys = wanted.sorted()
        var batch = RowBatch(
            slots: columns, rowCapacity: capacity, byteTarget: max(4096, session.budget.batch / WindowRelations.most))
        guard
            let last = try session.source.rows(
                ofKeys: keys, table: table, columns: (0..<columns).map { .own($0) }, in: session.layout, into: &batch)
        else { return }
        groupedReads += 1
        if related.count >= WindowRelations.most, related[table] == nil { related.removeAll() }
        related[table] = Related(keys: keys[0]...last, asked: wanted.filter { $0 <= last }, batch: batch)
    }
}
