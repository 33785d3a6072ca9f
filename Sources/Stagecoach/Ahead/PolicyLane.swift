import Diagnostics
import Foundation
import Glibc
import ManagedModel
import Mapping

/// A second thread that calls a policy for the next source objects of a batch, while the first one calls it for those before
/// them.
///
/// Ahead it reads attributes of the batch and makes objects of its own, which have no keys yet. Where a call asks for
/// anything else, its thread waits until all calls before are done, its objects get the keys that they would have had, and
/// from there to the end of its part it works as the first thread does. So what comes of it never depends on the threads.
///
/// Memory: ``LaneResults``, and the thread's stack.
final class PolicyLane {
    /// How the lane's part of a round ended.
    struct Outcome {
        var migrated = 0
        var dropped = 0
        var unassociated = 0
        var filtered = 0
        /// Rows that were done before the turn was taken.
        var ahead = 0
        var error: (any Error)?
    }

    let failures = FailureRecord()
    private let creation: ObjectCreation
    private let runtime: StagedRuntime
    private let table: Int
    private let results: LaneResults
    private let gate = LaneGate()
    /// Of the mappings' expressions, when the lane's program was compiled.
    private let version = PropertyMapping.changes
    @exclusivity(unchecked) private var thread = pthread_self()
    /// Whether the lane's thread works ahead; it alone may ask.
    @exclusivity(unchecked) private var isWorkingAhead = false
    @exclusivity(unchecked) private var outcome = Outcome()
    /// The rows of the batch that are the lane's in this round.
    @exclusivity(unchecked) private var part = 0..<0
    /// The source object whose call is running, and the first association of that call.
    @exclusivity(unchecked) private var current: (key: Int64, firstPair: Int, firstRow: Int) = (0, 0, 0)
    /// Whether objects may have been associated outside of their own calls: lookups do not find all in the call's own.
    private var hasLatePairs = false
    private let sourceSide: ManagedObjectContext
    private let destinationSide: ManagedObjectContext

    /// Whether it is the lane's thread that asks, and it works ahead.
    var isAhead: Bool { pthread_equal(pthread_self(), thread) != 0 && isWorkingAhead }

    /// Starts the thread. ``end()`` has to be called.
    ///
    /// - Parameters:
    ///   - creation: what the first thread creates with.
    ///   - table: that of the source objects.
    init(creation: ObjectCreation, table: Int) {
        self.creation = creation
        self.table = table
        runtime = creation.runtime
        results = LaneResults(session: creation.runtime.session)
        sourceSide = runtime.sourceContext
        destinationSide = runtime.destinationContext
        sourceSide.lane = LaneSide(lane: self, backing: LaneSources(lane: self, sources: runtime.sources))
        destinationSide.lane = LaneSide(
            lane: self, backing: LaneDestinations(lane: self, objects: runtime.objects, results: results))
        runtime.lane = self
        let ready = DispatchSemaphore(value: 0)
        // The threads work in turns, or on what is each one's own.
        nonisolated(unsafe) let lane = self
        let work = Thread {
            lane.thread = pthread_self()
            ready.signal()
            lane.serve()
        }
        // As much as the first thread has: policies may nest deeply.
        work.stackSize = 8 << 20
        work.start()
        ready.wait()
    }

    /// Ends the thread.
    func end() {
        gate.end()
        runtime.lane = nil
        sourceSide.lane = nil
        destinationSide.lane = nil
    }

    // MARK: - The first thread

    /// Lets the lane work on rows of the batch at hand.
    func begin(_ rows: Range<Int>) {
        hasLatePairs = runtime.associations[creation.mapping.index].hasLatePairs
        gate.give(rows)
    }

    /// Takes what the lane has done, after the first thread's own part.
    ///
    /// - Parameter failed: whether that ended with an error: the lane's results are of no use.
    /// - Returns: how it ended, and whether it had been done already.
    /// - Throws: what writing rows and associations throws.
    func finish(failed: Bool) throws -> (outcome: Outcome, wasDone: Bool) {
        gate.finishOwn(failed: failed)
        let wasDone = gate.waitForLane()
        if !failed { try settle() }
        sourceSide.objectsAhead += outcome.ahead
        return (outcome, wasDone)
    }

    // MARK: - The lane's thread

    private func serve() {
        var scope = EvaluationScope.current
        nonisolated(unsafe) let lane = self
        scope.record = { lane.record($0) }
        EvaluationScope.$current.withValue(scope) {
            while let rows = gate.next() {
                work(rows)
                gate.finishLane()
            }
        }
        gate.finishLane()
    }

    private func record(_ error: any Error) {
        if isWorkingAhead { failures.record(error) } else { runtime.failures.record(error) }
    }

    private func work(_ rows: Range<Int>) {
        outcome = Outcome()
        part = rows
        isWorkingAhead = true
        var held: ManagedObject?
        do {
            for row in rows {
                if isWorkingAhead {
                    if gate.isLost { break }
                    try create(row, &held)
                    if isWorkingAhead { outcome.ahead += 1 }
                } else {
                    try creation.create(rows: row..<row + 1, table: table)
                }
            }
        } catch {
            outcome.error = error
        }
        held = nil
        isWorkingAhead = false
    }

