import CoreDataStore
import Diagnostics
import Mapping

/// The current plans of entity mappings whose expressions policies change during the run, and of mappings that are copied in
/// code. The default methods evaluate these plans.
///
/// It is queried for every object, so the usual answer costs one comparison of numbers.
final class MappingEdits {
    let mappings: [PlannedMapping]
    private let resolution: MappingResolution
    private let firstVersion = PropertyMapping.changes
    private var known: [ObjectIdentifier: Known] = [:]
    @exclusivity(unchecked) private var lastPlanned: PlannedMapping?

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
        resolution = MappingResolution(
            model: model, source: source, destination: destination, observed: mappings.last?.observed ?? [])
    }

    /// Returns the plan of a mapping, or of the one of its name, as it was when the run began.
    ///
    /// - Throws: `manager.unknownMapping` (65).
    func planned(_ mapping: EntityMapping) throws(MigrationError) -> PlannedMapping {
        if let last = lastPlanned, last.mapping === mapping { return last }
        // The same mapping may have run in a previous model: the last one is at work now.
        if let same = mappings.last(where: { $0.mapping === mapping }) {
            lastPlanned = same
            return same
        }
        guard let named = mappings.last(where: { $0.name == mapping.name }) else {
            throw MigrationError(
                "manager.unknownMapping", .data, "The mapping model has no entity mapping \(mapping.name ?? "")",
                context: .init(entityMapping: mapping.name))
        }
        return named
    }

    /// Returns the plan of a mapping as it is now.
    ///
    /// - Throws: `manager.unknownMapping` (65); the errors of loading a mapping model: `expression.…`, `mapping.…` (78).
    func current(_ mapping: EntityMapping) throws(MigrationError) -> PlannedMapping {
        try current(mapping, planned(mapping))
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
        if let same = [last?.planned, original].compactMap({ $0 }).first(where: {
            $0.expressions == PlannedMapping.expressions(of: mapping)
        }) {
            planned = same
        } else {
            let resolved = try resolution.resolve(mapping, index: original.index)
            planned = resolved.with(try resolution.relationships(of: resolved, among: mappings))
        }
        if known.count > mappings.count + 64 { known = [:] }
        known[ObjectIdentifier(mapping)] = Known(mapping: mapping, planned: planned, version: version)
        return planned
    }
}
