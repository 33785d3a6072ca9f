import Archives
import Diagnostics
import ManagedModel
import Testing

@testable import Mapping

@Suite("Predicates and expressions archived")
struct ArchivingLanguageTests {
    /// The archive of a graph, read again.
    private func read(_ graph: ArchivedGraph) throws -> ArchivedObject {
        var builder = KeyedArchiveBuilder()
        let root = builder.graph(graph) { _ in nil }
        return try KeyedArchive(decoding: try builder.encode(root: root)).root()
    }

    @Test(
        "A predicate comes back as it was",
        arguments: [
            "SELF CONTAINS \"title\"", "SELF >= 3 AND SELF != 7", "SELF IN {1, 2, 3}", "SELF BETWEEN {1, 9}",
            "NOT (SELF BEGINSWITH[cd] \"a\" OR SELF ENDSWITH \"b\")", "SELF LIKE[c] \"*x\"", "SELF MATCHES \"[a-z]+\"",
            "length < 5", "a.b.c == nil", "authorAlias == $FETCH_SOURCE.alias", "ANY tags.name == \"x\"",
            "ALL tags.name == \"x\"", "TRUEPREDICATE", "flag == YES", "lowercase(name) == \"x\"", "1 + 2 * n > 3.5",
            "SUBQUERY(parts, $p, $p.n > 1).@count > 0", "TERNARY(a > 1, b, c) == 2", "a[0] == 1", "-n < 3",
            "parts.@sum.n > 3",
        ])
    func predicates(text: String) throws {
        let graph = try #require(ArchivingLanguage().predicate(text))
        let node = try ArchivedExpressionReader().predicate(try read(graph))
        #expect(SourcePredicate(node: node).format == (try SourcePredicate(format: text)).format)
    }

    @Test("NONE is archived as NOT ANY")
    func none() throws {
        let graph = try #require(ArchivingLanguage().predicate("NONE tags.name == \"x\""))
        let node = try ArchivedExpressionReader().predicate(try read(graph))
        #expect(SourcePredicate(node: node) == (try SourcePredicate(format: "NOT (ANY tags.name == \"x\")")))
    }

    @Test("Expressions too; texts that are none, and forms without an archive, give nothing")
    func expressions() throws {
        let graph = try #require(ArchivingLanguage().expression("canonical(name)"))
        let node = try ArchivedExpressionReader().node(try read(graph))
        #expect(ValueExpression(node: node).format == (try ValueExpression(parsing: "canonical(name)")).format)
        #expect(ArchivingLanguage().expression("1 +") == nil)
        #expect(ArchivingLanguage().predicate("SELF >") == nil)
        #expect(ArchivingLanguage().expression("$x := 3") == nil)
    }
}
