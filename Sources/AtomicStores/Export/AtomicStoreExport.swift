import CoreDataStore
import Diagnostics
import ManagedModel

/// The writing of a finished SQLite store as a store of type XML or binary.
package struct AtomicStoreExport {
    let path: String
    let model: ManagedObjectModel
    let format: StoreFormat

    /// - Parameters:
    ///   - path: the SQLite store; it is only read.
    ///   - model: its model.
    package init(of path: String, model: ManagedObjectModel, format: StoreFormat) {
        (self.path, self.model, self.format) = (path, model, format)
    }

    /// Refuses a model whose stores cannot be written in a format: one with attributes of a type whose form is known from no real
    /// file, and one with what only SQLite stores keep.
    ///
    /// - Throws: `store.unprovenType`, `store.unwritable`, `model.namesDifferByCase` (78).
    package static func check(_ model: ManagedObjectModel, _ format: StoreFormat) throws(MigrationError) {
        guard format != .sqlite else { return }
        _ = try AtomicModel(model, folds: format == .xml)
        for entity in model.entities {
            let name = entity.definition.name
            func refuse(_ what: String) -> MigrationError {
                MigrationError(
                    "store.unwritable", .configuration, "The model has \(what), which only stores of type SQLite keep",
                    remedy: "Make a store of type SQLite", context: .init(entity: name))
            }
            if !entity.definition.uniquenessConstraints.isEmpty { throw refuse("a uniqueness constraint") }
            if let composite = entity.composites.first { throw refuse("the composite attribute \(composite.path)") }
            for attribute in entity.ownAttributes where attribute.isStored {
                if attribute.isDerived { throw refuse("the derived attribute \(attribute.name)") }
                let type = attribute.attributeType
                guard format == .xml ? XMLValue.word(of: type) != nil : BinaryValue.isProved(type) else {
                    throw AtomicStoreError.unprovenType(attribute.name, type.label, name, format)
                }
            }
            for relationship in entity.relationships where relationship.isOrdered {
                throw unknown(
                    "The relationship \(relationship.name) is ordered, and how", "keep an order", format, name)
            }
            guard format == .binary, let obstacle = SlotPlan.obstacle(entity) else { continue }
            throw unknown("The entity has \(obstacle), and in which places", "keep its values", format, name)
        }
    }

    private static func unknown(
        _ reason: String, _ deed: String, _ format: StoreFormat, _ entity: String
    ) -> MigrationError {
        MigrationError(
            "store.unwritable", .configuration,
            "\(reason) stores of type \(format.rawValue) \(deed) is not known", remedy: "Make a store of type SQLite",
            context: .init(entity: entity))
    }

    /// Writes and syncs the file.
    ///
    /// - Parameters:
    ///   - target: the path of a file that does not exist.
    ///   - checkCancelled: called now and then.
    /// - Returns: a sentence about numbers that are not keys, if there are any.
    /// - Throws: the errors of reading the store and of writing (74, 77).
    /// - Complexity: O(bytes) time; memory is a page cache, a row of each table and the largest value.
    package func write(
        to target: String, permissions: FilePermissions, checkCancelled: () throws -> Void
    ) throws -> String? {
        let store = try ExportedStore(path: path, model: model)
        var header = AtomicStoreHeader(format: format, metadata: store.store.metadata, highestID: 0)
        for table in store.layout.tables.indices {
            guard let key = try store.store.greatestKey(table: table, in: store.layout) else { continue }
            header.highestID = max(header.highestID, store.id(key, table: table))
        }
        for key in ["NSStoreType", "NSStoreUUID", "_NSAutoVacuumLevel"] { header.metadata.propertyList[key] = nil }
        let output = try FileOutput(creating: target, permissions: permissions)
        switch format {
        case .sqlite: preconditionFailure("a store of type SQLite is finished as it is")
        case .binary: try BinaryExport(store: store, output: output).run(header, checkCancelled: checkCancelled)
        case .xml:
            try XMLExport(store: store, writer: XMLStoreWriter(output)).run(header, checkCancelled: checkCancelled)
        }
        let names = zip(store.layout.schema.tables, store.offsets).filter { $1 > 0 }.map {
            "\(model.entities[$0.root].definition.name) \($1)"
        }
        try store.close()
        guard !names.isEmpty else { return nil }
        return "Tables have the same keys, and a store of type \(format.rawValue) has one series of numbers: a number "
            + "is the key and what is given by root entity, \(names.joined(separator: ", "))"
    }
}
