import Archives
import Foundation
import ManagedModel
import Rows
import TestSupport

@testable import CoreDataStore

/// Destinations of small models for writing tests.
enum WritingTestStore {
    private typealias M = SchemaTestModel

    static let uuid = "7D11C4B3-0A0F-4A53-9C39-6AD7A3A9B7C1"

    /// One entity with an attribute of every stored type, itself a tree, and a many-to-many pair.
    static func everyType() throws -> StoreSchema {
        let types = AttributeType.allCases.filter { ![.undefined, .objectID, .composite].contains($0) }
        return try M.schema(
            M.entity(
                "Item", types.map { M.attribute("a\($0.rawValue)", $0) },
                [
                    M.toOne("parent", "Item", inverse: "children"),
                    M.toMany("children", "Item", inverse: "parent", ordered: true),
                    M.toMany("tags", "Tag", inverse: "items", ordered: true),
                ]),
            M.entity("Special", parent: "Item"), M.entity("Tag", [], [M.toMany("items", "Item", inverse: "tags")]))
    }

    static func create(_ schema: StoreSchema, _ path: String) throws -> DestinationStore {
        try DestinationStore(creating: path, schema: schema, cacheBytes: 1 << 20, vfs: nil)
    }

    /// Finishes with hashes of zeros and no source.
    static func finish(
        _ store: DestinationStore, properties: [String: PropertyListValue] = [:], maximumKeys: [Int64]? = nil,
        modelCache: [UInt8]? = nil
    ) throws {
        try store.finish(
            metadata: metadata(store.schema.model, properties: properties),
            maximumKeys: maximumKeys ?? store.schema.tables.map { _ in 0 }, modelCache: modelCache)
    }

    static func metadata(
        _ model: ManagedObjectModel, properties: [String: PropertyListValue] = [:]
    ) -> DestinationMetadata {
        let hashes = model.entities.enumerated().map {
            ($1.definition.name, [UInt8](repeating: UInt8($0), count: 32))
        }
        return DestinationMetadata(
            uuid: uuid, sourceProperties: properties, versionHashes: Dictionary(uniqueKeysWithValues: hashes),
            versionIdentifiers: ["2.0"])
    }

    /// Opens a finished store with stock SQLite.
    static func open(_ path: String) throws -> Connection {
        try Connection(path: path, flags: 1)
    }

    /// A batch of one table: keys from `first`, cells by a closure.
    static func batch(slots: Int, keys: [Int64], _ fill: (inout RowBatch, Int) -> Void) -> RowBatch {
        var batch = RowBatch(slots: slots, rowCapacity: max(1, keys.count), byteTarget: 1 << 16)
        for key in keys {
            let row = batch.appendRow(key: key)
            fill(&batch, row)
        }
        return batch
    }
}

extension RowBatch {
    mutating func set(_ text: String, row: Int, slot: Int) {
        Array(text.utf8).withUnsafeBytes { setBytes($0, kind: .text, row: row, slot: slot) }
    }

    mutating func set(_ bytes: [UInt8], row: Int, slot: Int) {
        bytes.withUnsafeBytes { setBytes($0, kind: .blob, row: row, slot: slot) }
    }
}
