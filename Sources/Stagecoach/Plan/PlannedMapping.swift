import CoreDataStore
import Diagnostics
import ManagedModel
import Mapping

/// Calls of the manager that its class overrides. The default methods make them then, object by object.
struct ObservedCalls: OptionSet, Sendable {
    let rawValue: Int

    static let associations = ObservedCalls(rawValue: 1)
    static let lookups = ObservedCalls(rawValue: 2)
}

/// An entity mapping with its names resolved to tables, columns and candidates. A run's decisions go into a copy.
final class PlannedMapping {
    /// The position among all mappings of the run's mapping models: the order of creation, and that of lookups.
    let index: Int
    let mapping: EntityMapping
    /// The path of the mapping model's file, for errors.
    let modelPath: String?
    /// True if the mapping model warns only of rules that the source had too, as inferred ones do. Links that the source has on
    /// one side only are copied unchanged then.
    let followsSource: Bool
    let observed: ObservedCalls
    /// The source entity; nil for an add mapping.
    let source: EntityDescription?
    /// Table index in the source schema.
    let sourceTable: Int?
    /// The destination entity; nil for a remove mapping.
    let destination: EntityDescription?
    /// Table index in the destination schema.
    let destinationTable: Int?
    let filter: SourcePredicate?
    /// True if the filter has parts that only objects can evaluate.
    let filterNeedsObjects: Bool
    /// The expression that gives the source objects, if it is more than a fetch of the source entity's own objects;
    /// else nil. The mapping's objects are then made one by one, in the order in which the expression gives their
    /// sources.
    let sourceExpression: ValueExpression?
    /// The properties' expressions by name, as they were at planning.
    let expressions: [String: ValueExpression]
    /// The attributes: one for each stored attribute of the destination entity.
    let attributes: [PlannedAttribute]
    /// The relationships: one for each stored relationship of the destination entity, by name.
    let relationships: [PlannedRelationship]
    /// The relationships with a property mapping, in the order of the property mappings. The default policy method sets
    /// them in this order.
    let relationshipsInMappingOrder: [PlannedRelationship]
    /// Attributes that only objects can evaluate.
    let dynamicAttributes: [PlannedAttribute]

    var name: String { mapping.name }
    /// True if the mapping belongs to a mapping model that ran before: it answers lookups and makes no objects.
    let belongsToPreviousModel: Bool
    /// True if a policy runs the mapping's stages: the policy that it names, or the standard one if an expression gives its
    /// source objects, if each member of a collection makes an object, or if the manager's class sees the associations.
    var hasPolicy: Bool { mayBeAssociatedByHand && !belongsToPreviousModel }
    /// True if the mapping makes destination rows without user code: one for each source row, or one for each of its groups.
    var isDeclarative: Bool { source != nil && destination != nil && !hasPolicy && !belongsToPreviousModel }
    /// True if the links of its policy's objects are found by keys: see ``DeferredLinks``.
    let isRelatedByKeys: Bool
    /// True if its relationship mappings define all links of its objects: no user code sets any.
    var hasDeclaredLinks: Bool { isDeclarative || isRelatedByKeys && !belongsToPreviousModel }
    /// True if policy code may associate or have associated objects for the mapping, in this model's run or before.
    var mayBeAssociatedByHand: Bool { mapping.hasPolicy || sourceExpression != nil || forEach != nil || isObserved }
    /// The expression whose members make one object each; nil if a source object makes one.
    var forEach: ValueExpression? { mapping.forEach }
    /// The rule by which its source objects share a destination object; nil if each makes one of its own.
    var grouping: ObjectGrouping? { mapping.grouping }
    /// The rule by which its source objects become rows that the destination had before; nil if none does.
    var matching: ObjectMatching? { mapping.matching }
    /// True if source objects may have no object of their own without user code: they share one, or become a row of the destination.
    var sharesObjects: Bool { grouping != nil || matching != nil }
    /// True if its object takes over the links of all source objects that share it.
    var merges: Bool { grouping?.merge != nil }
    /// True if a key path from `$source` that is nil is read from the source objects that share the object.
    var fillsNil: Bool { grouping?.merge?.fills ?? false }
    /// True if not each of its source entity's rows makes an object.
    var selectsRows: Bool { filter != nil || sharesObjects }
    /// True if a source object that passes the filter may have no object of its own: policy code decides, it shares one, or it becomes a
    /// row that was there before.
    var mayShareObjects: Bool { mayBeAssociatedByHand || sharesObjects }
    /// True if the manager's class sees the associations of the mapping's objects.
    private var isObserved: Bool { observed.contains(.associations) && source != nil && destination != nil }
    /// Tells whether an object of an entity may be one of the mapping's source objects.
    func reads(_ entity: EntityDescription?) -> Bool {
        guard let source, let entity else { return false }
        return sourceExpression == nil ? entity == source : entity.isKindOf(entity: source)
    }

