import CoreDataStore
import Diagnostics
import Foundation
import ManagedModel
import Rows

/// Many objects as lines of JSON, each as its ``StoredObject`` is encoded.
///
/// Values are written from the row in view, members come from one query for all owners, and the entities of other rows from
/// ``RowEntities``. A value of a rare form is read and encoded as that of a single object.
///
/// Memory: the text of the lines that are not taken yet, and a byte for each key of the tables that relationships lead to, as far
/// as there is room.
final class ObjectLines {
    private let reader: ObjectReader
    private let scan: SequentialRows
    private var shapes: [Int: Shape] = [:]
    private var streams: [String: OwnedMembers] = [:]
    private var entities: [Int: RowEntities?] = [:]
    /// The memory in bytes that is left for the entities of rows.
    private var room: Int
    private var members: [Int64] = []
    private(set) var line = JSONLineBytes()

    private var schema: StoreSchema { reader.layout.schema }

    /// - Parameter scan: the objects' rows; its slots are the table's columns.
    init(_ reader: ObjectReader, _ scan: SequentialRows, room: Int) {
        self.reader = reader
        self.scan = scan
        self.room = room
    }

    /// Returns the lines since the last call.
    func take() -> String {
        defer { line.removeAll() }
        return line.text
    }

    /// Appends the object in view.
    func append(_ entity: EntityDescription) throws {
        let shape = shape(entity)
        line.append("{\"attributes\":{")
        try write(shape.fields, of: entity)
        line.append(shape.middle)
        line.append(integer: scan.key)
        line.append("\",\"key\":")
        line.append(integer: scan.key)
        let place = line.bytes.count
        line.append(",\"relationships\":{")
        var missing: [[(RelationshipDescription, Int64)]] = []
        for (index, link) in shape.links.enumerated() {
            if index > 0 { line.append(",") }
            line.append(link.label)
            let lost = try link.isToMany ? writeMembers(link) : writeTarget(link)
            guard !lost.isEmpty else { continue }
            if missing.isEmpty { missing = Array(repeating: [], count: shape.links.count) }
            missing[link.position] = lost.map { (link.relationship, $0) }
        }
        line.append("}}\n")
        if !missing.isEmpty { insert(missing.flatMap(\.self), at: place) }
    }

    /// Inserts the list of members of which the store has no row.
    private func insert(_ missing: [(relationship: RelationshipDescription, key: Int64)], at place: Int) {
        var list = JSONLineBytes()
        list.append(",\"missing\":[")
        for (index, member) in missing.enumerated() {
            if index > 0 { list.append(",") }
            list.append(quoted: "\(member.relationship.destination)/p\(member.key)")
        }
        list.append("]")
        line.insert(list, at: place)
    }

    // MARK: - Shapes

    // Classes: a value of the model's descriptions costs more to copy than its line to write.

    /// The properties of an entity in the order in which they are written, by name, with what is written before each.
    private final class Shape {
        let fields: [Field]
        let links: [Link]
        /// The text between the attributes and the key.
        let middle: [UInt8]
        /// The beginning of an object's name, up to the key.
        let opening: [UInt8]

        init(fields: [Field], links: [Link], middle: [UInt8], opening: [UInt8]) {
            (self.fields, self.links, self.middle, self.opening) = (fields, links, middle, opening)
        }
    }

    private final class Field {
        let label: [UInt8]
        let type: AttributeType
        let column: Int
        /// The attribute; nil for a composite one.
        let attribute: AttributeDescription?
        let elements: [Field]
        let isComposite: Bool

        init(label: [UInt8], _ attribute: AttributeDescription, column: Int) {
            (self.label, self.attribute, self.column, elements) = (label, attribute, column, [])
            (type, isComposite) = (attribute.attributeType, false)
        }

        init(label: [UInt8], elements: [Field]) {
            (self.label, self.elements, attribute, column) = (label, elements, nil, 0)
            (type, isComposite) = (.undefined, true)
        }
    }

    private final class Link {
        let label: [UInt8]
        let relationship: RelationshipDescription
        let isToMany: Bool
        /// The position among the entity's relationships.
        let position: Int
        /// The column of a to-one relationship.
        let column: Int?
        let table: Int
        /// The members of a to-many relationship, once an owner was written.
        var members: OwnedMembers?

        init(_ relationship: RelationshipDescription, position: Int, column: Int?, table: Int) {
            label = JSONLineBytes.json(relationship.name) + [UInt8(ascii: ":")]
            isToMany = relationship.isToMany
            (self.relationship, self.position, self.column, self.table) = (relationship, position, column, table)
        }
    }

    private func shape(_ entity: EntityDescription) -> Shape {
        if let known = shapes[entity.index] { return known }
        let name = JSONLineBytes.json(entity.definition.name)
        let opening = name.dropLast() + Array("/p".utf8)
        let shape = Shape(
            fields: entity.declaredAttributes.filter { !$0.isTransient }.map(\.name).sorted().compactMap {
                field($0, label: $0, of: entity)
            },
            links: entity.relationships.filter { !$0.isTransient }.enumerated().sorted {
                $0.element.name < $1.element.name
            }
            .map(link),
            middle: Array("},\"entity\":".utf8) + name + Array(",\"id\":".utf8) + opening, opening: Array(opening))
        shapes[entity.index] = shape
        return shape
    }

