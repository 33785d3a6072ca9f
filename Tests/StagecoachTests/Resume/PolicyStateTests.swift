import Diagnostics
import Foundation
import ManagedModel
import Mapping
import Stagecoach
import Synchronization
import TestSupport
import Testing

@testable import Stagecoach

/// The state that a run keeps of policies and of the manager, and how far a resumed run gets with it.
@Suite("States of policies", .serialized)
struct PolicyStateTests {
    // MARK: - Which classes store something

    private class Plain: EntityMigrationPolicy {
        static let shared = 7
        var computed: Int { Self.shared }
    }
    private final class Deeper: Plain {
        override func begin(_ mapping: EntityMapping, with manager: MigrationManager) throws {}
    }
    private final class Flagged: EntityMigrationPolicy { let flag = true }
    private final class Late: EntityMigrationPolicy { lazy var names: [String] = [] }
    private class Counting: EntityMigrationPolicy { var count: Int? }
    private final class Inheriting: Counting {}
    private final class Managing: MigrationManager {
        override func registerFunctions(_ functions: ExpressionFunctionTable) {}
    }
    private final class Storing: MigrationManager { var more = 0 }

    @Test("A class without stored properties has no state, one with any has")
    func classes() throws {
        for policy in [EntityMigrationPolicy(), Plain(), Deeper()] {
            #expect(PolicyStoredProperties.isAbsent(in: policy))
        }
        for policy in [Flagged(), Late(), Counting(), Inheriting()] {
            #expect(!PolicyStoredProperties.isAbsent(in: policy))
        }
        let model = try ManagedObjectModel(ModelDefinition())
        #expect(PolicyStoredProperties.isAbsent(in: MigrationManager(sourceModel: model, destinationModel: model)))
        #expect(PolicyStoredProperties.isAbsent(in: Managing(sourceModel: model, destinationModel: model)))
        #expect(!PolicyStoredProperties.isAbsent(in: Storing(sourceModel: model, destinationModel: model)))
    }

    // MARK: - userInfo

    @Test("Values of a property list come back with their types, mutable containers too")
    func userInfo() throws {
        let names = NSMutableDictionary(dictionary: ["a": [1, 2]])
        let info: [AnyHashable: Any] = [
            "flag": true, "count": 3, "rate": 1.5, "text": "é", "data": Data([1, 2]),
            "date": Date(timeIntervalSinceReferenceDate: 9.25), "list": [1, "b"] as [Any], "counts": ["x": 1],
            "names": names, "made": NSMutableArray(array: ["x"]), "number": NSNumber(value: 7), "wide": Int64(5),
        ]
        let bytes = try #require(UserInfoArchive.bytes(of: info))
        let back = try #require(try UserInfoArchive.info(bytes))
        #expect(back.count == info.count)
        #expect(back["flag"] as? Bool == true && back["count"] as? Int == 3 && back["rate"] as? Double == 1.5)
        #expect(back["text"] as? String == "é" && back["data"] as? Data == Data([1, 2]))
        #expect(back["date"] as? Date == Date(timeIntervalSinceReferenceDate: 9.25))
        #expect((back["list"] as? [Any])?.count == 2 && back["counts"] as? [String: Int] == ["x": 1])
        #expect((back["number"] as? NSNumber)?.intValue == 7 && back["wide"] as? Int64 == 5)
        let again = try #require(back["names"] as? NSMutableDictionary)
        again["b"] = 3
        #expect(again.count == 2 && again["a"] as? [Int] == [1, 2])
        let made = try #require(back["made"] as? NSMutableArray)
        made.add("y")
        #expect(made.count == 2)
        let empty = try #require(UserInfoArchive.bytes(of: nil))
        #expect(try UserInfoArchive.info(empty) == nil)
        for cut in 0..<bytes.count where cut % 7 == 0 {
            #expect(throws: MigrationError.self) { try UserInfoArchive.info(Array(bytes[..<cut])) }
        }
    }