    private func create(_ row: Int, _ held: inout ManagedObject?) throws {
        let sources = runtime.sources
        let key = sources.window.key(row)
        if try !creation.passes(row) {
            outcome.filtered += 1
            return
        }
        sourceSide.renew(&held, entity: creation.source, table: table, key: key)
        guard let object = held else { return }
        current = (key, results.pairs.count, results.total)
        try creation.call(object) {
            try failures.rethrow()
            if !isWorkingAhead { try runtime.failures.rethrow() }
        }
        let made = results.total > current.firstRow
        switch isWorkingAhead
            ? CreationOutcome(isAssociated: isAssociatedHere, hasMade: made) : runtime.endCreating()
        {
        case .migrated: outcome.migrated += 1
        case .unassociated: outcome.unassociated += 1
        case .dropped: outcome.dropped += 1
        }
    }

    /// Whether the source object whose call is running was associated in it.
    private var isAssociatedHere: Bool {
        results.pairs[current.firstPair...].contains { $0.sourceKey == current.key && $0.sourceTable == table }
    }

    /// Waits until all calls before this one are done; from then on the lane's thread works on what they have made.
    ///
    /// - Precondition: ``isAhead``.
    func takeTurn() {
        guard isAhead else { return }
        gate.waitForGiver()
        let isAssociated = isAssociatedHere
        let made = results.total - current.firstRow
        isWorkingAhead = false
        do {
            try settle()
            try failures.rethrow()
        } catch {
            runtime.failures.record(error)
        }
        runtime.beginCreating(creation.mapping.index, from: current.key, isAssociated: isAssociated, made: made)
    }

    /// Gives what was made ahead its keys.
    private func settle() throws {
        let first = try results.settle(into: runtime.objects)
        func settled(_ place: ObjectPlace) -> ObjectPlace {
            guard let base = first[place.table] else { return place }
            return ObjectPlace(
                entity: place.entity, key: base + (place.key - LaneResults.firstKey), table: place.table)
        }
        for pair in results.takePairs() {
            try runtime.addPair(
                table: pair.sourceTable, key: pair.sourceKey, settled(pair.destination), creation.mapping,
                call: pair.call)
        }
        if let side = sourceSide.lane {
            side.live.forEachObject { sourceSide.take($0) }
            side.live = LiveObjects()
        }
        if let side = destinationSide.lane {
            side.live.forEachObject { object in
                object.move(to: settled(object.place))
                destinationSide.take(object)
            }
            side.live = LiveObjects()
        }
    }

    // MARK: - What calls ask for

    /// What the default creation method does, ahead.
    ///
    /// - Returns: false where it has to wait for its turn.
    func createDefault(for source: ManagedObject, in mapping: EntityMapping) throws -> Bool {
        guard mapping === creation.mapping.mapping, version == PropertyMapping.changes,
            source.context === sourceSide, source.place.table == table,
            let row = runtime.sources.rowInWindow(table: table, key: source.place.key),
            let entity = creation.mapping.destination, !entity.isAbstract,
            let rows = results.room(inTable: creation.destinationTable)
        else { return false }
        let target = results.append(entity, to: rows)
        do throws(MigrationError) {
            try creation.program.attributes.run(
                runtime.sources.window, row: row, into: &rows.batch, destinationRow: target)
        } catch {
            // It is refused again, with the object's key.
            results.removeLast(entity, from: rows)
            return false
        }
        results.add(
            .init(
                sourceTable: table, sourceKey: source.place.key,
                destination: results.place(of: target, in: rows, entity), call: current.key))
        return true
    }

    /// Associates, ahead.
    ///
    /// - Returns: false where it has to wait for its turn.
    func associate(_ source: ManagedObject, _ destination: ManagedObject, _ mapping: EntityMapping) -> Bool {
        guard mapping === creation.mapping.mapping, source.context === sourceSide,
            destination.context === destinationSide, results.row(of: destination.place) != nil
        else { return false }
        results.add(
            .init(
                sourceTable: source.place.table, sourceKey: source.place.key, destination: destination.place,
                call: current.key))
        return true
    }

    /// The objects that the call at work has associated with its own source object; nil where it asks for others.
    func destinationInstances(_ name: String, _ sources: [ManagedObject]?) -> [ManagedObject]? {
        guard !hasLatePairs, name == creation.mapping.name, let sources, sources.count == 1,
            sources[0].context === sourceSide, sources[0].place.table == table, sources[0].place.key == current.key
        else { return nil }
        var found: [ManagedObject] = []
        for pair in results.pairs[current.firstPair...]
        where pair.sourceKey == current.key && pair.sourceTable == table {
            let object = destinationSide.object(at: pair.destination)
            if !found.contains(where: { $0 === object }) { found.append(object) }
        }
        return found
    }
}
