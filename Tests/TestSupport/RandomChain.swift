import ManagedModel
import Mapping

/// A random chain of versions of a model, a store of the first, and for some steps an explicit mapping model. All of it
/// follows from the seed.
package struct RandomChain: CustomStringConvertible {
    package let seed: UInt64
    /// Three to five.
    package let versions: [ManagedObjectModel]
    package let store: ReferenceStore
    /// A mapping model for each step; nil: it is to be inferred.
    package let mappings: [MappingModel?]

    /// - Parameters:
    ///   - rows: most rows of a concrete entity.
    ///   - hasMappings: whether some steps have an explicit mapping model.
    package init(seed: UInt64, rows: Int = 12, hasMappings: Bool = false) throws {
        self.seed = seed
        var generator = SeededGenerator(seed: seed)
        var model = RandomModel(&generator)
        if hasMappings { model.relax() }
        var versions = [try ManagedObjectModel(model.definition)]
        var mappings: [MappingModel?] = []
        for _ in 0..<(2 + generator.below(3)) {
            model.forgetNames()
            model.change(&generator)
            if hasMappings { model.relax() }
            let next = try ManagedObjectModel(model.definition)
            let isExplicit = hasMappings && generator.chance(2)
            mappings.append(
                isExplicit ? RandomMapping.make(from: versions[versions.count - 1], to: next, &generator) : nil)
            versions.append(next)
        }
        self.versions = versions
        self.mappings = mappings
        store = RandomData.fill(versions[0], rows: rows, &generator)
    }

    package var description: String { "chain of \(versions.count) versions, seed \(seed)" }
}

extension RandomModel {
    /// Takes the renaming identifiers away: the next version's are names of this one.
    mutating func forgetNames() {
        for entity in definition.entities.indices {
            definition.entities[entity].renamingIdentifier = nil
            for position in definition.entities[entity].attributes.indices {
                definition.entities[entity].attributes[position].renamingIdentifier = nil
            }
            for position in definition.entities[entity].relationships.indices {
                definition.entities[entity].relationships[position].renamingIdentifier = nil
            }
        }
    }
}
