import Diagnostics
import Foundation
import ManagedModel
import Mapping
import Stagecoach
import TestSupport
import Testing

/// Random migrations whose journal fails after some records, and that are resumed as often as it takes. The objects that
/// policies saw, and the destination, are those of an undisturbed run.
@Suite("Resumed runs with user code")
struct ResumedPolicyTests {
    typealias Variant = MigrationComparison.Variant

    static let variants: [Variant] = [
        Variant(batchSize: 1, passes: 1), Variant(batchSize: 3, passes: 2, isStaged: true),
        Variant(batchSize: 2, passes: 1, keys: .sequential),
    ]

    @Test("A policy that does one thing", arguments: RandomSeeds.seeds(4))
    func single(seed: UInt64) throws {
        let found = try differences(seed, isCreationOnly: false) {
            PolicyActions(rawValue: 1 << $0.below(PolicyActions.count + 1))
        }
        #expect(found == [], "\(found.joined(separator: "\n"))")
    }

    @Test("Policies that do many things", arguments: RandomSeeds.seeds(4))
    func mixed(seed: UInt64) throws {
        let found = try differences(seed, isCreationOnly: false) {
            PolicyActions(rawValue: $0.below(1 << PolicyActions.count))
        }
        #expect(found == [], "\(found.joined(separator: "\n"))")
    }

    @Test("Policies that take over creation only", arguments: RandomSeeds.seeds(4))
    func creation(seed: UInt64) throws {
        let all: [PolicyActions] = [[], [], .drops, .splits, .merges, .createsByHand, .insertsExtra, .setsEarly]
        let found = try differences(seed, isCreationOnly: true) { all[$0.below(all.count)] }
        #expect(found == [], "\(found.joined(separator: "\n"))")
    }

    @Test("Policies that change and delete source objects", arguments: RandomSeeds.seeds(4))
    func changing(seed: UInt64) throws {
        let all: [PolicyActions] = [
            .changesSources, .deletesSources, [.changesSources, .deletesSources], [.deletesSources, .splits, .deletes],
        ]
        let found = try differences(seed, isCreationOnly: false) { all[$0.below(all.count)] }
        #expect(found == [], "\(found.joined(separator: "\n"))")
    }

    @Test("Policies with invalid objects rejected", arguments: RandomSeeds.seeds(3))
    func rejecting(seed: UInt64) throws {
        let found = try differences(seed, isCreationOnly: false, rejects: true) {
            PolicyActions(rawValue: 1 << $0.below(PolicyActions.count + 1))
        }
        #expect(found == [], "\(found.joined(separator: "\n"))")
    }

    /// A run in attempts: what the policies of each have seen.
    private final class Course {
        var log = PolicyLog()
        /// The calls up to the last state that an interrupted attempt may have left.
        var before: [String] = []
        var attempts = 0
        var resumed = 0

        func begin() {
            if attempts > 0, !log.lines.isEmpty { before = log.lines }
            log = PolicyLog()
            attempts += 1
        }
    }

