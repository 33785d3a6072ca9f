import Diagnostics
import Foundation
import Mapping
import Testing

@Suite("The language: format arguments and variables")
struct LanguageArgumentTests {
    private static let source = LanguageFixture.employee

    @Test("%@ takes values, lists, sets, objects, predicates and nil")
    func objects() {
        let ada = Self.source()
        #expect(FormatPredicate(format: "name == %@", "Ada").predicateFormat == "name == \"Ada\"")
        #expect(FormatPredicate(format: "age == %@", 36).evaluate(with: ada))
        #expect(FormatPredicate(format: "age == %@", NSNumber(value: 36)).predicateFormat == "age == 36")
        #expect(FormatPredicate(format: "salary == %@", 5000.5).evaluate(with: ada))
        #expect(FormatPredicate(format: "active == %@", true).predicateFormat == "active == 1")
        #expect(FormatPredicate(format: "hired > %@", Date(timeIntervalSinceReferenceDate: 1)).evaluate(with: ada))
        #expect(
            FormatPredicate(format: "hired == %@", Date(timeIntervalSinceReferenceDate: 1.5)).predicateFormat
                == "hired == CAST(1.500000, \"NSDate\")")
        #expect(FormatPredicate(format: "nick == %@", nil as String?).evaluate(with: ada))
        #expect(FormatPredicate(format: "nick == %@", NSNull()).predicateFormat == "nick == nil")
        #expect(FormatPredicate(format: "age IN %@", [1, 36]).predicateFormat == "age IN {1, 36}")
        #expect(FormatPredicate(format: "name IN %@", ["Ada"]).evaluate(with: ada))
        #expect(FormatPredicate(format: "name IN %@", Set(["Ada", "x"])).evaluate(with: ada))
        #expect(FormatPredicate(format: "name IN %@", NSSet(array: ["Ada"])).evaluate(with: ada))
        #expect(FormatPredicate(format: "name IN %@", NSOrderedSet(array: ["x"])).evaluate(with: ada) == false)
        #expect(FormatPredicate(format: "age BETWEEN %@", [1, 40]).evaluate(with: ada))
        #expect(FormatPredicate(format: "age BETWEEN {%d, %@}", 1, 40).evaluate(with: ada))
        #expect(FormatPredicate(format: "name IN {%@, %@}", "x", "Ada").predicateFormat == "name IN {\"x\", \"Ada\"}")
        #expect(FormatPredicate(format: "SELF == %@", ada).evaluate(with: ada))
        #expect(FormatPredicate(format: "SELF == %@", Self.source()).evaluate(with: ada) == false)
        #expect(FormatPredicate(format: "SELF IN %@", [ada]).evaluate(with: ada))
        #expect(FormatPredicate(format: "SELF IN %@", NSSet(object: ada)).evaluate(with: ada))
        #expect(FormatPredicate(format: "id == %@", ada.values["id"] ?? nil).evaluate(with: ada))
        #expect(FormatPredicate(format: "home == %@", URL(string: "https://a.b/c/d.txt?q=1#f")).evaluate(with: ada))
        let inner = FormatPredicate(format: "age > 30")
        #expect(FormatPredicate(format: "%@ AND name == %@", inner, "Ada").evaluate(with: ada))
        #expect(FormatPredicate(format: "NOT %@", inner).predicateFormat == "NOT age > 30")
        #expect(
            FormatPredicate(format: "SUBQUERY(projects, $p, %@).@count == 2", FormatPredicate(format: "$p.cost > 0"))
                .evaluate(with: ada))
        #expect(ValueExpression(format: "%@ + 1", ValueExpression(forKeyPath: "age")).format == "age + 1")
        #expect(FormatPredicate(format: "name == %@ AND age == %d", argumentArray: ["Ada", 36]).evaluate(with: ada))
    }

    @Test("%K takes key paths, also behind a dot")
    func keys() {
        let ada = Self.source()
        #expect(FormatPredicate(format: "%K == %@", "name", "Ada").predicateFormat == "name == \"Ada\"")
        #expect(FormatPredicate(format: "%K == %@", "boss.name", "Charles").evaluate(with: ada))
        #expect(FormatPredicate(format: "%K.name == %@", "boss", "Charles").evaluate(with: ada))
        #expect(FormatPredicate(format: "SELF.%K == %@", "boss.name", "Charles").evaluate(with: ada))
        #expect(FormatPredicate(format: "%K == 'reserved'", "in").predicateFormat == "#in == \"reserved\"")
        #expect(FormatPredicate(format: "%K == 'odd'", "odd name").evaluate(with: ada))
        #expect(FormatPredicate(format: "%K > 2", "projects.@count").evaluate(with: ada))
        #expect(FormatPredicate(format: "ANY %K.%K == %@", "projects", "title", "Notes").evaluate(with: ada))
        #expect(
            FormatPredicate(format: "SUBQUERY(projects, $p, $p.%K == %@).@count == 1", "title", "Notes")
                .evaluate(with: ada))
        #expect(
            FormatPredicate(format: "%K BEGINSWITH[cd] %@", "name", "ad").predicateFormat
                == "name BEGINSWITH[cd] \"ad\"")
        #expect(FormatPredicate(format: "%K == %K", "name", "name").evaluate(with: ada))
        #expect(FormatPredicate(format: "%K IN %@", "SELF", [ada]).evaluate(with: ada))
        #expect(FormatPredicate(format: "%@ IN %K", "Ada", "names").evaluate(with: ada))
    }

    @Test("printf's conversions take numbers and texts, two percent signs are one")
    func conversions() {
        let all = ["%d", "%i", "%u", "%ld", "%lu", "%lld", "%llu", "%hd", "%zd", "%x", "%qi", "%D"]
        for conversion in all {
            #expect(FormatPredicate(format: "age == \(conversion)", 36).predicateFormat == "age == 36", "\(conversion)")
        }
        for conversion in ["%f", "%lf", "%g", "%e", "%Lf"] {
            #expect(
                FormatPredicate(format: "age == \(conversion)", 36.5).predicateFormat == "age == 36.5", "\(conversion)")
        }
        #expect(FormatPredicate(format: "age == %f", 36).predicateFormat == "age == 36")
        #expect(FormatPredicate(format: "name == %s", "Ada").predicateFormat == "name == \"Ada\"")
        #expect(ValueExpression(format: "age %% %d", 5).format == "age % 5")
        #expect(ValueExpression(format: "age % %d", 5).format == "age % 5")
        // In the place of an operator a percent sign is one.
        #expect(ValueExpression(format: "age %d").format == "age % d")
        #expect(FormatPredicate(format: "active == %d", true).predicateFormat == "active == 1")
    }

    @Test("a placeholder in quotes is text, and arguments too many are left")
    func quotes() {
        #expect(FormatPredicate(format: "name LIKE '%@'", "Ada").predicateFormat == "name LIKE \"%@\"")
        #expect(
            FormatPredicate(format: "name == \"%K\" OR name == %@", "Ada").predicateFormat
                == "name == \"%K\" OR name == \"Ada\"")
        #expect(FormatPredicate(format: "name == 'x'", 1, 2, 3).failure == nil)
    }

    @Test(
        "wrong placeholders are errors of the format",
        arguments: [
            "a == %@", "a == %K", "a == %d", "%", "a == %", "a == %y", "a == %.2f", "a.%@ == 1", "%@%@",
        ])
    func missing(format: String) {
        let error = FormatPredicate(format: format).failure
        #expect(error?.code == "expression.syntax", "\(format)")
    }

    @Test("arguments of the wrong kind are errors of the format")
    func wrong() {
        #expect(FormatPredicate(format: "a == %d", "x").failure?.message.contains("%d") == true)
        #expect(FormatPredicate(format: "%K == 1", 5).failure != nil)
        #expect(FormatPredicate(format: "%K == 1", "").failure != nil)
        #expect(FormatPredicate(format: "a == %s", 5).failure != nil)
        #expect(FormatPredicate(format: "a == %f", "x").failure != nil)
    }

    @Test("variables are bound when a predicate is evaluated, or put in before")
    func variables() {
        let ada = Self.source()
        let predicate = FormatPredicate(format: "name == $NAME AND age > $AGE")
        #expect(predicate.evaluate(with: ada, substitutionVariables: ["NAME": "Ada", "AGE": 5]))
        #expect(!predicate.evaluate(with: ada, substitutionVariables: ["NAME": "x", "AGE": 5]))
        let template = predicate.withSubstitutionVariables(["NAME": "Ada"])
        #expect(template.predicateFormat == "name == \"Ada\" AND age > $AGE")
        #expect(template.evaluate(with: ada, substitutionVariables: ["AGE": 5]))
        #expect(
            predicate.withSubstitutionVariables(["NAME": NSNull(), "AGE": ValueExpression(forKeyPath: "zero")])
                .predicateFormat == "name == nil AND age > zero")
        let own = FormatPredicate(format: "SUBQUERY(projects, $p, $p.title == $t).@count == 1")
        #expect(
            own.withSubstitutionVariables(["p": 5, "t": "Notes"]).predicateFormat
                == "SUBQUERY(projects, $p, $p.title == \"Notes\").@count == 1")
    }
}