    /// - Parameters:
    ///   - expressions: the properties' expressions; nil: as they are now.
    ///   - relationships: the relationships, once they are resolved.
    init(
        index: Int, mapping: EntityMapping, source: EntityDescription?, sourceTable: Int?,
        destination: EntityDescription?, destinationTable: Int?, filter: SourcePredicate?,
        filterNeedsObjects: Bool, sourceExpression: ValueExpression?, attributes: [PlannedAttribute],
        modelPath: String?, followsSource: Bool, observed: ObservedCalls,
        expressions: [String: ValueExpression]? = nil, relationships: [PlannedRelationship] = [],
        belongsToPreviousModel: Bool = false, isRelatedByKeys: Bool = false
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
        self.modelPath = modelPath
        self.followsSource = followsSource
        self.observed = observed
        self.expressions = expressions ?? PlannedMapping.expressions(of: mapping)
        dynamicAttributes = attributes.filter(\.needsObjects)
        self.relationships = relationships
        relationshipsInMappingOrder = (mapping.relationshipMappings ?? []).compactMap { property in
            property.name.flatMap { name in relationships.first { $0.name == name } }
        }
        self.belongsToPreviousModel = belongsToPreviousModel
        self.isRelatedByKeys = isRelatedByKeys
    }

    private func copy(
        _ relationships: [PlannedRelationship]? = nil, belongsToPreviousModel: Bool? = nil, isRelatedByKeys: Bool? = nil
    ) -> PlannedMapping {
        PlannedMapping(
            index: index, mapping: mapping, source: source, sourceTable: sourceTable, destination: destination,
            destinationTable: destinationTable, filter: filter, filterNeedsObjects: filterNeedsObjects,
            sourceExpression: sourceExpression, attributes: attributes, modelPath: modelPath,
            followsSource: followsSource, observed: observed, expressions: expressions,
            relationships: relationships ?? self.relationships,
            belongsToPreviousModel: belongsToPreviousModel ?? self.belongsToPreviousModel,
            isRelatedByKeys: isRelatedByKeys ?? self.isRelatedByKeys)
    }

    /// Returns the mapping with its relationships resolved.
    func with(_ relationships: [PlannedRelationship]) -> PlannedMapping { copy(relationships) }

    /// The mapping as later mapping models see it.
    var ofPreviousModel: PlannedMapping { belongsToPreviousModel ? self : copy(belongsToPreviousModel: true) }

    /// The mapping with the links of its policy's objects found by keys.
    var relatedByKeys: PlannedMapping { hasPolicy ? copy(isRelatedByKeys: true) : self }

    /// Returns the expressions of a mapping's properties, by name.
    static func expressions(of mapping: EntityMapping) -> [String: ValueExpression] {
        Dictionary(
            mapping.propertyMappings.compactMap { property in
                guard let name = property.name, let expression = property.valueExpression else { return nil }
                return (name, expression)
            }, uniquingKeysWith: { first, _ in first })
    }

    /// True if making or relating the mapping's objects evaluates expressions over objects.
    var needsObjects: Bool {
        !dynamicAttributes.isEmpty || hasDynamicRelationships
    }

    /// True if relating the mapping's objects evaluates expressions over objects.
    var hasDynamicRelationships: Bool {
        relationships.contains { if case .dynamic? = $0.value { true } else { false } }
    }

    /// Tells whether the mapping makes a row of a destination table in any case.
    func certainlyFills(_ table: Int, _ census: SourceCensus) -> Bool {
        guard destinationTable == table, filter == nil, matching == nil, isDeclarative, let source else { return false }
        return census.count(of: source) > 0
    }

    func relationship(named name: String) -> PlannedRelationship? {
        // By index: `first(where:)` copies each one that it passes.
        relationships.indices.first { relationships[$0].name == name }.map { relationships[$0] }
    }

    /// Tells whether the objects that the mapping makes get a to-one relationship from its inverse alone.
    func leavesToInverse(_ relationship: RelationshipDescription) -> Bool {
        guard hasDeclaredLinks, let planned = self.relationship(named: relationship.name),
            planned.relationship == relationship
        else { return true }
        return planned.value == nil
    }

    /// The context for errors in this mapping.
    var context: MigrationError.Context {
        MigrationError.Context(entity: destination?.definition.name ?? source?.definition.name, entityMapping: name)
    }

    /// Returns the context for errors at one source object of this mapping.
    func context(ofSource key: Int64) -> MigrationError.Context {
        let entity = source?.definition.name
        var context = MigrationError.Context(entity: entity, objectID: "\(entity ?? "?")/p\(key)", entityMapping: name)
        context.sourceObjectID = context.objectID
        return context
    }
}

