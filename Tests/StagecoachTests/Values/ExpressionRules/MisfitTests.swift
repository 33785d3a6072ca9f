import Diagnostics
import Foundation
import ManagedModel
import Mapping
import Stagecoach
import TestSupport
import Testing

/// An expression that does not fit its property is an error of who evaluates it: the load's where each row surely does, the
/// row's where a policy lets it, nobody's where there are no rows.
@Suite("Expressions that do not fit")
struct MisfitTests {
    private static let old = [attribute("s", .string), attribute("n", .integer32)]
    private static let new = [attribute("s", .date), attribute("n", .integer32), attribute("t", .string)]

    private static func trial(
        rows: [[String: ReferenceValue]], _ attributes: KeyValuePairs<String, String?>
    ) throws -> ExpressionTrial {
        let trial = try ExpressionTrial(old: old, new: new, rows: rows, attributes)
        trial.item.entityMigrationPolicyClassName = "Own"
        return trial
    }

    private static func register(
        _ trial: ExpressionTrial, _ create: @escaping @Sendable (ManagedObject, ManagedObject) -> Void
    ) {
        trial.change = { manager in
            manager.policies.register("Own") {
                let policy = ClosurePolicy()
                policy.steps.create = { source, mapping, manager, _ in
                    let made = NSEntityDescription.insertNewObject(
                        forEntityName: "Item", into: manager.destinationContext)
                    create(source, made)
                    manager.associate(sourceInstance: source, withDestinationInstance: made, for: mapping)
                }
                policy.steps.relate = { _, _, _, _ in }
                return policy
            }
        }
    }

    static let misfits = [
        "$source.s", "$source.n", "$source.kids.t", "$source", "$source.s + 1", "{1, 2}", "$manager",
        "TERNARY($source.n > 1, $source.s, nil)", "$source.objectID", "$entityMapping.userInfo",
        "CAST($source.s, 'BOOL')",
    ]

    @Test("A policy that never calls super is not asked whether its mapping's expressions fit", arguments: misfits)
    func neverEvaluated(expression: String) throws {
        let trial = try Self.trial(rows: [["s": .text("2001-01-02")], [:]], ["s": expression])
        Self.register(trial) { source, made in
            made.setValue(
                source.value(forKey: "s") == nil ? nil : Date(timeIntervalSinceReferenceDate: 86400), forKey: "s")
        }
        #expect(try trial.migration().plan().models.first?.unevaluated == nil)
        #expect(try trial.run().column("Item", "s") == [1: .integer(86400), 2: .null])
    }

    @Test("An automatic expression of JSON that does not fit is no reason to refuse either")
    func unlisted() throws {
        let trial = try Self.trial(rows: [["s": .text("x")]], [:])
        func read(_ misfits: MisfittingExpressions) throws -> MappingModel {
            let json = """
                {"formatVersion": 2, "entityMappings": [
                {"sourceEntity": "Item", "destinationEntity": "Item", "migrationPolicy": "Own"},
                {"sourceEntity": "Kid", "destinationEntity": "Kid"}]}
                """
            return try MappingModel.reading(
                json: Array(json.utf8), path: "x.json", source: trial.source, destination: trial.destination,
                misfits: misfits)
        }
        trial.mapping = try read(.refused)
        #expect(trial.item.attributeMapping(named: "s")?.valueExpression?.format == "$source.s")
        Self.register(trial) { _, made in made.setValue(Date(timeIntervalSinceReferenceDate: 5), forKey: "s") }
        #expect(try trial.run().column("Item", "s") == [1: .integer(5)])
        // To find the versions that a file is for, what it leaves out counts.
        let error = #expect(throws: MigrationError.self) { try read(.refusedWhereUnlisted) }
        #expect(error?.code == "mapping.unlistedProperty")
        // Whoever calls super evaluates it.
        trial.change = { $0.policies.register("Own") { EntityMigrationPolicy() } }
        let refused = #expect(throws: MigrationError.self) { try trial.run() }
        #expect(refused?.category == .data && refused?.context.objectID == "Item/p1")
        #expect(refused?.context.property == "s")
        #expect(refused?.remedy?.contains("null in JSON") == true, "\(refused?.description ?? "")")
    }

