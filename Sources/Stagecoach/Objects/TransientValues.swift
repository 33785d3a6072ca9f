import CoreDataStore
import Diagnostics
import Foundation
import ManagedModel
import Rows
import SpillStorage

/// The values that policies set on transient properties of destination objects. No row has them, and they are gone with the run.
///
/// Values of the latest objects are in memory. Older ones that a property list can hold are in a private SQLite file without a
/// name in the work directory; any other value stays in memory, as in Core Data.
final class TransientValues {
    private struct Owner: Hashable {
        let table: Int
        let key: Int64
    }

    private let folder: String
    private let cacheBytes: Int
    private var held: [Owner: [String: Any]] = [:]
    /// The number of objects in memory at which older ones are written.
    private var most = 1024
    private var spill: (connection: Connection, insert: Statement, find: Statement)?
    private var scratch = RowBatch(slots: 1, rowCapacity: 1, byteTarget: 4096)

    init(folder: String, cacheBytes: Int) {
        self.folder = folder
        self.cacheBytes = cacheBytes
    }

    /// True if none was ever set.
    var isEmpty: Bool { held.isEmpty && spill == nil }

    func value(_ name: String, of place: ObjectPlace) throws(MigrationError) -> Any? {
        isEmpty ? nil : try values(of: Owner(table: place.table, key: place.key))[name]
    }

    /// Sets a value; one of a typed attribute in the form that a stored attribute gives.
    ///
    /// - Throws: `value.type`, `value.outOfRange` (65); the errors of writing the file (74).
    func set(
        _ value: Any?, _ property: ObjectProperties.Property, _ name: String, of place: ObjectPlace
    ) throws(MigrationError) {
        var value = ValueBridge.unwrapped(value)
        switch property.type {
        case .undefined, .transformable, .objectID, .composite: break
        default:
            scratch.removeAll()
            let row = scratch.appendRow(key: 0)
            try ValueBridge.store(value, type: property.type, isExternal: false, in: &scratch, row: row, slot: 0)
            value = try ValueBridge.object(scratch[row, 0], in: scratch, type: property.type, isExternal: false)
        }
        let owner = Owner(table: place.table, key: place.key)
        var values = try values(of: owner)
        values[name] = value
        held[owner] = values
        if held.count > most { try write() }
    }

    private func values(of owner: Owner) throws(MigrationError) -> [String: Any] {
        if let known = held[owner] { return known }
        guard let find = spill?.find else { return [:] }
        find.reset()
        find.bind(Int64(owner.table), owner.key)
        guard try find.step(), let bytes = find.blob(0) else { return [:] }
        let values = try UserInfoArchive.info(bytes) ?? [:]
        return Dictionary(
            uniqueKeysWithValues: values.compactMap { key, value in (key as? String).map { ($0, value) } })
    }

    /// Writes the values that have an encoding.
    private func write() throws(MigrationError) {
        let insert = try opened().insert
        for (owner, values) in held {
            guard let bytes = UserInfoArchive.bytes(of: values) else { continue }
            insert.bind(Int64(owner.table), owner.key)
            insert.bind(bytes, at: 3)
            try insert.run()
            held[owner] = nil
        }
        most = 1024 + 2 * held.count
    }

    private func opened() throws(MigrationError) -> (connection: Connection, insert: Statement, find: Statement) {
        if let spill { return spill }
        let path = "\(folder)/transient"
        let connection = try Connection(path: path)
        connection.trustFile()
        try connection.execute(
            """
            PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;
            PRAGMA cache_size=-\(max(64, cacheBytes / 1024)); BEGIN EXCLUSIVE;
            CREATE TABLE held (t INTEGER NOT NULL, k INTEGER NOT NULL, v BLOB NOT NULL, PRIMARY KEY (t, k)) WITHOUT ROWID
            """)
        unlink(path)
        let opened = (
            connection, try connection.prepare("INSERT OR REPLACE INTO held VALUES (?, ?, ?)"),
            try connection.prepare("SELECT v FROM held WHERE t = ? AND k = ?")
        )
        spill = opened
        return opened
    }
}
