import Diagnostics
import Foundation
import ManagedModel
import Mapping
import Stagecoach
import TestSupport
import Testing

/// Random mapping models cut into two or three that run in turn, and second stores appended: the engine's destination
/// equals the reference's, row by row and key by key.
@Suite("Several mapping models and appended stores against the reference")
struct SeveralModelsTests {
    typealias Variant = MigrationComparison.Variant

    static let seeds = RandomSeeds.seeds(15)

    static let variants: [Variant] = [
        Variant(), Variant(batchSize: 1, passes: 1, room: 20), Variant(batchSize: 3, isStaged: true),
        Variant(batchSize: 7, passes: 9),
    ]

    @Test(
        "A mapping model cut into several gives what the reference gives, in one run and in several calls",
        arguments: seeds)
    func split(seed: UInt64) throws { expectNone(try splitDifferences(seed)) }

    private func expectNone(_ lines: [String]) { #expect(lines.isEmpty, "\(lines.joined(separator: "\n"))") }

    private func splitDifferences(_ seed: UInt64) throws -> [String] {
        let fixture = try SplitFixture(seed: seed)
        let expected = ReferenceMigrator.migrate(
            source: try fixture.sourceStore(), destinationModel: fixture.migration.destination,
            mappingModels: fixture.models)
        for variant in Self.variants {
            let one = try fixture.differences(expected, "one run, \(variant)") { path in
                try Migration(
                    from: fixture.path, model: fixture.migration.source, mappings: fixture.models, to: path,
                    model: fixture.migration.destination, options: variant.options
                ).run().counts.danglingReferences
            }
            guard one.isEmpty else { return one }
            let several = try fixture.differences(expected, "several calls, \(variant)") { path in
                let manager = fixture.manager(variant)
                var dangling = 0
                for model in fixture.models {
                    manager.options = variant.options
                    try manager.migrateStore(
                        from: URL(fileURLWithPath: fixture.path), type: .sqlite, mapping: model,
                        to: URL(fileURLWithPath: path), type: .sqlite)
                    dangling += manager.report?.counts.danglingReferences ?? 0
                }
                return dangling
            }
            guard several.isEmpty else { return several }
        }
        return []
    }

    @Test("Scripted policies in several mapping models see and make what the reference's do", arguments: seeds)
    func policies(seed: UInt64) throws { expectNone(try policyDifferences(seed)) }

    private func policyDifferences(_ seed: UInt64) throws -> [String] {
        let fixture = try SplitFixture(seed: seed)
        var generator = SeededGenerator(seed: seed &* 17 &+ 3)
        let actions = PolicyActions.chosen(for: fixture.models.flatMap { $0.entityMappings ?? [] }, &generator) {
            PolicyActions(rawValue: $0.below(1 << PolicyActions.count))
        }
        guard !actions.isEmpty else { return [] }
        let expectedLog = PolicyLog()
        let expected = ReferenceMigrator.migrate(
            source: try fixture.sourceStore(), destinationModel: fixture.migration.destination,
            mappingModels: fixture.models,
            policies: actions.mapValues { actions in { ScriptedReferencePolicy(actions, expectedLog) } })
        for variant in Self.variants {
            let log = PolicyLog()
            let manager = fixture.manager(variant)
            let shared = Unchecked(log)
            for (name, actions) in actions {
                manager.policies.register(name) {
                    let policy = EnginePolicy()
                    policy.script = PolicyScript(actions, shared.value)
                    return policy
                }
            }
            let lines = try fixture.differences(expected, "\(variant), \(actions)") { path in
                _ = try Migration(
                    from: fixture.path, model: fixture.migration.source, mappings: fixture.models, to: path,
                    model: fixture.migration.destination, options: variant.options, manager: manager
                ).run()
                return nil
            }
            let difference = zip(log.lines, expectedLog.lines).first { $0 != $1 }
            if let (saw, expected) = difference {
                return lines + ["\(variant)", "a policy saw", saw, "expected", expected, "\(fixture.migration)"]
            }
            guard lines.isEmpty else { return lines }
        }
        return []
    }

    @Test(
        "Seeds that failed once",
        arguments: [519_866_673, 99_300_781, 20_261_322, 20_261_346, 20_261_452] as [UInt64])
    func known(seed: UInt64) throws {
        expectNone(try splitDifferences(seed))
        expectNone(try policyDifferences(seed))
        expectNone(try appendDifferences(seed))
    }

    @Test("A second store appended to the first one's destination gives what the reference gives", arguments: seeds)
    func append(seed: UInt64) throws { expectNone(try appendDifferences(seed)) }

    private func appendDifferences(_ seed: UInt64) throws -> [String] {
        let fixture = try SplitFixture(seed: seed)
        let first = try #require(fixture.migration.mapping)
        let reference = ReferenceMigrator.migrate(
            source: try fixture.sourceStore(), destinationModel: fixture.migration.destination, mappingModels: [first])
        guard case .success(let outcome) = reference else { return [] }
        // The same rows again, from another file: every key moves up.
        let expected = ReferenceMigrator.migrate(
            source: try fixture.sourceStore(), destinationModel: fixture.migration.destination, mappingModels: [first],
            destination: outcome.store)
        for variant in Self.variants {
            let lines = try fixture.differences(expected, "append, \(variant)") { path in
                var options = variant.options
                options.appendsToExisting = true
                for _ in 0..<2 {
                    _ = try Migration(
                        from: fixture.path, model: fixture.migration.source, mapping: first, to: path,
                        model: fixture.migration.destination, options: options
                    ).run()
                }
                return nil
            }
            guard lines.isEmpty else { return lines }
        }
        return []
    }
}

/// A random migration, its mapping model cut into several.
struct SplitFixture {
    let migration: RandomMigration
    let models: [MappingModel]
    let path: String
    private let folder: TemporaryFolder

