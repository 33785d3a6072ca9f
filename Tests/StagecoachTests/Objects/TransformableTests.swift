import Archives
import Diagnostics
import Foundation
import ManagedModel
import Mapping
import Stagecoach
import TestSupport
import Testing

/// Transformable attributes of policies and of expressions that only objects can evaluate.
@Suite("Transformable attributes are objects")
struct TransformableTests {
    /// Makes data of a text, reversed, as an app's own transformer does.
    private class ReversingTransformer: ValueTransformer {
        override func transformedValue(_ value: Any?) -> Any? {
            (value as? String).map { Data(String($0.reversed()).utf8) }
        }
        override func reverseTransformedValue(_ value: Any?) -> Any? {
            (value as? Data).map { String(String(decoding: $0, as: UTF8.self).reversed()) }
        }
    }

    /// An app's subclass of the unarchiver, whose directions are the other way round.
    private final class ListTransformer: NSSecureUnarchiveFromDataTransformer {
        override class var allowedTopLevelClasses: [AnyClass] { [NSArray.self] }
        override func transformedValue(_ value: Any?) -> Any? {
            (value as? Data).flatMap { super.transformedValue($0) }
        }
    }

    private static func archive(_ object: Any) throws -> [UInt8] { try ObjectArchive.bytes(of: object) }

    private static func object(_ value: ReferenceValue?) throws -> NSObject? {
        guard case .blob(let bytes)? = value else { return nil }
        return try ObjectArchive.object(from: bytes) as? NSObject
    }

    /// A trial with the attributes `tags` and `more`, both transformable, and a policy that creates its objects.
    private static func trial(
        _ tags: [ReferenceValue], transformer: String? = nil, isExternal: Bool = false,
        _ attributes: KeyValuePairs<String, String?> = ["tags": nil, "more": nil],
        create: @escaping ClosurePolicy.ObjectStep
    ) throws -> ExpressionTrial {
        let types = ["tags", "more"].map { name in
            attribute(name, .transformable) {
                $0.valueTransformerName = transformer
                $0.allowsExternalBinaryDataStorage = isExternal
            }
        }
        let trial = try ExpressionTrial(
            old: types, new: types, rows: tags.map { ["tags": $0] }, attributes)
        trial.item.entityMigrationPolicyClassName = "P"
        let steps = Unchecked(create)
        trial.change = { manager in
            manager.policies.register("P") {
                let policy = ClosurePolicy()
                policy.steps.create = steps.value
                return policy
            }
        }
        return trial
    }

    private static func made(_ source: ManagedObject, _ mapping: EntityMapping, _ manager: MigrationManager)
        -> ManagedObject
    {
        let made = EntityDescription.insertNewObject(forEntityName: "Item", into: manager.destinationContext)
        manager.associate(sourceInstance: source, withDestinationInstance: made, for: mapping)
        return made
    }

    @Test(
        "A policy reads arrays and dictionaries, and sets changed ones",
        arguments: [nil, "NSSecureUnarchiveFromDataTransformer", "NSKeyedUnarchiveFromData", "NSUnarchiveFromData"],
        [false, true])
    func values(transformer: String?, isExternal: Bool) throws {
        let prefix: [UInt8] = isExternal ? [1] : []
        let stored = try Self.archive(["b", "a"])
        let trial = try Self.trial([.blob(prefix + stored), .null], transformer: transformer, isExternal: isExternal) {
            source, mapping, manager, _ in
            let made = Self.made(source, mapping, manager)
            let tags = source.value(forKey: "tags") as? [String]
            #expect(tags == (source.objectID.key == 1 ? ["b", "a"] : nil))
            #expect(source.primitiveValue(forKey: "tags") as? Data == tags.map { _ in Data(stored) })
            made.setValue(tags?.sorted(), forKey: "tags")
            made.setValue(["count": tags?.count ?? 0, "set": Set(tags ?? [])] as [String: Any], forKey: "more")
            #expect(made.value(forKey: "tags") as? [String] == tags?.sorted())
            #expect((made.value(forKey: "more") as? [String: Any])?["count"] as? Int == tags?.count ?? 0)
        }
        let store = try trial.run()
        #expect(store.value("Item", 1, "tags") == .blob(prefix + (try Self.archive(["a", "b"]))))
        #expect(store.value("Item", 2, "tags") == .null)
        guard case .blob(let more) = store.value("Item", 1, "more") else {
            Issue.record("no value")
            return
        }
        let read = try ObjectArchive.object(from: Array(more.dropFirst(prefix.count))) as? NSDictionary
        #expect(read?["count"] as? Int == 2 && read?["set"] as? Set<String> == ["a", "b"])
        #expect(try trial.verify().differences.isEmpty)
    }

