import CoreDataStore
import Diagnostics
import Foundation
import Glibc
import SpillStorage

/// The contents of the work directory of an interrupted run: its header, its last states and its publication.
struct InterruptedRun {
    /// The end of the journal's sound records and the places of the records that still count. The records themselves are
    /// dropped.
    let journal: RunJournal.Contents
    /// The places of ``states`` in the journal.
    let statePlaces: [Int]
    let header: JournalRecord.Header
    /// The last states that were read, oldest first. Older ones were superseded before the newest was begun.
    let states: [JournalRecord.State]
    private(set) var publication: JournalRecord.Publication?
    /// True if the journal cannot be read, and all that is known is the second copy of the publication record.
    var isCopy = false

    /// The number of states that are read, on the first attempt and after damage was found. A run resumes from the last one, or
    /// from an earlier one if the last cannot be used.
    static let statesRead = (first: 2, again: 6)

    /// Reads the journal of a run. Returns nil if there is none or if its header cannot be read.
    ///
    /// - Parameter most: the maximum number of states to read.
    /// - Throws: `journal.io` (74).
    static func read(_ path: String, last most: Int = statesRead.first) throws(MigrationError) -> InterruptedRun? {
        // Each state is complete in itself, so damage before the last sound one does not matter.
        guard var contents = try RunJournal.read(path, last: most, skipsDamage: true),
            let header = contents.records.first.flatMap(JournalRecord.header)
        else { return nil }
        var states: [JournalRecord.State] = []
        var places: [Int] = []
        var publication: JournalRecord.Publication?
        for (record, place) in zip(contents.records, contents.places).dropFirst() {
            switch record.kind {
            case JournalRecord.stateKind:
                // A state that cannot be decoded is skipped, as if it had not been written.
                guard let state = JournalRecord.state(record) else { continue }
                states.append(state)
                places.append(place)
                publication = nil
            case JournalRecord.publicationKind: publication = JournalRecord.publication(record)
            // A kind of record that this program does not know: the records before it no longer hold.
            default: return nil
            }
        }
        // The states own their bytes, so the records are no longer needed.
        contents.records = []
        return InterruptedRun(
            journal: contents, statePlaces: places, header: header, states: states, publication: publication)
    }

    /// Tells whether the run published its store and was killed before it had cleaned up.
    ///
    /// - Throws: `destination.io` (74), `destination.permission` (77).
    func isPublished() throws(MigrationError) -> Bool { try publication?.store.isPlaced() ?? false }

    /// Removes the result files that had their names before the store had. They are made again.
    ///
    /// - Throws: `destination.io` (74), `destination.permission` (77).
    func withdrawResults() throws(MigrationError) {
        for file in publication?.results ?? [] where try file.isPlaced() { unlink(file.path) }
    }

    /// Tells whether nothing is left that could be resumed: the private store has become the destination or is not made yet, or
    /// the run reached publication and its record of that can no longer be read.
    ///
    /// - Throws: `destination.io` (74), `destination.permission` (77).
    func isOver(at place: DestinationPath) throws(MigrationError) -> Bool {
        if publication == nil, try DestinationPath.status(place.publicationPath) != nil { return true }
        return try DestinationPath.status(place.privateStorePath) == nil
    }

    /// Finds the state that matches the store, after rolling the store back to a sound state. A state whose files are gone or
    /// shorter than they were is passed over.
    ///
    /// - Parameter bound: states with this ordinal or a higher one are ignored.
    /// - Returns: the state, and an ordinal that no state in the journal exceeds; nil if the run starts anew.
    /// - Throws: `store.io` (74).
    func findState(
        in area: WorkArea, before bound: Int
    ) throws(MigrationError) -> (state: JournalRecord.State, ordinal: Int)? {
        let (store, vfs) = (area.storePath, area.vfsName)
        var whole: [JournalRecord.State] = []
        for state in states where state.ordinal < bound {
            if try area.holds(state.files) { whole.append(state) }
        }
        guard !whole.isEmpty, try DestinationPath.status(store) != nil,
            let stamp = try DestinationStore.recover(store, vfs: vfs),
            let state = whole.last(where: { $0.stamp == stamp })
        else { return nil }
        return (state, states.reduce(bound < .max ? bound : state.ordinal) { max($0, $1.ordinal) })
    }

    /// Returns the run as it was when it had written a state.
    ///
    /// Later states describe transactions that were never committed, or were found damaged. A run that resumes from this one
    /// must not keep them in its place: if it is killed as well, the file may fit this state only.
    func through(_ state: JournalRecord.State) -> InterruptedRun {
        guard let index = states.firstIndex(where: { $0.ordinal == state.ordinal }) else { return self }
        return InterruptedRun(
            journal: journal.through(statePlaces[index]), statePlaces: Array(statePlaces[...index]), header: header,
            states: Array(states[...index]))
    }

    /// Reads the interrupted run to a destination. Returns nil if there is none. If the journal lacks the publication
    /// record or cannot be read, the record's copy tells which result files had their names already.
    ///
    /// - Parameters:
    ///   - area: the work area of the destination; nil if it is not taken yet.
    ///   - most: the maximum number of states to read.
    /// - Throws: `journal.io`, `destination.io` (74), `destination.permission` (77); `folder.foreign` (77) if the work directory
    ///   is not the user's own.
    static func read(
        beside place: DestinationPath, in area: WorkArea? = nil, last most: Int = statesRead.first
    ) throws(MigrationError) -> InterruptedRun? {
        if area == nil { _ = try OwnFolder(place.workDirectory, elsewhere: DestinationPath.elsewhere) }
        let run = try read(area?.runJournalPath ?? place.journalPath, last: most)
        if let run, try run.isPublished() { return run }
        var copy = try read(area?.publicationPath ?? place.publicationPath)
        let last = OwnFolder.isOwnFile(place.lastJournalPath) ? try read(place.lastJournalPath) : nil
        for found in [copy, last] {
            if let found, try found.isPublished() { return found }
        }
        guard var run else {
            copy?.isCopy = true
            return copy
        }
        run.publication = run.publication ?? copy?.publication
        return run
    }

    /// Writes the second copy of a publication record without syncing it. The copy survives a kill of the process; after a
    /// failure of the machine the journal itself is used.
    static func writeCopy(
        _ path: String, _ header: JournalRecord.Header, _ publication: RunJournal.Record
    ) throws(MigrationError) {
        let copy = try RunJournal(creating: path)
        for record in [JournalRecord.record(header), publication] { try copy.append(record, synchronizes: false) }
    }

    // MARK: - Words

    /// Returns the error of a run that differs from the interrupted one.
    static func changed(_ differences: String, at path: String) -> MigrationError {
        MigrationError(
            "resume.changed", .configuration,
            "A run to this destination was interrupted, and this one differs from it: " + differences,
            remedy: "Run the interrupted command again to resume it, or give --restart to begin anew",
            context: .init(path: path))
    }

    /// The reason why a journal that is there cannot be read.
    static let unreadable = "it is damaged, or of another version of this program"

    /// Returns the note of a run that cannot resume the interrupted one.
    static func beginningAnew(_ reason: String) -> String {
        "The journal of the killed run could not be used: \(reason); the migration began anew"
    }
}
