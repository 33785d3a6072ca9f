import Diagnostics
import SpillStorage

/// What a run that did not end left in its work directory.
struct EarlierRun {
    /// Where the journal's sound records end, and the places of those that still count; not what they say.
    let journal: RunJournal.Contents
    /// Where the last states stand.
    let statePlaces: [Int]
    let header: RunRecord.Header
    /// The last two: an earlier one was replaced by a later one before this was begun.
    let states: [RunRecord.State]
    let publication: RunRecord.Publication?

    /// Reads the journal of a run; nil where there is none that says anything.
    ///
    /// - Throws: `journal.io` (74).
    static func read(_ path: String) throws(MigrationError) -> EarlierRun? {
        guard var contents = try RunJournal.read(path, last: 2), !contents.isDamaged,
            let header = contents.records.first.flatMap(RunRecord.header)
        else { return nil }
        var states: [RunRecord.State] = []
        var publication: RunRecord.Publication?
        for record in contents.records.dropFirst() {
            if let state = RunRecord.state(record) {
                states.append(state)
                publication = nil
            } else if let found = RunRecord.publication(record) {
                publication = found
            } else {
                // A record that this program does not read: what came before it does not hold any more.
                return nil
            }
        }
        let places = zip(contents.records, contents.places).filter { $0.0.kind == RunRecord.stateKind }.map(\.1)
        // States hold their bytes themselves.
        contents.records = []
        return EarlierRun(
            journal: contents, statePlaces: places, header: header, states: states, publication: publication)
    }

    /// Whether the run published its store, and died before it had cleaned up.
    ///
    /// - Throws: `destination.io` (74), `destination.permission` (77).
    func isPublished() throws(MigrationError) -> Bool { try publication?.store.isPlaced() ?? false }

    /// Whether a state names spill files.
    var namesFiles: Bool {
        states.contains { $0.stages != nil || $0.models != nil || $0.references != nil || $0.namesSorts }
    }

    /// The state that the store's file is in.
    func state(bearing stamp: Int64) -> RunRecord.State? { states.last { $0.stamp == stamp } }

    /// The path of the journal of a run to a destination.
    static func journalPath(_ place: DestinationPath) -> String { "\(place.workDirectory)/run.journal" }

    /// Where the journal of a run stands that has published its store and is about to end: beside the work directory,
    /// which goes before it. Without the journal the same command would append once more.
    static func lastJournalPath(_ place: DestinationPath) -> String { "\(place.workDirectory)-done" }

    /// What a run to a destination left that did not end.
    ///
    /// - Throws: `journal.io`, `destination.io` (74), `destination.permission` (77).
    static func read(beside place: DestinationPath) throws(MigrationError) -> EarlierRun? {
        if let run = try read(journalPath(place)) { return run }
        guard let last = try read(lastJournalPath(place)), try last.isPublished() else { return nil }
        return last
    }
}
