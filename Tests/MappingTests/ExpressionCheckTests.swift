import Diagnostics
import TestSupport
import Testing

@testable import Mapping

@Suite("Wrong expressions are found when a mapping model is loaded")
struct ExpressionCheckTests {
    /// A property of `Transaction` with a wrong expression, the error's code, and the column in the expression that the
    /// message names; nil if the whole text does not parse.
    struct Wrong: CustomTestStringConvertible {
        let property: String
        let expression: String
        let code: MigrationError.Code
        let column: Int?
        let part: String
        var testDescription: String { "\(property) = \(expression)" }

        init(
            _ property: String, _ expression: String, _ code: MigrationError.Code, _ column: Int?, _ part: String = ""
        ) {
            self.property = property
            self.expression = expression
            self.code = code
            self.column = column
            self.part = part
        }
    }

    static let lookup = "FUNCTION($manager, 'destinationInstancesForEntityMappingNamed:sourceInstances:', "
    static let reverse = "FUNCTION($manager, 'sourceInstancesForEntityMappingNamed:destinationInstances:', "
    static let request = "FUNCTION($manager, 'fetchRequestForSourceEntityNamed:predicateString:', "
    static func fetch(_ arguments: String) -> String {
        "FETCH(\(request)\(arguments)), FUNCTION($manager, 'sourceContext'), NO)"
    }

