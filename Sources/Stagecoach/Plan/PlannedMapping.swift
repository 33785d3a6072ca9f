import Diagnostics
import ManagedModel
import Mapping
import PersistentStore
import Rows

/// One entity mapping, its names resolved to tables, columns and candidates.
final class PlannedMapping {
    /// Position among all mappings of the run's mapping models: the order of creation, and the "mapping order" of lookups.
    let index: Int
    let mapping: EntityMapping
    /// The file of the mapping model, for errors about it.
    var modelPath: String?
    /// True where the mapping model is one that was inferred: what rows of the source break is left as it stands.
    var followsSource = false
    /// Nil for an add mapping.
    let source: EntityDescription?
    /// Table index in the source schema.
    let sourceTable: Int?
    /// Nil for a remove mapping.
    let destination: EntityDescription?
    /// Table index in the destination schema.
    let destinationTable: Int?
    let filter: SourcePredicate?
    /// Whether the filter has parts that only objects can evaluate.
    let filterNeedsObjects: Bool
    /// What gives the source objects, where it is more than a fetch of the source entity's own objects; then the mapping's
    /// objects are made one by one, in the order in which it gives them.
    let sourceExpression: ValueExpression?
    /// The properties' expressions by name, as they were when the mapping was planned.
    let expressions: [String: ValueExpression]
    /// One for each stored attribute of the destination entity.
    let attributes: [PlannedAttribute]
    /// One for each stored relationship of the destination entity, by name.
    fileprivate(set) var relationships: [PlannedRelationship] = []

    var name: String { mapping.name }
    /// Whether the mapping belongs to a mapping model that ran before: it answers lookups and makes no objects.
    private(set) var isEarlier = false
    /// Whether the mapping's stages are a policy's: one that it names, or the standard one where an expression gives its
    /// source objects.
    var hasPolicy: Bool { mayBeAssociatedByHand && !isEarlier }
    /// Whether the mapping makes one destination row for each source row without user code.
    var isDeclarative: Bool { source != nil && destination != nil && !hasPolicy && !isEarlier }
    /// Whether the links of its policy's objects are found by keys: see ``RelatingByKeys``.
    var isRelatedByKeys = false
    /// Whether its relationship mappings say all of its objects' links: no user code sets any.
    var hasDeclaredLinks: Bool { isDeclarative || (isRelatedByKeys && !isEarlier) }
    /// Whether policy code may have associated anything for the mapping, in its own run or in this one.
    var mayBeAssociatedByHand: Bool { mapping.hasPolicy || sourceExpression != nil }
    /// Whether an object of an entity may be one of the mapping's source objects.
    func reads(_ entity: EntityDescription?) -> Bool {
        guard let source, let entity else { return false }
        return sourceExpression == nil ? entity == source : entity.isKindOf(entity: source)
    }

    /// The mapping's model has run.
    func retire() { isEarlier = true }
    /// The mapping's model is to run again.
    func revive() { isEarlier = false }

    init(
        index: Int, mapping: EntityMapping, source: EntityDescription?, sourceTable: Int?,
        destination: EntityDescription?, destinationTable: Int?, filter: SourcePredicate?,
        filterNeedsObjects: Bool = false, sourceExpression: ValueExpression? = nil, attributes: [PlannedAttribute]
    ) {
        self.index = index
        self.mapping = mapping
        self.source = source
        self.sourceTable = sourceTable
        self.destination = destination
        self.destinationTable = destinationTable
        self.attributes = attributes
        self.filter = filter
        self.filterNeedsObjects = filterNeedsObjects
        self.sourceExpression = sourceExpression
        expressions = PlannedMapping.expressions(of: mapping)
    }

    /// Attributes that only objects can evaluate.
    private(set) lazy var dynamicAttributes: [PlannedAttribute] = attributes.filter(\.needsObjects)

    /// Whether making or relating the mapping's objects evaluates expressions over objects.
    var needsObjects: Bool {
        !dynamicAttributes.isEmpty || hasDynamicRelationships
    }

    /// Whether relating the mapping's objects evaluates expressions over objects.
    var hasDynamicRelationships: Bool {
        relationships.contains { if case .dynamic? = $0.value { true } else { false } }
    }

    /// Relationships with a property mapping, in the order of the property mappings: what the default policy method sets,
    /// one after the other.
    private(set) lazy var relationshipsInMappingOrder: [PlannedRelationship] = (mapping.relationshipMappings ?? [])
        .compactMap { property in property.name.flatMap(relationship(named:)) }

    func relationship(named name: String) -> PlannedRelationship? { relationships.first { $0.name == name } }

