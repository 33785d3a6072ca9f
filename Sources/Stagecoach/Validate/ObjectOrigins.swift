import Diagnostics
import ManagedModel
import SpillStorage

/// Where destination objects come from: asked for what is invalid only.
enum ObjectOrigins {
    /// The row path: keys say all.
    case keys(SourceKeys, mappings: [PlannedMapping])
    /// The staged path: association tables.
    case associations(StagedRuntime)

    /// The most sources that are named of one object.
    static let most = 100

    /// The entity mapping and the source objects of a destination object; nil for one that a policy made without
    /// associating it.
    ///
    /// - Complexity: a lookup for each mapping into the entity.
    func origin(table: Int, key: Int64, entity: Int) throws -> ObjectOrigin? {
        switch self {
        case .keys(let keys, let mappings):
            for mapping in mappings where mapping.destination?.index == entity && !mapping.isEarlier {
                guard let own = keys.byMapping[mapping.index], let source = try own.sourceKey(of: key) else { continue }
                return ObjectOrigin(
                    mapping: mapping.index, mappingName: mapping.name,
                    sources: ["\(mapping.source?.definition.name ?? "?")/p\(source)"])
            }
            return nil
        case .associations(let runtime):
            var found: [ObjectReference] = []
            let all = runtime.associations
            // An object that an earlier mapping model's rejects have a key of is of this one.
            for associations in all.filter({ !$0.mapping.isEarlier }) + all.filter(\.mapping.isEarlier) {
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
    /// The source objects of an object, `Entity/p<key>`: in a chain of versions those of the chain's source.
    func chainSources(of origin: ObjectOrigin?) throws -> [String] {
        guard let origin else { return [] }
        guard let earlierObjects else { return origin.sources }
        var sources: [String] = []
        for source in origin.sources { sources += try earlierObjects.sources(of: source) }
        return Array(sources.prefix(ObjectOrigins.most))
    }
}
