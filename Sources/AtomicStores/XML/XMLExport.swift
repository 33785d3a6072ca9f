import CoreDataStore
import Diagnostics
import Foundation
import ManagedModel

/// Writes the objects of a finished SQLite store as an XML store.
struct XMLExport {
    let store: ExportedStore
    let writer: XMLStoreWriter

    /// - Parameter checkCancelled: called once in a thousand objects.
    func run(_ header: AtomicStoreHeader, checkCancelled: () throws -> Void) throws {
        try writer.begin(header)
        var count = 0
        var text: [UInt8] = []
        try store.forEachObject { entity, id, key, row in
            count += 1
            if count % 1000 == 0 { try checkCancelled() }
            try writer.beginObject(type: entity.name.uppercased(), id: id)
            for attribute in entity.attributes where !row.isNull(attribute.place) {
                guard let word = XMLValue.word(of: attribute.type) else {
                    throw AtomicStoreError.unprovenType(
                        attribute.name, attribute.type.label, entity.name, .xml)
                }
                text.removeAll(keepingCapacity: true)
                try XMLValue.append(row, attribute, to: &text)
                try writer.attribute(attribute.name.lowercased(), word: word, escaped: text)
            }
            for relationship in entity.relationships {
                let description = relationship.relationship
                try writer.beginRelationship(
                    description.name.lowercased(), counts: "\(description.minCount)/\(description.maxCount)",
                    destination: description.destination.definition.name.uppercased())
                try store.forEachTarget(of: relationship, key: key, row: row) { target throws(MigrationError) in
                    try writer.target(target)
                }
                try writer.endRelationship()
            }
            try writer.endObject()
        }
        try writer.finish()
    }
}

extension XMLValue {
    /// Appends the text of a value that is not NULL, with its escapes.
    static func append(
        _ row: Statement, _ attribute: AtomicModel.Attribute, to text: inout [UInt8]
    ) throws(MigrationError) {
        switch attribute.type {
        case .date: text += Array(String(format: "%.20f", row.double(attribute.place)).utf8)
        case .float: text += Array(plain(row.double(attribute.place)).utf8)
        case .string:
            if let value = row.text(attribute.place) {
                Array(value.utf8).withUnsafeBytes { XMLEscapes.append($0, to: &text) }
            }
        case .binaryData:
            text += Array(lines(try ExportedValue.bytes(row, attribute)).utf8)
        default: text += Array("\(row.integer(attribute.place))".utf8)
        }
    }

    /// The text of a Float with the fewest digits that read as the same number.
    static func plain(_ value: Double) -> String {
        let text = Double(Float(value)) == value ? "\(Float(value))" : "\(value)"
        return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
    }

    /// Base64 as in real files: a line of 76 characters, then the rest in another.
    private static func lines(_ bytes: [UInt8]) -> String {
        let text = Data(bytes).base64EncodedString()
        guard text.utf8.count > 76 else { return text + (text.isEmpty ? "" : "\n") }
        return "\(text.prefix(76))\n\(text.dropFirst(76))\n"
    }
}

/// A value on its way into a store of another type.
enum ExportedValue {
    /// The bytes of a binary value, without the marker of external storage.
    static func bytes(
        _ row: Statement, _ attribute: AtomicModel.Attribute
    ) throws(MigrationError) -> [UInt8] {
        let bytes = row.blob(attribute.place) ?? []
        guard attribute.isMarked else { return bytes }
        guard bytes.first == RowEntry.inlineMarker else {
            throw MigrationError(
                "store.externalValue", .data, "A value lies in a file of its own, as only SQLite stores may have them",
                remedy: "Run the migration with --external-threshold above the size of the largest value",
                context: .init(objectID: "p\(row.integer(0))", property: attribute.name))
        }
        return Array(bytes.dropFirst())
    }
}
