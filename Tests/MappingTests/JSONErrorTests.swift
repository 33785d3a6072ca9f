import Diagnostics
import Foundation
import ManagedModel
import TestSupport
import Testing

@testable import Mapping

@Suite("JSON: bad mapping models")
struct JSONErrorTests {
    /// A bad file: the text of the entity mappings, or of the whole, and what is said about it.
    struct Bad: CustomTestStringConvertible {
        let text: String
        let code: MigrationError.Code
        let line: Int
        let column: Int
        let part: String
        var testDescription: String { "\(code.rawValue) \(text.prefix(60))" }

        init(_ text: String, _ code: MigrationError.Code, _ line: Int, _ column: Int, _ part: String = "") {
            self.text = text
            self.code = code
            self.line = line
            self.column = column
            self.part = part
        }

        /// A file with one mapping, whose members begin on line 2.
        static func mapping(
            _ text: String, _ code: MigrationError.Code, _ line: Int, _ column: Int, _ part: String = ""
        ) -> Bad {
            Bad("{\"formatVersion\": 1, \"entityMappings\": [{\n\(text)\n}]}", code, line, column, part)
        }
    }

    static let pair = "\"sourceEntity\": \"Customer\", \"destinationEntity\": \"Customer\""
    static let audit = "\"destinationEntity\": \"Audit\""