    private func field(_ path: String, label: String, of entity: EntityDescription) -> Field? {
        let text = JSONLineBytes.json(label) + [UInt8(ascii: ":")]
        if let composite = entity.composite(named: path) {
            return Field(
                label: text,
                elements: composite.elements.map(\.name).sorted().compactMap {
                    field("\(path).\($0)", label: $0, of: entity)
                })
        }
        guard let attribute = entity.attribute(named: path), let column = schema.column(of: attribute) else {
            return nil
        }
        return Field(label: text, attribute, column: column)
    }

    private func link(_ position: Int, _ relationship: RelationshipDescription) -> Link {
        var column: Int?
        if case .toOne(_, let own, _, _) = schema.storage(of: relationship) { column = own }
        return Link(
            relationship, position: position, column: column, table: schema.tableIndex(of: relationship.destination))
    }

    // MARK: - Values

    private func write(_ fields: [Field], of entity: EntityDescription) throws {
        for (index, field) in fields.enumerated() {
            if index > 0 { line.append(",") }
            line.append(field.label)
            if field.isComposite {
                line.append("{")
                try write(field.elements, of: entity)
                line.append("}")
                continue
            }
            guard !write(scan.batch[scan.row, field.column], field.type), let attribute = field.attribute else {
                continue
            }
            let value = try reader.row(entity, scan.key).value(of: attribute, column: field.column)
            line.append(Array(try JSONEncoder.text(value, []).utf8.dropLast()))
        }
    }

    /// Writes a value of a usual form. Returns false if it has another one.
    private func write(_ cell: Cell, _ type: AttributeType) -> Bool {
        switch (cell.kind, type) {
        case (.null, let type) where !type.isBytes: line.append("null")
        case (.integer, .boolean): line.append(cell.integerValue != 0 ? "true" : "false")
        case (.integer, .integer16): line.append(integer: Int64(Int16(truncatingIfNeeded: cell.integerValue)))
        case (.integer, .integer32): line.append(integer: Int64(Int32(truncatingIfNeeded: cell.integerValue)))
        case (.integer, .integer64), (.integer, .decimal): line.append(integer: cell.integerValue)
        case (.real, .double): line.append(real: cell.realValue)
        // Other magnitudes have an exponent, which a Float and a Double, or a Decimal, write in two ways.
        case (.real, .float) where (1e-4..<1e7).contains(cell.realValue.magnitude):
            line.append(number: Float(cell.realValue).description)
        case (.real, .decimal) where (1e-4..<1e15).contains(cell.realValue.magnitude): line.append(real: cell.realValue)
        case (.real, .date): line.append(quoted: ShownValue.text(ofDate: cell.realValue))
        case (.text, .string): line.append(quoted: scan.batch.bytes(cell))
        default: return false
        }
        return true
    }

    // MARK: - Relationships

    /// Writes the object of a to-one relationship. Returns its key if the store has no row of it.
    private func writeTarget(_ link: Link) throws -> [Int64] {
        guard let column = link.column, scan.batch[scan.row, column].kind == .integer else {
            line.append("null")
            return []
        }
        let key = scan.batch[scan.row, column].integerValue
        return try writeName(key, link) ? [] : [key]
    }

    /// Writes the number and the first members of a to-many relationship. Returns the keys of which the store has no row.
    private func writeMembers(_ link: Link) throws -> [Int64] {
        let stream = try link.members ?? members(of: link)
        let count = try stream.members(of: scan.key, first: &members, most: reader.mostMembers)
        line.append("{\"count\":")
        line.append(integer: Int64(count))
        line.append(",\"members\":[")
        var missing: [Int64] = []
        for (index, key) in members.enumerated() {
            if index > 0 { line.append(",") }
            if try !writeName(key, link) { missing.append(key) }
        }
        line.append("]}")
        return missing
    }

    /// Begins to read the members of a relationship. Entities that inherit it share the stream.
    private func members(of link: Link) throws(MigrationError) -> OwnedMembers {
        let name = "\(link.relationship.entity.index) \(link.relationship.name)"
        let stream: OwnedMembers
        if let known = streams[name] {
            stream = known
        } else {
            stream = try OwnedMembers(reader.store, link.relationship, from: scan.key, in: reader.layout)
            streams[name] = stream
        }
        link.members = stream
        return stream
    }

    /// Writes an object's name by its own entity. Returns false if the store has no row of it.
    private func writeName(_ key: Int64, _ link: Link) throws -> Bool {
        let entity = try entity(of: key, table: link.table)
        let named = entity.map(schema.model.entity(at:)) ?? link.relationship.destination
        line.append(shape(named).opening)
        line.append(integer: key)
        line.append("\"")
        return entity != nil
    }

    private func entity(of key: Int64, table: Int) throws(MigrationError) -> Int? {
        if entities[table] == nil {
            let read = try RowEntities(reader.store, reader.layout, table: table, most: room)
            room -= read?.size ?? 0
            entities[table] = .some(read)
        }
        if let known = entities[table] ?? nil { return known.entity(of: key) }
        return try reader.store.entity(ofKey: key, table: table, in: reader.layout)
    }
}