    @Test("A damaged number of members is an error, and no room is made for it")
    func damagedCount() throws {
        let bytes = try #require(UserInfoArchive.bytes(of: ["a": [1]]))
        // The array's kind is followed by the number of its members.
        let place = try #require(bytes.firstIndex(of: 6))
        #expect(bytes[place + 1] == 1)
        let damaged = bytes[...place] + [0xFF, 0xFF, 0xFF, 0xFF, 0x07] + bytes[(place + 2)...]
        let error = #expect(throws: MigrationError.self) { _ = try UserInfoArchive.info(Array(damaged)) }
        #expect(error?.code == "journal.damaged")
    }

    @Test("Objects, keys that are no texts and a container at two places have no such form")
    func otherUserInfo() {
        let shared = NSMutableArray()
        for info in [
            ["a": UUID()], [1: "a"], ["a": shared, "b": shared], ["a": [NSObject()]], ["a": NSDecimalNumber.one],
        ]
            as [[AnyHashable: Any]]
        {
            #expect(UserInfoArchive.bytes(of: info) == nil, "\(info)")
        }
    }

    // MARK: - Runs

    /// Calls of the policies below, by run.
    private static let calls = Mutex<[[Int64]]>([[]])

    private static func called(_ source: ManagedObject) {
        calls.withLock { $0[$0.count - 1].append(source.objectID.key) }
    }

    private final class Stateless: EntityMigrationPolicy {
        override func createDestinationInstances(
            forSource sInstance: ManagedObject, in mapping: EntityMapping, manager: MigrationManager
        ) throws {
            try super.createDestinationInstances(forSource: sInstance, in: mapping, manager: manager)
            PolicyStateTests.called(sInstance)
            let count = manager.userInfo?["count"] as? Int ?? 0
            manager.userInfo = ["count": count + 1]
        }
    }

    private final class Stateful: EntityMigrationPolicy {
        var count = 0

        override func createDestinationInstances(
            forSource sInstance: ManagedObject, in mapping: EntityMapping, manager: MigrationManager
        ) throws {
            try super.createDestinationInstances(forSource: sInstance, in: mapping, manager: manager)
            PolicyStateTests.called(sInstance)
            count += 1
        }
    }

    private static let rows: Int64 = 400