    static let files: [Bad] = [
        Bad("[]", "mapping.valueType", 1, 1, "The mapping model must be an object, not an array"),
        Bad("{}", "mapping.missingKey", 1, 1, "formatVersion"),
        Bad(" {\"formatVersion\": 1}", "mapping.missingKey", 1, 2, "entityMappings"),
        Bad("{\"formatVersion\": 3, \"entityMappings\": []}", "mapping.formatVersion", 1, 19, "version 3"),
        Bad("{\"formatVersion\": 0, \"entityMappings\": []}", "mapping.formatVersion", 1, 19, "versions 1 to 2"),
        Bad("{\"formatVersion\": 1.0, \"entityMappings\": []}", "mapping.formatVersion", 1, 19),
        Bad("{\"formatVersion\": \"1\", \"entityMappings\": []}", "mapping.valueType", 1, 19),
        Bad("{\"formatVersion\": 1, \"entityMappings\": {}}", "mapping.valueType", 1, 40),
        Bad("{\"formatVersion\": 1, \"entityMappings\": [3]}", "mapping.valueType", 1, 41, "An entity mapping"),
        Bad("{\"formatVersion\": 1,\n \"mappings\": []}", "mapping.unknownKey", 2, 2, "\"mappings\""),
        Bad("{\"formatVersion\": 1, \"formatVersion\": 1}", "mapping.duplicateKey", 1, 22),
        Bad("{\"formatVersion\": 1, \"entityMappings\": [{}]}", "mapping.missingKey", 1, 41, "neither"),
        Bad("{\"formatVersion\": 1, \"entityMappings\": [", "mapping.json", 1, 41),
        // Keys and types of an entity mapping.
        .mapping("\(pair), \"sourcePredicate\": \"x\"", "mapping.unknownKey", 2, 62, "sourcePredicate"),
        .mapping("\(pair),\n\"name\": 3", "mapping.valueType", 3, 9, "\"name\" must be a string, not a number"),
        .mapping("\(pair),\n\"name\": \"\"", "mapping.valueType", 3, 9, "empty"),
        .mapping("\(pair),\n\"name\": null", "mapping.valueType", 3, 9),
        .mapping("\(pair),\n\"migrationPolicy\": []", "mapping.valueType", 3, 20),
        .mapping("\(pair),\n\"userInfo\": [1]", "mapping.valueType", 3, 13),
        .mapping("\(pair),\n\"userInfo\": {\"a\": [1e999]}", "mapping.valueType", 3, 20, "too large"),
        .mapping("\(pair),\n\"attributes\": \"x\"", "mapping.valueType", 3, 15),
        .mapping("\(pair),\n\"attributes\": {\n  \"name\": 1\n}", "mapping.valueType", 4, 11, "expression, or null"),
        // Types and entities.
        .mapping("\(pair),\n\"mappingType\": \"move\"", "mapping.type", 3, 16, "move"),
        .mapping("\(pair),\n\"mappingType\": \"Copy\"", "mapping.type", 3, 16),
        .mapping("\(pair),\n\"mappingType\": \"add\"", "mapping.type", 3, 16, "no source"),
        .mapping("\(pair),\n\"mappingType\": \"remove\"", "mapping.type", 3, 16, "no destination"),
        .mapping("\(audit),\n\"mappingType\": \"copy\"", "mapping.type", 3, 16, "needs a source"),
        .mapping("\(audit),\n\"mappingType\": \"custom\"", "mapping.type", 3, 16, "needs a source"),
        .mapping("\"sourceEntity\": \"Old\",\n\"mappingType\": \"transform\"", "mapping.type", 3, 16, "destination"),
        .mapping("\"name\": \"x\", \"mappingType\": \"add\"", "mapping.type", 2, 29, "neither"),
        .mapping("\"name\": \"x\"", "mapping.type", 1, 41, "neither"),
        .mapping("\(audit),\n\"sourceFilter\": \"x > 1\"", "mapping.type", 3, 1, "source filter"),
        .mapping("\"sourceEntity\": \"customer\"", "mapping.unknownEntity", 2, 17, "customer"),
        .mapping("\"sourceEntity\": \"Audit\"", "mapping.unknownEntity", 2, 17, "source model"),
        .mapping("\"destinationEntity\": \"Trade\"", "mapping.unknownEntity", 2, 22, "destination model"),
        Bad(
            "{\"formatVersion\": 1, \"entityMappings\": [\n{\(pair)},\n {\(pair)}]}", "mapping.duplicateName", 3, 2,
            "CustomerToCustomer"),
        // Properties.
        .mapping("\(pair),\n\"attributes\": {\"nam\": null}", "mapping.unknownProperty", 3, 16, "no property nam"),
        .mapping(
            "\"sourceEntity\": \"Account\", \"destinationEntity\": \"Account\",\n\"attributes\": {\"owner\": null}",
            "mapping.propertyKind", 3, 16, "is a relationship"),
        .mapping("\(pair),\n\"relationships\": {\"name\": null}", "mapping.propertyKind", 3, 19, "is an attribute"),
        .mapping("\"sourceEntity\": \"Old\",\n\"attributes\": {\"x\": null}", "mapping.unknownProperty", 3, 16),
        .mapping(
            "\"sourceEntity\": \"Trade\",\"destinationEntity\": \"Transaction\", \"attributes\": {\"totalCost\": \"1\"}",
            "mapping.unlistedProperty", 1, 41, "String became Integer 32"),
        // Expressions.
        .mapping("\(pair),\n\"attributes\": {\"name\": \"$source.\"}", "mapping.expression", 3, 24),
        .mapping("\(pair),\n\"attributes\": {\"name\":\n   \"(1 + \"}", "mapping.expression", 4, 4),
        .mapping("\(pair),\n\"attributes\": {\"name\": \"\"}", "mapping.expression", 3, 24),
        .mapping("\(pair),\n\"sourceFilter\": \"rank >\"", "mapping.expression", 3, 17),
        .mapping(
            "\(pair),\n\"attributes\": {\"rank\": \"1\", \"name\": "
                + "\"FUNCTION($manager, 'destinationInstancesForEntityMappingNamed:sourceInstances:', 'Nobody', $source)\"}",
            "mapping.unknownMapping", 3, 37, "Nobody"),
        .mapping(
            "\(pair),\n\"attributes\": {\"name\": \"TERNARY(1 == 1, FUNCTION(FUNCTION($manager, "
                + "'destinationInstancesForSourceRelationshipNamed:sourceInstances:', 'cars', $source), 'x'), nil)\"}",
            "mapping.unknownRelationship", 3, 24, "cars"),
        .mapping(
            "\(pair),\n\"attributes\": {\"name\": \"FETCH(FUNCTION($manager, "
                + "'fetchRequestForSourceEntityNamed:predicateString:', 'Nothing', 'TRUEPREDICATE'), "
                + "$manager.sourceContext, NO)\"}", "mapping.unknownEntity", 3, 24, "Nothing"),
        .mapping(
            "\(pair),\n\"sourceFilter\": \"ANY name IN FUNCTION($manager, "
                + "'sourceInstancesForEntityMappingNamed:destinationInstances:', 'Nobody', nil)\"",
            "mapping.unknownMapping", 3, 17, "Nobody"),
        // Key paths and types.
        .mapping(
            "\(pair),\n\"attributes\": {\"name\": \"$source.nome\"}", "mapping.unknownKeyPath", 3, 24,
            "Customer has no property nome"),
        .mapping(
            "\(pair),\n\"attributes\": {\"rank\": \"$source.rank.value + 1\"}", "mapping.unknownKeyPath", 3, 24,
            "is an attribute"),
        .mapping("\(pair),\n\"attributes\": {\"rank\": \"$source.name\"}", "expression.type", 3, 24),
        .mapping("\(pair),\n\"attributes\": {\"rank\": \"$source.name + 1\"}", "expression.type", 3, 24),
        .mapping("\(pair),\n\"sourceFilter\": \"size > 1\"", "mapping.unknownKeyPath", 3, 17, "no property size"),
    ]