    func setRelationships(_ planned: [PlannedRelationship]) { relationships = planned }

    /// The context of errors in this mapping.
    var context: MigrationError.Context {
        MigrationError.Context(entity: destination?.definition.name ?? source?.definition.name, entityMapping: name)
    }

    /// The context of errors at one source object of this mapping.
    func context(ofSource key: Int64) -> MigrationError.Context {
        let entity = source?.definition.name
        var context = MigrationError.Context(
            entity: entity, objectID: "\(entity ?? "?")/p\(key)", entityMapping: name)
        context.sourceObjectID = context.objectID
        return context
    }
}

/// An attribute of a mapping's destination entity and what gives its value.
struct PlannedAttribute {
    let attribute: AttributeDescription
    /// Column index in the destination table.
    let column: Int
    /// Nil: the attribute keeps what insertion gives it, the model's default.
    let expression: ValueExpression?
    /// Whether a nil that the expression gives becomes the default: inference filled it in, and the attribute is required.
    let replacesNil: Bool
    /// The default as stored, the model's or a passed version's; nil where there is none.
    let defaultValue: StoredValue?
    /// Whether only objects can evaluate the expression.
    let needsObjects: Bool
    /// Why the expression's value does not fit, where nobody may evaluate it: the error of the row that does.
    var refusal: MigrationError?
}

/// A relationship of a mapping's destination entity and what gives its links.
struct PlannedRelationship {
    let relationship: RelationshipDescription
    let storage: RelationshipStorage
    /// Nil: the default policy does not touch the relationship.
    let value: RelationshipValue?
    /// Why the expression's objects do not fit, where nobody may evaluate it: the error of the object that does.
    var refusal: MigrationError?
    /// True where every object that the source relationship can have is migrated to one that this relationship may have, and
    /// that no other object takes away: then the relationship lacks only members that the source lacked.
    let keepsMembers: Bool

    var name: String { relationship.name }

    /// Whether the expression may give objects.
    var findsMembers: Bool {
        switch value {
        case .lookup, .dynamic: true
        case nil, .some(.none): false
        }
    }
}

extension RelationshipDescription {
    /// True where several objects may have the same member.
    var sharesMembers: Bool {
        guard let inverse = inverseRelationship else { return !isToMany }
        return inverse.isToMany
    }
}

/// What a relationship mapping's expression says.
enum RelationshipValue {
    /// A constant nil.
    case none
    /// What only objects can evaluate, one after the other.
    case dynamic(ValueExpression)
    /// Look the argument's objects up in the candidates, in mapping order.
    case lookup(argument: SourceArgument, candidates: [Int])
}

/// The source objects that a lookup is asked about, relative to the mapping's source object.
enum SourceArgument {
    /// The source object itself.
    case object(table: Int)
    /// Through to-one relationships: the last one's column holds the key. `steps` lead to the row with that column.
    case toOne(steps: [ToOneStep], column: Int, table: Int, relationship: RelationshipDescription)
    /// The members of a to-many relationship of the source object, or of the object that to-one steps lead to.
    case toMany(steps: [ToOneStep], relationship: RelationshipDescription, table: Int)

    /// The members that a longer path over to-many relationships leads to, or those that a condition admits.
    case members(MemberArgument)

    /// Source table of the objects.
    var table: Int {
        switch self {
        case .object(let table), .toOne(_, _, let table, _), .toMany(_, _, let table): table
        case .members(let argument): argument.table
        }
    }

    /// The relationship that the argument reads last, where it is the only step.
    var singleRelationship: RelationshipDescription? {
        switch self {
        case .object, .members: nil
        case .toOne(let steps, _, _, let relationship): steps.isEmpty ? relationship : nil
        case .toMany(let steps, let relationship, _): steps.isEmpty ? relationship : nil
        }
    }
}

/// A lookup's argument with several to-many relationships, or with a condition. Objects that are reached in several ways
/// count once.
struct MemberArgument {
    /// The argument as a fold: its path, and the condition that SUBQUERY states.
    let fold: CollectionFold
    let path: CollectionPath
    /// Source table of the members.
    let table: Int

    /// The ordered relationship whose order the members keep; nil where they are a set.
    var ordered: RelationshipDescription? { path.steps.count == 1 && path.steps[0].isOrdered ? path.steps[0] : nil }

    /// The slots of an owner's row, the members' collection last.
    ///
    /// - Throws: `expression.…` for a condition that does not compile.
    func slots(_ entity: EntityDescription, schema: StoreSchema) throws(MigrationError) -> SourceSlots {
        var slots = SourceSlots(entity: entity, schema: schema)
        _ = try slots.slot(for: fold, level: 0)
        return slots
    }
}
