import CCrashNote
import Diagnostics
import Foundation
import Glibc
import ManagedModel
import Mapping

/// A second thread that calls a policy for later source objects of a batch while the first thread calls it for earlier ones.
///
/// Ahead of its turn, the lane reads attributes of the batch and makes objects of its own, which have no keys yet. If a call
/// asks for anything else, the lane waits until all earlier calls are done. Then its objects get the keys that they would have
/// had without the lane, and for the rest of its part it works as the first thread does. So the result never depends on the
/// threads.
///
/// Memory: ``ConcurrentResults``, and the thread's stack.
final class ConcurrentCaller {
    /// The result of the lane's part of a round.
    struct Outcome {
        var migrated = 0
        var dropped = 0
        var unassociated = 0
        var filtered = 0
        /// The number of rows that were done before the lane took its turn.
        var ahead = 0
        var error: (any Error)?
    }

    private let turn = ConcurrentTurn()
    private let creation: ObjectCreation
    private let runtime: PolicyRuntime
    private let table: Int
    private let results: ConcurrentResults
    private let gate = TurnGate()
    /// The version of the mappings' expressions when the lane's program was compiled.
    private let version = PropertyMapping.changes
    @exclusivity(unchecked) private var outcome = Outcome()
    /// The rows of the batch that the lane processes in this round.
    @exclusivity(unchecked) private var part = 0..<0
    /// The source object of the current call, and the numbers of associations and rows when the call began.
    @exclusivity(unchecked) private var current: (key: Int64, firstPair: Int, firstRow: Int) = (0, 0, 0)
    /// True if objects may have been associated outside their own calls. Then a call's own associations do not answer its
    /// lookups.
    private var hasLatePairs = false
    private let sourceSide: ManagedObjectContext
    private let destinationSide: ManagedObjectContext

    /// True if the caller is the lane's thread and works ahead of its turn.
    var isAhead: Bool { turn.isAhead }
    var failures: FailureRecord { turn.failures }

    /// Starts the thread. ``end()`` must be called.
    ///
    /// - Parameters:
    ///   - creation: the creation that the first thread uses.
    ///   - table: the table of the source objects.
    init(creation: ObjectCreation, table: Int) {
        self.creation = creation
        self.table = table
        runtime = creation.runtime
        results = ConcurrentResults(modelRun: creation.runtime.modelRun)
        sourceSide = runtime.sourceContext
        destinationSide = runtime.destinationContext
        sourceSide.lane = ConcurrentView(turn: turn, backing: ConcurrentSources(lane: self, sources: runtime.sources))
        destinationSide.lane = ConcurrentView(
            turn: turn, backing: ConcurrentDestinations(lane: self, objects: runtime.objects, results: results))
        runtime.lane = self
        turn.take = { [unowned self] in takeTurn() }
        let ready = DispatchSemaphore(value: 0)
        // The threads work in turns, or on data of their own.
        nonisolated(unsafe) let (lane, note) = (self, crash_note_of_thread().pointee)
        let work = Thread {
            lane.turn.thread = pthread_self()
            crash_note_of_thread().pointee = note
            ready.signal()
            lane.serve()
            crash_note_clear()
        }
        // The same size as the first thread's stack, because policies may nest deeply.
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

    /// Lets the lane work on rows of the current batch.
    func begin(_ rows: Range<Int>) {
        hasLatePairs = runtime.associations[creation.mapping.index].hasLatePairs
        gate.give(rows)
    }

    /// Takes the lane's results, after the first thread's own part.
    ///
    /// - Parameter failed: true if that part ended with an error; the lane's results are discarded then.
    /// - Returns: the outcome of the lane's part, and whether it was already done.
    /// - Throws: the errors of writing rows and associations.
    func finish(failed: Bool) throws -> (outcome: Outcome, wasDone: Bool) {
        gate.finishOwn(failed: failed)
        let wasDone = gate.waitForLane()
        if !failed { try handOver() }
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
        if turn.isWorkingAhead { failures.record(error) } else { runtime.failures.record(error) }
    }

    private func work(_ rows: Range<Int>) {
        outcome = Outcome()
        part = rows
        turn.isWorkingAhead = true
        var held: ManagedObject?
        do {
            for row in rows {
                if turn.isWorkingAhead {
                    if gate.isLost { break }
                    try create(row, &held)
                    if turn.isWorkingAhead { outcome.ahead += 1 }
                } else {
                    try creation.create(rows: row..<row + 1, table: table)
                }
            }
        } catch {
            outcome.error = error
        }
        held = nil
        turn.isWorkingAhead = false
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
            if !turn.isWorkingAhead { try runtime.failures.rethrow() }
        }
        let made = results.total > current.firstRow
        switch turn.isWorkingAhead
            ? CreationOutcome(isAssociated: isAssociatedHere, hasMade: made) : runtime.endCreating()
        {
        case .migrated: outcome.migrated += 1
        case .unassociated: outcome.unassociated += 1
        case .dropped: outcome.dropped += 1
        }
    }

    /// True if the source object of the current call was associated in that call.
    private var isAssociatedHere: Bool {
        results.pairs[current.firstPair...].contains { $0.sourceKey == current.key && $0.sourceTable == table }
    }

    /// Waits until all earlier calls are done. From then on the lane's thread works on the shared objects.
    ///
    /// - Precondition: ``isAhead``.
    func takeTurn() {
        guard isAhead else { return }
        gate.waitForGiver()
        let isAssociated = isAssociatedHere
        let made = results.total - current.firstRow
        turn.isWorkingAhead = false
        do {
            try handOver()
            try failures.rethrow()
        } catch {
            runtime.failures.record(error)
        }
        runtime.beginCreating(creation.mapping.index, from: current.key, isAssociated: isAssociated, made: made)
    }

    /// Gives the rows that were made ahead their keys, and moves objects and associations to the shared structures.
    private func handOver() throws {
        let first = try results.append(to: runtime.objects)
        func finalPlace(of place: ObjectPlace) -> ObjectPlace {
            guard let base = first[place.table] else { return place }
            return ObjectPlace(
                entity: place.entity, key: base + (place.key - ConcurrentResults.firstKey), table: place.table)
        }
        for pair in results.takePairs() {
            try runtime.addPair(
                table: pair.sourceTable, key: pair.sourceKey, finalPlace(of: pair.destination), creation.mapping,
                call: pair.call)
        }
        if let side = sourceSide.lane {
            side.live.forEachObject { sourceSide.take($0) }
            side.live = LiveObjects()
        }
        if let side = destinationSide.lane {
            side.live.forEachObject { object in
                object.move(to: finalPlace(of: object.place))
                destinationSide.take(object)
            }
            side.live = LiveObjects()
        }
    }

    // MARK: - Requests of calls

    /// Performs the default creation method ahead of the lane's turn.
    ///
    /// - Returns: false if the call has to wait for its turn.
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
            // The object is refused again in its turn, in an error with its final key.
            results.removeLast(entity, from: rows)
            return false
        }
        results.add(
            .init(
                sourceTable: table, sourceKey: source.place.key,
                destination: results.place(of: target, in: rows, entity), call: current.key))
        return true
    }

    /// Associates two objects ahead of the lane's turn.
    ///
    /// - Returns: false if the call has to wait for its turn.
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

    /// Returns the objects that the current call has associated with its own source object. Returns nil if the call asks for
    /// others.
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
