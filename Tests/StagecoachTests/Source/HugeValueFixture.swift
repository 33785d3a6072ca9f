import CSQLite
import CoreDataStore
import Foundation
import ManagedModel
import Mapping
import SpillStorage
import Stagecoach
import TestSupport

/// A store with values far too large for a batch, among ordinary ones: a blob and a text, in one row and in rows of their own.
struct HugeValueFixture {
    let folder: TemporaryFolder
    let blobBytes: Int
    let textBytes: Int
    static let rows = 400

    var sourcePath: String { folder.file("source.sqlite") }
    var destinationPath: String { folder.file("out.sqlite") }

    /// - Parameters:
    ///   - note: further XML attributes of the text attribute in the new model.
    ///   - index: XML elements of the new entity.
    init(blobBytes: Int, textBytes: Int, note: String = "", index: String = "") throws {
        folder = try TemporaryFolder()
        self.blobBytes = blobBytes
        self.textBytes = textBytes
        for (name, note, more) in [
            ("one", "", ""),
            ("two", note, "<attribute name=\"added\" optional=\"YES\" attributeType=\"String\"/>\(index)"),
        ] {
            let path = folder.file("\(name).xcdatamodel")
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
            let model = """
                <?xml version="1.0" encoding="UTF-8"?>
                <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0">
                <entity name="Document">
                <attribute name="number" optional="YES" attributeType="Integer 64"/>
                <attribute name="body" optional="YES" attributeType="Binary"/>
                <attribute name="note" optional="YES" attributeType="String" \(note)/>
                <relationship name="next" optional="YES" maxCount="1" deletionRule="Nullify" \
                destinationEntity="Document" inverseName="previous" inverseEntity="Document"/>
                <relationship name="previous" optional="YES" toMany="YES" deletionRule="Nullify" \
                destinationEntity="Document" inverseName="next" inverseEntity="Document"/>
                \(more)</entity></model>
                """
            try Data(model.utf8).write(to: URL(fileURLWithPath: path + "/contents"))
        }
        try writeStore()
    }

    private func writeStore() throws {
        let model = try ModelLocator.load(folder.file("one.xcdatamodel")).model
        try ReferenceStore(model: model).write(path: sourcePath)
        let connection = try Connection(path: sourcePath, flags: SQLITE_OPEN_READWRITE)
        try connection.execute(
            """
            PRAGMA synchronous = OFF; PRAGMA journal_mode = OFF; BEGIN;
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(Self.rows))
            INSERT INTO ZDOCUMENT (Z_PK, Z_ENT, Z_OPT, ZNUMBER, ZNEXT, ZBODY, ZNOTE)
            SELECT i, 1, 1, i * 3, 1 + i % 7, zeroblob(i * 31 % 9000), 'note ' || i FROM n;
            UPDATE ZDOCUMENT SET ZBODY = zeroblob(\(blobBytes)) WHERE Z_PK = 3;
            UPDATE ZDOCUMENT SET ZNOTE = CAST(zeroblob(\(textBytes)) AS TEXT) WHERE Z_PK = 200;
            UPDATE ZDOCUMENT SET ZBODY = zeroblob(\(blobBytes / 10)), ZNOTE = CAST(zeroblob(\(textBytes / 10)) AS TEXT)
            WHERE Z_PK IN (1, 4, \(Self.rows));
            UPDATE Z_PRIMARYKEY SET Z_MAX = \(Self.rows)
            """)
        for (key, column) in Self.places { try mark(connection, key, column) }
        try connection.execute("COMMIT")
        try connection.close()
    }

    private static let places: [(Int64, String)] =
        [(3, "ZBODY"), (200, "ZNOTE")] + [1, 4, Int64(rows)].flatMap { [($0, "ZBODY"), ($0, "ZNOTE")] }

