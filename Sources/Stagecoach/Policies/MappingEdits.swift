import CoreDataStore
import Diagnostics
import Mapping

/// The current plans of entity mappings whose expressions policies change during the run, and of mappings that are copied in
/// code. The default methods evaluate these plans.
///
/// It is queried for every object, so the usual answer costs one comparison of numbers.
final class MappingEdits {
    private let mappings: [PlannedMapping]
    private let resolution: MappingResolution
    private let firstVersion = PropertyMapping.changes
    private var known: [ObjectIdentifier: Known] = [:]

    private struct Known {
        /// Retained, so that no other mapping gets the same identity.
        let mapping: EntityMapping
        let planned: PlannedMapping
        let version: Int
    }

    init(mappings: [PlannedMapping], source: StoreSchema, destination: StoreSchema) {
        self.mappings = mappings
        let model = MappingModel()
        model.entityMappings = mappings.map(\.mapping)
        resolution = MappingResolution(model: model, source: source, destination: destination)
    }

    /// Returns the plan of the mapping as it is now.
    ///
    /// - Parameter original: the plan of the mapping of the same name as it was when the run began.
    /// - Throws: the errors of loading a mapping model: `expression.…`, `mapping.…` (78).
    func current(_ mapping: EntityMapping, _ original: PlannedMapping) throws(MigrationError) -> PlannedMapping {
        let version = PropertyMapping.changes
        if version == firstVersion, mapping === original.mapping { return original }
        let last = known[ObjectIdentifier(mapping)]
        if let last, last.version == version { return last.planned }
        let planned: PlannedMapping
        if let same = [last?.planned, original].compactMap({ $0 }).first(where: { $0.saysTheSame(as: mapping) }) {
            planned = same
        } else {
            planned = try resolution.resolve(mapping, index: original.index)
            planned.setRelationships(try resolution.relationships(of: planned, among: mappings))
        }
        if known.count > mappings.count + 64 { known = [:] }
        known[ObjectIdentifier(mapping)] = Known(mapping: mapping, planned: planned, version: version)
        return planned
    }
}

extension PlannedMapping {
    /// Tells whether a mapping's expressions are those with which this plan was made.
    fileprivate func saysTheSame(as mapping: EntityMapping) -> Bool {
        expressions == PlannedMapping.expressions(of: mapping)
    }

    /// Returns the expressions of a mapping's properties, by name.
    static func expressions(of mapping: EntityMapping) -> [String: ValueExpression] {
        let properties = (mapping.attributeMappings ?? []) + (mapping.relationshipMappings ?? [])
        return Dictionary(
            properties.compactMap { property in
                guard let name = property.name, let expression = property.valueExpression else { return nil }
                return (name, expression)
            }, uniquingKeysWith: { first, _ in first })
    }
}
