import CoreDataStore
import Diagnostics
import Rows

/// The rows and members that the objects in a window refer to, read for many objects at once.
///
/// A policy that follows a relationship of each object then costs a few queries a window instead of one an object. The
/// first object of a window is read alone: reading ahead pays only if a second one is asked for. Memory: an allowance
/// for each of at most ``most`` to-many relationships and as many tables.
final class WindowRelations {
    static let most = 4

    /// Members of many owners.
    final class Members {
        /// The owners whose members are complete: a range of keys, or some keys.
        private let owners: ClosedRange<Int64>
        private let asked: Set<Int64>?
        private let starts: [Int64: Range<Int>]
        private let members: [Member]
        /// The position from which the next search for a member starts.
        private var next = 0

        init(
            owners: ClosedRange<Int64> = 0...0, asked: Set<Int64>? = nil, starts: [Int64: Range<Int>], members: [Member]
        ) {
            self.owners = owners
            self.asked = asked
            self.starts = starts
            self.members = members
        }

        func holds(_ owner: Int64) -> Bool { asked?.contains(owner) ?? owners.contains(owner) }

        func members(of owner: Int64) -> ArraySlice<Member> { starts[owner].map { members[$0] } ?? [] }

        /// Returns keys of members from a given one on, in the order of their owners; empty if it is no member's.
        ///
        /// - Complexity: O(1) if the keys are asked for in order.
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
        /// The keys that were asked for.
        let asked: Set<Int64>
        var batch: RowBatch

        init(asked: Set<Int64>, batch: consuming RowBatch) {
            self.asked = asked
            self.batch = batch
        }

        /// Returns the position of a row; nil if it was not read.
        func row(_ key: Int64) -> Int? { asked.contains(key) ? batch.row(ofKey: key) : nil }
    }

    let run: MigrationRun
    /// The number of queries that read for several objects.
    var groupedReads = 0
    private var asks: [PropertyReference: Int] = [:]
    var members: [PropertyReference: Members] = [:]
    private var related: [Int: Related] = [:]
    /// The members read last, by their table, and the rows of members that were asked for.
    var listed: [Int: Members] = [:]
    private var memberRows: [Int: Related] = [:]
    private var memberAsks: Set<Int> = []
    private var firstKey: Int64?

    init(run: MigrationRun) { self.run = run }

    /// The largest number of members kept for a relationship.
    var memberLimit: Int { max(64, run.inputs.budget.batch / 64 / WindowRelations.most) }

    /// Discards everything if the window has moved on.
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

    /// Tells whether a relationship was asked for before in this window.
    func isAskedAgain(_ reference: PropertyReference) -> Bool {
        let count = asks[reference, default: 0] + 1
        asks[reference] = count
        return count > 1
    }

    // MARK: - To-many

    /// Returns the members of an owner, if they were read or are worth reading together with those of other owners; nil
    /// if they have to be read alone.
    ///
    /// - Parameters:
    ///   - table: the members' table.
    ///   - last: the greatest key in the window.
    ///   - open: reads the members of a range of owners.
    func members(
        of owner: Int64, _ reference: PropertyReference, table: Int, last: Int64,
        open: (ClosedRange<Int64>) throws(MigrationError) -> MemberCursor?
    ) throws(MigrationError) -> ArraySlice<Member>? {
        if let known = members[reference], known.holds(owner) { return known.members(of: owner) }
        guard isAskedAgain(reference), owner < last, let cursor = try open(owner...last) else { return nil }
        groupedReads += 1
        var found: [Member] = []
        var starts: [Int64: Range<Int>] = [:]
        var current: Int64?
        var begin = 0
        var through = last
        while let (next, member) = try cursor.nextOfOwner() {
            if next != current {
                if let current { starts[current] = begin..<found.count }
                current = next
                begin = found.count
            }
            guard found.count < memberLimit else {
                // The last owner's members are incomplete.
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

    /// Returns the rows of a table that were read, if they were asked for a given key.
    func related(_ table: Int, _ key: Int64) -> Related? {
        if let known = related[table], known.asked.contains(key) { return known }
        if let known = memberRows[table], known.asked.contains(key) { return known }
        return nil
    }

    /// Reads the rows of a member and of those after it in the order of their owners, if it is not the first asked for.
    func noteMember(_ key: Int64, table: Int) throws(MigrationError) {
        guard let list = listed[table], memberRows[table]?.asked.contains(key) != true else { return }
        guard !memberAsks.insert(table).inserted else { return }
        let wanted = Set(list.keys(from: key, atMost: rowLimit(table)))
        guard wanted.count > 1, let found = try read(wanted, table: table) else { return }
        if memberRows[table] == nil { makeRoom() }
        memberRows[table] = found
    }

    /// Returns the largest number of rows of a table to hold.
    private func rowLimit(_ table: Int) -> Int {
        let slots = run.inputs.layout.schema.tables[table].columns.count
        return max(8, run.inputs.rowCapacity(slots: slots) / WindowRelations.most)
    }

    /// Discards all rows if the largest number of tables has some.
    private func makeRoom() {
        guard related.count + memberRows.count >= WindowRelations.most else { return }
        related.removeAll()
        memberRows.removeAll()
    }

    /// Reads rows; nil if not even one fits.
    private func read(_ wanted: Set<Int64>, table: Int) throws(MigrationError) -> Related? {
        let columns = run.inputs.layout.schema.tables[table].columns.count
        var batch = RowBatch(
            slots: columns, rowCapacity: rowLimit(table),
            byteTarget: max(4096, run.inputs.budget.batch / WindowRelations.most))
        guard
            let last = try run.inputs.source.rows(
                ofKeys: wanted.sorted(), table: table, columns: (0..<columns).map { .own($0) }, in: run.inputs.layout,
                streamed: Set(0..<columns), into: &batch)
        else { return nil }
        groupedReads += 1
        return Related(asked: wanted.filter { $0 <= last }, batch: batch)
    }

    /// Reads the rows that a window's rows refer to, if the relationship was asked for before.
    ///
    /// - Parameters:
    ///   - key: the key that is asked for now.
    ///   - table: the table referred to.
    ///   - references: returns the keys in the rows of the window, from the current row on.
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