    static let attributes: [Wrong] = [
        // Variables.
        Wrong("new", "$nope.x", "expression.variable", 1, "$nope is unknown"),
        Wrong("new", "$SOURCE.title", "expression.variable", 1, "$source, $destination"),
        Wrong("new", "FUNCTION($source.title, 'stringByAppendingString:', $tail)", "expression.variable", 53, "$tail"),
        Wrong("flag", "$source.amount > $limit", "expression.variable", 18, "$limit"),
        Wrong("flag", "ANY $source.account.trades.amount > $t", "expression.variable", 37, "$t"),
        Wrong("celsius", "SUBQUERY($source.account.trades, $t, $u.amount > 1).@count", "expression.variable", 38, "$u"),
        // Key paths.
        Wrong("new", "$source.nope", "mapping.unknownKeyPath", 9, "Trade has no property nope"),
        Wrong("new", "$source.account.nope", "mapping.unknownKeyPath", 17, "Account has no property nope"),
        Wrong("new", "$destination.nope", "mapping.unknownKeyPath", 14, "destination entity Transaction"),
        Wrong("new", "$source.account.trades.nope", "mapping.unknownKeyPath", 24, "nope"),
        Wrong("new", "FUNCTION($source, 'valueForKey:', 'nope')", "mapping.unknownKeyPath", 36, "nope"),
        Wrong(
            "celsius", "SUBQUERY($source.account.trades, $t, $t.nope > 1).@count", "mapping.unknownKeyPath", 41, "nope"),
        Wrong("celsius", "$source.account.trades.@sum.nope", "mapping.unknownKeyPath", 29, "nope"),
        Wrong("celsius", "$source.title.nope", "mapping.unknownKeyPath", 15, "has no property 'nope'"),
        Wrong("new", "$source.account.trades.nope[0]", "mapping.unknownKeyPath", 24, "nope"),
        // Collection operators.
        Wrong("celsius", "$source.account.trades.@nope", "expression.type", 24, "operator @nope is unknown"),
        Wrong("celsius", "$source.account.trades.@sum", "expression.type", 24, "objects have no @sum"),
        Wrong("celsius", "$source.account.trades.@sum.title", "expression.type", 24, "String"),
        Wrong("celsius", "$source.account.@count", "expression.type", 17, "takes a collection"),
        Wrong("celsius", "$source.amount.@count", "expression.type", 16, "takes a collection"),
        Wrong("celsius", "$source.account.trades.@count.amount", "expression.type", 31, "follow @count"),
        // Casts.
        Wrong("new", "CAST($source.amount, 'NSFoo')", "expression.castType", 22, "NSFoo"),
        Wrong("new", "CAST($source.amount, 'nsstring')", "expression.castType", 22, "NSString"),
        Wrong("new", "castObject:toType:($source.amount, 'Text')", "expression.castType", 36, "Text"),
        Wrong("new", "CAST($source.account, 'NSString')", "expression.type", 23, "cannot be cast"),
        Wrong("new", "CAST($manager, 'NSString')", "expression.type", 16, "$manager"),
        // Patterns.
        Wrong("flag", "$source.title MATCHES '('", "expression.syntax", 23, "from '(' on, at character 1,"),
        Wrong("flag", "$source.title MATCHES 'a{3,1}'", "expression.syntax", 23, "from '{3,1}' on, at character 2,"),
        Wrong("flag", "$source.title MATCHES '\\\\p{Nope}'", "expression.syntax", 23, "on, at character 1,"),
        Wrong(
            "new", "TERNARY($source.title MATCHES '[', 'a', 'b')", "expression.syntax", 31,
            "from '[' on, at character 1,"),
        Wrong(
            "celsius", "SUBQUERY($source.account.trades, $t, $t.title MATCHES '(').@count", "expression.syntax", 55,
            "from '(' on, at character 1,"),
        Wrong("flag", "ANY $source.account.trades.title MATCHES '*'", "expression.syntax", 42, "'*'"),
        // Values that do not fit an attribute.
        Wrong("new", "$manager", "expression.type", 1, "$manager does not fit an attribute of type String"),
        Wrong("kind", "$entityPolicy", "expression.type", 1, "$entityPolicy"),
        Wrong("new", "$entityMapping", "expression.type", 1, "$entityMapping"),
        Wrong("new", "{}", "expression.type", 1, "takes one value"),
        Wrong("kind", "{1, 2}", "expression.type", 1, "takes one value"),
        Wrong("kind", "mode({1, 2, 2})", "expression.type", 1, "takes one value"),
        Wrong("kind", "mode($source.account.trades.amount)", "expression.type", 1, "takes one value"),
        Wrong("new", "$source.account", "expression.type", 1, "$source.account.<attribute>"),
        Wrong("new", "$source", "expression.type", 1, "an object of the source entity Trade"),
        Wrong("new", "$source.account.trades", "expression.type", 1, "@count"),
        Wrong("new", "$source.account.trades.title", "expression.type", 1, "several values of type String"),
        Wrong("celsius", "$source.account.trades.amount", "expression.type", 1, "@sum"),
        Wrong("kind", "$source.title", "expression.type", 1, "String does not fit an attribute of type Integer 32"),
        Wrong("new", "$source.amount", "expression.type", 1, "CAST(…, 'NSString')"),
        Wrong("new", "TERNARY($source.flag, $source.title, $source.account)", "expression.type", 1, "Account"),
        Wrong("new", lookup + "'AccountToAccount', $source.account)", "expression.type", 1, "destination"),
        Wrong("new", "$source.account.trades UNION $source.account.trades", "expression.type", 1, "objects"),
        Wrong("new", "now()", "expression.type", 1, "Date"),
        // Operands.
        Wrong("celsius", "$source.title + 1", "expression.type", 1, "CAST(…, 'NSString')"),
        Wrong("celsius", "$source.title + $source.title", "expression.type", 1, "String does not fit"),
        Wrong("new", "$source.title - $source.title", "expression.type", 1, "value of type String"),
        Wrong("celsius", "1 - $source.account", "expression.type", 5, "an object"),
        Wrong("celsius", "-$source.title", "expression.type", 2, "String"),
        Wrong("celsius", "sqrt($source.title)", "expression.type", 6, "'sqrt'"),
        Wrong("kind", "$source.title & 1", "expression.type", 18, "bitwiseAnd"),
        Wrong("new", "uppercase($source.amount)", "expression.type", 11, "'uppercase'"),
        Wrong("celsius", "sum($source.account.trades.title)", "expression.type", 1, "'sum'"),
        Wrong(
            "new", "FUNCTION($source.title, 'stringByAppendingString:', $source.amount)", "expression.type", 53,
            "floating"),
        Wrong("flag", "$source.title BETWEEN 5", "expression.type", 23, "BETWEEN"),
        Wrong("flag", "$source.amount BETWEEN {1, 2, 3}", "expression.type", 24, "BETWEEN"),
        Wrong("flag", "$source.amount IN 5", "expression.type", 19, "IN does not look into"),
        Wrong("flag", "$source.amount BEGINSWITH 'a'", "expression.type", 1, "BEGINSWITH"),
        Wrong("flag", "$source.amount LIKE '1*'", "expression.type", 1, "LIKE"),
        Wrong("flag", "$source.account < 3", "expression.type", 1, "has no order"),
        Wrong("flag", "$source.amount < $source.title", "expression.type", 1, "not compared"),
        Wrong("new", "$source.account.trades.title[FIRST]", "expression.type", 1, "is a set"),
        Wrong("new", "$source.title[0]", "expression.type", 1, "no members"),
        Wrong("celsius", "SUBQUERY($source.amount, $x, $x > 1).@count", "expression.type", 10, "SUBQUERY"),
        Wrong("celsius", "TERNARY($source.title, 1, 2)", "expression.type", 9, "predicate is expected"),
        // Functions.
        Wrong("celsius", "nope($source.amount)", "expression.unknownSelector", 1, "'nope' is unknown"),
        Wrong("celsius", "sqtr($source.amount)", "expression.unknownSelector", 1, "Did you mean 'sqrt'?"),
        Wrong("celsius", "sqrt($source.amount, 2)", "expression.argumentCount", 1, "takes 1 argument, not 2"),
        Wrong("celsius", "now(1)", "expression.argumentCount", 1, "takes 0 arguments, not 1"),
        Wrong("celsius", "modulus:by:($source.amount)", "expression.argumentCount", 1, "takes 2 arguments, not 1"),
        Wrong(
            "celsius", "distanceToLocation:fromLocation:($source.amount, 1)", "expression.unsupported", 1, "locations"),
        Wrong("new", "FUNCTION($source.title, 'nopeString')", "expression.unknownSelector", 25, "'nopeString'"),
        Wrong(
            "new", "FUNCTION($source.title, 'uppercasString')", "expression.unknownSelector", 25,
            "Did you mean 'uppercaseString'?"),
        Wrong(
            "new", "FUNCTION($source.account.trades, 'firstObjekt').title", "expression.unknownSelector", 34,
            "Did you mean 'firstObject'?"),
        Wrong("new", "FUNCTION($source.title, 'uppercaseString', 1)", "expression.argumentCount", 25, "not 1"),
        Wrong("new", "FUNCTION($source.title, 'stringByAppendingString:')", "expression.argumentCount", 25, "not 0"),
        Wrong("new", "FUNCTION($source.account.trades, 'firstObject').title", "expression.type", 34, "is a set"),
        Wrong(
            "kind", "FUNCTION($source.amount, 'uppercaseString')", "expression.unknownSelector", 26, "floating number"),
        Wrong("new", "FUNCTION($source.title, 'length')", "expression.type", 1, "integer"),
        Wrong("new", "FUNCTION($source.title, 'substringFromIndex:', 'x')", "expression.type", 48, "a whole number"),
        Wrong("new", "FUNCTION($source.title, 'hasPrefix:', 5)", "expression.type", 39, "takes a String"),
        Wrong("new", "FUNCTION($source.account.trades, 'uppercaseString')", "expression.unknownSelector", 34, "Trade"),
        Wrong("new", "FUNCTION($source.account, 'titleWith:', 1)", "expression.unknownSelector", 27, "titleWith:"),
        Wrong(
            "new", "FUNCTION($source.account.trades.title, 'componentsJoinedByString:', ',')", "expression.type", 40,
            "is a set"),
        Wrong(
            "new", "FUNCTION($source.title, 'componentsSeparatedByString:', ',')", "expression.type", 1,
            "several values"),
        Wrong("new", "$source.title.length", "expression.type", 1, "integer"),
        Wrong("new", "$entityMapping.nope", "mapping.unknownKeyPath", 15, "no property nope"),
        Wrong("new", "$propertyMapping.nope", "mapping.unknownKeyPath", 17, "no property nope"),
        Wrong("new", "FUNCTION($manager, 'sourceContext')", "expression.type", 1, "$manager.sourceContext"),
        Wrong("celsius", "tokenize:using:($source.title, ' ')", "expression.unsupported", 1, "language"),
        Wrong("kind", "CAST($source.title, 'BOOL')", "expression.type", 21, "cannot be cast"),
        Wrong("celsius", "CAST(CAST($source.title, 'NSDate'), 'double')", "expression.type", 26, "cannot be cast"),
        Wrong("flag", "$source.title == 5", "expression.type", 1, "not compared"),
        Wrong("flag", "$source.account == 5", "expression.type", 1, "not compared"),
        Wrong("flag", "'x' == $source.account", "expression.type", 1, "not compared"),
        // Objects that are no managed objects, and their keys.
        Wrong("new", "$source.objectID", "expression.type", 1, "$source.objectID.URIRepresentation.absoluteString"),
        Wrong("new", "FUNCTION($source, 'objectID')", "expression.type", 1, "objectID does not fit"),
        Wrong("new", "$source.objectID.URIRepresentation", "expression.type", 1, "URI does not fit"),
        Wrong("new", "$source.objectID.nope", "mapping.unknownKeyPath", 17, "URIRepresentation"),
        Wrong(
            "new", "FUNCTION(FUNCTION($source, 'objectID'), 'nope')", "mapping.unknownKeyPath", nil, "no property nope"),
        Wrong("new", "FUNCTION($source.objectID, 'nope:', 1)", "expression.unknownSelector", 28, "nope:"),
        Wrong("new", "$source.entity", "expression.type", 1, "entity does not fit"),
        Wrong("new", "$source.entity.nope", "mapping.unknownKeyPath", 15, "no property nope"),
        Wrong("new", "$source.isDeleted", "expression.type", 1, "Boolean"),
        Wrong("new", "$manager.mappingModel.foo", "mapping.unknownKeyPath", 22, "entityMappingsByName"),
        Wrong("new", "$manager.sourceModel.foo", "mapping.unknownKeyPath", 21, "versionIdentifiers"),
        Wrong("new", "$manager.sourceModel.versionIdentifiers", "expression.type", 1, "several values of type String"),
        Wrong("new", "$manager.mappingModel", "expression.type", 1, "$manager.mappingModel"),
        Wrong("new", "$manager.userInfo", "expression.type", 1, "dictionary"),
        Wrong("new", "$manager.currentEntityMapping.nope", "mapping.unknownKeyPath", 30, "no property nope"),
        Wrong("new", "$entityMapping.userInfo", "expression.type", 1, "$entityMapping.userInfo.<key>"),
        Wrong("new", "$entityMapping.mappingType", "expression.type", 1, "integer"),
        Wrong("new", "$entityMapping.attributeMappings.name", "expression.type", 1, "several values"),
        Wrong("new", "$entityMapping.attributeMappings.nope", "mapping.unknownKeyPath", 33, "no property nope"),
        Wrong("new", "FETCH($source.title, $manager.sourceContext, NO)", "expression.type", 7, "for its request"),
        Wrong("celsius", "FETCH(" + request + "'Trade', 'TRUEPREDICATE'), 5, YES)", "expression.type", nil, "context"),
        // Places and keys.
        Wrong("new", "FUNCTION($source.title, 'substringFromIndex:', 1.5)", "expression.type", 48, "a whole number"),
        Wrong("new", "FUNCTION({'a', 'b'}, 'objectAtIndex:', 'x')", "expression.type", nil, "an integer"),
        Wrong("new", "{'a', 'b'}['x']", "expression.type", nil, "an integer"),
        Wrong("new", "{'a', 'b'}[1.5]", "expression.type", nil, "an integer"),
        Wrong("kind", "{'a', 'b'}[1]", "expression.type", 1, "String"),
        Wrong("new", "FUNCTION($source, 'valueForKey:', 5)", "expression.type", 35, "a key as a String"),
        // One object where several are needed.
        Wrong(
            "celsius", "SUBQUERY($source.account, $x, $x.number == '1').@count", "expression.type", 10,
            "SUBQUERY does not take an object"),
        Wrong(
            "celsius", "($source.account.trades UNION $source.account).@count", "expression.type", nil,
            "UNION does not take an object"),
        // To-many key paths that are compared with one value.
        Wrong(
            "flag", "$source.account.trades.amount == 1", "expression.type", 1,
            "Write ANY $source.account.trades.amount == 1"),
        Wrong("flag", "$source.account.trades.amount != 1", "expression.type", 1, "ANY"),
        Wrong(
            "flag", "1 < $source.account.trades.amount", "expression.type", 5,
            "Write ANY $source.account.trades.amount > 1"),
        Wrong(
            "flag", "$source.account.trades.amount IN {1}", "expression.type", 1,
            "Write ANY $source.account.trades.amount IN {1}"),
        Wrong("flag", "$source.account.trades.amount BETWEEN {0, 5}", "expression.type", 1, "ANY"),
        Wrong("flag", "$source.account.trades.title LIKE 'x*'", "expression.type", 1, "ANY"),
        Wrong("flag", "$source.account.trades == nil", "expression.type", 1, "$source.account.trades.@count == 0"),
        Wrong("flag", "$source.account.trades != nil", "expression.type", 1, "$source.account.trades.@count > 0"),
        Wrong("flag", "nil == $source.account.trades", "expression.type", 8, "$source.account.trades.@count == 0"),
        Wrong("flag", "$source.account.trades == $source", "expression.type", 1, "ANY"),
        Wrong(
            "flag", "ANY $source.account.trades.amount == $source.account.trades.amount", "expression.type", 5,
            "left side"),
        Wrong("new", "TERNARY($source.account.trades.amount == 1, 'a', 'b')", "expression.type", 9, "ANY"),
        Wrong(
            "celsius", "SUBQUERY($source.account.trades, $t, $t.account.trades.amount == 1).@count", "expression.type",
            38, "ANY $t.account.trades.amount == 1"),
        Wrong("flag", "mode({1})[0] == 1 AND now() == 'x'", "expression.type", 23, "not compared"),
        // Text that does not parse.
        Wrong("new", "$source.title ==", "mapping.expression", nil, "at column 17 of the expression"),
        Wrong("new", "FUNCTION($source.title)", "mapping.expression", nil, "column"),
        Wrong("new", "CAST($source.title)", "mapping.expression", nil, "column"),
        Wrong("new", "'open", "mapping.expression", nil, "closing quote"),
    ]

