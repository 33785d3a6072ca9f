import Diagnostics
import Foundation
import ManagedModel
import PersistentStore
import Rows
import SpillStorage

/// The external binary values of one run: files of the source that rows refer to are carried over, values above a size
/// become files, and policies see the bytes.
///
/// A file is made in the work area under a new name, which follows from the store, the row and the attribute: a run
/// that is cut in another way, or loads its rows twice, makes the same names. Nothing comes to the destination before
/// ``ExternalPublication`` brings it there.
/// Memory: 256 KiB while a file is read or copied, 1 MiB where its blocks cannot be shared and it cannot be linked.
final class ExternalFiles {
    /// Bytes above which a value becomes a file by default. Apple documents no figure; the largest value that a real
    /// store keeps in the column has 99,812 bytes (wire store1-24).
    static let defaultThreshold = 100 << 10

    /// Files that are named where some are missing.
    private static let namedMissing = 5

    /// A column of a table that may refer to files.
    private struct Column {
        let column: Int
        let name: String
        let attribute: String
    }

    /// A file that a row refers to and that is not there.
    struct Missing: Equatable {
        let entity: String
        let key: Int64
        let attribute: String
        let file: String
    }

    let source: ExternalFolder
    let destination: ExternalFolder
    let schema: StoreSchema
    /// Whether files are made: false where nothing will be published; then rows keep what they have.
    let carries: Bool
    /// What files and folders of external data have at most.
    let permissions: FilePermissions
    private let staging: String
    private let threshold: Int
    private let valueLimit: Int
    private let limitNeeded: ((Int) -> Int)?
    private let seed: String
    /// By destination table.
    private let columns: [[Column]]
    private let sourceExists: Bool
    private let destinationExists: Bool
    private var turn = 0
    private var turnExists = false
    /// The first ones, by mapping model.
    private var missingByTurn: [Int: [Missing]] = [:]
    /// The same, to be kept.
    var allMissing: [Int: [Missing]] { missingByTurn }
    /// A run goes on from where it was: files that it made stay.
    private var keepsFiles = false
    private let checkCancelled: () throws -> Void
    /// Whether a later run may go on from this one: the files that are made are noted for it.
    var notesFiles = false
    /// Those of the mapping model at work; nil before the first, and where none are noted.
    private var staged: StagedFiles?
    /// Files that were noted by a killed run that this one goes on from, and by mapping models before.
    private var notedBefore = 0
    /// Files that were noted.
    var noted: Int { notedBefore + (staged?.count ?? 0) }

    /// - Parameters:
    ///   - staging: a folder of the work area, in the destination's file system; made when the first file is.
    ///   - storeUUID: of the destination.
    ///   - carries: false: files are looked for, and none is made.
    /// - Throws: `external.folder` (65) where the place of one of the two folders is no folder.
    init(
        source: SourceStore, given sourcePath: String, destination path: String, schema: StoreSchema, staging: String,
        threshold: Int, storeUUID: String, carries: Bool, checkCancelled: @escaping () throws -> Void
    ) throws(MigrationError) {
        // Beside the name that was given; a link to a store alone has no such folder.
        let given = ExternalFolder(store: sourcePath)
        self.source = try given.exists() ? given : ExternalFolder(store: source.path)
        destination = ExternalFolder(store: path)
        self.schema = schema
        self.staging = staging
        permissions = FilePermissions(ofSource: source.path)
        self.threshold = threshold
        self.carries = carries
        self.checkCancelled = checkCancelled
        valueLimit = source.valueLimit
        limitNeeded = source.limitNeeded
        seed = storeUUID + "\n" + source.metadata.uuid + "\n"
        columns = schema.externalColumns.map { columns in
            columns.map { Column(column: $0.column, name: $0.name, attribute: $0.attribute) }
        }
        sourceExists = try self.source.exists()
        destinationExists = columns.contains { !$0.isEmpty } ? try destination.exists() : false
    }

    /// Whether any attribute of the destination's model allows external storage.
    var isUsed: Bool { columns.contains { !$0.isEmpty } }

