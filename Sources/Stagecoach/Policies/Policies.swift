import Diagnostics

/// The policy objects: one for each entity mapping that names a policy, has a source expression of its own, or makes an
/// object for each member, from its
/// begin to its end.
final class Policies {
    private var byMapping: [Int: EntityMigrationPolicy] = [:]

    /// Makes all policies before anything runs.
    ///
    /// - Throws: `policy.unknown` (78) with the class and the registered names; `policy.unknownSelector` for an
    ///   expression that calls a selector that neither policy nor manager has.
    init(mappings: [PlannedMapping], manager: MigrationManager) throws(MigrationError) {
        let registry = manager.policies
        for mapping in mappings where mapping.hasPolicy {
            guard mapping.mapping.hasPolicy else {
                byMapping[mapping.index] = mapping.forEach == nil ? EntityMigrationPolicy() : MemberPolicy()
                continue
            }
            let name = mapping.mapping.entityMigrationPolicyClassName ?? ""
            guard let policy = registry.makePolicy(named: name, in: mapping) else {
                let known = registry.names.joined(separator: ", ")
                throw MigrationError(
                    "policy.unknown", .configuration, "The migration policy \(name) is not registered",
                    remedy: (EditDistance.question(name, among: registry.names)
                        ?? "Register it in code: PolicyRegistry.shared.register(\"\(name)\") { … }; or give the command "
                        + "the library that registers it with --policies.")
                        + (known.isEmpty ? "" : " Registered are: \(known)"),
                    context: mapping.context)
            }
            byMapping[mapping.index] = policy
        }
        for mapping in mappings {
            try CalledSelectors.check(
                mapping, policy: mapping.mapping.hasPolicy ? byMapping[mapping.index] : nil, manager: manager)
        }
    }

    subscript(mapping: PlannedMapping) -> EntityMigrationPolicy? { byMapping[mapping.index] }

    /// Returns the class name of a policy whose state cannot be saved; nil for any other policy.
    func statefulName(_ mapping: PlannedMapping, _ policy: EntityMigrationPolicy) -> String? {
        guard !(policy is any ResumablePolicy), !PolicyStoredProperties.isAbsent(in: policy) else { return nil }
        return mapping.mapping.entityMigrationPolicyClassName ?? String(describing: type(of: policy))
    }

    func release(_ mapping: PlannedMapping) { byMapping[mapping.index] = nil }
}