    static let relationships: [Wrong] = [
        Wrong("account", "$source.account", "expression.type", 1, "destinationInstancesForEntityMappingNamed"),
        Wrong("account", "$source.account.trades", "expression.type", 1, "objects of the source entity Trade"),
        Wrong("account", "$source.title", "expression.type", 1, "takes objects"),
        Wrong("account", "'x'", "expression.type", 1, "takes objects"),
        Wrong("account", "$manager", "expression.type", 1, "$manager"),
        Wrong("account", "$nope", "expression.variable", 1, "$nope"),
        Wrong("account", lookup + "'AccountToAccount', $destination)", "expression.type", 102, "sourceInstances"),
        Wrong("account", lookup + "'AccountToAccount', $source.title)", "expression.type", 102, "String"),
        Wrong("account", lookup + "'AccountToAccount', $source.nope)", "mapping.unknownKeyPath", 110, "nope"),
        Wrong("account", lookup + "'Nope', $source.account)", "mapping.unknownMapping", nil, "Nope"),
        Wrong("account", lookup + "3, $source.account)", "expression.type", 82, "name as a string"),
        Wrong("account", lookup + "'AccountToAccount')", "expression.argumentCount", 20, "not 1"),
        Wrong("account", lookup + "'AccountToAccount', $source.account, 1)", "expression.argumentCount", 20, "not 3"),
        Wrong(
            "buyer", reverse + "'AccountToAccount', $source.account)", "expression.type", 102, "destinationInstances"),
        Wrong("buyer", reverse + "'AccountToAccount', $destination)", "expression.type", 1, "source"),
        Wrong("account", fetch("'Trade', 'title =='"), "expression.syntax", 88, "the predicate of the request"),
        Wrong("account", fetch("'Trade', 'nope == 1'"), "mapping.unknownKeyPath", 88, "nope"),
        Wrong("account", fetch("'Trade', 'title MATCHES \"(\"'"), "expression.syntax", 88, "regular expression"),
        Wrong("account", fetch("'Nope', 'TRUEPREDICATE'"), "mapping.unknownEntity", nil, "Nope"),
        Wrong("account", fetch("'Trade', 5"), "expression.type", 88, "predicate as a string"),
        Wrong("account", fetch("'Account', 'trades.amount == 1'"), "expression.type", 90, "ANY trades.amount == 1"),
        // Objects that are never of the relationship's entity.
        Wrong("account", "$destination", "expression.type", 1, "AccountToAccount"),
        Wrong("buyer", "$destination.account", "expression.type", 1, "Person"),
        Wrong("account", "{1, 2}", "expression.type", 1, "takes objects"),
        Wrong(
            "account",
            "FUNCTION($manager, 'destinationInstancesForSourceRelationshipNamed:sourceInstances:', 'trades', $source.account.trades)",
            "expression.type", 1, "Transaction"),
        Wrong(
            "account", lookup + "'TradeToTransaction', $source)", "expression.type", 1,
            "the entity mapping TradeToTransaction"),
        Wrong(
            "account", lookup + "'AccountToAccount', SUBQUERY($source.account, $x, TRUEPREDICATE))", "expression.type",
            111,
            "SUBQUERY"),
    ]