    /// The first files that are missing, in the order of loading.
    var missing: [Missing] { missingByTurn.sorted { $0.key < $1.key }.flatMap(\.value) }

    /// A mapping model's rows are about to be loaded, perhaps anew: the files of an earlier try go.
    func beginLoad(turn: Int) {
        if turn != self.turn { notedBefore = noted }
        self.turn = turn
        staged = nil
        missingByTurn[turn] = nil
        if keepsFiles { return }
        FileSystem.removeTree(folder(ofTurn: turn))
        turnExists = false
    }

    /// A killed run's files are gone on with, once they are what that run made.
    ///
    /// - Parameter count: as many files as it had noted.
    /// - Throws: `journal.damaged`, `spill.io` (74).
    func goOn(noted count: Int) throws(MigrationError) {
        keepsFiles = true
        notedBefore = count
        guard carries, isUsed, count > 0 else { return }
        var found = 0
        for name in (try? FileManager.default.contentsOfDirectory(atPath: staging)) ?? [] {
            found += try StagedFiles.check(in: "\(staging)/\(name)", source: source)
        }
        guard found >= count else { throw StateReader.damaged("\(count - found) files of external data are missing") }
    }

    /// What was missing when the state was taken that the run goes on from. Files are made anew from here on where they
    /// stand already.
    func restore(missing: [Int: [Missing]]) { missingByTurn = missing }

    private func folder(ofTurn turn: Int) -> String { Self.folder(ofTurn: turn, in: staging) }

    /// Where a mapping model's files stand.
    static func folder(ofTurn turn: Int, in staging: String) -> String { "\(staging)/\(turn)" }

    // MARK: - Rows

    /// Brings a batch's external values into their final form, before it is written: references get new names and their
    /// files are carried over, values above the threshold become files.
    ///
    /// - Throws: `external.name` (65) for a reference that is none, `external.notAFile` (65), what copying throws; with
    ///   the object and the property.
    func settle(_ batch: inout RowBatch, table: Int, counts: inout MigrationCounts) throws {
        for column in columns[table] {
            for row in 0..<batch.count {
                let cell = batch[row, column.column]
                guard cell.kind == .blob || cell.kind == .huge else { continue }
                do {
                    if cell.kind == .huge {
                        try settleHuge(cell, &batch, row, column, table: table, &counts)
                    } else if ExternalReference.isReference(batch.bytes(cell)) {
                        try settleReference(cell, &batch, row, column, table: table, &counts)
                    } else if becomesFile(cell, in: batch) {
                        let name = try newName(table: table, key: batch.key(row), column)
                        let writer = try ExternalFileWriter(path: try place(name), permissions: permissions)
                        try writer.append(UnsafeRawBufferPointer(rebasing: batch.bytes(cell)[1...]))
                        try writer.finish()
                        try staged?.note(name, carriedFrom: nil)
                        refer(to: name, &batch, row, column, &counts)
                        counts.externalFilesCreated += 1
                    }
                } catch let error as MigrationError {
                    throw error.inside(context(batch, row, column))
                }
            }
        }
    }

    /// Whether a value in the column is one that goes into a file of its own.
    func becomesFile(_ cell: Cell, in batch: borrowing RowBatch) -> Bool {
        carries && cell.kind == .blob && Int(cell.length) - 1 > threshold
            && batch.bytes(cell).first == ExternalReference.inlineMarker
    }

