import Diagnostics
import ManagedModel
import Mapping

/// An entity mapping as a verification reads it, with its entities, its filter, and the reason why its objects cannot
/// be worked out.
struct VerifiedMapping {
    /// The position among all mappings of the run's mapping models.
    let index: Int
    /// The position of its mapping model.
    let model: Int
    let mapping: EntityMapping
    let name: String
    let source: EntityDescription?
    let destination: EntityDescription?
    let filter: SourcePredicate?
    /// The reason why its objects cannot be worked out. Nil if the default policy makes one object for each source
    /// object of the entity that passes the filter, or for each group of them.
    let obstacle: String?
    /// True if the mapping model takes broken rules of the source as warnings.
    let excuses: Bool

    /// Returns the mappings of all mapping models.
    ///
    /// - Throws: `mapping.unknownEntity` (78), `expression.…` for an invalid filter.
    static func all(
        _ models: [MappingModel], source: ManagedObjectModel, destination: ManagedObjectModel
    ) throws(MigrationError) -> [VerifiedMapping] {
        var all: [VerifiedMapping] = []
        for (number, model) in models.enumerated() {
            for mapping in model.entityMappings ?? [] {
                all.append(
                    try VerifiedMapping(
                        mapping, index: all.count, model: number, excuses: model.rulesOfTheSource == .warn, source,
                        destination))
            }
        }
        return all
    }

    private init(
        _ mapping: EntityMapping, index: Int, model: Int, excuses: Bool, _ sourceModel: ManagedObjectModel,
        _ destinationModel: ManagedObjectModel
    ) throws(MigrationError) {
        func entity(_ name: String?, _ model: ManagedObjectModel) throws(MigrationError) -> EntityDescription? {
            guard let name else { return nil }
            guard let found = model.entity(named: name) else {
                throw MigrationError(
                    "mapping.unknownEntity", .configuration, "There is no entity \(name)",
                    context: .init(entity: name, entityMapping: mapping.name))
            }
            return found
        }
        self.index = index
        self.model = model
        self.mapping = mapping
        self.excuses = excuses
        name = mapping.name ?? ""
        source = try entity(mapping.sourceEntityName, sourceModel)
        destination = try entity(mapping.destinationEntityName, destinationModel)
        var filter = mapping.sourceFilter.flatMap { $0.node == .constant(true) ? nil : $0 }
        var obstacle: String?
        switch mapping.sourceFetch {
        case .all: filter = nil
        case .filtered(let format): if mapping.sourceFilter == nil { filter = try SourcePredicate(format: format) }
        case .other: obstacle = "an expression gives its source objects"
        }
        if mapping.matching != nil { obstacle = "they may be rows that were there before" }
        if mapping.hasPolicy { obstacle = "the policy \(mapping.entityMigrationPolicyClassName ?? "") makes them" }
        self.filter = filter
        self.obstacle = obstacle
    }

    /// The rule by which source objects share an object; nil if each makes its own.
    var grouping: ObjectGrouping? { mapping.grouping }
    /// True if source objects are merged into others, which take over their links.
    var merges: Bool { grouping?.merge != nil }
    /// True if values that a kept source object lacks are those of the others.
    var fills: Bool { grouping?.merge?.fills ?? false }

    /// True if the default policy makes one object for each source object, or for each group of them.
    var isDeclarative: Bool { source != nil && destination != nil && obstacle == nil && forEach == nil }
    /// The expression whose members make one object each; nil if a source object makes one.
    var forEach: ValueExpression? { mapping.forEach }

    func sourceID(_ key: Int64) -> String { "\(source?.definition.name ?? "?")/p\(key)" }
}