    private func differences(
        _ seed: UInt64, isCreationOnly: Bool, rejects: Bool = false,
        _ choose: (inout SeededGenerator) -> PolicyActions
    ) throws -> [String] {
        let migration =
            rejects ? try RandomMigration.ruled(seed: seed, isExplicit: true) : try RandomMigration.explicit(seed: seed)
        let mapping = try #require(migration.mapping)
        var generator = SeededGenerator(seed: seed &* 37 &+ 11)
        let actions = PolicyActions.chosen(for: mapping.entityMappings, &generator, choose)
        guard !actions.isEmpty else { return [] }
        let folder = try TemporaryFolder()
        let path = folder.file("source.sqlite")
        try migration.store.write(path: path)
        for variant in Self.variants {
            let expectedLog = PolicyLog()
            let keys: ReferenceKeys = variant.keys == .sequential ? .sequential : .auto
            let reference = ReferenceMigrator(
                source: try ReferenceStore.read(path: path, model: migration.source),
                destinationModel: migration.destination, mappingModel: mapping, keys: keys, rejectsInvalid: rejects,
                policies: actions.mapValues { actions in
                    {
                        isCreationOnly
                            ? ScriptedReferenceCreationPolicy(actions, expectedLog)
                            : ScriptedReferencePolicy(actions, expectedLog)
                    }
                }
            ).migrate()
            let course = Course()
            let shared = Unchecked(course)
            let destination = folder.file("out-\(UUID().uuidString).sqlite")
            var options = variant.options
            if rejects {
                options.onInvalid = .reject
                options.rejectFile = destination + ".rejects"
            }
            var report: MigrationReport?
            var lines = try reference.differences {
                while report == nil {
                    let manager = MigrationManager(
                        sourceModel: migration.source, destinationModel: migration.destination)
                    manager.policies = PolicyRegistry()
                    for (name, actions) in actions {
                        manager.policies.register(name) {
                            let policy = isCreationOnly ? ResumedCreationPolicy() : ResumedPolicy()
                            (policy as? any ScriptHolder)?.course = (shared.value.before, shared.value.log)
                            policy.script = PolicyScript(actions, shared.value.log)
                            return policy
                        }
                    }
                    course.begin()
                    // Later attempts get further, so that there is an end.
                    let conditions = RunConditions.savingOften(
                        failingAfter: 1 + generator.below(6 + course.attempts))
                    do {
                        let attempt = Migration(
                            from: path, model: migration.source, mapping: mapping, to: destination,
                            model: migration.destination, options: options, manager: manager)
                        report = try RunConditions.$current.withValue(conditions) { try attempt.run() }
                    } catch let error as MigrationError where error.code == "journal.io" {
                        continue
                    }
                    if report?.notes.contains(where: { $0.contains("resumed one") }) == true { course.resumed += 1 }
                }
            } comparing: { outcome in
                let store = try ReferenceStore.read(path: destination, model: migration.destination)
                return try store.differences(from: outcome.store)
                    + (rejects
                        ? RejectComparison.differences(
                            RejectLine.read(destination + ".rejects"), #require(report), from: outcome.report) : [])
            }
            // Where objects are rejected, the engine's policies see values as nil that cannot be computed.
            if rejects, lines.isEmpty { continue }
            let seen = course.log.lines.isEmpty ? course.before : course.log.lines
            if let difference = zip(seen, expectedLog.lines).first(where: { $0 != $1 }) {
                lines.append("a policy saw\n  \(difference.0)\nexpected\n  \(difference.1)")
            } else if case .success = reference, seen.count != expectedLog.lines.count {
                lines.append("\(seen.count) calls, expected \(expectedLog.lines.count)")
            }
            guard lines.isEmpty else {
                return ["\(variant), \(course.attempts) attempts", "\(actions)"] + lines.prefix(12) + ["\(migration)"]
            }
        }
        return []
    }
}

/// A scripted policy of which a state is kept.
protocol ScriptHolder: EngineCreationPolicy, ResumablePolicy {
    /// The calls of interrupted attempts, and the log for the calls from now on.
    var course: (before: [String], log: PolicyLog) { get set }
    /// The objects to find again, once the manager is known.
    var pending: [Int64: String]? { get set }
}

extension ScriptHolder {
    func checkpoint() throws -> Data {
        let held = script.kept.mapValues { $0.objectID.uriRepresentation().absoluteString }
        return try JSONEncoder().encode(ScriptState(lines: course.log.lines.count, held: held))
    }

    func restore(from checkpoint: Data) throws {
        let state = try JSONDecoder().decode(ScriptState.self, from: checkpoint)
        course.log.lines = Array(course.before.prefix(state.lines))
        pending = state.held
    }

    fileprivate func findObjects(_ manager: MigrationManager) throws {
        guard let held = pending else { return }
        pending = nil
        for (number, text) in held {
            let url = try #require(URL(string: text))
            let coordinator = try #require(manager.destinationContext.persistentStoreCoordinator)
            let id = try #require(coordinator.managedObjectID(forURIRepresentation: url))
            script.kept[number] = manager.destinationContext.object(with: id)
        }
    }
}

private struct ScriptState: Codable {
    var lines: Int
    var held: [Int64: String]
}

private final class ResumedCreationPolicy: EngineCreationPolicy, ScriptHolder {
    var course: (before: [String], log: PolicyLog) = ([], PolicyLog())
    var pending: [Int64: String]?

    override func createDestinationInstances(
        forSource sInstance: ManagedObject, in mapping: EntityMapping, manager: MigrationManager
    ) throws {
        try findObjects(manager)
        try super.createDestinationInstances(forSource: sInstance, in: mapping, manager: manager)
    }
}

final class ResumedPolicy: EnginePolicy, ScriptHolder {
    var course: (before: [String], log: PolicyLog) = ([], PolicyLog())
    var pending: [Int64: String]?

    override func createDestinationInstances(
        forSource sInstance: ManagedObject, in mapping: EntityMapping, manager: MigrationManager
    ) throws {
        try findObjects(manager)
        try super.createDestinationInstances(forSource: sInstance, in: mapping, manager: manager)
    }
}