    @Test(
        "A property's wrong expression is refused with its place",
        arguments: attributes.map { ($0, "attributes") } + relationships.map { ($0, "relationships") })
    func property(wrong: Wrong, section: String) throws {
        let text = wrong.expression.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
        let json = """
            {"formatVersion": 2, "entityMappings": [
            {"sourceEntity": "Account", "destinationEntity": "Account"},
            {"sourceEntity": "Trade", "destinationEntity": "Transaction", "unlisted": "untouched", "\(section)": {
              "\(wrong.property)": "\(text)"
            }}]}
            """
        let error = #expect(throws: MigrationError.self) { try JSONModels.read(json) }
        #expect(error?.code == wrong.code, "\(error?.description ?? "")")
        #expect(error?.category == .configuration)
        #expect(error?.context.path == "shop.json")
        #expect(error?.context.line == 4)
        #expect(error?.context.column == wrong.property.count + 7)
        #expect(error?.context.property == wrong.property)
        #expect(error?.context.entityMapping == "TradeToTransaction")
        if let column = wrong.column {
            let place = "at column \(column) of the expression"
            #expect(error?.message.contains(place) == true, "\(error?.message ?? "")")
        }
        #expect(error?.description.contains(wrong.part) == true, "\(error?.description ?? "")")
    }

