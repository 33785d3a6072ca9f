import CoreDataStore
import Diagnostics
import Foundation
import ManagedModel
import Mapping
import Rows

/// A source object for the evaluator. Its values are read on demand.
final class EvaluatedSource: NSObject, ExpressionObject {
    let entity: EntityDescription
    let table: Int
    /// The key. A pass that keeps no object shows one after the other by the same instance.
    var key: Int64
    private let objects: VerifiedObjects

    init(entity: EntityDescription, table: Int, key: Int64, objects: VerifiedObjects) {
        self.entity = entity
        self.table = table
        self.key = key
        self.objects = objects
    }

    /// Another instance, to show another object of the entity.
    var another: EvaluatedSource { EvaluatedSource(entity: entity, table: table, key: key, objects: objects) }

    /// Returns the object of a to-one relationship, also if its row does not exist; nil if there is no reference.
    func end(of relationship: RelationshipDescription) throws -> EvaluatedSource? {
        try objects.end(of: self, relationship)
    }

    /// Tells whether the object's row exists.
    var exists: Bool { get throws { try objects.object(table: table, key: key) != nil } }

    /// `Entity/p<key>`.
    var objectName: String { "\(entity.definition.name)/p\(key)" }

    func expressionValue(forKey key: String) throws -> Any? { try objects.value(of: self, key) }
    func expressionScalar(forKey key: String) throws -> ExpressionConstant? { try objects.scalar(of: self, key) }
    var expressionEntityName: String? { entity.definition.name }
    var expressionEntity: EntityDescription? { entity }

    override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? EvaluatedSource else { return false }
        return other.table == table && other.key == key
    }
    override var hash: Int { key.hashValue ^ table }
}

/// A destination object that a lookup gives; it has no values here.
final class VerifiedResult: NSObject {
    /// The index of the entity mapping that made it.
    let mapping: Int
    let sourceKey: Int64
    let key: Int64

    init(mapping: Int, sourceKey: Int64, key: Int64) {
        self.mapping = mapping
        self.sourceKey = sourceKey
        self.key = key
    }

    override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? VerifiedResult else { return false }
        return other.mapping == mapping && other.key == key
    }
    override var hash: Int { key.hashValue ^ mapping }
}

/// Reads the source's objects one by one.
///
/// Objects that a pass walks over have their values from its rows in view. All others, those at the ends of key paths, are
/// looked up by their keys.
///
/// Memory: a row of each table, and the members of the relationship that is read, at most ``mostMembers``.
final class VerifiedObjects {
    /// The largest number of members that may be read from one relationship of one object. If there are more, the value cannot be
    /// verified (``VerificationObstacle``).
    static let mostMembers = 100_000

    let source: SourceStore
    let layout: StoreLayout
    let external: ExternalFolder
    /// The rows that a pass walks over, with all columns of their table; nil if it walks over other rows.
    var pass: (table: Int, rows: SequentialRows)?
    /// The columns of attributes that were read, by entity and name.
    private var columns: [Int: [String: (column: Int, type: AttributeType)]] = [:]
    private let rows: PointRows

    /// True if transformable attributes have objects as values, false if they have bytes.
    private let transforms: Bool

    init(source: SourceStore, layout: StoreLayout, external: ExternalFolder, transforms: Bool) {
        self.transforms = transforms
        self.source = source
        self.layout = layout
        self.external = external
        rows = PointRows(source: source, layout: layout, streams: false)
    }

    func release() {
        pass = nil
        rows.removeAll()
    }

    func object(table: Int, key: Int64) throws -> EvaluatedSource? {
        guard let number = try read(table: table, key: key, { $0[$1, EntityTable.entityColumn] }) else { return nil }
        let file = number.kind == .integer ? Int(truncatingIfNeeded: number.integerValue) : 0
        guard let entity = layout.entity(inTable: table, forFileNumber: file) else { return nil }
        return EvaluatedSource(entity: layout.schema.model.entity(at: entity), table: table, key: key, objects: self)
    }

