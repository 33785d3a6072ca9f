import Diagnostics
import Mapping
import Stagecoach

/// The value of a `--match` option, `Entity=key,key`: source objects that would become objects of the destination entity become
/// rows of the destination with the same keys.
struct MatchArgument {
    let entity: String
    /// The names of attributes of the entity, at least one.
    let keys: [String]

    /// Returns nil for a text of another form.
    init?(_ text: String) {
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 2 else { return nil }
        func trimmed(_ text: String) -> String { text.trimmingCharacters(in: .init(charactersIn: " ")) }
        entity = trimmed(parts[0])
        keys = parts[1].split(separator: ",", omittingEmptySubsequences: false).map { trimmed(String($0)) }
        guard !entity.isEmpty, keys.allSatisfy({ !$0.isEmpty }) else { return nil }
    }

    /// Gives the rule to the entity mappings that make objects of the entity.
    ///
    /// - Parameter steps: the way from version to version.
    /// - Throws: `plan.match` (78) if no mapping makes such objects, one has a rule already, or the way has several steps.
    func apply(to steps: [MigrationStep]) throws(MigrationError) {
        func failure(_ message: String, _ remedy: String?) -> MigrationError {
            MigrationError(
                "plan.match", .configuration, "--match \(entity): \(message)", remedy: remedy,
                context: .init(entity: entity))
        }
        guard steps.count == 1 else {
            throw failure(
                "the store goes through \(steps.count) versions, and objects become rows of the destination in one migration only",
                "Migrate to the version of the destination first, then append the result")
        }
        let mappings = steps[0].mappingModels.flatMap { $0.entityMappings ?? [] }
        let making = mappings.filter { $0.destinationEntityName == entity }
        guard !making.isEmpty else {
            throw failure(
                "no entity mapping makes objects of this entity",
                EditDistance.remedy(for: entity, among: Set(mappings.compactMap(\.destinationEntityName)).sorted()))
        }
        for mapping in making {
            guard mapping.matching == nil else {
                throw failure(
                    "entity mapping \(mapping.name ?? "") has keys already",
                    "Leave out --match, or \"matchBy\" in the file")
            }
            mapping.matching = ObjectMatching(keys: keys.map { MatchKey($0) })
        }
    }
}
