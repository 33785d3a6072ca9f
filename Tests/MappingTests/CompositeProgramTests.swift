import ManagedModel
import Testing

@testable import Mapping

@Suite("Composite attributes in compiled programs")
struct CompositeProgramTests {
    typealias M = InferenceModels

    private static func book() throws -> EntityDescription {
        let model = try M.model(
            M.entity(
                "Book", [M.attribute("author", .composite, composite: "Person"), M.attribute("title")],
                [M.toOne("sequel", "Book")]),
            composites: [
                "Person": [M.attribute("name"), M.attribute("home", .composite, composite: "Place")],
                "Place": [M.attribute("zip", .integer32)],
            ])
        return try #require(model.entity(named: "Book"))
    }

    @Test(
        "Filters that ask whether a composite is nil need no objects",
        arguments: ["author == nil", "sequel.author.home != nil", "nil == author.home", "author.home.zip > 5"])
    func filters(format: String) throws {
        var resolver = EntityKeyPathResolver([try Self.book()])
        let predicate = try SourcePredicate(format: format)
        #expect(throws: Never.self) {
            try PredicateProgram(compiling: predicate, resolver: &resolver, context: .init())
        }
    }

    @Test("An element is copied as an attribute is; a composite as a whole is no value of a row")
    func elements() throws {
        var resolver = EntityKeyPathResolver([try Self.book()])
        let copy = try ExpressionProgram(
            compiling: ValueExpression(parsing: "$source.author.home.zip"), to: .integer32, resolver: &resolver,
            context: .init())
        #expect(copy.copiedSlot != nil)
        let error = #expect(throws: (any Error).self) {
            _ = try ExpressionProgram(
                compiling: ValueExpression(parsing: "$source.author"), to: .string, resolver: &resolver,
                context: .init())
        }
        #expect("\(error.map { "\($0)" } ?? "")".contains("dictionary"))
    }
}
