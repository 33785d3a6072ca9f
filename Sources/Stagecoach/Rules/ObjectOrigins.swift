import ManagedModel
import SpillStorage

/// Finds the origins of destination objects. Used only for invalid objects.
enum ObjectOrigins {
    /// The row path: the origin follows from the keys.
    case keys(PlanKeys, mappings: [PlannedMapping])
    /// The policy path: the origin is looked up in the association tables.
    case associations(PolicyOrigins)

    /// The largest number of source objects given for one object.
    static let most = 100

    /// Returns the entity mapping and the source objects of a destination object; nil if a policy made it without
    /// associating it.
    ///
    /// - Complexity: one lookup for each mapping into the entity.
    func origin(key: Int64, entity: Int) throws -> ObjectOrigin? {
        switch self {
        case .keys(let keys, let mappings):
            for mapping in mappings where mapping.destination?.index == entity && !mapping.belongsToPreviousModel {
                guard let own = keys.byMapping[mapping.index], let source = try own.sourceKey(of: key) else { continue }
                return ObjectOrigin(
                    mapping: mapping.index, mappingName: mapping.name,
                    sources: ["\(mapping.source?.definition.name ?? "?")/p\(source)"])
            }
            return nil
        case .associations(let policies):
            var found: [ObjectReference] = []
            let all = policies.associations
            // This model's mappings come first: a rejected object of a previous model may have had the same key.
            for associations in all.filter({ !$0.mapping.belongsToPreviousModel })
                + all.filter(\.mapping.belongsToPreviousModel)
            {
                try associations.sources(of: ObjectReference(entity: UInt32(entity), key: key), into: &found)
                guard !found.isEmpty else { continue }
                let sources = try found.prefix(ObjectOrigins.most).map { source in
                    let entity = try policies.sourceEntity(Int(source.entity), source.key)
                    return "\(entity?.definition.name ?? "?")/p\(source.key)"
                }
                return ObjectOrigin(
                    mapping: associations.mapping.index, mappingName: associations.mapping.name, sources: sources)
            }
            return nil
        }
    }

    func origin(_ broken: BrokenRule) throws -> ObjectOrigin? {
        try origin(key: broken.key, entity: broken.entity)
    }
}

/// The objects that policies made, as their origins need them.
struct PolicyOrigins {
    /// The association tables of the current mapping model and all previous ones, by the index of the entity mapping.
    let associations: [MappingAssociations]
    /// Returns the entity of a row of a source table; nil if there is no such row.
    let sourceEntity: (_ table: Int, _ key: Int64) throws -> EntityDescription?
    /// Tells whether an associated object was not deleted.
    let exists: (ObjectReference) throws -> Bool
}