/// An attribute of a mapping's destination entity and the source of its value.
struct PlannedAttribute {
    let attribute: AttributeDescription
    /// Column index in the destination table.
    let column: Int
    /// The expression; nil: the attribute keeps the model's default.
    let expression: ValueExpression?
    /// True if a nil result becomes the default: see ``PropertyMapping/fillsNil``.
    let replacesNil: Bool
    /// The default as stored, from the model or from a version passed on the way; nil if there is none.
    let defaultValue: ColumnValue?
    /// True if only objects can evaluate the expression.
    let needsObjects: Bool
    /// The reason why the expression's value does not fit, if it may never be evaluated. A row that evaluates it fails
    /// with this error.
    var refusal: MigrationError?

    /// True if a required attribute has no value in any object that the mapping makes.
    var isCertainlyMissing: Bool {
        let givesNothing = expression == nil || expression?.node == .constant(.null)
        return givesNothing && refusal == nil && defaultValue == nil && !attribute.isOptional
            && !attribute.isDerived && attribute.requiringComposite == nil
    }
}

/// A relationship of a mapping's destination entity and the source of its links.
struct PlannedRelationship {
    let relationship: RelationshipDescription
    let storage: RelationshipStorage
    /// The expression's meaning; nil: the default policy does not touch the relationship.
    let value: RelationshipValue?
    /// The reason why the expression's objects do not fit, if it may never be evaluated. An object that evaluates it
    /// fails with this error.
    var refusal: MigrationError?
    /// True if every object that the source relationship can have is migrated to an object that this relationship may have, and
    /// no other owner takes it away. The relationship then lacks only members that the source lacked.
    let keepsMembers: Bool
    /// The attribute of the members' source objects that orders a lookup's members; nil: as the lookup gives them.
    var sort: MemberSort?

    var name: String { relationship.name }

    /// Tells whether a lookup's argument can name missing rows. Members found by their own foreign key always exist.
    ///
    /// - Parameter schema: the source's schema.
    func canDangle(in schema: StoreSchema) -> Bool {
        switch value {
        // Missing members are never found, so none can be dangling.
        case nil, .some(.none), .dynamic, .lookup(.object, _), .lookup(.members, _): return false
        case .lookup(.toOne, _): return true
        case .lookup(.toMany(_, let relationship, _), _):
            if case .join = schema.storage(of: relationship) { return true }
            return false
        }
    }

    /// True if the expression may give objects.
    var findsMembers: Bool {
        switch value {
        case .lookup, .dynamic: true
        case nil, .some(.none): false
        }
    }
}

/// The meaning of a relationship mapping's expression.
enum RelationshipValue {
    /// A constant nil.
    case none
    /// An expression that only objects can evaluate, one after the other.
    case dynamic(ValueExpression)
    /// Looks up the argument's objects in the candidates, in mapping order.
    case lookup(argument: SourceArgument, candidates: [Int])
}

/// The source objects given to a lookup, relative to the mapping's source object.
enum SourceArgument {
    /// The source object itself.
    case object(table: Int)
    /// An object reached through to-one relationships. The last one's column has the key; `steps` lead to its row.
    case toOne(steps: [ToOneStep], column: Int, table: Int, relationship: RelationshipDescription)
    /// The members of a to-many relationship of the source object, or of the object that the to-one steps lead to.
    case toMany(steps: [ToOneStep], relationship: RelationshipDescription, table: Int)

    /// The members that a longer path over to-many relationships leads to, or those that fulfil a condition.
    case members(MemberArgument)

    /// The source table of the objects.
    var table: Int {
        switch self {
        case .object(let table), .toOne(_, _, let table, _), .toMany(_, _, let table): table
        case .members(let argument): argument.table
        }
    }

    /// The entity of the members that the argument gives, if it reads a to-many relationship; else nil.
    var members: EntityDescription? {
        switch self {
        case .object, .toOne: nil
        case .toMany(_, let relationship, _): relationship.destination
        case .members(let argument): argument.path.member
        }
    }

    /// The last relationship that the argument reads, if it is the only step; else nil.
    var singleRelationship: RelationshipDescription? {
        switch self {
        case .object, .members: nil
        case .toOne(let steps, _, _, let relationship): steps.isEmpty ? relationship : nil
        case .toMany(let steps, let relationship, _): steps.isEmpty ? relationship : nil
        }
    }
}

/// An argument of a lookup that has several to-many relationships or a condition. Objects that are reached in several
/// ways count once.
struct MemberArgument {
    /// The argument as a fold: its path, and the condition of SUBQUERY.
    let fold: CollectionFold
    let path: CollectionPath
    /// The source table of the members.
    let table: Int

    /// The ordered relationship whose order the members keep; nil if they are a set.
    var ordered: RelationshipDescription? { path.steps.count == 1 && path.steps[0].isOrdered ? path.steps[0] : nil }

    /// Returns the slots of an owner's row, with the members' collection last.
    ///
    /// - Throws: `expression.…` for a condition that does not compile.
    func slots(_ entity: EntityDescription, schema: StoreSchema) throws(MigrationError) -> SourceColumns {
        var slots = SourceColumns(entity: entity, schema: schema)
        _ = try slots.slot(for: fold, level: 0)
        return slots
    }
}
