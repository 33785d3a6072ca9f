import Diagnostics
import Foundation
import ManagedModel
import Synchronization

/// A mapping model: which entity becomes which, and how each property is computed.
///
/// A class, as in Core Data: mapping models can be built, copied and edited in code.
public final class MappingModel: NSObject {
    /// In the order in which the stages process them.
    public var entityMappings: [EntityMapping]!
    /// What becomes of a value that breaks a rule, and is copied as it is from a property that had the rule already.
    ///
    /// Inferred mapping models have ``RulesOfTheSource/warn``, as lightweight migration does not validate; all others have
    /// ``RulesOfTheSource/error``, as Core Data's migration manager validates what a mapping model makes. The JSON form
    /// says it under `rulesOfTheSource`. ``MigrationOptions/strictValidation`` makes such values errors in any case.
    public var rulesOfTheSource = RulesOfTheSource.error
    /// The version that the mapping model leads from, by its name in the bundle of versions; nil where it does not say.
    public var sourceVersionName: String?
    /// The version that the mapping model leads to, by its name in the bundle of versions; nil where it does not say.
    public var destinationVersionName: String?
    /// The file it was read from.
    package var path: String?
    /// Where the file says what becomes of rules of the source, or may say so.
    package var rulesPlace: RulesPlace?

    public override init() { entityMappings = [] }

    /// Where what becomes of rules of the source stands, or may be written; nil for a mapping model built in code.
    package var statedRules: RulesPlace? { rulesPlace ?? path.map { RulesPlace(path: $0, line: nil) } }

    /// The entity mappings by name.
    public var entityMappingsByName: [String: EntityMapping] {
        Dictionary(entityMappings.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    }
}

/// What becomes of a value that is copied as it is and breaks a rule which the source model had already.
public enum RulesOfTheSource: String, Sendable, CaseIterable {
    /// It is an error, as a value that breaks a new rule is.
    case error
    /// It is counted as a warning, and migrated.
    case warn
}

/// Where a mapping model says what becomes of rules of the source.
package struct RulesPlace: Sendable, Equatable {
    /// The mapping model's file.
    package let path: String
    /// The line of `rulesOfTheSource`, or of `formatVersion`, beside which it may stand; nil for a form without such a key.
    package let line: Int?
}

/// What an entity mapping does, with Core Data's codes.
public enum EntityMappingType: UInt, Sendable {
    /// Not said; the entities and the policy decide.
    case undefinedEntityMappingType = 0
    /// A policy does the work.
    case customEntityMappingType = 1
    /// An entity that is new: nothing is migrated into it.
    case addEntityMappingType = 2
    /// An entity that goes: its objects are left out.
    case removeEntityMappingType = 3
    /// Both entities are the same, and objects are carried over as they are.
    case copyEntityMappingType = 4
    /// Objects are made by the property mappings.
    case transformEntityMappingType = 5
}

/// How one source entity becomes one destination entity.
public final class EntityMapping: NSObject {
    /// Unique in its mapping model.
    public var name: String!
    /// How objects are made.
    public var mappingType: EntityMappingType
    /// Nil for an add mapping.
    public var sourceEntityName: String?
    /// Nil for a remove mapping.
    public var destinationEntityName: String?
    /// The version hash that the source entity has to have; nil: any.
    public var sourceEntityVersionHash: Data?
    /// The version hash that the destination entity has to have; nil: any.
    public var destinationEntityVersionHash: Data?
    /// How attributes get their values, by name.
    public var attributeMappings: [PropertyMapping]? {
        didSet { PropertyMapping.noteChange() }
    }
    /// How relationships get their objects, by name.
    public var relationshipMappings: [PropertyMapping]? {
        didSet { PropertyMapping.noteChange() }
    }
    /// What fetches the source objects; nil means all of the source entity without subentities, under the filter.
    ///
    /// An expression that gives more or others (subentities, an order, a limit, a set operation) is evaluated once, when
    /// the mapping's first stage begins: `$manager`, `$entityMapping` and `$entityPolicy` have values, `$source` has
    /// none. The mapping's objects are then made one by one in the order of what it gives, and are numbered in it.
    public var sourceExpression: ValueExpression?
    /// Predicate on source objects; nil lets all through.
    package var sourceFilter: SourcePredicate?
    /// Where the filter stands in its file.
    package var sourceFilterLine: Int?
    package var sourceFilterColumn: Int?
    /// Where the source expression stands in its file.
    package var sourceExpressionLine: Int?
    package var sourceExpressionColumn: Int?
    /// `Module.Class` or `Class`; nil or empty means no policy.
    public var entityMigrationPolicyClassName: String?
    // Computed: as in Core Data, an assignment to a member of it may read it (`userInfo?["n"] = userInfo?["n"] …`).
    /// What the mapping model's author noted, for policies.
    public var userInfo: [AnyHashable: Any]? {
        get { givenUserInfo }
        set { givenUserInfo = newValue }
    }
    private var givenUserInfo: [AnyHashable: Any]?
    /// Whether the version hashes were stated by the file, not computed from the models: a compiled mapping model's.
    package var statesVersionHashes = false
    /// The form that a mapping was read from without its models, which alone know all properties and what the form
    /// leaves out; nil where nothing is left open.
    package var convertedFrom: MappingForm?
    /// Where the mapping stands in its file.
    package var line: Int?
    package var column: Int?

