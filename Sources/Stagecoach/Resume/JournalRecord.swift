import CoreDataStore
import Diagnostics
import Foundation
import SpillStorage

/// The records of a run's journal: first a header with the inputs of the run, then states and at last a publication.
enum JournalRecord {
    static let headerKind: UInt32 = 2
    static let stateKind: UInt32 = 4
    static let publicationKind: UInt32 = 3

    /// The inputs with which a run was begun.
    struct Header {
        var inputs: MigrationPlan.Inputs
        /// The options beyond those of a plan that change the contents of the destination, spelled as in the command.
        var options: [String: String]
        /// The names and kinds of the policies, by entity mapping.
        var policies: [String: String]
        /// The digests of the libraries that contain the policies.
        var policyCode: [String]?
        /// The digests of the source model and the destination model. They cover the whole definition, unlike version hashes.
        var models: [String] = []
        /// A digest of the steps of the work, in order.
        var work: String
        /// The row counts of the source, by table and entity index. ``strays`` counts the rows that belong to no entity.
        var sourceRows: [[Int: Int]] = []
        var strays = 0
        /// The expected size of the destination's file: ``MigrationPlan/Disk/destination``.
        var destinationBytes = 0
        /// The time at which the run began, in seconds since 2001; the value of `now()`.
        var started: Double
        /// The UUID of the destination.
        var uuid: String