    private func settleReference(
        _ cell: Cell, _ batch: inout RowBatch, _ row: Int, _ column: Column, table: Int,
        _ counts: inout MigrationCounts
    ) throws {
        guard let reference = ExternalReference(stored: batch.bytes(cell)) else { throw Self.malformed }
        guard let file = sourceExists ? try source.file(reference) : nil else {
            counts.missingExternalFiles += 1
            counts.externalValues += 1
            var known = missingByTurn[turn] ?? []
            if known.count < Self.namedMissing {
                let entity = entity(batch, row)
                known.append(
                    Missing(entity: entity, key: batch.key(row), attribute: column.attribute, file: reference.name))
                missingByTurn[turn] = known
            }
            // The old name leads to the file where somebody finds it again, but never to another store's.
            if destinationExists, try destination.holds(reference) {
                refer(to: try newName(table: table, key: batch.key(row), column), &batch, row, column, &counts)
                counts.externalValues -= 1
            }
            return
        }
        guard carries else {
            counts.externalValues += 1
            return
        }
        let name = try newName(table: table, key: batch.key(row), column)
        try file.carry(to: try place(name), permissions: permissions, checkCancelled: checkCancelled)
        try staged?.note(name, carriedFrom: reference)
        refer(to: name, &batch, row, column, &counts)
    }

    private func settleHuge(
        _ cell: Cell, _ batch: inout RowBatch, _ row: Int, _ column: Column, table: Int,
        _ counts: inout MigrationCounts
    ) throws {
        let value = batch.huge(cell)
        guard carries, value.count - 1 > threshold, !value.isText else { return }
        let name = try newName(table: table, key: batch.key(row), column)
        let writer = try ExternalFileWriter(path: try place(name), permissions: permissions)
        let bytes = MarkedValue.unmarked(value)
        try bytes.source.read(bytes) { part throws(MigrationError) in try writer.append(part) }
        try writer.finish()
        try staged?.note(name, carriedFrom: nil)
        refer(to: name, &batch, row, column, &counts)
        counts.externalFilesCreated += 1
    }

    private func refer(
        to reference: ExternalReference, _ batch: inout RowBatch, _ row: Int, _ column: Column,
        _ counts: inout MigrationCounts
    ) {
        reference.stored.withUnsafeBytes { batch.setBytes($0, kind: .blob, row: row, slot: column.column) }
        counts.externalValues += 1
    }

    /// The path of a file to make.
    private func place(_ name: ExternalReference) throws(MigrationError) -> String {
        let folder = folder(ofTurn: turn)
        if !turnExists {
            for path in [staging, folder] where mkdir(path, 0o700) != 0 && errno != EEXIST {
                throw .writing("Making a folder", path: path, otherwise: "external.write")
            }
            turnExists = true
        }
        if notesFiles, staged == nil { staged = StagedFiles(in: folder) }
        // The file may have been made by a run that was killed before it noted the row.
        let path = "\(folder)/\(name.name)"
        if keepsFiles, unlink(path) != 0, errno != ENOENT {
            throw .writing("Removing a file of a killed run", path: path, otherwise: "external.write")
        }
        return path
    }

    /// A name that follows from what it is for; another one where the destination has a file of it already.
    private func newName(table: Int, key: Int64, _ column: Column) throws(MigrationError) -> ExternalReference {
        var salt = 0
        while true {
            let text = "\(seed)\(turn)\n\(schema.tables[table].name)\n\(key)\n\(column.name)\n\(salt)"
            var bytes = Array(SHA256.hash(Array(text.utf8))[..<16])
            // As a random UUID has them (RFC 4122).
            bytes[6] = bytes[6] & 0x0F | 0x40
            bytes[8] = bytes[8] & 0x3F | 0x80
            let reference = ExternalReference(uuid: bytes)
            guard destinationExists, try destination.holds(reference) else { return reference }
            salt += 1
        }
    }

    // MARK: - Values

    /// The path of a file that the destination's private store refers to; nil where none was made in this run.
    ///
    /// - Throws: `external.io` (74).
    func stagedPath(_ reference: ExternalReference) throws(MigrationError) -> String? {
        try Self.stagedPath(reference, in: staging, upTo: turn)
    }

    /// The path of a file in the folder of a mapping model, the last one first.
    static func stagedPath(
        _ reference: ExternalReference, in staging: String, upTo turn: Int
    ) throws(MigrationError) -> String? {
        for turn in stride(from: turn, through: 0, by: -1) {
            let path = "\(folder(ofTurn: turn, in: staging))/\(reference.name)"
            if access(path, F_OK) == 0 { return path }
            guard errno == ENOENT || errno == ENOTDIR else {
                throw MigrationError(
                    "external.io", .io,
                    "Looking for external binary data failed: \(String(cString: strerror(errno)))",
                    context: .init(path: path))
            }
        }
        return nil
    }