    @Test("A bad file is refused at the right place", arguments: files)
    func bad(_ file: Bad) {
        do {
            _ = try JSONModels.read(file.text)
            Issue.record("it was read: \(file.text)")
        } catch let error as MigrationError {
            #expect(error.code == file.code, "\(error)")
            #expect(error.category == .configuration)
            #expect(error.context.path == "shop.json")
            #expect(error.context.line == file.line, "\(error)")
            #expect(error.context.column == file.column, "\(error)")
            #expect(file.part.isEmpty || error.message.contains(file.part), "\(error)")
        } catch {
            Issue.record(error)
        }
    }

    @Test(
        "A name that is not there gets the one that was meant, or those that are there",
        arguments: [
            ("\"sourceEntity\": \"Custommer\"", "Did you mean 'Customer'?"),
            ("\"sourceEntity\": \"Zebra\"", "It has "),
            ("\(pair), \"attributes\": {\"nmae\": null}", "Did you mean 'name'?"),
            ("\(pair), \"attributes\": {\"zebra\": null}", "It has "),
            ("\(pair), \"attributes\": {\"name\": \"$source.nome\"}", "Did you mean 'name'?"),
            ("\(pair), \"sourceFilter\": \"nome == ''\"", "Did you mean 'name'?"),
            ("\(pair), \"sourceFliter\": \"1 == 1\"", "Did you mean 'sourceFilter'?"),
            ("\(pair), \"filter\": \"1 == 1\"", "Did you mean 'sourceFilter'?"),
            ("\(pair), \"policy\": \"P\"", "Did you mean 'migrationPolicy'?"),
            ("\(pair), \"mappingType\": \"transfrom\"", "Did you mean 'transform'?"),
            (
                "\(pair), \"attributes\": {\"name\": \"FUNCTION($manager, "
                    + "'destinationInstancesForEntityMappingNamed:sourceInstances:', 'CustomerToCustommer', $source)\"}",
                "Did you mean 'CustomerToCustomer'?"
            ),
        ])
    func nearest(text: String, remedy: String) throws {
        let whole = "{\"formatVersion\": 1, \"entityMappings\": [{\(text)}]}"
        let error = try #require(throws: MigrationError.self) { try JSONModels.read(whole) }
        #expect(error.remedy?.hasPrefix(remedy) == true, "\(error) \(error.remedy ?? "nothing")")
    }

    @Test("An error names mapping and property beside the place")
    func context() throws {
        let text = """
            {"formatVersion": 1, "entityMappings": [{"name": "M", "sourceEntity": "Customer",
              "destinationEntity": "Customer", "attributes": {"name": "1 +"}}]}
            """
        let error = try #require(throws: MigrationError.self) { try JSONModels.read(text) }
        #expect(error.context.entityMapping == "M")
        #expect(error.context.property == "name")
        #expect(error.context.expression == "1 +")
        #expect(error.description.hasPrefix("shop.json:2:59: "))
    }