    /// Gives a huge value bytes that differ from place to place; a text gets letters, with an é here and there.
    private func mark(_ connection: Connection, _ key: Int64, _ column: String) throws {
        var blob: OpaquePointer?
        guard sqlite3_blob_open(connection.handle, "main", "ZDOCUMENT", column, key, 1, &blob) == SQLITE_OK else {
            throw SQLiteFailure.error(connection.handle, code: SQLITE_ERROR, doing: "Marking", path: sourcePath)
        }
        defer { sqlite3_blob_close(blob) }
        let count = Int(sqlite3_blob_bytes(blob))
        let part = 1 << 20
        var place = 0
        while place < count {
            let size = min(part, count - place)
            var bytes = [UInt8](repeating: UInt8(ascii: "a") + UInt8(place >> 20 & 15), count: size)
            if column == "ZNOTE", size > 1 { (bytes[0], bytes[1]) = (0xC3, 0xA9) }
            if size > 10 { bytes[size - 1] = UInt8(ascii: "Z") }
            sqlite3_blob_write(blob, bytes, Int32(size), Int32(place))
            place += size
        }
    }

    /// Every row: numbers and ordinary values quoted, huge ones by kind, length and checksum. No value is held as a whole.
    func digest(of path: String) throws -> [String] {
        let connection = try Connection(path: path, flags: SQLITE_OPEN_READONLY)
        let rows = try connection.prepare(
            "SELECT Z_PK, ZNUMBER, ZNEXT, typeof(ZBODY), typeof(ZNOTE) FROM ZDOCUMENT ORDER BY Z_PK")
        var lines: [String] = []
        while try rows.step() {
            let key = rows.integer(0)
            lines.append(
                "\(key) \(rows.integer(1)) \(rows.integer(2)) \(rows.text(3) ?? "") "
                    + "\(try sum(connection, key, "ZBODY")) \(rows.text(4) ?? "") \(try sum(connection, key, "ZNOTE"))")
        }
        return lines
    }

    private func sum(_ connection: Connection, _ key: Int64, _ column: String) throws -> String {
        var blob: OpaquePointer?
        guard sqlite3_blob_open(connection.handle, "main", "ZDOCUMENT", column, key, 0, &blob) == SQLITE_OK else {
            return "none"
        }
        defer { sqlite3_blob_close(blob) }
        let count = Int(sqlite3_blob_bytes(blob))
        var sum: UInt64 = 5381
        var buffer = [UInt8](repeating: 0, count: 1 << 20)
        for place in stride(from: 0, to: count, by: buffer.count) {
            let size = min(buffer.count, count - place)
            sqlite3_blob_read(blob, &buffer, Int32(size), Int32(place))
            buffer.withUnsafeBytes { sum = ByteSum.of($0.prefix(size), after: sum) }
        }
        return "\(count) \(sum)"
    }

    /// A migration in this process.
    ///
    /// - Parameters:
    ///   - room: MiB beside what the process holds.
    ///   - steps: a policy of the entity mapping.
    func migration(
        room: Int, steps: ClosurePolicy.Steps? = nil, _ change: (inout MigrationOptions) -> Void = { _ in }
    ) throws -> Migration {
        let source = try ModelLocator.load(folder.file("one.xcdatamodel")).model
        let destination = try ModelLocator.load(folder.file("two.xcdatamodel")).model
        var options = MigrationOptions()
        options.memoryLimit = (ProcessMemory.currentResident() ?? 0) + room << 20
        options.fullCheck = true
        change(&options)
        let mapping = try MappingModel.inferred(from: source, to: destination)
        var manager: MigrationManager?
        if let steps {
            let carried = Unchecked(steps)
            mapping.entityMappings[0].entityMigrationPolicyClassName = "DocumentPolicy"
            manager = MigrationManager(sourceModel: source, destinationModel: destination)
            manager?.policies = PolicyRegistry()
            manager?.policies.register("DocumentPolicy") {
                let policy = ClosurePolicy()
                policy.steps = carried.value
                return policy
            }
        }
        return Migration(
            from: sourcePath, model: source, mapping: mapping, to: destinationPath, model: destination,
            options: options, manager: manager)
    }
}
