import Diagnostics
import ManagedModel
import SpillStorage

/// Finds the origins of destination objects. Used only for invalid objects.
enum ObjectOrigins {
    /// The row path: the origin follows from the keys.
    case keys(PlanKeys, mappings: [PlannedMapping])
    /// The policy path: the origin is looked up in the association tables.
    case associations(PolicyRuntime)

    /// The largest number of source objects given for one object.
    static let most = 100

    /// Returns the entity mapping and the source objects of a destination object; nil if a policy made it without
    /// associating it.
    ///
    /// - Complexity: one lookup for each mapping into the entity.
    func origin(table: Int, key: Int64, entity: Int) throws -> ObjectOrigin? {
        switch self {
        case .keys(let keys, let mappings):
            for mapping in mappings where mapping.destination?.index == entity && !mapping.belongsToPreviousModel {
                guard let own = keys.byMapping[mapping.index], let source = try own.sourceKey(of: key) else { continue }
                return ObjectOrigin(
                    mapping: mapping.index, mappingName: mapping.name,
                    sources: ["\(mapping.source?.definition.name ?? "?")/p\(source)"])
            }
            return nil
        case .associations(let runtime):
            var found: [ObjectReference] = []
            let all = runtime.associations
            // This model's mappings come first: a rejected object of a previous model may have had the same key.
            for associations in all.filter({ !$0.mapping.belongsToPreviousModel })
                + all.filter(\.mapping.belongsToPreviousModel)
            {
                try associations.sources(of: ObjectReference(entity: UInt32(entity), key: key), into: &found)
                guard !found.isEmpty else { continue }
                let sources = try found.prefix(ObjectOrigins.most).map { source in
                    let place = try runtime.sources.place(table: Int(source.entity), key: source.key)
                    return "\(place?.entity.definition.name ?? "?")/p\(source.key)"
                }
                return ObjectOrigin(
                    mapping: associations.mapping.index, mappingName: associations.mapping.name, sources: sources)
            }
            return nil
        }
    }

    func origin(_ broken: BrokenRule) throws -> ObjectOrigin? {
        try origin(table: broken.table, key: broken.key, entity: broken.entity)
    }
}

extension MigrationSession {
    /// Returns the source objects of an object, `Entity/p<key>`. In a chain of versions they are objects of the chain's
    /// source.
    func chainSources(of origin: ObjectOrigin?) throws -> [String] {
        guard let origin else { return [] }
        guard let earlierObjects else { return origin.sources }
        var sources: [String] = []
        for source in origin.sources { sources += try earlierObjects.sources(of: source) }
        return Array(sources.prefix(ObjectOrigins.most))
    }
}