    /// The bytes of a source object's value.
    ///
    /// - Throws: `external.missing` (65), `external.name` (65), `store.valueTooLarge` (78).
    func sourceFile(_ value: StoredReference) throws(MigrationError) -> ExternalFile {
        guard let reference = value.reference else { throw Self.malformed }
        guard let file = try source.file(reference) else { throw missing(reference, in: source) }
        return file
    }

    /// The bytes of a destination object's value: of a row made in this run, or one from before.
    func destinationFile(_ value: StoredReference) throws(MigrationError) -> ExternalFile {
        guard let reference = value.reference else { throw Self.malformed }
        if let path = try stagedPath(reference) { return try ExternalFile(path: path) }
        if let file = try destination.file(reference) { return file }
        // A row that is not loaded yet has its source's name.
        guard let file = try source.file(reference) else { throw missing(reference, in: source) }
        return file
    }

    /// A file's bytes, where they may be held at once.
    func bytes(of file: ExternalFile) throws(MigrationError) -> [UInt8] {
        guard file.count <= valueLimit else { throw tooLarge(file, "reading it") }
        return try file.contents()
    }

    /// Puts a referenced file's bytes into a cell: at once, or as a huge value.
    ///
    /// - Parameter streams: whether what writes the cell can stream it.
    func inline(
        _ value: StoredReference, streams: Bool, into batch: inout RowBatch, row: Int, slot: Int
    ) throws(MigrationError) {
        let file = try sourceFile(value)
        if file.count <= valueLimit {
            let bytes = try file.contents()
            bytes.withUnsafeBytes { batch.setBytes($0, kind: .blob, row: row, slot: slot) }
        } else if streams, file.count < 999_000_000 {
            batch[row, slot] = batch.store(
                HugeValue(source: file, key: batch.key(row), count: file.count, isText: false))
        } else {
            throw tooLarge(file, "a column that does not allow external storage")
        }
    }

    private func tooLarge(_ file: ExternalFile, _ use: String) -> MigrationError {
        MigrationError(
            "store.valueTooLarge", .configuration,
            "The external value has \(file.count) bytes, the limit is \(valueLimit); \(use) needs all of them at once",
            remedy: limitNeeded.map { "Give --memory-limit \($0(file.count))M or more" },
            context: .init(path: file.path))
    }

    private func missing(_ reference: ExternalReference, in folder: ExternalFolder) -> MigrationError {
        MigrationError(
            "external.missing", .data, "The file \(reference.name) with the value's external data does not exist",
            remedy: "Put the folder of the store's external data beside the store",
            context: .init(path: folder.path(of: reference)))
    }

    private static var malformed: MigrationError {
        MigrationError(
            "external.name", .data, "The value refers to external data by a name that Core Data does not give",
            remedy: "The store is damaged: names are UUIDs of 36 characters")
    }

    private func entity(_ batch: borrowing RowBatch, _ row: Int) -> String {
        let number = Int(truncatingIfNeeded: batch[row, EntityTable.entityColumn].integerValue)
        return schema.entityByNumber[number].map { schema.model.entity(at: $0).definition.name } ?? "?"
    }

    private func context(
        _ batch: borrowing RowBatch, _ row: Int, _ column: Column
    ) -> MigrationError.Context {
        let entity = entity(batch, row)
        return .init(entity: entity, objectID: "\(entity)/p\(batch.key(row))", property: column.attribute)
    }
}

/// A value that lies in an external file, as policies' values pass through before the file is read.
struct StoredReference {
    /// Nil where the column's bytes are no well-formed reference.
    let reference: ExternalReference?

    init(_ bytes: UnsafeRawBufferPointer) { reference = ExternalReference(stored: bytes) }
}