    @Test(
        "Filters and source expressions are refused at their own place",
        arguments: [
            ("sourceFilter", "nope == 1", "mapping.unknownKeyPath", 1),
            ("sourceFilter", "title MATCHES '('", "expression.syntax", 15),
            ("sourceFilter", "title == $nope", "expression.variable", 10),
            ("sourceFilter", "amount + title > 3", "expression.type", 10),
            ("sourceFilter", "CAST(title, 'NSFoo') == 1", "expression.castType", 13),
            ("sourceFilter", "account.trades.amount == 1", "expression.type", 1),
            ("sourceFilter", "title != nil AND account.trades == nil", "expression.type", 18),
            ("sourceFilter", "5 BETWEEN account.trades.amount", "expression.type", 11),
            ("sourceFilter", "NOT (account.trades.title CONTAINS account.trades.title)", "expression.type", 6),
            ("sourceExpression", fetch("'Trade', 'nope == 1'"), "mapping.unknownKeyPath", 88),
            ("sourceExpression", fetch("'Trade', 'a ='"), "expression.syntax", 88),
            ("sourceExpression", "$nope", "expression.variable", 1),
            ("sourceExpression", "$source", "expression.variable", 1),
        ] as [(String, String, MigrationError.Code, Int)])
    func fetching(key: String, text: String, code: MigrationError.Code, column: Int) throws {
        let json = """
            {"formatVersion": 2, "entityMappings": [
            {"sourceEntity": "Trade", "destinationEntity": "Transaction", "unlisted": "untouched",
             "\(key)": "\(text.replacing("\"", with: "\\\""))"}]}
            """
        let error = #expect(throws: MigrationError.self) { try JSONModels.read(json) }
        #expect(error?.code == code, "\(error?.description ?? "")")
        #expect(error?.context.line == 3)
        #expect(error?.context.column == key.count + 6)
        #expect(error?.message.contains("at column \(column) of the expression") == true, "\(error?.message ?? "")")
    }

