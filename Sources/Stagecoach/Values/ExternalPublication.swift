import CSQLite
import CoreDataStore
import Diagnostics
import Glibc
import SpillStorage

/// The publication of external binary data files, as a part of the single step that publishes the store.
///
/// Before the store is renamed, its files are in the destination's folder under unused names, synced. After that, files that an
/// appended store no longer needs are removed. A journal in the work directory lists both. A run that fails removes its files
/// again; the files of a killed run are removed by the next run to the destination. Memory: one name at a time.
final class ExternalPublication {
    private let files: ExternalFiles
    private let journal: ExternalJournal
    private let area: WorkArea
    /// The names of the files to which the store referred before it was appended to; nil for a fresh destination. They are in a
    /// file of the work directory, where a resumed run finds them.
    private var previous: Connection?

    init(files: ExternalFiles, area: WorkArea) {
        self.files = files
        self.area = area
        journal = ExternalJournal(path: area.journalPath, folder: files.destination)
    }

    /// Refuses a destination whose folder for external data cannot be used.
    ///
    /// - Parameter permissions: the permissions of a fresh store.
    /// - Throws: `external.folder` (65); `folder.foreign` (77) if another user could change what is in it.
    static func check(_ path: String, permissions: FilePermissions) throws(MigrationError) {
        let store = try DestinationPath.status(path)
        _ = try ExternalFolder(store: path).opened(owner: store?.st_uid, mode: store?.st_mode ?? permissions.file)
    }

    /// Records the files to which a store refers that will be appended to.
    ///
    /// - Parameters:
    ///   - path: the private copy of the store.
    ///   - resumes: true if an interrupted run has recorded them; the copy already has new rows then.
    /// - Complexity: O(rows) of tables with external columns.
    func noteExisting(_ path: String, resumes: Bool) throws(MigrationError) {
        guard files.isUsed else { return }
        if !resumes { try FileSystem.remove(area.previousFilesPath) }
        let list = try Connection(path: area.previousFilesPath, vfs: area.vfsName)
        try list.execute("PRAGMA temp_store=FILE; PRAGMA cache_size=-512; PRAGMA temp.cache_size=-512")
        if !resumes {
            // The states of the journal sync it with the other files of the work directory.
            try list.execute(
                """
                PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;
                BEGIN; CREATE TABLE file (name TEXT PRIMARY KEY) WITHOUT ROWID
                """)
            let insert = try list.prepare("INSERT OR IGNORE INTO file VALUES (?)")
            try forEachReference(in: path) { reference throws(MigrationError) in
                insert.bind(reference.name, at: 1)
                try insert.run()
            }
            try list.execute("COMMIT")
        }
        previous = list
    }

    /// Puts the files to which the finished store refers into the destination's folder.
    ///
    /// - Parameters:
    ///   - path: the finished private store.
    ///   - existing: the status of the store that is appended to; nil for a fresh destination.
    /// - Throws: `external.write`, `store.full` (74), `destination.permission`, `folder.foreign` (77). The files are then removed
    ///   again.
    func place(forStoreAt path: String, existing: stat?) throws(MigrationError) {
        guard files.isUsed else { return }
        do throws(MigrationError) {
            guard try writeJournal(path) > 0 else { return }
            try makeFolders()
            guard
                let opened = try files.destination.opened(
                    owner: existing?.st_uid, mode: existing?.st_mode ?? files.permissions.file)
            else {
                throw MigrationError.writing(
                    "Opening the folder", path: files.destination.path, otherwise: "external.write", number: ENOENT)
            }
            // The path is good only as long as the folder is open.
            defer { withExtendedLifetime(opened) {} }
            let folder = opened.inside
            try journal.forEach(.placed) { reference throws(MigrationError) in
                guard let staged = try files.stagedPath(reference) else { return }
                let target = "\(folder)/\(reference.name)"
                // The staged name is kept until the work directory is removed, because a resumed run looks for it.
                if link(staged, target) == 0 { return }
                guard errno != EEXIST, rename(staged, target) == 0 else {
                    throw MigrationError.writing(
                        "Publishing external binary data", path: target, otherwise: "external.write")
                }
            }
            try DestinationPath.synchronize(folder: folder)
            try DestinationPath.synchronize(folder: files.destination.support)
            try DestinationPath.synchronize(folder: DestinationPath(path: files.destination.support).folder)
        } catch {
            withdraw()
            throw error
        }
    }

