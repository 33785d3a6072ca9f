import CoreDataStore
import Diagnostics
import Foundation
import ManagedModel
import Rows
import SpillStorage

/// The external binary values of one run. Files of the source to which rows refer are carried over, values above a threshold
/// become files, and policies see the bytes.
///
/// A file is made in the work area under a new name, which follows from the store, the row and the attribute. A run that is cut
/// in another way, or that loads its rows twice, makes the same names. ``ExternalPublication`` brings the files to the
/// destination; nothing comes there before. Memory: 256 KiB while a file is read or copied, 1 MiB if its blocks cannot be
/// shared and it cannot be linked.
final class ExternalFiles {
    /// The maximum number of missing files that are named.
    private static let namedMissing = 5

    private typealias Column = StoreSchema.ExternalColumn

    /// A missing file to which a row refers.
    struct Missing: Equatable {
        var entity: String
        var key: Int64
        var attribute: String
        var file: String
    }

    let source: ExternalFolder
    let destination: ExternalFolder
    let schema: StoreSchema
    /// True if files are made. False if nothing will be published; rows then keep their values.
    let carries: Bool
    /// The most permissions that files and folders of external data get.
    let permissions: FilePermissions
    private let staging: String
    private let threshold: Int
    private let valueLimit: Int
    private let limitNeeded: ((Int) -> Int)?
    private let seed: String
    /// The columns, by destination table.
    private let columns: [[Column]]
    private let sourceExists: Bool
    private let destinationExists: Bool
    private var model = 0
    private var folderExists = false
    /// The first missing files, by mapping model. A state saves and restores them.
    var missingByModel: [Int: [Missing]] = [:]
    /// True in a resumed run: the files that the interrupted run made are kept.
    private var keepsFiles = false
    private let checkCancelled: () throws -> Void
    /// True if a later run may resume this one. The files that are made are noted for it.
    var notesFiles = false
    /// The noted files of the current mapping model; nil before the first file, and if none are noted.
    private var staged: StagedFiles?
    /// The number of files noted by previous mapping models and by the interrupted run that this run resumes.
    private var notedBefore = 0
    /// The number of files noted.
    var noted: Int { notedBefore + (staged?.count ?? 0) }

    /// - Parameters:
    ///   - staging: a folder of the work area in the destination's file system; it is created with the first file.
    ///   - storeUUID: the UUID of the destination.
    ///   - carries: false to look for files but make none.
    /// - Throws: `external.folder` (65) if one of the two folders exists but is not a folder.
    init(
        source: SourceStore, given sourcePath: String, destination path: String, schema: StoreSchema, staging: String,
        threshold: Int, storeUUID: String, carries: Bool, checkCancelled: @escaping () throws -> Void
    ) throws(MigrationError) {
        // The folder beside the given path comes first. If the path is a link to the store file alone, the folder is beside the
        // real store.
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
        columns = schema.externalColumns
        sourceExists = try self.source.exists()
        destinationExists = columns.contains { !$0.isEmpty } ? try destination.exists() : false
    }

    /// True if any attribute of the destination's model allows external storage.
    var isUsed: Bool { columns.contains { !$0.isEmpty } }

    /// The first missing files, in the order of loading.
    var missing: [Missing] { missingByModel.sorted { $0.key < $1.key }.flatMap(\.value) }

    /// Begins to load a mapping model's rows, perhaps again. The files of an earlier attempt are removed.
    func beginLoad(model: Int) {
        if model != self.model { notedBefore = noted }
        self.model = model
        staged = nil
        missingByModel[model] = nil
        if keepsFiles { return }
        FileSystem.removeTree(folder(ofModel: model))
        folderExists = false
    }

    /// Keeps the files of an interrupted run, after checking that they are what that run made.
    ///
    /// - Parameter count: the number of files that the run had noted.
    /// - Throws: `journal.damaged`, `spill.io` (74).
    func resume(noted count: Int) throws(MigrationError) {
        keepsFiles = true
        notedBefore = count
        guard carries, isUsed, count > 0 else { return }
        var found = 0
        for name in (try? FileManager.default.contentsOfDirectory(atPath: staging)) ?? [] {
            found += try StagedFiles.check(in: "\(staging)/\(name)", source: source)
        }
        guard found >= count else { throw StateReader.damaged("\(count - found) files of external data are missing") }
    }

    private func folder(ofModel model: Int) -> String { Self.folder(ofModel: model, in: staging) }

    /// Returns the folder of a mapping model's files.
    static func folder(ofModel model: Int, in staging: String) -> String { "\(staging)/\(model)" }

