import Diagnostics
import Foundation
import ManagedModel
import Synchronization

/// A mapping model: it says which entity becomes which, and how each property is computed.
///
/// It is a class, as in Core Data: mapping models can be built, copied and edited in code.
///
/// ```swift
/// let mappingModel = try MappingModel.inferred(from: old, to: new)
/// let books = mappingModel.entityMappings.first { $0.destinationEntityName == "Book" }
/// books?.attributeMappings?.first { $0.name == "title" }?.valueExpression =
///     try ValueExpression(parsing: "uppercase($source.title)")
/// ```
public final class MappingModel: NSObject {
    /// The entity mappings, in the order in which the stages process them.
    public var entityMappings: [EntityMapping]!
    /// The treatment of a value that breaks a rule but is copied unchanged from a property that had the rule already.
    ///
    /// Inferred mapping models have ``RulesOfTheSource/warn``, as lightweight migration does not validate. All others have
    /// ``RulesOfTheSource/error``, as Core Data's migration manager validates the objects made by a mapping model. The key in
    /// JSON is `rulesOfTheSource`. ``MigrationOptions/strictValidation`` makes such values errors in any case.
    public var rulesOfTheSource = RulesOfTheSource.error
    /// The data of the source that is meant to stay behind: `Entity.property` for values or links, `Entity` for objects that
    /// become nothing. Names count for subentities too. The key in JSON is `losses`.
    public var losses: [String] = []
    /// The version that the mapping model leads from, by its name in the bundle of versions; nil if it states none.
    public var sourceVersionName: String?
    /// The version that the mapping model leads to, by its name in the bundle of versions; nil if it states none.
    public var destinationVersionName: String?
    /// The file that the mapping model was read from.
    package var path: String?
    /// True if inference or composition made it, so that it says nothing about what its user means.
    package var isInferred = false
    /// The place of `rulesOfTheSource` in the file, or the place for it.
    package var rulesPlace: RulesPlace?

    public override init() { entityMappings = [] }

    /// The place of `rulesOfTheSource`, or the place for it; nil for a mapping model built in code.
    package var statedRules: RulesPlace? { rulesPlace ?? path.map { RulesPlace(path: $0, line: nil) } }

    /// The entity mappings by name.
    public var entityMappingsByName: [String: EntityMapping] {
        Dictionary(entityMappings.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    }
}

/// The treatment of a value that is copied unchanged and breaks a rule that the source model had already.
public enum RulesOfTheSource: String, Sendable, CaseIterable {
    /// It is an error, like a value that breaks a new rule.
    case error
    /// It is counted as a warning, and migrated.
    case warn
}

/// The place where a mapping model states its rules of the source.
package struct RulesPlace: Sendable, Equatable {
    /// The mapping model's file.
    package let path: String
    /// The line of `rulesOfTheSource`, or of `formatVersion`, beside which it may be added; nil for a form without such a key.
    package let line: Int?
}

/// The kind of an entity mapping, with Core Data's codes.
public enum EntityMappingType: UInt, Sendable {
    /// Not stated; the entities and the policy decide.
    case undefinedEntityMappingType = 0
    /// A policy does the work.
    case customEntityMappingType = 1
    /// The entity is new: nothing is migrated into it.
    case addEntityMappingType = 2
    /// The entity is removed: its objects are left out.
    case removeEntityMappingType = 3
    /// Both entities are the same, and objects are copied unchanged.
    case copyEntityMappingType = 4
    /// The property mappings make the objects.
    case transformEntityMappingType = 5
}

/// A mapping of one source entity to one destination entity.
///
/// ```swift
/// let mapping = EntityMapping()
/// mapping.name = "BookToWork"
/// (mapping.sourceEntityName, mapping.destinationEntityName) = ("Book", "Work")
/// mapping.mappingType = .transformEntityMappingType
/// let title = PropertyMapping()
/// (title.name, title.valueExpression) = ("title", try ValueExpression(parsing: "$source.title"))
/// mapping.attributeMappings = [title]
/// mappingModel.entityMappings.append(mapping)
/// ```
public final class EntityMapping: NSObject {
    /// The name, unique in its mapping model.
    public var name: String!
    /// The kind of the mapping.
    public var mappingType: EntityMappingType
    /// The name of the source entity; nil for an add mapping.
    public var sourceEntityName: String?
    /// The name of the destination entity; nil for a remove mapping.
    public var destinationEntityName: String?
    /// The version hash required of the source entity; nil for any.
    public var sourceEntityVersionHash: Data?
    /// The version hash required of the destination entity; nil for any.
    public var destinationEntityVersionHash: Data?
    /// The mappings of the attributes, by name.
    public var attributeMappings: [PropertyMapping]? {
        didSet { PropertyMapping.noteChange() }
    }
    /// The mappings of the relationships, by name.
    public var relationshipMappings: [PropertyMapping]? {
        didSet { PropertyMapping.noteChange() }
    }
    /// The expression that fetches the source objects. If nil, these are all objects of the source entity without subentities
    /// that pass the filter.
    ///
    /// An expression that gives more or other objects (subentities, an order, a limit, a set operation) is evaluated once, at
    /// the start of the mapping's first stage. `$manager`, `$entityMapping` and `$entityPolicy` have values then, `$source` has
    /// none. The mapping's objects are made one by one, and numbered, in the order of its result.
    public var sourceExpression: ValueExpression?
    /// The predicate on source objects; if nil, all pass.
    package var sourceFilter: SourcePredicate?
    /// The rule by which source objects share a destination object; nil if each makes one of its own.
    package var grouping: ObjectGrouping?
    /// The expression over `$source` whose members make one object each; nil if the source object makes one.
    package var forEach: ValueExpression?
    /// The rule by which source objects become rows that the destination had before; nil if none does.
    package var matching: ObjectMatching?
    /// The place of the filter in its file.
    package var sourceFilterPlace: TextPosition?
    /// The place of the expression whose members make objects in its file.
    package var forEachPlace: TextPosition?
    /// The place of the source expression in its file.
    package var sourceExpressionPlace: TextPosition?
    /// The policy class, `Module.Class` or `Class`; nil or empty for none.
    public var entityMigrationPolicyClassName: String?
    // Computed: as in Core Data, an assignment to a member of it may read it (`userInfo?["n"] = userInfo?["n"] …`).
    /// Values for policies, set by the author of the mapping model.
    public var userInfo: [AnyHashable: Any]? {
        get { givenUserInfo }
        set { givenUserInfo = newValue }
    }
    private var givenUserInfo: [AnyHashable: Any]?
    /// The source properties that the file leaves without a successor by `null`: values and links that are meant to stay behind.
    package var droppedProperties: Set<String> = []
    /// The attributes and relationships among them that the destination entity does not have.
    var sourceOnlyAttributes: Set<String> = []
    var sourceOnlyRelationships: Set<String> = []
    /// True if the version hashes are those of the file (a compiled mapping model), not computed from the models.
    package var statesVersionHashes = false
    /// The form from which the mapping was read without its models. Only the models know all properties and the parts that the
    /// form leaves out. Nil if no part is open.
    package var convertedFrom: MappingForm?
    /// True if Xcode's compiler fills in the source expression. One that is there may be a leftover.
    var hasOpenSource = false
    /// The place of the mapping in its file.
    package var place: TextPosition?