    /// Removes the files again if the store could not be published. If the journal cannot be read, the next run to the
    /// destination does it.
    func withdraw() { try? journal.undo(staging: area.externalPath) }

    /// Removes files to which nothing refers any more, after the store was published.
    func removeOrphans() { try? journal.removeOrphans() }

    private func writeJournal(_ path: String) throws(MigrationError) -> Int {
        var count = 0
        try journal.begin()
        try previous?.execute("CREATE TEMP TABLE kept (name TEXT PRIMARY KEY) WITHOUT ROWID; BEGIN")
        let keep = try previous?.prepare("INSERT OR IGNORE INTO temp.kept SELECT name FROM main.file WHERE name = ?")
        try forEachReference(in: path) { reference throws(MigrationError) in
            if let keep {
                keep.bind(reference.name, at: 1)
                try keep.run()
            }
            guard let staged = try files.stagedPath(reference) else { return }
            count += 1
            try synchronize(staged)
            try journal.append(.placed, reference)
        }
        if let rest = try previous?.prepare(
            "SELECT name FROM main.file WHERE name NOT IN (SELECT name FROM temp.kept)")
        {
            while try rest.step() {
                guard let reference = rest.text(0).flatMap(ExternalReference.init(name:)) else { continue }
                try journal.append(.orphan, reference)
            }
        }
        try journal.finish()
        return count
    }

    /// Shows the references of all rows of a store, in the order of tables and rows.
    private func forEachReference(
        in path: String, _ body: (ExternalReference) throws(MigrationError) -> Void
    ) throws(MigrationError) {
        let connection = try Connection(path: path, flags: SQLITE_OPEN_READONLY, vfs: area.vfsName)
        for (table, columns) in files.schema.externalColumns.enumerated() {
            for column in columns {
                let (name, column) = (SQLName.quoted(files.schema.tables[table].name), SQLName.quoted(column.name))
                // SQLite knows the length without reading the value.
                let rows = try connection.prepare(
                    "SELECT \(column) FROM \(name) WHERE length(\(column)) = \(ExternalReference.byteCount)"
                        + " AND substr(\(column), 1, 1) = x'02'")
                while try rows.step() {
                    guard let bytes = rows.blob(0),
                        let reference = bytes.withUnsafeBytes({ ExternalReference(stored: $0) })
                    else { continue }
                    try body(reference)
                }
            }
        }
    }

    private func synchronize(_ path: String) throws(MigrationError) {
        let descriptor = SystemCall.uninterrupted { open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC) }
        guard descriptor >= 0 else { throw .writing("Syncing", path: path, otherwise: "external.write") }
        defer { close(descriptor) }
        guard SystemCall.uninterrupted({ fsync(descriptor) }) == 0 || errno == EINVAL else {
            throw .writing("Syncing", path: path, otherwise: "external.write")
        }
    }

    private func makeFolders() throws(MigrationError) {
        let folder = files.destination
        // `exists()` also refuses a link that another program may have put there meanwhile.
        if try folder.exists() { return }
        var missing: [String] = []
        for (path, mark) in [(folder.support, ExternalJournal.Mark.madeSupport), (folder.path, .madeData)]
        where try DestinationPath.status(path) == nil {
            try journal.append(mark, nil)
            missing.append(path)
        }
        try journal.finish()
        for path in missing where mkdir(path, files.permissions.folder) != 0 && errno != EEXIST {
            throw .writing("Making a folder", path: path, otherwise: "external.write")
        }
        guard try folder.exists() else {
            throw .writing("Making a folder", path: folder.path, otherwise: "external.write", number: ENOENT)
        }
    }
}
