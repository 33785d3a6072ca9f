import Diagnostics
import Foundation
import Mapping
import Stagecoach
import TestSupport
import Testing

/// The source expression of an entity mapping decides which objects are migrated, or the run is refused.
@Suite("Source expressions") struct SourceExpressionTests {
    private static func fetch(_ predicate: String, _ rest: String = "") -> String {
        "FETCH(FUNCTION($manager, 'fetchRequestForSourceEntityNamed:predicateString:\(rest.isEmpty ? "" : "includesSubentities:")', "
            + "'Person', \"\(predicate)\"\(rest)), $manager.sourceContext, NO)"
    }

    @Test("A fetch of the source entity with a predicate filters, also where only code set it")
    func filter() throws {
        let fixture = try PolicyFixture(persons: 6)
        fixture.mapping.entityMappings[0].sourceExpression = try ValueExpression(parsing: Self.fetch("name != nil"))
        let all = try fixture.run().objects("Person").count
        fixture.mapping.entityMappings[0].sourceExpression = try ValueExpression(parsing: Self.fetch("name == nil"))
        #expect(try fixture.run().objects("Person").isEmpty && all == 6)
    }

    @Test(
        "What is no fetch of the entity's own objects is refused before anything is written",
        arguments: [fetch("TRUEPREDICATE", ", YES"), "$manager.sourceContext"])
    func refused(text: String) throws {
        let fixture = try PolicyFixture(persons: 2)
        fixture.mapping.entityMappings[0].sourceExpression = try ValueExpression(parsing: text)
        let error = #expect(throws: MigrationError.self) { try fixture.run() }
        #expect(error?.code == "mapping.sourceExpression" && error?.category == .configuration)
        #expect(error?.context.entityMapping == fixture.mapping.entityMappings[0].name)
        #expect(!FileManager.default.fileExists(atPath: fixture.destinationURL.path))
    }

    @Test("A predicate that fails inside a policy's call ends the run")
    func failingPredicate() throws {
        let fixture = try PolicyFixture(persons: 1)
        var steps = ClosurePolicy.Steps()
        steps.end = { _, _ in _ = FormatPredicate(format: "1 / 0 == 1").evaluate(with: nil) }
        fixture.policy("Persons", steps)
        #expect(throws: MigrationError.self) { try fixture.run() }
    }
}
