import Diagnostics
import Testing

@testable import Mapping

@Suite("Relationship expressions")
struct ExpressionRelationshipTests {
    static let named = "destinationInstancesForEntityMappingNamed:sourceInstances:"
    static let byRelationship = "destinationInstancesForSourceRelationshipNamed:sourceInstances:"

    static let lookups: [(String, RelationshipExpression)] = [
        (
            "FUNCTION($manager, '\(named)', 'PersonToPerson', $source.owner)",
            .lookup(mapping: "PersonToPerson", argument: .init(components: ["owner"]))
        ),
        (
            "FUNCTION($manager, \"destinationInstancesForEntityMappingName:sourceInstances:\", \"A\", $source.a.b)",
            .lookup(mapping: "A", argument: .init(components: ["a", "b"]))
        ),
        ("FUNCTION($manager, '\(named)', 'A', $source)", .lookup(mapping: "A", argument: .init(components: []))),
        (
            "FUNCTION($manager, '\(named)', 'A', FUNCTION($source, 'valueForKeyPath:', 'a.b'))",
            .lookup(mapping: "A", argument: .init(components: ["a", "b"]))
        ),
        (
            "FUNCTION($manager, '\(named)', 'A', FUNCTION($source.x, 'valueForKey:', 'y'))",
            .lookup(mapping: "A", argument: .init(components: ["x", "y"]))
        ),
        (
            "FUNCTION($manager, '\(byRelationship)', 'cars', $source.cars)",
            .lookupByRelationship(relationship: "cars", argument: .init(components: ["cars"]))
        ),
        ("FUNCTION($manager, '\(named)', 'A', nil)", .constantNil),
        ("FUNCTION($manager, '\(byRelationship)', 'A', nil)", .constantNil),
        ("FUNCTION($manager, '\(named)', 'A', {})", .constantNil),
        ("nil", .constantNil),
    ]

    @Test("lookups are recognised", arguments: lookups)
    func lookup(format: String, expected: RelationshipExpression) throws {
        #expect(try RelationshipExpression(ValueExpression(parsing: format), context: .init()) == expected)
    }

    @Test(
        "other forms are refused with their text",
        arguments: [
            "$source.owner", "5", "FUNCTION($entityPolicy, 'f:', $source)", "FUNCTION($manager, 'f:', 'A')",
            "FUNCTION($manager, '\(named)', 'A')",
            "FUNCTION($manager, '\(named)', $source.name, $source.owner)",
            "FUNCTION($manager, '\(named)', 'A', $destination.x)", "FUNCTION($manager, '\(named)', '', $source.x)",
            "FUNCTION($manager, '\(named)', 'A', $source.x.@count)",
            "FUNCTION($manager, '\(named)', 'A', $source.x, 5)", "FUNCTION($source, '\(named)', 'A', $source.x)", "{}",
            "now()",
        ])
    func refused(format: String) throws {
        let expression = try ValueExpression(parsing: format)
        let error = try #require(throws: MigrationError.self) {
            try RelationshipExpression(expression, context: .init(property: "p", entityMapping: "M"))
        }
        #expect(error.code == "expression.unsupported")
        #expect(error.category == .configuration)
        #expect(error.context.expression == expression.format)
        #expect(error.context.entityMapping == "M")
    }
}