    // MARK: - Rows

    /// Brings the external values of a batch into their final form before it is written. References get new names and their
    /// files are carried over; values above the threshold become files.
    ///
    /// - Throws: `external.name` (65) for a malformed reference, `external.notAFile` (65), the errors of copying; with the
    ///   object and the property.
    func finalize(_ batch: inout RowBatch, table: Int, counts: inout MigrationCounts) throws {
        for column in columns[table] {
            for row in 0..<batch.count {
                let cell = batch[row, column.column]
                guard cell.kind == .blob || cell.kind == .huge else { continue }
                do {
                    if cell.kind == .huge {
                        try finalizeHuge(cell, &batch, row, column, table: table, &counts)
                    } else if ExternalReference.isReference(batch.bytes(cell)) {
                        try finalizeReference(cell, &batch, row, column, table: table, &counts)
                    } else if becomesFile(cell, in: batch) {
                        try makeFile(&batch, row, column, table: table, &counts) {
                            batch, writer throws(MigrationError) in
                            try writer.append(UnsafeRawBufferPointer(rebasing: batch.bytes(cell)[1...]))
                        }
                    }
                } catch let error as MigrationError {
                    throw error.inside(context(batch, row, column))
                }
            }
        }
    }

    /// Tells whether a value in the column goes into a file of its own.
    func becomesFile(_ cell: Cell, in batch: borrowing RowBatch) -> Bool {
        carries && cell.kind == .blob && Int(cell.length) - 1 > threshold
            && batch.bytes(cell).first == ExternalReference.inlineMarker
    }

