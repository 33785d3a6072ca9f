import CoreDataStore
import ManagedModel
import Rows

/// The slots of an entity's properties in its table, by name.
struct DemoColumns {
    let attributes: [String: Int]
    let toOnes: [String: (column: Int, entity: Int?, order: Int?, number: Int64)]

    init(entity: EntityDescription, schema: StoreSchema) {
        var attributes: [String: Int] = [:]
        for attribute in entity.attributes { attributes[attribute.name] = schema.column(of: attribute) }
        self.attributes = attributes
        var toOnes: [String: (column: Int, entity: Int?, order: Int?, number: Int64)] = [:]
        for relationship in entity.relationships {
            guard case .toOne(_, let column, let entity, let order) = schema.storage(of: relationship) else { continue }
            toOnes[relationship.name] = (column, entity, order, Int64(schema.number(of: relationship.destination)))
        }
        self.toOnes = toOnes
    }
}

/// An object of the demonstration before it is stored. It is a class, so that a closure can fill it by name.
final class DemoRow {
    private enum Value {
        case integer(Int64)
        case real(Double)
        case text(String)
        case blob([UInt8])
        case reference(Int64, order: Int64?)
    }

    let entity: EntityDescription?
    private var values: [(name: String, value: Value)] = []

    init(_ entity: EntityDescription?) { self.entity = entity }

    func set(_ name: String, text: String) { values.append((name, .text(text))) }
    func set(_ name: String, integer: Int64) { values.append((name, .integer(integer))) }
    func set(_ name: String, real: Double) { values.append((name, .real(real))) }
    func set(_ name: String, blob: [UInt8]) { values.append((name, .blob(blob))) }
    /// Sets a to-one relationship, with the position of this object in the ordered inverse.
    func set(_ name: String, key: Int64, order: Int64? = nil) { values.append((name, .reference(key, order: order))) }

    /// Puts the values into a row of a batch.
    func store(in batch: inout RowBatch, row: Int, columns: DemoColumns) {
        for (name, value) in values {
            switch value {
            case .integer(let number):
                if let column = columns.attributes[name] { batch[row, column] = .integer(number) }
            case .real(let number): if let column = columns.attributes[name] { batch[row, column] = .real(number) }
            case .text(var text):
                guard let column = columns.attributes[name] else { continue }
                text.withUTF8 { batch.setBytes(UnsafeRawBufferPointer($0), kind: .text, row: row, slot: column) }
            case .blob(let bytes):
                guard let column = columns.attributes[name] else { continue }
                bytes.withUnsafeBytes { batch.setBytes($0, kind: .blob, row: row, slot: column) }
            case .reference(let key, let order):
                guard let place = columns.toOnes[name] else { continue }
                batch[row, place.column] = .integer(key)
                if let entity = place.entity { batch[row, entity] = .integer(place.number) }
                if let column = place.order, let order { batch[row, column] = .integer(order) }
            }
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
