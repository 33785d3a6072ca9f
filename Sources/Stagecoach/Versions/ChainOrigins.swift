import CoreDataStore
import Foundation
import ManagedModel
import Mapping

/// Finds the objects of a chain's source from which objects of a private store were made.
///
/// If every previous run keeps its keys, the key tells; else the id map that the runs wrote.
struct ChainOrigins {
    let sourcePath: String
    /// The runs that made the private store, in order.
    let runs: [ChainRun]
    /// The path of the id map, an SQLite file that names the chain's source object for each object of the private store. Nil if
    /// all runs keep the keys.
    let idMap: String?

    /// Returns the object of the chain's source from which an object of the private store was made, both as
    /// `Entity/p<key>`; nil if it is not known.
    ///
    /// - Complexity: O(runs × entity mappings) and a lookup.
    func source(of id: String) throws -> String? {
        let name = id.split(separator: "/").last.map(String.init) ?? ""
        guard let mark = id.range(of: "/p", options: .backwards), let key = Int64(id[mark.upperBound...]) else {
            return nil
        }
        // An object's URI has the store's UUID before the entity.
        let entity = id[..<mark.lowerBound].split(separator: "/").last.map(String.init) ?? ""
        if let idMap {
            guard try DestinationPath.status(idMap) != nil else { return nil }
            return try PreviousStepIDMap(path: idMap).sources(of: "\(entity)/\(name)").first
        }
        guard let last = runs.last?.destination.model.entity(named: entity) else { return nil }
        // An error may name the root entity if it does not know the row's own entity.
        var names = Set(last.withDescendants.map(\.definition.name))
        for run in runs.reversed() {
            let mappings = run.mappingModels.flatMap { $0.entityMappings ?? [] }
            names = Set(
                mappings.filter { names.contains($0.destinationEntityName ?? "") }.compactMap(\.sourceEntityName))
        }
        guard let start = runs.first?.source.model else { return nil }
        let candidates = names.compactMap { start.entity(named: $0) }
        guard candidates.count > 1, let root = candidates.first?.root else {
            return candidates.first.map { "\($0.definition.name)/p\(key)" }
        }
        let store = try SourceStore(
            path: sourcePath, cacheBytes: 256 << 10, valueLimit: 1 << 20, temporaryDirectory: nil)
        defer { try? store.close() }
        let layout = try store.layout(for: start, damage: .repair)
        guard let index = try store.entity(ofKey: key, table: layout.schema.tableIndex(of: root), in: layout) else {
            return nil
        }
        return "\(start.entity(at: index).definition.name)/p\(key)"
    }
}

extension ChainRun {
    /// True if every object that the run makes is certain to have its source's key.
    var keepsKeys: Bool {
        mappingModels.count == 1
            && MappingComposition.keepsKeys(mappingModels[0], source: source.model, destination: destination.model)
    }
}