    private func finalizeReference(
        _ cell: Cell, _ batch: inout RowBatch, _ row: Int, _ column: Column, table: Int, _ counts: inout MigrationCounts
    ) throws {
        guard let reference = ExternalReference(stored: batch.bytes(cell)) else { throw Self.malformed }
        guard let file = sourceExists ? try source.file(reference) : nil else {
            counts.missingExternalFiles += 1
            counts.externalValues += 1
            if missingByModel[model, default: []].count < Self.namedMissing {
                missingByModel[model, default: []].append(
                    Missing(
                        entity: entity(batch, row), key: batch.key(row), attribute: column.attribute,
                        file: reference.name))
            }
            // The row keeps the old name, which leads to the file if it is restored later. If the destination has another file
            // of that name, the row gets a new name.
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

    private func finalizeHuge(
        _ cell: Cell, _ batch: inout RowBatch, _ row: Int, _ column: Column, table: Int, _ counts: inout MigrationCounts
    ) throws {
        let value = batch.huge(cell)
        guard carries, value.count - 1 > threshold, !value.isText else { return }
        let bytes = MarkedValue.unmarked(value)
        try makeFile(&batch, row, column, table: table, &counts) { _, writer throws(MigrationError) in
            try bytes.source.read(bytes) { part throws(MigrationError) in try writer.append(part) }
        }
    }

    /// Makes an external file for a value, and stores the reference to it in the row.
    ///
    /// - Parameter write: writes the value's bytes to the file.
    private func makeFile(
        _ batch: inout RowBatch, _ row: Int, _ column: Column, table: Int, _ counts: inout MigrationCounts,
        _ write: (borrowing RowBatch, ExternalFileWriter) throws(MigrationError) -> Void
    ) throws(MigrationError) {
        let name = try newName(table: table, key: batch.key(row), column)
        let writer = try ExternalFileWriter(path: try place(name), permissions: permissions)
        try write(batch, writer)
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

    /// Returns the path of a file to make.
    private func place(_ name: ExternalReference) throws(MigrationError) -> String {
        let folder = folder(ofModel: model)
        if !folderExists {
            for path in [staging, folder] where mkdir(path, 0o700) != 0 && errno != EEXIST {
                throw .writing("Making a folder", path: path, otherwise: "external.write")
            }
            folderExists = true
        }
        if notesFiles, staged == nil { staged = StagedFiles(in: folder) }
        // A killed run may have made the file before it noted the row.
        let path = "\(folder)/\(name.name)"
        if keepsFiles, unlink(path) != 0, errno != ENOENT {
            throw .writing("Removing a file of a killed run", path: path, otherwise: "external.write")
        }
        return path
    }

    /// Returns a name that follows from the row and the attribute. A different one is derived if the destination already has a
    /// file of that name.
    private func newName(table: Int, key: Int64, _ column: Column) throws(MigrationError) -> ExternalReference {
        var salt = 0
        while true {
            let text = "\(seed)\(model)\n\(schema.tables[table].name)\n\(key)\n\(column.name)\n\(salt)"
            var bytes = Array(SHA256.hash(Array(text.utf8))[..<16])
            // Version and variant bits of a random UUID (RFC 4122).
            bytes[6] = bytes[6] & 0x0F | 0x40
            bytes[8] = bytes[8] & 0x3F | 0x80
            let reference = ExternalReference(uuid: bytes)
            guard destinationExists, try destination.holds(reference) else { return reference }
            salt += 1
        }
    }

    // MARK: - Values

    /// Returns the path of a file to which the private store refers. Returns nil if this run made no such file.
    ///
    /// - Throws: `external.io` (74).
    func stagedPath(_ reference: ExternalReference) throws(MigrationError) -> String? {
        try Self.stagedPath(reference, in: staging, upTo: model)
    }

    /// Returns the path of a file in the folders of the mapping models. The last folder is searched first.
    static func stagedPath(
        _ reference: ExternalReference, in staging: String, upTo model: Int
    ) throws(MigrationError) -> String? {
        for model in stride(from: model, through: 0, by: -1) {
            let path = "\(folder(ofModel: model, in: staging))/\(reference.name)"
            if access(path, F_OK) == 0 { return path }
            guard errno == ENOENT || errno == ENOTDIR else {
                throw MigrationError(
                    "external.io", .io, "Looking for external binary data failed: \(String(cString: strerror(errno)))",
                    context: .init(path: path))
            }
        }
        return nil
    }

    /// Returns the file of a source object's value.
    ///
    /// - Throws: `external.missing` (65), `external.name` (65), `store.valueTooLarge` (78).
    func sourceFile(_ value: ExternalFileReference) throws(MigrationError) -> ExternalFile {
        guard let reference = value.reference else { throw Self.malformed }
        guard let file = try source.file(reference) else { throw missing(reference, in: source) }
        return file
    }

    /// Returns the file of a destination object's value, for a row of this run or an existing one.
    func destinationFile(_ value: ExternalFileReference) throws(MigrationError) -> ExternalFile {
        guard let reference = value.reference else { throw Self.malformed }
        if let path = try stagedPath(reference) { return try ExternalFile(path: path) }
        if let file = try destination.file(reference) { return file }
        // A row that is not loaded yet still has the name of its source's file.
        guard let file = try source.file(reference) else { throw missing(reference, in: source) }
        return file
    }

    /// Returns the bytes of an object's value that is in an external file.
    ///
    /// - Parameter context: the object and the property, for errors.
    /// - Throws: `external.missing`, `external.name` (65), `store.valueTooLarge` (78).
    func data(
        _ value: ExternalFileReference, isSource: Bool, _ context: @autoclosure () -> MigrationError.Context
    ) throws(MigrationError) -> Data {
        do throws(MigrationError) {
            return Data(try bytes(of: isSource ? sourceFile(value) : destinationFile(value)))
        } catch { throw error.inside(context()) }
    }

    /// Returns a file's bytes, if they may be held in memory at once.
    func bytes(of file: ExternalFile) throws(MigrationError) -> [UInt8] {
        guard file.count <= valueLimit else { throw tooLarge(file, "reading it") }
        return try file.contents()
    }

    /// Puts a referenced file's bytes into a cell: at once, or as a huge value.
    ///
    /// - Parameter streams: true if the writer of the cell can stream it.
    func inline(
        _ value: ExternalFileReference, streams: Bool, into batch: inout RowBatch, row: Int, slot: Int
    ) throws(MigrationError) {
        let file = try sourceFile(value)
        if file.count <= valueLimit {
            try file.contents().withUnsafeBytes { batch.setBytes($0, kind: .blob, row: row, slot: slot) }
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
            "The external value has \(file.count.counted("byte")), the limit is \(valueLimit.grouped); \(use) needs all of them at once",
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

    private func context(_ batch: borrowing RowBatch, _ row: Int, _ column: Column) -> MigrationError.Context {
        let entity = entity(batch, row)
        return .init(entity: entity, objectID: "\(entity)/p\(batch.key(row))", property: column.attribute)
    }
}

/// A value in an external file, in the form in which policies' values are passed before the file is read.
struct ExternalFileReference {
    /// The reference; nil if the column's bytes are malformed.
    let reference: ExternalReference?

    init(_ bytes: UnsafeRawBufferPointer) { reference = ExternalReference(stored: bytes) }
}
