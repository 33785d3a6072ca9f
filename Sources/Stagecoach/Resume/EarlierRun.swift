import Diagnostics
import Foundation
import SpillStorage

/// What a run that did not end left in its work directory.
struct EarlierRun {
    /// Where the journal's sound records end, and the places of those that still count; not what they say.
    let journal: RunJournal.Contents
    /// Where the last states stand.
    let statePlaces: [Int]
    let header: RunRecord.Header
    /// The last ones: an earlier one was replaced by a later one before this was begun.
    let states: [RunRecord.State]
    let publication: RunRecord.Publication?

    /// States that are looked at. A run goes on from the last one; where it cannot, from one before it.
    static let statesRead = (first: 2, again: 6)

    /// Reads the journal of a run; nil where there is none that says anything.
    ///
    /// - Parameter most: how many states are read at most.
    /// - Throws: `journal.io` (74).
    static func read(_ path: String, last most: Int = statesRead.first) throws(MigrationError) -> EarlierRun? {
        // Each state is a whole one: damage before the last sound one does not matter.
        guard var contents = try RunJournal.read(path, last: most, skipsDamage: true),
            let header = contents.records.first.flatMap(RunRecord.header)
        else { return nil }
        var states: [RunRecord.State] = []
        var places: [Int] = []
        var publication: RunRecord.Publication?
        for (record, place) in zip(contents.records, contents.places).dropFirst() {
            switch record.kind {
            case RunRecord.stateKind:
                // One that says nothing is passed over, as if it had not been written.
                guard let state = RunRecord.state(record) else { continue }
                states.append(state)
                places.append(place)
                publication = nil
            case RunRecord.publicationKind: publication = RunRecord.publication(record)
            // A record that this program does not read: what came before it does not hold any more.
            default: return nil
            }
        }
        // States hold their bytes themselves.
        contents.records = []
        return EarlierRun(
            journal: contents, statePlaces: places, header: header, states: states, publication: publication)
    }

    /// Whether the run published its store, and died before it had cleaned up.
    ///
    /// - Throws: `destination.io` (74), `destination.permission` (77).
    func isPublished() throws(MigrationError) -> Bool { try publication?.store.isPlaced() ?? false }

    /// True where the run came as far as publishing, and what it said of that cannot be read any more: where a store stands at the
    /// destination, it is the run's.
    func hasLostPublication(to place: DestinationPath) -> Bool {
        publication == nil && FileManager.default.fileExists(atPath: Self.publicationPath(place))
    }

    /// Whether a state names spill files.
    var namesFiles: Bool {
        states.contains { $0.stages != nil || $0.models != nil || $0.references != nil || $0.namesSorts }
    }

    /// The state that the store's file is in.
    ///
    /// - Parameter bound: states from this number on are passed over.
    func state(bearing stamp: Int64, before bound: Int = .max) -> RunRecord.State? {
        states.last { $0.stamp == stamp && $0.ordinal < bound }
    }

    /// The path of the journal of a run to a destination.
    static func journalPath(_ place: DestinationPath) -> String { "\(place.workDirectory)/run.journal" }

    /// The second copy of what a run says that is about to publish: without it, a damaged journal would let an append that was
    /// published be appended once more.
    static func publicationPath(_ place: DestinationPath) -> String { "\(place.workDirectory)/run.publication" }

    /// Where the journal of a run stands that has published its store and is about to end: beside the work directory,
    /// which goes before it. Without the journal the same command would append once more.
    static func lastJournalPath(_ place: DestinationPath) -> String { "\(place.workDirectory)-done" }

    /// What a run to a destination left that did not end.
    ///
    /// - Parameter most: how many states are read at most.
    /// - Throws: `journal.io`, `destination.io` (74), `destination.permission` (77).
    static func read(
        beside place: DestinationPath, last most: Int = statesRead.first
    ) throws(MigrationError) -> EarlierRun? {
        let run = try read(journalPath(place), last: most)
        if let run, try run.isPublished() { return run }
        for path in [publicationPath(place), lastJournalPath(place)] {
            for published in [try readCopy(path), try read(path)] {
                if let published, try published.isPublished() { return published }
            }
        }
        return run
    }

    /// Writes the second copy of a publication. Nothing waits for it: it is there after the process was killed, and the
    /// journal holds after the machine failed.
    static func writeCopy(
        _ path: String, _ header: RunRecord.Header, _ publication: RunJournal.Record
    ) throws(MigrationError) {
        var writer = StateWriter()
        writer.write(bytes: RunRecord.record(header).body)
        writer.write(bytes: publication.body)
        try RecordSlot(path).write(writer.bytes)
    }

    /// Reads the second copy of a publication; nil where none is sound.
    private static func readCopy(_ path: String) throws(MigrationError) -> EarlierRun? {
        guard let bytes = try RecordSlot.read(path) else { return nil }
        var reader = StateReader(bytes)
        guard let first = try? reader.block(), let last = try? reader.block(),
            let header = RunRecord.header(.init(kind: RunRecord.headerKind, body: first)),
            let publication = RunRecord.publication(.init(kind: RunRecord.publicationKind, body: last))
        else { return nil }
        return EarlierRun(
            journal: RunJournal.Contents(), statePlaces: [], header: header, states: [], publication: publication)
    }
}