    /// Returns a value of an object that a pass walks over, if it is a scalar: the same as that of `value(of:_:)`, unboxed.
    func scalar(of object: EvaluatedSource, _ name: String) throws -> ExpressionConstant? {
        guard let rows = pass?.rows, pass?.table == object.table, rows.key == object.key,
            let (column, type) = column(of: object.entity, name)
        else { return nil }
        let cell = rows.batch[rows.row, column]
        let number = cell.integerValue
        return switch (cell.kind, type) {
        case (.integer, .boolean): .boolean(number != 0)
        case (.integer, .integer16): .integer(Int64(Int16(truncatingIfNeeded: number)))
        case (.integer, .integer32): .integer(Int64(Int32(truncatingIfNeeded: number)))
        case (.integer, .integer64): .integer(number)
        case (.integer, .double): .double(Double(number))
        case (.real, .double): .double(cell.realValue)
        case (.integer, .date): .date(Double(number))
        case (.real, .date): .date(cell.realValue)
        case (.text, .string): .string(String(decoding: rows.batch.bytes(cell), as: UTF8.self))
        default: nil
        }
    }

    private func column(of entity: EntityDescription, _ name: String) -> (column: Int, type: AttributeType)? {
        if let known = columns[entity.index]?[name] { return known }
        guard let attribute = entity.attribute(named: name), let column = layout.schema.column(of: attribute) else {
            return nil
        }
        columns[entity.index, default: [:]][name] = (column, attribute.attributeType)
        return (column, attribute.attributeType)
    }

    /// Calls a closure with an object's row, as a batch and an index; its cells are the columns of the table.
    ///
    /// - Returns: nil if there is no such row.
    func read<Value>(
        table: Int, key: Int64, _ body: (borrowing RowBatch, Int) throws -> Value?
    ) throws -> Value? {
        if let pass, pass.table == table, pass.rows.key == key { return try body(pass.rows.batch, pass.rows.row) }
        return try rows.row(key, table: table).flatMap { try body($0.batch, 0) }
    }

    func value(of object: EvaluatedSource, _ name: String) throws -> Any? {
        if let attribute = object.entity.attribute(named: name) {
            guard let column = layout.schema.column(of: attribute) else { return nil }
            let isExternal = attribute.definition.allowsExternalBinaryDataStorage
            let value = try read(table: object.table, key: object.key) { batch, row in
                try ValueBridge.object(
                    batch[row, column], in: batch, type: attribute.attributeType, isExternal: isExternal)
            }
            guard let stored = value as? ExternalFileReference else { return transformable(value, attribute) }
            guard let reference = stored.reference, let file = try external.file(reference) else {
                throw VerificationObstacle("a file of external data is missing")
            }
            guard file.count <= source.valueLimit else { throw VerificationObstacle("an external value is too large") }
            return transformable(Data(try file.contents()), attribute)
        }
        if let composite = object.entity.composite(named: name) {
            return try CompositeValue.dictionary(of: composite, in: object.entity) {
                try TransformableValue.object(of: value(of: object, $0))
            }
        }
        guard let relationship = object.entity.relationship(named: name) else {
            switch name {
            case "objectID":
                let place = ObjectPlace(entity: object.entity, key: object.key, table: object.table)
                return ManagedObjectID(place: place, storeUUID: source.metadata.uuid, isDestination: false)
            case "entity": return object.entity
            default: break
            }
            throw VerificationObstacle("\(object.entity.definition.name) has no property \(name)")
        }
        let target = layout.schema.tableIndex(of: relationship.destination)
        if !relationship.isToMany {
            return try reference(of: object, relationship).flatMap { try self.object(table: target, key: $0) }
        }
        var members: [EvaluatedSource] = []
        for member in try memberKeys(of: object.key, relationship) {
            if let found = try self.object(table: target, key: member) { members.append(found) }
        }
        return relationship.isOrdered ? NSOrderedSet(array: members) : NSSet(array: members)
    }

    /// Returns the object of a to-one relationship, also if its row does not exist; nil if there is no reference.
    func end(of object: EvaluatedSource, _ relationship: RelationshipDescription) throws -> EvaluatedSource? {
        guard let key = try reference(of: object, relationship) else { return nil }
        let table = layout.schema.tableIndex(of: relationship.destination)
        return try self.object(table: table, key: key)
            ?? EvaluatedSource(entity: relationship.destination, table: table, key: key, objects: self)
    }

    private func reference(of object: EvaluatedSource, _ relationship: RelationshipDescription) throws -> Int64? {
        guard case .toOne(_, let column, _, _) = layout.schema.storage(of: relationship),
            let cell = try read(table: object.table, key: object.key, { $0[$1, column] }), cell.kind == .integer
        else { return nil }
        return cell.integerValue
    }