        /// Returns the differences between this header and that of a run begun now, one sentence each.
        func differences(from now: Header) -> [String] {
            var lines = inputs.differences(from: now.inputs)
            for name in Set(options.keys).union(now.options.keys).sorted() where options[name] != now.options[name] {
                lines.append(
                    "\(name) was \(options[name] ?? "not given"), and is \(now.options[name] ?? "not given") now")
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

    /// The counts of a run.
    struct Progress {
        var counts = MigrationCounts()
        var rowsWritten: [Int] = []
        var linksWritten: [Int] = []
        /// Z_MAX so far, by destination table.
        var highest: [Int64] = []
        var missing: [Int: [ExternalFiles.Missing]] = [:]
        /// The work that the progress display has counted.
        var work = 0
    }

    /// The store that is appended to, as it was before the run.
    struct Appended {
        /// The store's ``ExistingDestination/identity``.
        var identity: [Int64] = []
        /// The highest keys, by destination table.
        var highestKeys: [Int64] = []
        var hasRows: [Bool] = []
        /// The numbers of rows and links before the run.
        var rows: [Int] = []
        var links: [Int] = []
    }

    /// The results of the mapping models that ran before the current one.
    struct ModelProgress {
        /// The number of mapping models that have finished.
        var done = 0
        /// The destination tables that had rows before each finished mapping model, and before the current one.
        var hasRows: [[Bool]] = []
        /// True for each finished mapping model that ran in stages.
        var isStaged: [Bool] = []
        /// The highest keys before the current mapping model, by destination table.
        var highestKeys: [Int64] = []
        var hasDeletions = false
        /// The counts and written rows of the finished mapping models; nil if none has finished.
        var written: RunTally.Written?
        /// The objects rejected by the finished mapping models; nil if nothing is rejected. ``rejectingTables`` names their
        /// destination tables.
        var rejects: RejectReport?
        var rejectingTables: [Int] = []
        /// True if the current mapping model has done no work yet.
        var isAtBeginning = false
    }

    /// A complete record of the work done so far. Nothing in the journal before it has to be read.
    struct State {
        /// The stamp that the store's file bears in this state.
        var stamp: Int64 = 0
        /// The number of units of the load that are done.
        var unit = 0
        /// The number of the file's pages, if pages fill it: what lies behind them is cut off; nil if SQLite alone writes.
        var pages: Int?
        var progress = Progress()
        var knowledge = DestinationStore.Knowledge()
        /// The results of the first load, if objects were rejected and this is the load without them.
        var rejects: Rejects?
        /// The copy of the store from before the current mapping model, if objects may be rejected.
        var before: Before?
        /// True if rows may share the values of a uniqueness constraint.
        var hasDuplicates = false
        /// True if the store is complete.
        var isComplete = false
        /// The encoded results of the stages, if the mapping model has user code.
        var stages: [UInt8]?
        var modelProgress = ModelProgress()
        var appended: Appended?
        /// The encoded associations and unmigrated references of the finished mapping models.
        var models: [UInt8]?
        /// The encoded unmigrated references of the current mapping model, if it has no user code.
        var references: [UInt8]?
        /// The numbers of values that were counted while rows were read, by source table.
        var countedValues: [Int: [Int]] = [:]
        /// The number of external data files that were made.
        var stagedFiles = 0
        /// The files beside the store that the state needs, by name, with their sizes at the time.
        var files: [String: Int] = [:]
        /// The number of states taken before this one, including those of the interrupted runs that this run resumes.
        var ordinal = 0
    }

    /// A copy of the store to which the load may return.
    struct Before {
        /// The knowledge of the store at the time of the copy.
        var knowledge = DestinationStore.Knowledge()
        /// The stamp that the copy bears.
        var stamp: Int64 = 0
        /// The number of the copy's pages, as in a state.
        var pages: Int?
    }

    /// The results of the loads before a load without rejected objects.
    struct Rejects {
        /// The number of rows that the first load made, valid or not.
        var made = 0
        var rounds = 0
        /// The rows that the load has left out so far.
        var skippedRows = 0
        /// The greatest stamp of the loads before.
        var stamp: Int64 = 0
    }

    /// The files that are about to be renamed to their final paths, and the report.
    struct Publication: Codable {
        /// A file, identified by its final path, its device and its inode.
        struct File: Codable, Equatable {
            var path: String
            var device: UInt64
            var inode: UInt64

            /// - Parameter part: the path of the file before it is renamed.
            /// - Throws: `destination.io` (74), `destination.permission` (77).
            init(_ path: String, part: String) throws(MigrationError) {
                guard let status = try DestinationPath.status(part, followsLinks: true) else {
                    throw .writing("Publishing", path: part, otherwise: "destination.io", number: ENOENT)
                }
                self.path = path
                device = UInt64(status.st_dev)
                inode = UInt64(status.st_ino)
            }

            /// Tells whether the file is at its final path.
            ///
            /// - Throws: `destination.io` (74), `destination.permission` (77).
            func isPlaced() throws(MigrationError) -> Bool {
                guard let now = try DestinationPath.status(path, followsLinks: true) else { return false }
                return UInt64(now.st_dev) == device && UInt64(now.st_ino) == inode
            }
        }
        var store: File
        var results: [File]
        var report: MigrationReport
    }

    static func record(_ header: Header) -> RunJournal.Record {
        RunJournal.Record(kind: headerKind, body: StateCoder.bytes(of: header))
    }

    static func record(_ publication: Publication) throws -> RunJournal.Record {
        RunJournal.Record(kind: publicationKind, body: Array(try JSONEncoder().encode(publication)))
    }

    static func record(_ state: State) -> RunJournal.Record {
        let parts = [state.stages, state.models, state.references]
        let capacity = parts.reduce(4096) { $0 + ($1?.count ?? 0) }
        return RunJournal.Record(kind: stateKind, body: StateCoder.bytes(of: state, capacity: capacity))
    }

    static func header(_ record: RunJournal.Record) -> Header? {
        record.kind == headerKind ? try? StateCoder.value(Header.self, from: record.body) : nil
    }

    static func publication(_ record: RunJournal.Record) -> Publication? {
        guard record.kind == publicationKind else { return nil }
        return try? JSONDecoder().decode(Publication.self, from: Data(record.body))
    }

    static func state(_ record: RunJournal.Record) -> State? {
        record.kind == stateKind ? try? StateCoder.value(State.self, from: record.body) : nil
    }
}