    public override init() { mappingType = .undefinedEntityMappingType }

    /// True if the mapping names a policy class.
    package var hasPolicy: Bool { !(entityMigrationPolicyClassName ?? "").isEmpty }

    package func attributeMapping(named name: String) -> PropertyMapping? {
        attributeMappings?.first { $0.name == name }
    }
    package func relationshipMapping(named name: String) -> PropertyMapping? {
        relationshipMappings?.first { $0.name == name }
    }
}

/// The computation of a property, as far as a file states it without its models.
package enum OpenValue: Equatable {
    /// The models determine it.
    case automatic
    /// A relationship: the objects that an entity mapping made of the objects at a key path. The models determine parts that
    /// are nil.
    case lookup(keyPath: ValueExpression?, mapping: String?)
}

/// The mapping of one property of the destination entity.
///
/// ```swift
/// let pages = PropertyMapping()
/// pages.name = "pages"
/// pages.valueExpression = try ValueExpression(parsing: "$source.pageCount + 1")
/// // Without an expression the property is left alone: a new object has the model's default.
/// let note = PropertyMapping()
/// note.name = "note"
/// ```
public final class PropertyMapping: NSObject {
    /// The name of the destination property.
    public var name: String?
    /// The value expression. If nil, the default policy does not touch the property. An expression set in code is no longer
    /// automatic.
    public var valueExpression: ValueExpression? {
        didSet {
            isAutomatic = false
            replacesNil = false
            carriedValue = nil
            unmapped = nil
            refusal = nil
            openValue = nil
            PropertyMapping.noteChange()
        }
    }
    // Computed: as in Core Data, an assignment to a member of it may read it (`userInfo?["n"] = userInfo?["n"] …`).
    /// Values for policies, set by the author of the mapping model.
    public var userInfo: [AnyHashable: Any]? {
        get { givenUserInfo }
        set { givenUserInfo = newValue }
    }
    private var givenUserInfo: [AnyHashable: Any]?
    /// True if inference or the compiler filled the expression in.
    package var isAutomatic = false
    /// True if a nil source value is replaced: an automatic expression from an optional attribute to a required one with a
    /// default. Set with ``isAutomatic``, and stored separately so that a mapping model can be written without its models.
    package var replacesNil = false
    /// The part that a mapping model read without its models leaves open.
    package var openValue: OpenValue?
    /// The value of an attribute in a version that a composed mapping model skips. It replaces the destination's default and a
    /// nil of the expression.
    package var carriedValue: AttributeValue?
    /// True if a nil of the expression is replaced, by the carried value or by the model's default.
    package var fillsNil: Bool { carriedValue != nil || replacesNil }
    /// The order of a relationship's members; nil: as the expression gives them.
    package var sorting: MemberSorting?
    /// The reason why the property is left unmapped, if the user allowed it; else nil.
    package var unmapped: UnmappedProperty?
    /// The error of an expression that does not fit the property and may never be evaluated. It is thrown if the expression is
    /// evaluated. Set when the mapping model is validated.
    package var refusal: MigrationError?
    /// The place of the expression in its file.
    package var place: TextPosition?

    /// The number of changes to any mapping's expressions in this process. Holders of compiled programs compare it.
    package static var changes: Int { counter.load(ordering: .relaxed) }
    private static let counter = Atomic<Int>(0)
    static func noteChange() { counter.wrappingAdd(1, ordering: .relaxed) }

    public override init() {}

    package convenience init(name: String, valueExpression: ValueExpression?, isAutomatic: Bool = false) {
        self.init()
        self.name = name
        self.valueExpression = valueExpression
        self.isAutomatic = isAutomatic
    }
}
