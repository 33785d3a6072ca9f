import CSQLite
import CoreDataStore
import Diagnostics
import Foundation
import ManagedModel
import Mapping
import Stagecoach
import TestSupport

/// A store to migrate and a folder to migrate it to, watched: what a failed run may leave behind is nothing.
final class FailureFixture {
    let folder: TemporaryFolder
    let source: ManagedObjectModel
    let destination: ManagedObjectModel
    let mapping: MappingModel
    let sourcePath: String
    var destinationPath: String

    var inputFolder: String { folder.file("in") }
    var outputFolder: String { folder.file("out") }

    /// Authors (one for ten books) and books, and a mapping model inferred for a renamed title.
    ///
    /// - Parameters:
    ///   - books: rows of Book.
    ///   - textLength: bytes of each book's note.
    ///   - altering: what the destination's Book has beside.
    ///   - author: what the destination's Author has beside.
    init(
        books: Int = 40, textLength: Int = 10, _ altering: (inout EntityDefinition) -> Void = { _ in },
        author: (inout EntityDefinition) -> Void = { _ in }
    ) throws {
        folder = try TemporaryFolder()
        source = try model(
            entity("Author", [attribute("name", .string)], [toMany("books", "Book", inverse: "author")]),
            entity(
                "Book",
                [
                    attribute("isbn", .string), attribute("note", .string), attribute("pages", .integer32),
                    attribute("title", .string),
                ],
                [toOne("author", "Author", inverse: "books")]))
        var book = entity(
            "Book",
            [
                attribute("heading", .string) { $0.renamingIdentifier = "title" }, attribute("isbn", .string),
                attribute("note", .string), attribute("pages", .integer32),
            ],
            [toOne("author", "Author", inverse: "books")])
        altering(&book)
        var writer = entity("Author", [attribute("name", .string)], [toMany("books", "Book", inverse: "author")])
        author(&writer)
        destination = try model(writer, book)
        mapping = try MappingModel.inferred(from: source, to: destination)
        sourcePath = folder.file("in/source.sqlite")
        destinationPath = folder.file("out/new.sqlite")
        for name in ["in", "out"] {
            try FileManager.default.createDirectory(atPath: folder.file(name), withIntermediateDirectories: false)
        }
        try ReferenceStore(model: source).write(path: sourcePath)
        try change(
            """
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(max(1, books / 10)))
            INSERT INTO ZAUTHOR (Z_PK, Z_ENT, Z_OPT, ZNAME) SELECT i, 1, 1, 'Author ' || i FROM n;
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(books))
            INSERT INTO ZBOOK (Z_PK, Z_ENT, Z_OPT, ZPAGES, ZAUTHOR, ZISBN, ZNOTE, ZTITLE)
            SELECT i, 2, 1, i, 1 + i % \(max(1, books / 10)), 'isbn ' || i, hex(randomblob(\(textLength / 2))), 'Title ' || i
            FROM n;
            UPDATE Z_PRIMARYKEY SET Z_MAX = CASE Z_ENT WHEN 1 THEN \(max(1, books / 10)) ELSE \(books) END
            """)
    }

    /// Changes the source by plain SQLite.
    func change(_ sql: String) throws {
        let connection = try Connection(path: sourcePath, flags: SQLITE_OPEN_READWRITE)
        try connection.execute(sql)
        try connection.close()
    }

    /// Changes the destination by plain SQLite, and leaves the changes in a -wal that nobody has checkpointed.
    func leaveInLog(_ sql: String) throws {
        let files = FileManager.default
        let saved = folder.file("saved")
        try files.createDirectory(atPath: saved, withIntermediateDirectories: false)
        // Copied while a program has it open: closing it would bring the log into the main file.
        let connection = try Connection(path: destinationPath, flags: SQLITE_OPEN_READWRITE)
        try connection.execute("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; \(sql)")
        for suffix in ["", "-wal"] {
            try files.copyItem(atPath: destinationPath + suffix, toPath: saved + "/store" + suffix)
        }
        try connection.close()
        for suffix in ["", "-wal", "-shm"] where files.fileExists(atPath: destinationPath + suffix) {
            try files.removeItem(atPath: destinationPath + suffix)
        }
        for suffix in ["", "-wal"] {
            try files.moveItem(atPath: saved + "/store" + suffix, toPath: destinationPath + suffix)
        }
        try files.removeItem(atPath: saved)
    }

    /// Options for a test process, which holds more than a command does.
    func options(isStaged: Bool = false) -> MigrationOptions {
        var options = MigrationOptions()
        options.memoryLimit = 8 << 30
        options.usesStoreSpecificMigrationManager = !isStaged
        return options
    }

