import CoreDataStore
import Diagnostics
import Foundation
import ManagedModel
import Rows

/// The values of a row as they are shown. The row is not read again: it holds large values as references.
struct ShownRow {
    private static let longestBeginning = 200

    let row: PointRows.Row
    let schema: StoreSchema
    let external: ExternalFolder
    /// True if transformable attributes are shown as objects where their transformer is known; false: as data.
    let transforms: Bool

    /// Returns the stored attributes of the row's entity, by name, with composite attributes as one.
    func attributes(of entity: EntityDescription) throws(MigrationError) -> [StoredObject.Attribute] {
        var found: [StoredObject.Attribute] = []
        for attribute in entity.declaredAttributes where !attribute.isTransient {
            guard let value = try value(attribute.name, of: entity) else { continue }
            found.append(.init(name: attribute.name, value: value))
        }
        return found
    }

    private func value(_ path: String, of entity: EntityDescription) throws(MigrationError) -> ShownValue? {
        if let composite = entity.composite(named: path) {
            var elements: [ShownValue.Element] = []
            for element in composite.elements {
                guard let value = try value("\(path).\(element.name)", of: entity) else { continue }
                elements.append(.init(name: element.name, value: value))
            }
            return .composite(elements)
        }
        guard let attribute = entity.attribute(named: path), let column = schema.column(of: attribute) else {
            return nil
        }
        return try value(of: attribute, column: column)
    }

    func value(of attribute: AttributeDescription, column: Int) throws(MigrationError) -> ShownValue {
        let isExternal = attribute.definition.allowsExternalBinaryDataStorage
        let cell = row.batch[0, column]
        if cell.kind == .huge {
            let huge = row.batch.huge(cell)
            let first = try Self.beginning(of: huge, count: Self.longestBeginning)
            if huge.isText { return .longText(beginning: String(decoding: first, as: UTF8.self), bytes: huge.count) }
            let marker = isExternal ? 1 : 0
            return .data(
                .init(count: huge.count - marker, first: Array(first.dropFirst(marker).prefix(ShownValue.Bytes.most))))
        }
        let value = try ValueBridge.object(cell, in: row.batch, type: attribute.attributeType, isExternal: isExternal)
        if let stored = value as? ExternalFileReference { return .data(try bytes(of: stored)) }
        guard transforms, attribute.attributeType == .transformable, let data = value as? Data else {
            return ShownValue(value)
        }
        return ShownValue(TransformableBridge.value(data, attribute))
    }

    private func bytes(of stored: ExternalFileReference) throws(MigrationError) -> ShownValue.Bytes {
        guard let reference = stored.reference else { return .init(count: nil, first: []) }
        let path = external.path(of: reference)
        do throws(MigrationError) {
            guard let file = try external.file(reference) else { return .init(count: nil, first: [], file: path) }
            let whole = HugeValue(source: file, key: 0, count: file.count, isText: false)
            let first = try Self.beginning(of: whole, count: ShownValue.Bytes.most)
            return .init(count: file.count, first: first, file: path)
        } catch {
            guard error.category == .data || error.category == .permission else { throw error }
            return .init(count: nil, first: [], file: path)
        }
    }

    /// Returns the first bytes of a value that is too large to be read whole.
    private static func beginning(of value: HugeValue, count: Int) throws(MigrationError) -> [UInt8] {
        // Throwing is the way to end a reading before the end.
        let enough = MigrationError("value.enough", .internal, "The first bytes were read")
        var first: [UInt8] = []
        do throws(MigrationError) {
            try value.source.read(value) { part throws(MigrationError) in
                first = Array(part.prefix(count))
                throw enough
            }
        } catch {
            guard error.code == enough.code else { throw error }
        }
        return first
    }
}
