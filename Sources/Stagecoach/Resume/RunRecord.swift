import Diagnostics
import Foundation
import PersistentStore
import SpillStorage

/// What the journal of a run says: the first record what the run was begun with, later ones what was done.
enum RunRecord {
    static let headerKind: UInt32 = 2
    static let stateKind: UInt32 = 4
    static let publicationKind: UInt32 = 3

    /// What a run was begun with.
    struct Header {
        var inputs: MigrationPlan.Inputs
        /// Options beyond those of a plan that change what the destination holds, as the command spells them.
        var options: [String: String]
        /// Names and kinds of the policies, by entity mapping.
        var policies: [String: String]
        /// Digests of the libraries that the policies come from.
        var policyCode: [String]?
        /// Digests of the source's and the destination's model: of all that they say, which version hashes do not.
        var models: [String] = []
        /// A digest of the steps of the work, in order.
        var work: String
        /// Rows of the source by table and entity index, and those of no entity.
        var sourceRows: [[Int: Int]] = []
        var strays = 0
        /// What the destination's file was expected to have: ``MigrationPlan/Disk/destination``.
        var destinationBytes = 0
        /// Seconds since 2001 at which the run began: what `now()` is.
        var started: Double
        /// The destination's UUID.
        var uuid: String

        /// What differs from a run as it would be begun now, a sentence each.
        func differences(from now: Header) -> [String] {
            var lines = inputs.differences(from: now.inputs)
            for name in Set(options.keys).union(now.options.keys).sorted() where options[name] != now.options[name] {
                lines.append("\(name) is \(now.options[name] ?? "not given"), it was \(options[name] ?? "not given")")
            }
            for name in Set(policies.keys).union(now.policies.keys).sorted() where policies[name] != now.policies[name]
            {
                lines.append("the policy of \(name) changed")
            }
            if policyCode ?? [] != now.policyCode ?? [] { lines.append("the libraries of policies hold other code") }
            for (what, digests) in zip(["source", "destination"], zip(models, now.models)) where digests.0 != digests.1
            {
                guard !lines.contains(where: { $0.hasPrefix("the \(what) model: ") }) else { continue }
                lines.append("the \(what) model says something else, in what its version hashes do not cover")
            }
            if lines.isEmpty, work != now.work { lines.append("the work is cut in another way") }
            return lines
        }
    }

    /// Where the load of one table stands.
    struct LoadPosition {
        /// An entity mapping's rows so far.
        struct Mapping {
            var made: Int
            var highest: Int64
        }

        /// Whether all rows were appended.
        var isDone = false
        /// Which of the step's scans of source tables is under way.
        var scan = 0
        /// The last source key that it has read; nil: none.
        var after: Int64?
        /// Of the scan, by the mapping's index.
        var mappings: [Int: Mapping] = [:]
        /// Of the scan, or of a join table's links up to ``afterLink``.
        var references = ReferenceCounts()
        /// The highest key written in this step.
        var highest: Int64 = 0
        /// Links of a join table.
        var links = 0
        /// The source's link behind which the reading goes on, the key of the side that it goes by first; nil: it begins
        /// anew, and the links that were written are passed over.
        var afterLink: (first: Int64, second: Int64)?
    }

    /// What a session has counted.
    struct Progress {
        var counts: MigrationCounts
        var rowsWritten: [Int]
        var linksWritten: [Int]
        /// Z_MAX by destination table so far.
        var highest: [Int64]
        var missing: [Int: [ExternalFiles.Missing]]
        /// Rows that the progress has shown.
        var rows: Int
    }

    /// The store that is appended to, before the run.
    struct Appended {
        /// ``ExistingDestination/identity``.
        var identity: [Int64]
        /// By destination table.
        var highestKeys: [Int64]
        var hasRows: [Bool]
        /// Rows and links that it had.
        var rows: [Int]
        var links: [Int]
    }

    /// What the mapping models before the one at work left.
    struct Turns {
        /// Mapping models that have run.
        var done = 0
        /// Which destination tables had rows before each of them, and before the one at work.
        var hasRows: [[Bool]] = []
        /// Whether each of them ran in stages.
        var isStaged: [Bool] = []
        /// By destination table, before the one at work.
        var highestKeys: [Int64] = []
        var hasDeletions = false
        /// What they had counted and written; nil where none has run.
        var written: MigrationSession.Written?
        /// What they rejected, and in which destination tables; nil where nothing is rejected.
        var rejects: RejectReport?
        var rejectingTables: [Int] = []
        /// Whether nothing of the one at work has been done.
        var isAtBeginning = false
    }