    public override init() { mappingType = .undefinedEntityMappingType }

    /// Whether the mapping names a policy class.
    package var hasPolicy: Bool { !(entityMigrationPolicyClassName ?? "").isEmpty }

    package func attributeMapping(named name: String) -> PropertyMapping? {
        attributeMappings?.first { $0.name == name }
    }
    package func relationshipMapping(named name: String) -> PropertyMapping? {
        relationshipMappings?.first { $0.name == name }
    }
}

/// How a property is computed, as far as a file says without its models.
package enum OpenValue: Equatable {
    /// As the models suggest.
    case automatic
    /// A relationship: the objects that an entity mapping made of the objects at a key path; nil parts are as the models
    /// suggest.
    case lookup(keyPath: ValueExpression?, mapping: String?)
}

/// How one property of the destination entity gets its value.
public final class PropertyMapping: NSObject {
    /// Name of the destination property.
    public var name: String?
    /// Nil: the default policy does not touch the property. One that is set in code is nobody's default any more.
    public var valueExpression: ValueExpression? {
        didSet {
            isAutomatic = false
            replacesNil = false
            carriedValue = nil
            unmapped = nil
            refusal = nil
            PropertyMapping.noteChange()
        }
    }
    // Computed: as in Core Data, an assignment to a member of it may read it (`userInfo?["n"] = userInfo?["n"] …`).
    /// What the mapping model's author noted, for policies.
    public var userInfo: [AnyHashable: Any]? {
        get { givenUserInfo }
        set { givenUserInfo = newValue }
    }
    private var givenUserInfo: [AnyHashable: Any]?
    /// Whether inference or the compiler's default filled the expression in: then a nil source value of an attribute
    /// that is now required takes the model's default.
    package var isAutomatic = false
    /// Whether the two differ: an automatic expression from an optional attribute to one that is required and has a
    /// default. Set with ``isAutomatic``; kept apart so that a mapping model can be written without its models.
    package var replacesNil = false
    /// What a mapping model that was read without its models leaves open.
    package var openValue: OpenValue?
    /// An attribute's value from a version that a composed mapping model passes by: it takes the place of the
    /// destination's default, and of a nil that the expression gives.
    package var carriedValue: AttributeValue?
    /// Set where the property could not be mapped and was left, because the user said so.
    package var unmapped: UnmappedProperty?
    /// Why the expression does not fit the property, where nobody may evaluate it: the error of who does. Found when the
    /// mapping model is validated.
    package var refusal: MigrationError?
    /// Where the expression stands in its file.
    package var line: Int?
    package var column: Int?

    /// How often any mapping's expressions were changed in this process: who keeps programs compares it.
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