    @Test(
        "What may be right is not refused",
        arguments: [
            ("new", "$source.account.number"), ("new", "$source.account.owner.name"),
            ("new", "FUNCTION($entityPolicy, 'titleOf:', $source)"), ("new", "$manager.userInfo.title"),
            ("celsius", "$source.account.trades.@count"), ("celsius", "$source.account.trades.@avg.amount"),
            ("celsius", "SUBQUERY($source.account.trades, $t, $t.amount > $source.amount).@count"),
            ("new", "CAST($source.amount, 'NSString')"), ("new", "$source.title.uppercaseString"),
            ("kind", "$source.title.length"), ("new", "$entityMapping.name"), ("new", "$propertyMapping.name"),
            ("new", "FUNCTION($source.title, 'substringFromIndex:', 1)"),
            ("new", "$source.title.capitalizedString.lowercaseString"), ("kind", "length($source.title) & 3 | 1 << 2"),
            ("celsius", "median($source.account.trades.amount)"), ("new", "{1, 'b'}[1]"), ("new", "{'a', nil}[0]"),
            ("flag", "$source.title MATCHES '(?x) a{0,4096} # b'"),
            ("flag", "$source.title IN {'a', 'b'}"), ("flag", "$source IN $source.account.trades"),
            ("flag", "'a' IN $source.account.trades.title"), ("celsius", "mode({1, 2})[0]"),
            ("new", "TERNARY($source.flag == YES, $source.title, nil)"), ("new", "nil"),
            ("flag", "ANY $source.account.trades.amount == 1"), ("flag", "NONE $source.account.trades.title LIKE 'x*'"),
            ("flag", "$source.account.trades.@count == 0"), ("flag", "$source.account.trades CONTAINS $source"),
            ("flag", "$source.account.trades == $source.account.trades"), ("flag", "$source.account == nil"),
            ("new", "$source.objectID.URIRepresentation.absoluteString"),
            ("new", "FUNCTION(FUNCTION($source, 'objectID'), 'URIRepresentation').absoluteString"),
            ("new", "$source.entity.name"), ("new", "FUNCTION($source, 'entity').name"),
            ("new", "$source.account.entity.userInfo.x"), ("new", "$manager.currentEntityMapping.name"),
            ("new", "FUNCTION($manager, 'currentEntityMapping').name"), ("new", "$entityMapping.userInfo.currency"),
            ("new", "$propertyMapping.userInfo.unit"), ("kind", "$entityMapping.mappingType"),
            ("kind", "$manager.mappingModel.entityMappings.@count"),
            ("new", "$manager.mappingModel.entityMappingsByName.TradeToTransaction.name"),
            ("new", "$manager.destinationModel.entitiesByName.Account.name"),
            ("flag", "'1' IN $manager.sourceModel.versionIdentifiers"), ("flag", "$source.entity.isAbstract"),
            ("new", "$manager.registered.anything"), ("new", "$entityPolicy.stored.value"),
        ])
    func right(property: String, text: String) throws {
        let json = """
            {"formatVersion": 2, "entityMappings": [
            {"sourceEntity": "Account", "destinationEntity": "Account"},
            {"sourceEntity": "Trade", "destinationEntity": "Transaction", "unlisted": "untouched",
             "attributes": {"\(property)": "\(text)"}}]}
            """
        #expect(throws: Never.self) { try JSONModels.read(json) }
    }

    @Test("A mapping with a policy is checked for names and patterns only")
    func lenient() throws {
        func read(_ text: String) throws {
            _ = try JSONModels.read(
                """
                {"formatVersion": 2, "entityMappings": [{"sourceEntity": "Trade", "destinationEntity": "Transaction", "unlisted": "untouched",
                "migrationPolicy": "P", "attributes": {"kind": "\(text)"}}]}
                """)
        }
        #expect(throws: Never.self) { try read("$source.title") }
        #expect(throws: Never.self) { try read("FUNCTION($entityPolicy, 'kindOf:', $source.account)") }
        #expect(throws: MigrationError.self) { try read("$nope.title") }
        #expect(throws: MigrationError.self) { try read("$source.title MATCHES '('") }
    }
}