    /// What was done, complete: nothing before it has to be read.
    struct State {
        /// The number that the store's file bears in this state.
        var stamp: Int64
        /// Steps of the work that are done.
        var unit: Int
        /// Where the step at work stands; nil: at its beginning.
        var position: LoadPosition?
        var progress: Progress
        var knowledge: DestinationStore.Knowledge
        /// Whether objects were rejected, and this is the load without them.
        var rejects: Rejects?
        /// The copy of the store as it was before the mapping model at work, where objects may be rejected.
        var before: Before?
        /// Whether rows may share the values of a uniqueness constraint.
        var hasDuplicates = false
        /// Whether the store is complete.
        var isComplete = false
        /// What the writer of the step's table needs; as bytes.
        var fill: [UInt8]?
        /// What the stages have made where user code runs; as bytes.
        var stages: [UInt8]?
        var turns = Turns()
        var appended: Appended?
        /// The associations of mapping models that have run, and references to what they did not migrate; as bytes.
        var models: [UInt8]?
        /// Those of the mapping model at work, where no user code runs in it.
        var references: [UInt8]?
        /// Whether ``fill`` names files of entries that are sorted for indexes.
        var namesSorts = false
        /// Files of external data that were made.
        var stagedFiles = 0
        /// States that were taken before it, those of earlier runs that it goes on from included.
        var ordinal = 0
    }

    /// A copy of the store that may be gone back to.
    struct Before {
        /// What was known of the store then.
        var knowledge: DestinationStore.Knowledge
        /// The number that it bears.
        var stamp: Int64
    }

    /// What the first of two loads told.
    struct Rejects {
        /// Rows that it made, valid or not.
        var made: Int
        var rounds: Int
        /// Rows and references that the second load has left out.
        var skippedRows = 0
        var removed = ReferenceCounts()
    }

    /// The files that are about to get their names.
    struct Publication: Codable {
        /// A file by its path, as it is named, and what it is.
        struct File: Codable, Equatable {
            var path: String
            var device: UInt64
            var inode: UInt64

            /// - Parameter part: where the file is before it is named.
            /// - Throws: `destination.io` (74), `destination.permission` (77).
            init(_ path: String, part: String) throws(MigrationError) {
                guard let status = try Self.status(part) else {
                    throw .writing("Publishing", path: part, otherwise: "destination.io", number: ENOENT)
                }
                self.path = path
                device = UInt64(status.st_dev)
                inode = UInt64(status.st_ino)
            }

            /// Whether the file has its name.
            ///
            /// - Throws: as making one.
            func isPlaced() throws(MigrationError) -> Bool {
                guard let now = try Self.status(path) else { return false }
                return UInt64(now.st_dev) == device && UInt64(now.st_ino) == inode
            }

            private static func status(_ path: String) throws(MigrationError) -> stat? {
                do throws(FileBytes.Failure) { return try FileBytes.status(path) } catch {
                    throw .writing(
                        "Looking for the destination", path: path, otherwise: "destination.io", number: error.number)
                }
            }
        }
        var store: File
        var results: [File]
        var report: MigrationReport
    }

    static func record(_ header: Header) -> RunJournal.Record {
        var writer = StateWriter(capacity: 4096)
        header.write(to: &writer)
        return RunJournal.Record(kind: headerKind, body: writer.bytes)
    }

    static func record(_ publication: Publication) throws -> RunJournal.Record {
        RunJournal.Record(kind: publicationKind, body: Array(try JSONEncoder().encode(publication)))
    }

    static func record(_ state: State) -> RunJournal.Record {
        let parts = [state.fill, state.stages, state.models, state.references]
        var writer = StateWriter(capacity: parts.reduce(4096) { $0 + ($1?.count ?? 0) })
        state.write(to: &writer)
        return RunJournal.Record(kind: stateKind, body: writer.bytes)
    }

    static func header(_ record: RunJournal.Record) -> Header? {
        guard record.kind == headerKind else { return nil }
        var reader = StateReader(record.body)
        return try? Header(from: &reader)
    }

    static func publication(_ record: RunJournal.Record) -> Publication? {
        guard record.kind == publicationKind else { return nil }
        return try? JSONDecoder().decode(Publication.self, from: Data(record.body))
    }

    static func state(_ record: RunJournal.Record) -> State? {
        guard record.kind == stateKind else { return nil }
        var reader = StateReader(record.body)
        return try? State(from: &reader)
    }
}