    @Test(
        "Super evaluates: the row that has a value is refused, with what to do",
        arguments: ["$source.s", "TERNARY($source.n > 1, $source.s, nil)", "CAST($source.n, 'NSString')"])
    func evaluated(expression: String) throws {
        let trial = try Self.trial(
            rows: [["n": .null], ["s": .text("x"), "n": .integer(2)]], ["n": "$source.n", "s": expression])
        trial.change = { $0.policies.register("Own") { EntityMigrationPolicy() } }
        let error = #expect(throws: MigrationError.self) { try trial.run() }
        #expect(error?.category == .data && error?.code == "value.type", "\(error?.description ?? "")")
        #expect(error?.context.objectID == "Item/p2" && error?.context.property == "s")
        #expect(error?.remedy?.contains("null in JSON") == true)
        // A nil fits every attribute.
        trial.item.sourceFilter = try SourcePredicate(format: "n == nil")
        #expect(try trial.run().column("Item", "s") == [1: .null])
        // Rejected like any other object.
        trial.item.sourceFilter = nil
        trial.options.onInvalid = .reject
        #expect(try trial.run().keys("Item").count == 1)
    }

    @Test("A relationship's objects that do not fit are refused by the object that they are for")
    func relationship() throws {
        for (expression, isLinked) in [("$destination", true), ("$source.kids", true), ("nil", false)] {
            let trial = try Self.trial(rows: [["s": .text("x")]], [:])
            trial.item.relationshipMappings = [
                PropertyMapping(name: "favourite", valueExpression: try ValueExpression(parsing: expression))
            ]
            trial.change = { $0.policies.register("Own") { EntityMigrationPolicy() } }
            guard isLinked else {
                _ = try trial.run()
                continue
            }
            let error = #expect(throws: MigrationError.self) { try trial.run() }
            #expect(error?.category == .data && error?.context.property == "favourite", "\(error?.description ?? "")")
            Self.register(trial) { _, _ in }
            #expect(try trial.run().keys("Item") == [1])
            // Without a policy each object evaluates it.
            trial.item.entityMigrationPolicyClassName = nil
            let refused = #expect(throws: MigrationError.self) { try trial.run() }
            #expect(refused?.category == .configuration)
        }
    }

    @Test("Wrong names are refused, even if there are no rows")
    func names() throws {
        for expression in ["$source.nope", "$nope", "CAST($source.s, 'Nope')", "$source.kids.n == 1"] {
            let trial = try Self.trial(rows: [], ["s": expression])
            Self.register(trial) { _, _ in }
            let error = #expect(throws: MigrationError.self) { try trial.run() }
            #expect(error?.category == .configuration, "\(error?.description ?? "")")
        }
    }

    @Test("Without a policy a misfit in an entity without rows is a note", arguments: misfits)
    func noRows(expression: String) throws {
        let trial = try Self.trial(rows: [], ["s": expression, "t": "$source.s"])
        trial.item.entityMigrationPolicyClassName = nil
        trial.item.relationshipMappings = [
            PropertyMapping(
                name: "favourite", valueExpression: try ValueExpression(parsing: by("ItemToItem", "$source")))
        ]
        let plan = try trial.migration().plan()
        let notes = try #require(plan.models.first?.unevaluated)
        #expect(notes.count == 2 && notes[0].hasPrefix("ItemToItem.s ") && notes[1].hasPrefix("ItemToItem.favourite "))
        #expect(try MigrationPlan.read(json: Data(try plan.json().utf8)) == plan)
        #expect(!plan.models[0].isStaged)
        let report = try trial.migration().run()
        #expect(notes.allSatisfy(report.notes.contains))
        #expect(try trial.verify().isEqual)
        // One row, and it is the load's error.
        let filled = try Self.trial(rows: [[:]], ["s": expression])
        filled.item.entityMigrationPolicyClassName = nil
        let error = #expect(throws: MigrationError.self) { try filled.migration().plan() }
        #expect(error?.category == .configuration, "\(error?.description ?? "")")
    }

    @Test("An add mapping evaluates nothing")
    func addMapping() throws {
        let trial = try Self.trial(rows: [[:]], [:])
        trial.item.entityMigrationPolicyClassName = nil
        let added = try mapping(
            "Added", nil, "Item", ["s": "$source.s"], relationships: ["favourite": by("KidToKid", "$source.favourite")])
        added.mappingType = .addEntityMappingType
        trial.mapping.entityMappings.append(added)
        #expect(try trial.run().keys("Item") == [1])
    }
}