    func migration(
        _ options: MigrationOptions, manager: MigrationManager? = nil, progress: ProgressCounter = .init(),
        cancellation: CancellationFlag = .init()
    ) -> Migration {
        Migration(
            from: sourcePath, model: source, mapping: mapping, to: destinationPath, model: destination,
            options: options, manager: manager, progress: progress, cancellation: cancellation)
    }

    /// Everything in the two folders: bytes of files, nothing for folders, by path.
    func snapshot() throws -> [String: Data] { try Self.contents(of: folder.path) }

    static func contents(of path: String) throws -> [String: Data] {
        var found: [String: Data] = [:]
        for name in try FileManager.default.subpathsOfDirectory(atPath: path) {
            found[name] = FileManager.default.contents(atPath: "\(path)/\(name)") ?? Data()
        }
        return found
    }

    /// Returns the ending of a run that should fail: its error, and a line for each change that it left in the two folders.
    ///
    /// - Parameter sourceMayChange: true to compare only the destination's folder.
    func ending(
        sourceMayChange: Bool = false, _ run: (FailureFixture) throws -> Void
    ) throws -> (error: MigrationError?, changes: [String]) {
        let before = try snapshot()
        var error: MigrationError?
        do { try run(self) } catch let thrown as MigrationError { error = thrown }
        let after = try snapshot()
        let changes = Set(before.keys).union(after.keys).sorted()
            .filter { !(sourceMayChange && $0.hasPrefix("in")) && before[$0] != after[$0] }
            // A run that ends with an I/O error can be resumed, so the work directory stays.
            .filter { !(error?.category == .io && $0.hasPrefix("out/.new.sqlite.stagecoach")) }
            .map { "\($0) \(after[$0] == nil ? "is gone" : before[$0] == nil ? "was left" : "changed")" }
        return (error, changes)
    }

    /// Runs what must end with one error that says what and where, and change nothing in either folder.
    ///
    /// - Parameters:
    ///   - words: what the error's text names.
    ///   - sourceMayChange: whether only the destination's folder is compared.
    /// - Returns: a line for each thing that is not so.
    func problems(
        _ code: MigrationError.Code, _ category: MigrationError.Category, naming words: [String] = [],
        sourceMayChange: Bool = false, _ run: (FailureFixture) throws -> Void
    ) throws -> [String] {
        let (error, changes) = try ending(sourceMayChange: sourceMayChange, run)
        guard let error else { return changes + ["the migration did not fail with \(code.rawValue)"] }
        var lines = changes
        if error.code != code || error.category != category { lines.append("another error: \(error)") }
        for word in words where !"\(error)".contains(word) { lines.append("\(error) does not name \(word)") }
        return lines
    }
}

/// Calls a closure in a policy's method, in the midst of a run.
final class HookPolicy: EntityMigrationPolicy {
    var atFirstObject: (() throws -> Void)?

    override func createDestinationInstances(
        forSource sInstance: ManagedObject, in mapping: EntityMapping, manager: MigrationManager
    ) throws {
        try super.createDestinationInstances(forSource: sInstance, in: mapping, manager: manager)
        let hook = atFirstObject
        atFirstObject = nil
        try hook?()
    }

    /// A manager whose mapping of Book calls the closure after its first object, and the mapping model for it.
    static func manager(_ fixture: FailureFixture, _ hook: @escaping @Sendable () throws -> Void) -> MigrationManager {
        let manager = MigrationManager(sourceModel: fixture.source, destinationModel: fixture.destination)
        manager.policies = PolicyRegistry()
        manager.policies.register("HookPolicy") {
            let policy = HookPolicy()
            policy.atFirstObject = hook
            return policy
        }
        for mapping in fixture.mapping.entityMappings where mapping.sourceEntityName == "Book" {
            mapping.entityMigrationPolicyClassName = "HookPolicy"
        }
        return manager
    }
}

/// A loop in a thread of its own beside a run: until its body says that it is done, or it is told to end.
final class Watcher: @unchecked Sendable {
    private let state = NSCondition()
    private var hasStarted = false
    private var isRunning = false
    private var isEnding = false

    /// Returns when the thread runs.
    init(_ body: @escaping @Sendable () -> Bool) {
        Thread {
            self.state.withLock {
                self.hasStarted = true
                self.isRunning = true
                self.state.broadcast()
            }
            while !self.state.withLock({ self.isEnding }), !body() { usleep(100) }
            self.state.withLock {
                self.isRunning = false
                self.state.broadcast()
            }
        }.start()
        state.withLock { while !hasStarted { state.wait() } }
    }

    /// Ends the loop and waits for it.
    func finish() {
        state.withLock {
            isEnding = true
            while isRunning { state.wait() }
        }
    }
}
