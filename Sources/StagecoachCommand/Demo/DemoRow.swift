import CoreDataStore
import ManagedModel
import Rows

/// The slots of an entity's properties in its table, by name.
private struct DemoColumns {
    let number: Int64
    private(set) var attributes: [String: Int] = [:]
    private(set) var toOnes: [String: (column: Int, entity: Int?, order: Int?, number: Int64)] = [:]

    init(entity: EntityDescription, schema: StoreSchema) {
        number = Int64(schema.number(of: entity))
        for attribute in entity.attributes { attributes[attribute.name] = schema.column(of: attribute) }
        for relationship in entity.relationships {
            guard case .toOne(_, let column, let entity, let order) = schema.storage(of: relationship) else { continue }
            toOnes[relationship.name] = (column, entity, order, Int64(schema.number(of: relationship.destination)))
        }
    }
}

/// The rows of a table of the demonstration. Each object is begun, then its values are set by name.
final class DemoRows {
    var batch: RowBatch
    private let columns: [String: DemoColumns]
    private var row = 0
    private var current: DemoColumns?

    init(_ table: EntityTable, schema: StoreSchema) {
        batch = RowBatch(slots: table.columns.count, rowCapacity: 1_000, byteTarget: 256 << 10)
        columns = Dictionary(
            table.entities.map(schema.model.entity(at:)).map {
                ($0.definition.name, DemoColumns(entity: $0, schema: schema))
            }, uniquingKeysWith: { first, _ in first })
    }

    /// Begins an object of an entity.
    func begin(_ entity: String, key: Int) {
        current = columns[entity]
        row = batch.appendRow(key: Int64(key))
        batch[row, EntityTable.entityColumn] = .integer(current?.number ?? 0)
        batch[row, EntityTable.lockColumn] = .integer(1)
    }

    func set(_ name: String, text: String) { set(name, Array(text.utf8), .text) }
    func set(_ name: String, blob: [UInt8]) { set(name, blob, .blob) }
    func set(_ name: String, integer: Int) { set(name, .integer(Int64(integer))) }
    func set(_ name: String, real: Double) { set(name, .real(real)) }

    /// Sets a to-one relationship, with the position of this object in the ordered inverse.
    func set(_ name: String, key: Int, order: Int? = nil) {
        guard let place = current?.toOnes[name] else { return }
        batch[row, place.column] = .integer(Int64(key))
        if let entity = place.entity { batch[row, entity] = .integer(place.number) }
        if let column = place.order, let order { batch[row, column] = .integer(Int64(order)) }
    }

    private func set(_ name: String, _ cell: Cell) {
        if let column = current?.attributes[name] { batch[row, column] = cell }
    }

    private func set(_ name: String, _ bytes: [UInt8], _ kind: CellKind) {
        guard let column = current?.attributes[name] else { return }
        bytes.withUnsafeBytes { batch.setBytes($0, kind: kind, row: row, slot: column) }
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