    /// - Parameter isRuled: whether random rows break random rules.
    init(seed: UInt64, isRuled: Bool = false) throws {
        migration =
            try isRuled
            ? RandomMigration.ruled(seed: seed, isExplicit: true) : RandomMigration.explicit(seed: seed)
        let mapping = try #require(migration.mapping)
        var generator = SeededGenerator(seed: seed &* 13 &+ 5)
        let parts = 2 + generator.below(2)
        var cut = Array(repeating: [EntityMapping](), count: parts)
        for entityMapping in mapping.entityMappings { cut[generator.below(parts)].append(entityMapping) }
        models = SplitFixture.models(cut)
        folder = try TemporaryFolder()
        path = folder.file("source.sqlite")
        try migration.store.write(path: path)
    }

    /// Lookups by the name of a mapping that runs later become lookups of one that ran and makes objects of the same entity, or
    /// none.
    private static func models(_ parts: [[EntityMapping]]) -> [MappingModel] {
        var known: [String] = []
        let entities = Dictionary(
            parts.flatMap { $0 }.map { ($0.name ?? "", $0.destinationEntityName ?? "") },
            uniquingKeysWith: { first, _ in first })
        return parts.map { part in
            known += part.map { $0.name ?? "" }
            let model = MappingModel()
            model.entityMappings = part.map { original in
                let mapping = EntityMapping()
                mapping.name = original.name
                mapping.mappingType = original.mappingType
                mapping.sourceEntityName = original.sourceEntityName
                mapping.destinationEntityName = original.destinationEntityName
                mapping.attributeMappings = original.attributeMappings
                mapping.relationshipMappings = original.relationshipMappings?.map { property in
                    guard case .function(let target, let selector, var arguments)? = property.valueExpression?.node,
                        case .constant(.string(let name))? = arguments.first, name.hasPrefix("Mapping"),
                        !known.contains(name)
                    else { return property }
                    let made = entities[name]
                    guard let other = known.first(where: { $0.hasPrefix("Mapping") && entities[$0] == made }) else {
                        return PropertyMapping(name: property.name ?? "", valueExpression: nil)
                    }
                    arguments[0] = .constant(.string(other))
                    return PropertyMapping(
                        name: property.name ?? "",
                        valueExpression: ValueExpression(
                            node: .function(target: target, selector: selector, arguments: arguments)))
                }
                return mapping
            }
            return model
        }
    }

    func sourceStore() throws -> ReferenceStore { try ReferenceStore.read(path: path, model: migration.source) }

    func manager(_ variant: MigrationComparison.Variant) -> MigrationManager {
        let manager = MigrationManager(sourceModel: migration.source, destinationModel: migration.destination)
        manager.policies = PolicyRegistry()
        manager.options = variant.options
        manager.usesStoreSpecificMigrationManager = !variant.isStaged
        return manager
    }

    /// The differences of a run's destination from the reference's, with all that it takes to repeat it.
    ///
    /// - Parameter run: migrates to a path and returns the count of dangling references, nil if it is not compared.
    func differences(
        _ expected: Result<ReferenceOutcome, ReferenceFailure>, _ label: String, _ run: (String) throws -> Int?
    ) throws -> [String] {
        let lines: [String]
        do { lines = try differences(expected, run) } catch is UncomparableCut { return [] }
        guard !lines.isEmpty else { return [] }
        let cut = models.map { $0.entityMappings.map { $0.name ?? "" }.joined(separator: ", ") }
        return [label, "\(cut)"] + lines.prefix(12) + ["\(migration)"]
    }

    /// A cut that leaves a lookup by relationship without a mapping that makes what the relationship takes. The engine refuses such
    /// a type, and the reference knows no types.
    private struct UncomparableCut: Error {}

    /// A policy's default method refuses it when it evaluates the lookup.
    private static func refusesLookup(_ error: MigrationError) -> Bool {
        error.code == "expression.type"
            || error.code == "value.type"
                && error.context.expression?.contains(LookupSelector.bySourceRelationship) == true
    }

    private func differences(
        _ expected: Result<ReferenceOutcome, ReferenceFailure>, _ run: (String) throws -> Int?
    ) throws -> [String] {
        let path = folder.file("out-\(UUID().uuidString).sqlite")
        defer { try? FileManager.default.removeItem(atPath: path) }
        var dangling: Int?
        return try expected.differences {
            do {
                dangling = try run(path)
            } catch let error as MigrationError where Self.refusesLookup(error) {
                throw UncomparableCut()
            }
        } comparing: { outcome in
            let expected = outcome.report.danglingReferences
            return try ReferenceStore.read(path: path, model: migration.destination).differences(from: outcome.store)
                + (dangling ?? expected == expected ? [] : ["dangling references: \(dangling ?? 0), not \(expected)"])
        }
    }
}
