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

    /// Members of many owners.
    final class Members {
        /// Owners whose members are all here: a range of keys, or some keys.
        private let owners: ClosedRange<Int64>
        private let asked: Set<Int64>?
        private let starts: [Int64: Range<Int>]
        private let members: [Member]
        /// Where the search for a member goes on.
        private var next = 0

        init(owners: ClosedRange<Int64>, starts: [Int64: Range<Int>], members: [Member]) {
            self.owners = owners
            asked = nil
            self.starts = starts
            self.members = members
        }

        init(asked: Set<Int64>, starts: [Int64: Range<Int>], members: [Member]) {
            owners = 0...0
            self.asked = asked
            self.starts = starts
            self.members = members
        }

        func holds(_ owner: Int64) -> Bool { asked?.contains(owner) ?? owners.contains(owner) }

        func members(of owner: Int64) -> ArraySlice<Member> { starts[owner].map { members[$0] } ?? [] }

        /// Keys of members from one of them on, in the order of their owners; empty where it is none of them.
        ///
        /// - Complexity: O(1) for who goes through them in order.
        func keys(from key: Int64, atMost count: Int) -> [Int64] {
            guard !members.isEmpty else { return [] }
            for step in 0..<members.count {
                let place = (next + step) % members.count
                guard members[place].key == key else { continue }
                let end = min(members.count, place + count)
                next = place
                return members[place..<end].map(\.key)
            }
            return []
        }
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

    let session: MigrationSession
    /// Queries that read for several objects.
    var groupedReads = 0
    private var asks: [PropertyReference: Int] = [:]
    var members: [PropertyReference: Members] = [:]
    private var related: [Int: Related] = [:]
    /// The members read last, by their table, and rows of theirs that were asked for.
    var listed: [Int: Members] = [:]
    private var memberRows: [Int: Related] = [:]
    private var memberAsks: Set<Int> = []
    private var firstKey: Int64?

    init(session: MigrationSession) { self.session = session }

    /// Members that a relationship may keep here.
    var memberLimit: Int { max(64, session.budget.batch / 64 / WindowRelations.most) }

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
        listed.removeAll(keepingCapacity: true)
        memberRows.removeAll(keepingCapacity: true)
        memberAsks.removeAll(keepingCapacity: true)
        firstKey = nil
    }

    /// Whether a relationship was asked for before in this window.
    func isAskedAgain(_ reference: PropertyReference) -> Bool {
        let count = asks[reference, default: 0] + 1
        asks[reference] = count
        return count > 1
    }

    // MARK: - To-many

    /// The members of an owner, where they are here or worth reading with those of others; nil to read them alone.
    ///
    /// - Parameters:
    ///   - table: the members' table.
    ///   - last: the greatest key in the window.
    ///   - open: reads the members of a range of owners.
    func members(
        of owner: Int64, _ reference: PropertyReference, table: Int, last: Int64,
        open: (ClosedRange<Int64>) throws(MigrationError) -> GroupedMemberCursor?
    ) throws(MigrationError) -> ArraySlice<Member>? {
        if let known = members[reference], known.holds(owner) { return known.members(of: owner) }
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
        let group = Members(owners: owner...through, starts: starts, members: found)
        keep(group, reference, table: table)
        return group.members(of: owner)
    }

    func keep(_ group: Members, _ reference: PropertyReference, table: Int) {
        if members.count >= WindowRelations.most, members[reference] == nil { members.removeAll() }
        members[reference] = group
        if listed.count >= WindowRelations.most, listed[table] == nil { listed.removeAll() }
        listed[table] = group
    }

    // MARK: - To-one

    /// The rows of a table that are here and hold a key that was asked for.
    func related(_ table: Int, _ key: Int64) -> Related? {
        if let known = related[table], known.asked.contains(key) { return known }
        if let known = memberRows[table], known.asked.contains(key) { return known }
        return nil
    }

    /// Reads the rows of the members that follow one in the order of their owners, where this is not the first of them
    /// that is asked.
    func noteMember(_ key: Int64, table: Int) throws(MigrationError) {
        guard let list = listed[table], memberRows[table]?.asked.contains(key) != true else { return }
        guard !memberAsks.insert(table).inserted else { return }
        let wanted = Set(list.keys(from: key, atMost: rowLimit(table)))
        guard wanted.count > 1, let found = try read(wanted, table: table) else { return }
        if memberRows[table] == nil { makeRoom() }
        memberRows[table] = found
    }

    /// Rows of a table that may be here.
    private func rowLimit(_ table: Int) -> Int {
        max(
            8,
            session.rowCapacity(slots: session.layout.schema.tables[table].columns.count)
                / WindowRelations.most)
    }

    /// Lets rows go where as many tables have some as may.
    private func makeRoom() {
        guard related.count + memberRows.count >= WindowRelations.most else { return }
        related.removeAll()
        memberRows.removeAll()
    }

    /// Reads rows; nil where not one fits.
    private func read(_ wanted: Set<Int64>, table: Int) throws(MigrationError) -> Related? {
        let columns = session.layout.schema.tables[table].columns.count
        let keys = wanted.sorted()
        var batch = RowBatch(
            slots: columns, rowCapacity: rowLimit(table),
            byteTarget: max(4096, session.budget.batch / WindowRelations.most))
        guard
            let last = try session.source.rows(
                ofKeys: keys, table: table, columns: (0..<columns).map { .own($0) }, in: session.layout,
                streamed: Set(0..<columns), into: &batch)
        else { return nil }
        groupedReads += 1
        return Related(keys: keys[0]...last, asked: wanted.filter { $0 <= last }, batch: batch)
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
        let capacity = rowLimit(table)
        var wanted: Set<Int64> = [key]
        for next in references() where wanted.count < capacity { wanted.insert(next) }
        guard wanted.count > 1 else { return }
        guard let found = try read(wanted, table: table) else { return }
        if related[table] == nil { makeRoom() }
        related[table] = found
    }
}