    @Test("A text cut anywhere, or changed anywhere, is read or refused, and nothing worse")
    func hostile() throws {
        let url = SharedStores.repository.appendingPathComponent("Fixtures/Mappings/shop-split.json")
        let bytes = Array(try Data(contentsOf: url))
        let (source, destination) = try JSONModels.shop()
        func attempt(_ bytes: [UInt8]) -> Bool {
            do throws(MigrationError) {
                let model = try MappingModel.reading(
                    json: bytes, path: "m.json", source: source, destination: destination)
                _ = try model.json()
                return true
            } catch {
                #expect(error.category == .configuration)
                #expect(error.context.path == "m.json")
                return false
            }
        }
        let end = (bytes.lastIndex(of: UInt8(ascii: "}")) ?? 0)
        for length in 0...end { #expect(!attempt(Array(bytes.prefix(length)))) }
        #expect(attempt(Array(bytes.prefix(end + 1))))

        let seed = RandomSeeds.first
        print("seed \(seed)")
        var random = SeededGenerator(seed: seed)
        let pieces: [[UInt8]] = [
            "{", "}", "[", "]", "\"", ",", ":", "null", "\\u", "1e9", "\\", "-", "\"a\":", "$source", "(",
        ]
        .map { Array($0.utf8) }
        for _ in 0..<3000 {
            var changed = bytes
            for _ in 0...random.below(3) {
                let place = random.below(changed.count)
                switch random.below(4) {
                case 0: changed[place] = UInt8(truncatingIfNeeded: random.next())
                case 1: changed.removeSubrange(place..<min(changed.count, place + 1 + random.below(20)))
                case 2: changed.insert(contentsOf: pieces[random.below(pieces.count)], at: place)
                default:
                    let other = random.below(changed.count)
                    changed.insert(
                        contentsOf: changed[min(place, other)..<min(changed.count, min(place, other) + 30)], at: place)
                }
                if changed.isEmpty { changed = bytes }
            }
            _ = attempt(changed)
        }
    }
}

@Suite("Validation of mapping models of any origin")
struct InferenceValidationTests {
    @Test("Mistakes in a mapping model of any origin are found")
    func problems() throws {
        let (source, destination) = try JSONModels.shop()
        func mapping(_ name: String?, _ from: String?, _ to: String?) -> EntityMapping {
            let mapping = EntityMapping()
            mapping.name = name
            mapping.sourceEntityName = from
            mapping.destinationEntityName = to
            return mapping
        }
        func refusal(_ mappings: EntityMapping...) -> String? {
            let model = MappingModel()
            model.entityMappings = mappings
            do throws(MigrationError) {
                try model.validate(source: source, destination: destination)
                return nil
            } catch {
                #expect(error.category == .configuration)
                return error.code.rawValue
            }
        }
        #expect(refusal() == nil)
        #expect(refusal(mapping("A", "Account", "Account"), mapping("B", "Account", "Account")) == nil)
        #expect(refusal(mapping("A", "Account", "Account"), mapping("A", "Old", nil)) == "mapping.duplicateName")
        #expect(refusal(mapping(nil, "Account", "Account")) == "mapping.missingName")
        #expect(refusal(mapping("A", nil, nil)) == "mapping.type")
        #expect(refusal(mapping("A", "Nope", nil)) == "mapping.unknownEntity")
        #expect(refusal(mapping("A", nil, "Old")) == "mapping.unknownEntity")
        let custom = mapping("A", nil, "Audit")
        custom.mappingType = .customEntityMappingType
        #expect(refusal(custom) == "mapping.type")
        custom.entityMigrationPolicyClassName = "P"
        #expect(refusal(custom) == nil)

        func with(_ attributes: [String?], _ relationships: [String?] = [], value: String? = nil) -> EntityMapping {
            let result = mapping("A", "Account", "Account")
            let make = { (name: String?) -> PropertyMapping in
                let property = PropertyMapping()
                property.name = name
                property.valueExpression = value.flatMap { try? ValueExpression(parsing: $0) }
                return property
            }
            result.attributeMappings = attributes.map(make)
            result.relationshipMappings = relationships.map(make)
            return result
        }
        #expect(refusal(with(["number", "note"], ["owner"])) == nil)
        #expect(refusal(with(["number", "number"])) == "mapping.duplicateProperty")
        #expect(refusal(with(["owner"])) == "mapping.propertyKind")
        #expect(refusal(with([], ["note"])) == "mapping.propertyKind")
        #expect(refusal(with(["nope"])) == "mapping.unknownProperty")
        #expect(refusal(with([nil])) == "mapping.missingName")
        func lookup(_ selector: String, _ name: String) -> String { "FUNCTION($manager, '\(selector)', \(name), nil)" }
        for (selector, good, bad, code) in [
            (LookupSelector.byEntityMapping, "A", "B", "mapping.unknownMapping"),
            (LookupSelector.byEntityMappingName, "A", "B", "mapping.unknownMapping"),
            (LookupSelector.sourcesByEntityMapping, "A", "B", "mapping.unknownMapping"),
            (LookupSelector.bySourceRelationship, "trades", "transactions", "mapping.unknownRelationship"),
            (LookupSelector.fetch, "Trade", "Transaction", "mapping.unknownEntity"),
        ] {
            // A request is no object of a relationship.
            let known: String? = selector == LookupSelector.fetch ? "expression.type" : nil
            #expect(refusal(with([], ["owner"], value: lookup(selector, "'\(good)'"))) == known)
            #expect(refusal(with([], ["owner"], value: lookup(selector, "'\(bad)'"))) == code)
            // A computed name shows when it runs.
            #expect(refusal(with([], ["owner"], value: lookup(selector, "$source.note"))) == known)
        }
    }
}
