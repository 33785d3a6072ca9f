import Diagnostics

/// One policy object for each entity mapping that names one, from its begin to its end.
final class Policies {
    private var byMapping: [Int: EntityMigrationPolicy] = [:]

    /// Makes all policies before anything runs.
    ///
    /// - Throws: `policy.unknown` (78) naming the class and what is registered; `policy.unknownSelector` for an expression
    ///   that calls what neither policy nor manager has.
    init(mappings: [PlannedMapping], manager: MigrationManager) throws(MigrationError) {
        let registry = manager.policies
        for mapping in mappings where mapping.hasPolicy {
            let name = mapping.mapping.entityMigrationPolicyClassName ?? ""
            guard let policy = registry.makePolicy(named: name) else {
                let known = registry.names
                throw MigrationError(
                    "policy.unknown", .configuration, "The migration policy \(name) is not registered",
                    remedy: known.isEmpty
                        ? "Register it in code: PolicyRegistry.shared.register(\"\(name)\") { … }"
                        : "Registered are: \(known.joined(separator: ", "))",
                    context: mapping.context)
            }
            byMapping[mapping.index] = policy
        }
        for mapping in mappings {
            try CalledSelectors.check(mapping, policy: byMapping[mapping.index], manager: manager)
        }
    }

    subscript(mapping: PlannedMapping) -> EntityMigrationPolicy? { byMapping[mapping.index] }

    func release(_ mapping: PlannedMapping) { byMapping[mapping.index] = nil }
}