    /// Runs a migration with a policy whose journal fails after a dozen records, and resumes it.
    ///
    /// - Parameter failure: the record of the first run's journal that cannot be written.
    /// - Returns: the source objects that each run showed to the policy, and the last manager.
    private func interrupted(
        isStateless: Bool, failure first: Int, _ policy: @escaping @Sendable () -> EntityMigrationPolicy
    ) throws -> (calls: [[Int64]], manager: MigrationManager, resume: MigrationPlan.Model) {
        var entity = EntityDefinition(name: "Thing")
        entity.attributes = [AttributeDefinition(name: "name", type: .string)]
        let model = try ManagedObjectModel(
            {
                var definition = ModelDefinition()
                definition.entities = [entity]
                return definition
            }())
        let folder = try TemporaryFolder()
        let path = folder.file("old.sqlite")
        try ReferenceStore.make(model) { store in
            for key in 1...Self.rows { store.insert("Thing", key, ["name": .text("thing \(key)")]) }
        }.write(path: path)
        let mapping = try MappingModel.inferred(from: model, to: model)
        mapping.entityMappings[0].entityMigrationPolicyClassName = "Policy"
        Self.calls.withLock { $0 = [] }
        var options = MigrationOptions()
        options.batchSize = 4
        var resume: MigrationPlan.Model?
        for failure in [first, nil] as [Int?] {
            let manager = MigrationManager(sourceModel: model, destinationModel: model)
            manager.policies = PolicyRegistry()
            manager.policies.register("Policy", policy)
            Self.calls.withLock { $0.append([]) }
            let migration = Migration(
                from: path, model: model, mapping: mapping, to: folder.file("new.sqlite"), model: model,
                options: options, manager: manager)
            if resume == nil { resume = try migration.plan().models[0] }
            do {
                let conditions = RunConditions.savingOften(failingAfter: failure)
                _ = try RunConditions.$current.withValue(conditions) { try migration.run() }
            } catch let error as MigrationError where error.code == "journal.io" {
                continue
            }
            let made = try ReferenceStore.read(path: folder.file("new.sqlite"), model: model)
            #expect(made.rowCount == Int(Self.rows))
            return (Self.calls.withLock { $0 }, manager, try #require(resume))
        }
        throw CancellationError()
    }

    @Test("A resumed run repeats the calls of policies that have state only", .serialized, arguments: [true, false])
    func goingOn(isStateless: Bool) throws {
        // Without states of the stages there are few.
        let (calls, manager, resume) = try interrupted(isStateless: isStateless, failure: isStateless ? 2 : 3) {
            isStateless ? Stateless() : Stateful()
        }
        let all = Array(1...Self.rows)
        let last = try #require(calls.last)
        #expect(calls.count == 2)
        if isStateless {
            // The second run begins behind what the first one's last state says, and ends with the last object.
            let first = last.first ?? Self.rows + 1
            #expect(first > 1 && last == Array(all.dropFirst(Int(first) - 1)), "\(first)")
            #expect(calls[0].starts(with: all.prefix(Int(first) - 1)))
            // Each object counts once, those before the kill too.
            #expect(manager.userInfo?["count"] as? Int == Int(Self.rows))
            #expect(resume.resume == "A killed run resumes within the entity whose objects it was migrating")
            #expect(resume.entityMappings[0].obstacle == nil)
        } else {
            #expect(last == all || last.isEmpty)
            #expect(resume.resume?.contains("begins the mapping model's stages again") == true)
            #expect(resume.entityMappings[0].obstacle?.contains("ResumablePolicy") == true)
        }
    }

    @Test("A plan names the obstacle of a later mapping model at that model's entity mapping")
    func obstacleOfLaterModel() throws {
        var entity = EntityDefinition(name: "Thing")
        entity.attributes = [AttributeDefinition(name: "name", type: .string)]
        var definition = ModelDefinition()
        definition.entities = [entity]
        let model = try ManagedObjectModel(definition)
        let folder = try TemporaryFolder()
        try ReferenceStore.make(model) { $0.insert("Thing", 1, ["name": .text("thing")]) }
            .write(path: folder.file("old.sqlite"))
        let mappings = try [0, 1].map { _ in try MappingModel.inferred(from: model, to: model) }
        mappings[1].entityMappings[0].entityMigrationPolicyClassName = "Policy"
        let manager = MigrationManager(sourceModel: model, destinationModel: model)
        manager.policies = PolicyRegistry()
        manager.policies.register("Policy") { Stateful() }
        let plan = try Migration(
            from: folder.file("old.sqlite"), model: model, mappings: mappings, to: folder.file("new.sqlite"),
            model: model, manager: manager
        ).plan()
        #expect(plan.models.map(\.entityMappings.count) == [1, 1])
        #expect(plan.models[0].entityMappings[0].obstacle == nil)
        #expect(plan.models[1].entityMappings[0].obstacle?.contains("ResumablePolicy") == true)
    }

    @Test("Values in userInfo survive if the run that called the policies ended in the load")
    func goingOnInLoad() throws {
        // The number of states that the stages take depends on the disk; those of the load come after them.
        for failure in 2...400 {
            let (calls, manager, _) = try interrupted(isStateless: true, failure: failure) { Stateless() }
            // One run was enough: there is no such record.
            guard calls.count == 2 else { break }
            guard calls[1].isEmpty else { continue }
            #expect(calls[0] == Array(1...Self.rows))
            #expect(manager.userInfo?["count"] as? Int == Int(Self.rows))
            return
        }
        Issue.record("no run ended in the load")
    }
}