    @Test("A value that was set is read as the same object; a changed one is written when it is set again")
    func identity() throws {
        let archived = try Self.archive(NSMutableArray(array: ["x"]))
        let trial = try Self.trial([.blob(archived)]) { source, mapping, manager, _ in
            let made = Self.made(source, mapping, manager)
            let list = try #require(source.value(forKey: "tags") as? NSMutableArray)
            #expect(source.value(forKey: "tags") as? NSMutableArray === list)
            made.setValue(list, forKey: "tags")
            #expect(made.value(forKey: "tags") as? NSMutableArray === list)
            list.add("y")
            made.setValue(list, forKey: "tags")
            #expect(made.value(forKey: "tags") as? NSMutableArray === list)
            // The bytes, and a value that was set as bytes.
            let bytes = try #require(made.primitiveValue(forKey: "tags") as? Data)
            made.setPrimitiveValue(bytes, forKey: "more")
            #expect((made.value(forKey: "more") as? NSArray)?.count == 2)
            // An object without a context keeps what it is given.
            let apart = ManagedObject(entity: made.entity, insertInto: nil)
            apart.setPrimitiveValue(bytes, forKey: "tags")
            apart.setValue(["z"], forKey: "more")
            #expect((apart.value(forKey: "tags") as? NSArray)?.count == 2)
            #expect(apart.primitiveValue(forKey: "tags") as? Data == bytes)
            manager.destinationContext.insert(apart)
        }
        let store = try trial.run()
        #expect(try Self.object(store.value("Item", 1, "tags")) == NSMutableArray(array: ["x", "y"]))
        #expect(store.value("Item", 1, "tags") == store.value("Item", 1, "more"))
        #expect(store.value("Item", 2, "tags") == store.value("Item", 1, "tags"))
        #expect(try Self.object(store.value("Item", 2, "more")) == NSArray(array: ["z"]))
    }

    @Test("Data set to a transformable attribute are archived like every other object, as in Core Data")
    func data() throws {
        let trial = try Self.trial([.null]) { source, mapping, manager, _ in
            Self.made(source, mapping, manager).setValue(Data([1, 2]), forKey: "tags")
        }
        let store = try trial.run()
        #expect(store.value("Item", 1, "tags") == .blob(try Self.archive(Data([1, 2]))))
    }

    @Test("A registered transformer serves its name; an unarchiver's directions are the other way round")
    func registered() throws {
        ValueTransformer.setValueTransformer(
            ReversingTransformer(), forName: NSValueTransformerName("TransformableTests.Reversing"))
        ValueTransformer.setValueTransformer(
            ListTransformer(), forName: NSValueTransformerName("TransformableTests.List"))
        #expect(ValueTransformer(forName: NSValueTransformerName("TransformableTests.List")) is ListTransformer)
        #expect(ReversingTransformer(forName: NSValueTransformerName("TransformableTests.List")) == nil)
        #expect(ValueTransformer.valueTransformerNames().contains { $0.rawValue == "TransformableTests.List" })
        var trial = try Self.trial([.blob(Array("cba".utf8))], transformer: "TransformableTests.Reversing") {
            source, mapping, manager, _ in
            #expect(source.value(forKey: "tags") as? String == "abc")
            Self.made(source, mapping, manager).setValue("xyz", forKey: "tags")
        }
        #expect(try trial.run().value("Item", 1, "tags") == .blob(Array("zyx".utf8)))
        trial = try Self.trial([.blob(try Self.archive(["a"]))], transformer: "TransformableTests.List") {
            source, mapping, manager, _ in
            #expect(source.value(forKey: "tags") as? [String] == ["a"])
            Self.made(source, mapping, manager).setValue(["b"], forKey: "tags")
        }
        #expect(try trial.run().value("Item", 1, "tags") == .blob(try Self.archive(["b"])))
        // What a transformer gives nothing for is an error.
        trial = try Self.trial([.null], transformer: "TransformableTests.Reversing") { source, mapping, manager, _ in
            Self.made(source, mapping, manager).setValue(5, forKey: "tags")
        }
        #expect(throws: MigrationError.self) { try trial.run() }
    }

