import CoreDataStore
import ManagedModel
import Rows

/// The value of a property of the demonstration's objects.
enum DemoValue {
    case text(String)
    case blob([UInt8])
    case integer(Int)
    case real(Double)
    /// A related object, and the position of this one in its ordered relationship.
    case key(Int, order: Int? = nil)
}

/// The rows of a table of the demonstration.
struct DemoRows: ~Copyable {
    var batch: RowBatch
    private let schema: StoreSchema

    init(_ table: EntityTable, schema: StoreSchema) {
        batch = RowBatch(slots: table.columns.count, rowCapacity: 1_000, byteTarget: 256 << 10)
        self.schema = schema
    }

    /// Adds an object of an entity.
    mutating func add(_ name: String, key: Int, _ values: KeyValuePairs<String, DemoValue?>) {
        guard let entity = schema.model.entity(named: name) else { return }
        let row = batch.appendRow(key: Int64(key))
        batch[row, EntityTable.entityColumn] = .integer(Int64(schema.number(of: entity)))
        batch[row, EntityTable.lockColumn] = .integer(1)
        for case (let property, let value?) in values { set(property, value, of: entity, row) }
    }

    private mutating func set(_ name: String, _ value: DemoValue, of entity: EntityDescription, _ row: Int) {
        if case .key(let key, let place) = value, let relationship = entity.relationship(named: name),
            case .toOne(_, let column, let entityColumn, let orderColumn) = schema.storage(of: relationship)
        {
            batch[row, column] = .integer(Int64(key))
            if let entityColumn {
                batch[row, entityColumn] = .integer(Int64(schema.number(of: relationship.destination)))
            }
            if let orderColumn, let place { batch[row, orderColumn] = .integer(Int64(place)) }
        }
        guard let column = entity.attribute(named: name).flatMap(schema.column(of:)) else { return }
        switch value {
        case .text(let text):
            Array(text.utf8).withUnsafeBytes { batch.setBytes($0, kind: .text, row: row, slot: column) }
        case .blob(let bytes): bytes.withUnsafeBytes { batch.setBytes($0, kind: .blob, row: row, slot: column) }
        case .integer(let number): batch[row, column] = .integer(Int64(number))
        case .real(let number): batch[row, column] = .real(number)
        case .key: break
        }
    }
}

/// The words in the demonstration's objects, by key.
enum DemoWords {
    private static let given = ["Ada", "Boris", "Clara", "Dmitri", "Edith", "Farid", "Greta", "Hiro", "Ines", "Jonas"]
    private static let family = [
        "Abel", "Brandt", "Castro", "Dufour", "Eriksen", "Fischer", "Gallo", "Hansen", "Ivanov", "Jensen", "Keller",
    ]
    private static let subjects = [
        "Bridges", "Comets", "Dunes", "Estuaries", "Forests", "Glaciers", "Harbours", "Islands", "Journeys", "Kites",
        "Lanterns", "Meadows", "Nebulae",
    ]
    private static let kinds = ["A History of", "On", "The Book of", "Notes on", "Under the", "Beyond the", "Among"]

    static func name(_ key: Int) -> String { "\(given[key % given.count]) \(family[key % family.count]) \(key)" }
    static func subject(_ key: Int) -> String { subjects[key % subjects.count] }
    static func title(_ key: Int) -> String { "\(kinds[key % kinds.count]) \(subject(key)), vol. \(1 + key / 91)" }
    /// Returns sixteen bytes that look like a version 4 UUID.
    static func identifier(_ key: Int) -> [UInt8] {
        var state = UInt64(key) &* 0x9E37_79B9_7F4A_7C15
        var bytes = (0..<16).map { _ -> UInt8 in
            state ^= state >> 29
            state = state &* 0xBF58_476D_1CE4_E5B9
            return UInt8(truncatingIfNeeded: state >> 40)
        }
        bytes[6] = bytes[6] & 0x0F | 0x40
        bytes[8] = bytes[8] & 0x3F | 0x80
        return bytes
    }
}