    private func transformable(_ value: Any?, _ attribute: AttributeDescription) -> Any? {
        guard transforms, attribute.attributeType == .transformable, let bytes = value as? Data else { return value }
        return TransformableBridge.value(bytes, attribute)
    }

    private func memberKeys(of key: Int64, _ relationship: RelationshipDescription) throws -> [Int64] {
        let cursor = try source.members(of: relationship, owners: key...key, in: layout)
        var keys: [Int64] = []
        while let member = try cursor?.next() {
            guard keys.count < Self.mostMembers else {
                throw VerificationObstacle("an object has more than \(Self.mostMembers) members")
            }
            keys.append(member.key)
        }
        return keys
    }
}

/// A reason why something cannot be computed again.
struct VerificationObstacle: Error {
    let reason: String

    init(_ reason: String) { self.reason = reason }

    /// Returns the reason given by an error of an evaluation.
    static func reason(of error: any Error) -> String {
        if let obstacle = error as? VerificationObstacle { return obstacle.reason }
        if let error = error as? MigrationError {
            if let cause = error.cause { return reason(of: cause) }
            return error.message
        }
        return "\(error)"
    }
}

/// The `$manager` of evaluated expressions. It answers lookups from the verification's own pairs.
final class LookupStub: NSObject, ExpressionFunctions {
    private let plan: VerificationPlan
    private let storage: VerificationStorage
    /// The index of the mapping model whose expressions are evaluated. A lookup by an entity mapping's name finds the entity
    /// mapping of that name in this model, or else in the latest previous model that has one.
    var model = 0
    /// The entity mapping whose expressions are evaluated.
    private var current: EntityMapping?

    init(plan: VerificationPlan, storage: VerificationStorage) {
        self.plan = plan
        self.storage = storage
    }

    private static let byName = [LookupSelector.byEntityMapping, LookupSelector.byEntityMappingName]
    private static let byRelationship = LookupSelector.bySourceRelationship

    private static let properties = ["currentEntityMapping", "mappingModel", "sourceModel", "destinationModel"]

    /// Sets the entity mapping whose expressions are evaluated from now on.
    func enter(_ mapping: VerifiedMapping) {
        model = mapping.model
        current = mapping.mapping
    }

    private static let fetches = [
        LookupSelector.fetch, LookupSelector.fetchWithSubentities, "sourceContext", "destinationContext",
    ]

    /// True: a selector that is not answered is an obstacle with words for it.
    func knows(selector: String) -> Bool { true }

    private func property(_ name: String) -> Any? {
        switch name {
        case "currentEntityMapping": return current
        case "sourceModel": return plan.source.schema.model
        case "destinationModel": return plan.destination.schema.model
        default:
            let model = MappingModel()
            model.entityMappings = plan.own(self.model).map(\.mapping)
            return model
        }
    }

    func call(selector: String, arguments: [Any?]) throws -> Any? {
        if Self.properties.contains(selector) { return property(selector) }
        if Self.fetches.contains(selector) { throw VerificationObstacle("it fetches") }
        guard Self.byName.contains(selector) || selector == Self.byRelationship, arguments.count == 2,
            let name = arguments[0] as? String
        else {
            throw VerificationObstacle("the expression calls \(selector)")
        }
        let mappings = selector == Self.byRelationship ? plan.answering(model: model) : plan.named(name, model: model)
        if let making = mappings.first(where: { $0.forEach != nil }) {
            throw VerificationObstacle("it looks up objects that \(making.name) makes for each member")
        }
        var sources = ValueBridge.items(of: arguments[1]).compactMap {
            $0 as? EvaluatedSource ?? ($0 as? FilledSource)?.first
        }
        if arguments[1] is NSSet { sources.sort { $0.key < $1.key } }
        let found = NSMutableOrderedSet()
        for object in sources {
            for mapping in mappings where mapping.isDeclarative && plan.sourceTable(mapping) == object.table {
                let key = try storage.keys[mapping.index]?.found(of: object.key)
                if let key { found.add(VerifiedResult(mapping: mapping.index, sourceKey: object.key, key: key)) }
            }
        }
        return found.array
    }
}