    @Test("What nobody can transform is an error that names attribute, transformer and class, and the way out")
    func unknown() throws {
        func error(
            _ tags: ReferenceValue, _ transformer: String?, _ step: @escaping (ManagedObject, ManagedObject) -> Void
        ) throws -> String {
            let trial = try Self.trial([tags], transformer: transformer) { source, mapping, manager, _ in
                step(source, Self.made(source, mapping, manager))
            }
            let error = #expect(throws: MigrationError.self) { try trial.run() }
            let innermost = error.map { $0.cause as? MigrationError ?? $0 }
            #expect(innermost?.code == "value.transformer", "\(error?.description ?? "")")
            #expect(innermost?.context.property == "tags" && innermost?.context.objectID == "Item/p1")
            return "\(innermost?.message ?? "") \(innermost?.remedy ?? "")"
        }
        let read: (ManagedObject, ManagedObject) -> Void = { source, _ in _ = source.value(forKey: "tags") }
        let foreign = try error(.blob([1, 2]), "ColorTransformer", read)
        for part in ["tags", "ColorTransformer", "setValueTransformer", "primitiveValue(forKey:)"] {
            #expect(foreign.contains(part), "\(foreign)")
        }
        let set = try error(.null, "ColorTransformer") { $1.setValue(URL(fileURLWithPath: "/"), forKey: "tags") }
        #expect(set.contains("class URL"), "\(set)")
        let damaged = try error(.blob([1, 2, 3]), nil, read)
        #expect(damaged.contains("keyed archives"), "\(damaged)")
        var builder = KeyedArchiveBuilder()
        let color = builder.object(.init("UIColor"), [:])
        let held = try error(.blob(try builder.encode(root: color)), "NSSecureUnarchiveFromData", read)
        #expect(held.contains("class UIColor"), "\(held)")
        let unknown = try error(.null, nil) { $1.setValue([$0.entity], forKey: "tags") }
        #expect(unknown.contains("EntityDescription"), "\(unknown)")
    }

    @Test("Changed values beside what nobody can transform have its bytes")
    func changedBeside() throws {
        let trial = try Self.trial([.blob([9, 9])], transformer: "Nobody's") { source, mapping, manager, create in
            source.setPrimitiveValue(Data([7]), forKey: "more")
            #expect(source.changedValues().mapValues { $0 as? Data } == ["more": Data([7])])
            let made = Self.made(source, mapping, manager)
            made.setPrimitiveValue(source.primitiveValue(forKey: "tags"), forKey: "tags")
            #expect(made.changedValues()["tags"] as? Data == Data([9, 9]))
            #expect(made.changedValuesForCurrentEvent()["tags"] as? Data == Data([9, 9]))
        }
        #expect(try trial.run().value("Item", 1, "tags") == .blob([9, 9]))
    }

    @Test("Bytes are copied by the default methods, and given where the option says so")
    func bytes() throws {
        var trial = try Self.trial(
            [.blob([9, 9])], transformer: "Nobody's",
            ["tags": "$source.tags", "more": "TERNARY(1 == 1, $source.tags, nil)"]
        ) { _, _, _, create in try create() }
        let store = try trial.run()
        #expect(store.value("Item", 1, "tags") == .blob([9, 9]) && store.value("Item", 1, "more") == .blob([9, 9]))
        #expect(try trial.verify().differences.isEmpty)
        trial = try Self.trial([.blob([9, 9])], transformer: "Nobody's") { source, mapping, manager, _ in
            let made = Self.made(source, mapping, manager)
            #expect(source.primitiveValue(forKey: "tags") as? Data == Data([9, 9]))
            made.setPrimitiveValue(source.primitiveValue(forKey: "tags"), forKey: "more")
            guard !manager.options.transformsValues else { return }
            made.setValue(source.value(forKey: "tags") as? Data, forKey: "tags")
        }
        #expect(try trial.run().value("Item", 1, "more") == .blob([9, 9]))
        let change = trial.change
        trial.change = {
            change($0)
            $0.options.transformsValues = false
        }
        trial.options.transformsValues = false
        let given = try trial.run()
        #expect(given.value("Item", 1, "tags") == .blob([9, 9]) && given.value("Item", 1, "more") == .blob([9, 9]))
    }

    // MARK: Expressions

