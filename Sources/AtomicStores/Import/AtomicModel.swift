import CoreDataStore
import Diagnostics
import ManagedModel

/// A model by the words that stores of types XML and binary use for its parts, with the place of each in an SQLite store.
final class AtomicModel {
    /// An attribute and its column.
    struct Attribute {
        let name: String
        let type: AttributeType
        /// The index in the table's columns.
        let column: Int
        /// True if a value in the column begins with the marker byte of inline external storage.
        let isMarked: Bool
    }

    /// A relationship and where its links go.
    struct Relationship {
        let name: String
        /// The number among all relationships of the model, inherited ones not counted again.
        let number: Int
        let isToMany: Bool
        /// The column of a to-one relationship's key, and that of its destination's entity; nil: none.
        var column: Int?
        var entityColumn: Int?
        /// The pair of relationships that share links, and the side in it, 0 or 1; nil: nothing to bring together.
        var pair: (number: Int, side: Int)?
    }

    /// A concrete or abstract entity.
    struct Entity {
        let entity: EntityDescription
        let table: Int
        let number: Int64
        var attributes: [String: Attribute] = [:]
        var relationships: [String: Relationship] = [:]
    }

    /// Relationships that share links. A link is a pair of keys, that of the side 0 first.
    struct Pair {
        enum Kind {
            /// Both sides are listed, the links have their place in a column of the side 0's object.
            case column
            /// The links are the rows of a join table.
            case join(Int)
            /// Only the side 1 is listed: a to-many relationship without inverse, with a hidden column in the side 0's table.
            case hidden(column: Int)
        }
        var kind: Kind
        /// The names of the relationships of the two sides.
        var names: [String]
        /// True if each link has to be listed on both sides.
        var isMutual: Bool
        /// The table and the column with the position of the side 0's object in the side 1's list; nil if that is not ordered.
        var orderColumn: Int?
        /// The table of the side 0's objects.
        var table: Int
    }

    let model: ManagedObjectModel
    let schema: StoreSchema
    private(set) var entities: [Entity] = []
    private(set) var pairs: [Pair] = []
    /// The relationships by number.
    private(set) var numbered: [RelationshipDescription] = []
    private var byName: [String: Int] = [:]
    private var numbers: [PropertyReference: Int] = [:]
    private var placed: [PropertyReference: (number: Int, side: Int)] = [:]

    /// - Parameter folds: true if names are written without regard to case, as in XML stores.
    /// - Throws: `model.namesDifferByCase` (78).
    init(_ model: ManagedObjectModel, folds: Bool) throws(MigrationError) {
        self.model = model
        schema = StoreSchema(model: model)
        for entity in model.entities {
            for relationship in entity.relationships where numbers[relationship.reference] == nil {
                numbers[relationship.reference] = numbered.count
                numbered.append(relationship)
            }
        }
        for relationship in numbered { place(relationship) }
        for entity in model.entities {
            let name = entity.definition.name
            guard byName.updateValue(entities.count, forKey: folds ? name.uppercased() : name) == nil else {
                throw Self.ambiguous("entities", name, nil)
            }
            entities.append(try describe(entity, folds: folds))
        }
    }

    /// Returns the entity of a name, in upper case where names are folded; nil if there is none.
    func entity(named name: String) -> Int? { byName[name] }

    private static func ambiguous(_ what: String, _ name: String, _ entity: String?) -> MigrationError {
        MigrationError(
            "model.namesDifferByCase", .configuration,
            "The model has two \(what) whose names differ from \(name) by case at most, and XML stores keep no case",
            remedy: "Use a store of type SQLite, or rename one of them in a model version of its own",
            context: .init(entity: entity, property: entity == nil ? nil : name))
    }

    private func describe(_ entity: EntityDescription, folds: Bool) throws(MigrationError) -> Entity {
        let table = schema.tableIndex(of: entity)
        var described = Entity(entity: entity, table: table, number: Int64(schema.number(of: entity)))
        var names: Set<String> = []
        func key(_ name: String) throws(MigrationError) -> String {
            let key = folds ? name.lowercased() : name
            guard names.insert(key).inserted else {
                throw Self.ambiguous("properties", name, entity.definition.name)
            }
            return key
        }
        for attribute in entity.attributes where attribute.isStored {
            guard let column = schema.column(of: attribute) else { continue }
            described.attributes[try key(attribute.name)] = Attribute(
                name: attribute.name, type: attribute.attributeType, column: column,
                isMarked: attribute.definition.allowsExternalBinaryDataStorage)
        }
        for relationship in entity.relationships where !relationship.isTransient {
            let reference = relationship.reference
            guard let number = numbers[reference] else { continue }
            var own = Relationship(name: relationship.name, number: number, isToMany: relationship.isToMany)
            if case .toOne(_, let column, let entityColumn, _) = schema.storage(of: relationship) {
                (own.column, own.entityColumn) = (column, entityColumn)
            }
            own.pair = placed[reference]
            described.relationships[try key(relationship.name)] = own
        }
        return described
    }

    /// Finds the pair of a relationship, unless its inverse has found it.
    private func place(_ relationship: RelationshipDescription) {
        guard placed[relationship.reference] == nil, !relationship.isTransient else { return }
        let inverse = relationship.inverseRelationship
        let isMutual =
            inverse.map { $0.inverseRelationship == relationship && $0 != relationship && !$0.isTransient } ?? false
        let number = pairs.count
        func add(_ pair: Pair, _ sides: [(RelationshipDescription, Int)]) {
            pairs.append(pair)
            for (relationship, side) in sides { placed[relationship.reference] = (number, side) }
        }
        switch schema.storage(of: relationship) {
        case .none: break
        case .toOne(let table, _, _, _):
            guard isMutual, let inverse, !inverse.isToMany else { break }
            add(
                Pair(kind: .column, names: [relationship.name, inverse.name], isMutual: true, table: table),
                [(relationship, 0), (inverse, 1)])
        case .toManyByInverse(let table, _, _, let orderColumn):
            guard isMutual, let inverse else { break }
            add(
                Pair(
                    kind: .column, names: [inverse.name, relationship.name], isMutual: true, orderColumn: orderColumn,
                    table: table), [(inverse, 0), (relationship, 1)])
        case .toManyHidden(let table, let column, let orderColumn):
            add(
                Pair(
                    kind: .hidden(column: column), names: ["", relationship.name], isMutual: false,
                    orderColumn: orderColumn, table: table), [(relationship, 1)])
        case .join(let table, let side):
            var names = ["", ""]
            names[side] = relationship.name
            var sides = [(relationship, side)]
            if isMutual, let inverse {
                names[1 - side] = inverse.name
                sides.append((inverse, 1 - side))
            }
            add(Pair(kind: .join(table), names: names, isMutual: isMutual, table: table), sides)
        }
    }
}