    /// Expressions over `tags`, an array, and `info`, a dictionary; the attribute that takes the value, and the value.
    static let expressions: [(String, String, ReferenceValue)] = [
        ("$source.tags.@count", "n", .integer(3)), ("$source.info.name", "t", .text("Ada")),
        ("$source.info.sizes.@count", "n", .integer(2)), ("$source.tags[0]", "t", .text("c")),
        ("$source.info.sizes.@sum.self", "n", .integer(7)), ("count:($source.tags)", "n", .integer(3)),
        ("$source.tags[SIZE]", "n", .integer(3)), ("$source.info['name']", "t", .text("Ada")),
        ("FUNCTION($source.tags, 'componentsJoinedByString:', '-')", "t", .text("c-a-b")),
        ("TERNARY('a' IN $source.tags, 1, 0)", "n", .integer(1)),
        ("TERNARY($source.tags CONTAINS 'z', 1, 0)", "n", .integer(0)),
        ("TERNARY(ANY $source.tags == 'b', 1, 0)", "n", .integer(1)),
        ("SUBQUERY($source.tags, $x, $x != 'a').@count", "n", .integer(2)),
        ("uppercase:($source.info.name)", "t", .text("ADA")),
        ("CAST($source.info.number, 'NSString')", "t", .text("5")),
        ("FUNCTION($source, 'valueForKeyPath:', 'info.number')", "n", .integer(5)),
    ]

    private static func expressionTrial(_ attributes: KeyValuePairs<String, String?>) throws -> ExpressionTrial {
        let info: [String: Any] = ["name": "Ada", "sizes": [3, 4], "number": 5]
        let row: [String: ReferenceValue] = [
            "tags": .blob(try archive(["c", "a", "b"])), "info": .blob(try archive(info)), "color": .blob([1, 2]),
        ]
        return try ExpressionTrial(
            old: [
                attribute("tags", .transformable), attribute("info", .transformable),
                attribute("color", .transformable) { $0.valueTransformerName = "Nobody's" },
            ],
            new: [
                attribute("n", .integer32), attribute("t", .string), attribute("object", .transformable),
                attribute("raw", .binaryData),
            ],
            rows: [row, [:]], attributes)
    }

    @Test("Expressions see the value, and the verification sees the same", arguments: expressions)
    func expression(_ text: String, _ name: String, _ value: ReferenceValue) throws {
        let trial = try Self.expressionTrial(name == "n" ? ["n": text] : ["t": text])
        let store = try trial.run()
        #expect(store.value("Item", 1, name) == value)
        let report = try trial.verify()
        #expect(report.isEqual && report.notRecomputed.isEmpty, "\(report.differences) \(report.notRecomputed)")
    }

    @Test("A filter looks into the value, and an expression without objects reads nothing but bytes")
    func filter() throws {
        let trial = try Self.expressionTrial(["raw": "CAST($source.color, 'NSData')", "object": "$source.color"])
        trial.item.sourceFilter = try SourcePredicate(format: "info.name == 'Ada' AND color != nil")
        let store = try trial.run()
        #expect(store.column("Item", "raw") == [1: .blob([1, 2])])
        #expect(store.column("Item", "object") == [1: .blob([1, 2])])
        #expect(try trial.verify().isEqual)
    }

    @Test("A function gets the object, and what it returns is archived for a transformable attribute")
    func functions() throws {
        let trial = try Self.expressionTrial([
            "n": "FUNCTION($entityPolicy, 'numberOfTags:', $source.tags)",
            "object": "FUNCTION($entityPolicy, 'sortedTags:', $source.tags)",
        ])
        trial.item.entityMigrationPolicyClassName = "TagPolicy"
        trial.change = {
            $0.policies.register(TagPolicy.self) { functions in
                functions.add("numberOfTags:", TagPolicy.numberOfTags(_:))
                functions.add("sortedTags:", TagPolicy.sortedTags(_:))
            }
        }
        let store = try trial.run()
        #expect(store.column("Item", "n") == [1: .integer(3), 2: .integer(0)])
        #expect(try Self.object(store.value("Item", 1, "object")) == NSArray(array: ["a", "b", "c"]))
    }
}

/// A policy whose functions take and give arrays.
private final class TagPolicy: EntityMigrationPolicy {
    func numberOfTags(_ tags: [String]?) -> Int { tags?.count ?? 0 }
    func sortedTags(_ tags: [String]?) -> [String]? { tags?.sorted() }
}
