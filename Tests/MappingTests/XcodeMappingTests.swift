import Archives
import Diagnostics
import Foundation
import ManagedModel
import TestSupport
import Testing

@testable import Mapping

@Suite("Xcode's mapping models")
struct XcodeMappingTests {
    typealias M = InferenceModels

    // MARK: Files in a few lines

    private func object(_ type: String, _ id: String, _ attributes: [String: String], _ references: [String: String])
        -> String
    {
        let lines =
            attributes.sorted { $0.key < $1.key }.map {
                "<attribute name=\"\($0.key)\" type=\"string\">\($0.value)</attribute>"
            }
            + references.sorted { $0.key < $1.key }.map {
                "<relationship name=\"\($0.key)\" type=\"1/1\" destination=\"X\" idrefs=\"\($0.value)\"></relationship>"
            }
        return "<object type=\"\(type)\" id=\"\(id)\">\(lines.joined())</object>\n"
    }
    private func entity(_ id: String, _ attributes: [String: String], of model: String? = "m") -> String {
        object("XDDEVENTITYMAPPING", id, attributes, model.map { ["mappingmodel": $0] } ?? [:])
    }
    private func property(
        _ id: String, _ name: String?, of entity: String, isRelationship: Bool = false, _ more: [String: String] = [:]
    ) -> String {
        object(
            isRelationship ? "XDDEVRELATIONSHIPMAPPING" : "XDDEVATTRIBUTEMAPPING", id,
            more.merging(name.map { ["name": $0] } ?? [:]) { first, _ in first }, ["entitymapping": entity])
    }
    private func file(_ objects: String..., prolog: String = "<!DOCTYPE database SYSTEM \"file:///nowhere.dtd\">")
        -> String
    {
        """
        <?xml version="1.0" standalone="yes"?>
        \(prolog)
        <database><databaseInfo><version>134481920</version></databaseInfo>
        <object type="XDDEVMAPPINGMODEL" id="m"><attribute name="sourcemodelpath" type="string">A/\\u4200.xcdatamodel</attribute>
        <attribute name="sourcemodeldata" type="binary">not base64 and not looked at</attribute></object>
        \(objects.joined())</database>
        """
    }
    private func archived(_ format: String) throws -> String {
        Data(try ExpressionArchive.bytes(try ValueExpression(parsing: format).node)).base64EncodedString()
    }

    private func models() throws -> (source: ManagedObjectModel, destination: ManagedObjectModel) {
        let source = try M.model(
            M.entity(
                "Account", [M.attribute("number"), M.attribute("note"), M.attribute("size", .integer16)],
                [M.toMany("trades", "Trade", inverse: "account"), M.toOne("owner", "Person")]),
            M.entity("Trade", [M.attribute("amount", .double)], [M.toOne("account", "Account", inverse: "trades")]),
            M.entity("Person", [M.attribute("name")]), M.entity("Child", parent: "Person"))
        let destination = try M.model(
            M.entity(
                "Account",
                [
                    M.attribute("number"), M.attribute("note", required: true, default: .string("none")),
                    M.attribute("size"), M.attribute("temp", transient: true), M.attribute("added"),
                ],
                [
                    M.toMany("deals", "Deal", id: "trades", inverse: "account"), M.toOne("owner", "Person"),
                    M.toOne("fresh", "Person"),
                ]),
            M.entity(
                "Deal", id: "Trade", [M.attribute("amount", .double)], [M.toOne("account", "Account", inverse: "deals")]
            ),
            M.entity("Person", [M.attribute("name")]), M.entity("Child", parent: "Person"))
        return (source, destination)
    }

    private func read(_ text: String) throws -> MappingModel {
        let (source, destination) = try models()
        return try XcodeMapping(Array(text.utf8), path: "x.xml").mappingModel(source: source, destination: destination)
    }
    private func failure(_ text: String) throws -> MigrationError {
        try #require(throws: MigrationError.self) { try read(text) }
    }

    /// The four entity mappings, with all properties that Xcode lists.
    private var whole: [String] {
        let account = ["number", "note", "temp", "added"].enumerated().map { property("a\($0)", $1, of: "1") }
        let links = ["deals", "owner", "fresh"].enumerated().map {
            property("r\($0)", $1, of: "1", isRelationship: true)
        }
        return [
            entity("1", ["sourcename": "Account", "destinationname": "Account", "mappingnumber": "3"]),
            entity("2", ["sourcename": "Trade", "destinationname": "Deal", "mappingnumber": "1"]),
            entity("3", ["sourcename": "Person", "destinationname": "Person", "mappingnumber": "2"]),
            entity("4", ["sourcename": "Child", "destinationname": "Child", "mappingnumber": "2"]),
            property("b1", "amount", of: "2"), property("b2", "account", of: "2", isRelationship: true),
            property("c1", "name", of: "3"), property("d1", "name", of: "4"),
        ] + account + links
    }

    // MARK: What the compiler fills in

    @Test("Names, types, order and expressions are filled in as the compiler does")
    func defaults() throws {
        let model = try read(file(whole.joined()))
        #expect(
            model.entityMappings.compactMap(\.name) == [
                "TradeToDeal", "PersonToPerson", "ChildToChild", "AccountToAccount",
            ])
        #expect(
            model.entityMappings.map(\.mappingType) == [
                .transformEntityMappingType, .copyEntityMappingType, .copyEntityMappingType, .copyEntityMappingType,
            ])
        let account = try #require(model.entityMappingsByName["AccountToAccount"])
        let expressions = M.expressions(model, "AccountToAccount")
        func lookup(_ selector: String, _ name: String, _ path: String) -> String {
            "FUNCTION($manager, 'destinationInstancesFor\(selector):sourceInstances:', '\(name)', \(path))"
        }
        #expect(expressions["number"] == "$source.number")
        #expect(expressions["note"] == "$source.note")
        #expect(expressions["deals"] == lookup("EntityMappingNamed", "TradeToDeal", "$source.trades"))
        #expect(expressions["owner"] == lookup("SourceRelationshipNamed", "owner", "$source.owner"))
        #expect(account.relationshipMapping(named: "fresh")?.valueExpression == nil)
        #expect(account.attributeMapping(named: "added")?.valueExpression == nil)
        #expect(account.attributeMapping(named: "added")?.isAutomatic == true)
        #expect(account.attributeMapping(named: "note")?.replacesNil == true)
        // Transient properties hold nothing; `size` is not listed, and its type changed: it is left alone.
        #expect(account.attributeMapping(named: "temp") == nil)
        let size = try #require(account.attributeMapping(named: "size"))
        #expect(size.valueExpression == nil && !size.isAutomatic)
        // Converted without the models, and read with them, it is the same.
        let open = try MappingModel.reading(xcode: Array(file(whole.joined()).utf8), path: "x.xml").json()
        let (old, new) = try models()
        #expect(
            try MappingModel.reading(json: Array(open.utf8), path: "x.json", source: old, destination: new)
                .differences(from: model) == [])
        // A compiled one says each expression: one that is spelled like the automatic one is that.
        let note = try #require(open.range(of: "\"note\": {}"))
        let compiled = open.replacingCharacters(in: note, with: "\"note\": \"$source.note\"")
        let said = try MappingModel.reading(json: Array(compiled.utf8), path: "x.json", source: old, destination: new)
        #expect(said.differences(from: model) == ["AccountToAccount: attribute note: automatic false and true"])
        let stated = try MappingModel.reading(
            json: Array(compiled.replacingOccurrences(of: "\"xcmappingmodel\"", with: "\"cdm\"").utf8), path: "x.json",
            source: old, destination: new)
        #expect(stated.differences(from: model) == [])
        #expect(account.place != nil)
        #expect(account.sourceEntityVersionHash?.count == 32)
        let again = try MappingModel.reading(
            json: Array(try model.json().utf8), path: "x.json", source: try models().source,
            destination: try models().destination)
        #expect(again.differences(from: model) == [])
    }

    @Test("A changed type is an error without a policy, and the policy's business with one")
    func incompatible() throws {
        let listed = whole.joined() + property("a9", "size", of: "1")
        let error = try failure(file(listed))
        #expect(error.code == "expression.type" && error.context.property == "size")
        #expect(error.context.line != nil && error.context.path == "x.xml")
        let named = listed.replacingOccurrences(
            of: "<attribute name=\"mappingnumber\" type=\"string\">3<",
            with: "<attribute name=\"migrationpolicyclassname\" type=\"string\">App.Policy</attribute>"
                + "<attribute name=\"mappingnumber\" type=\"string\">3<")
        let account = try #require(try read(file(named)).entityMappingsByName["AccountToAccount"])
        #expect(account.mappingType == .customEntityMappingType)
        #expect(account.attributeMapping(named: "size")?.valueExpression?.format == "$source.#size")
        #expect(account.attributeMapping(named: "size")?.isAutomatic == false)
    }

    @Test("Add and remove mappings, stubs, left-overs and empty policy names")
    func shapes() throws {
        let model = try read(
            file(
                entity("1", ["destinationname": "Person", "mappingnumber": "2", "migrationpolicyclassname": ""]),
                entity("2", ["sourcename": "Trade", "mappingnumber": "1", "name": "Gone"]),
                entity("3", ["name": "Mapping", "mappingnumber": "1"]),
                entity("4", ["sourcename": "Nobody", "destinationname": "Nobody"], of: nil),
                property("x", "name", of: "1"), property("y", "name", of: "4"),
                object("XDDEVATTRIBUTEMAPPING", "z", ["name": "lost"], [:])))
        #expect(model.entityMappings.compactMap(\.name) == ["Gone", "Person"])
        #expect(model.entityMappings.map(\.mappingType) == [.removeEntityMappingType, .addEntityMappingType])
        #expect(!model.entityMappings[1].hasPolicy)
    }

    @Test("Expressions, filters with escapes, userInfo and source expressions are read")
    func contents() throws {
        var builder = KeyedArchiveBuilder()
        let info = builder.dictionary([
            (builder.string("day"), builder.date(5)), (builder.string("bytes"), builder.data([0, 255])),
            (builder.string("list"), builder.array([builder.integer(1), builder.boolean(true), .null])),
        ])
        let userInfo = Data(try builder.encode(root: info)).base64EncodedString(options: .lineLength64Characters)
        let filter = "amount \\u3c00 10000 AND account.number != \\u2200x\\u2200"
        let model = try read(
            file(
                entity(
                    "1",
                    [
                        "sourcename": "Trade", "destinationname": "Deal", "sourcefilterpredicatestring": filter,
                        "userinfodata": userInfo,
                    ]),
                entity(
                    "2",
                    [
                        "sourcename": "Person", "destinationname": "Person",
                        "sourceexpressiondata": try archived(
                            "FETCH(FUNCTION($manager, 'fetchRequestForSourceEntityNamed:predicateString:', 'Person', \"name != 'x'\"), $manager.sourceContext, NO)"
                        ),
                    ]),
                property("a", "amount", of: "1", ["valueexpressiondata": try archived("$source.amount * 2")]),
                property("b", "name", of: "2", ["valueexpressiondata": try archived("nil")])))
        let trade = model.entityMappings[0]
        #expect(trade.sourceFilter?.format == "amount < 10000 AND account.number != 'x'")
        #expect(trade.attributeMapping(named: "amount")?.valueExpression?.format == "$source.amount * 2")
        #expect(trade.userInfo?["day"] as? Date == Date(timeIntervalSinceReferenceDate: 5))
        #expect(trade.userInfo?["bytes"] as? Data == Data([0, 255]))
        #expect((trade.userInfo?["list"] as? [Any])?.count == 3)
        let person = model.entityMappings[1]
        #expect(person.sourceFilter?.format == "name != 'x'" && person.sourceExpression == nil)
        // nil given by hand sets nil; it is not the same as no expression.
        #expect(person.attributeMapping(named: "name")?.valueExpression?.node == .constant(.null))
        let text = try model.json()
        let again = try MappingModel.reading(
            json: Array(text.utf8), path: "x.json", source: try models().source, destination: try models().destination)
        #expect(again.differences(from: model) == [])
        #expect(
            text.contains("\"$date\": 5.0") && text.contains("\"$data\": \"AP8=\"")
                && text.contains("\"name\": \"nil\""))
    }

    /// Source expressions that can give no object of Trade.
    static let stray = [
        "$source.name", "nil", "5", "FETCH(5, $manager.sourceContext, NO)", fetch("Gone"), fetch("Person"),
        "\(fetch("Trade")) UNION \(fetch("Gone"))",
    ]

    private static func fetch(_ entity: String) -> String {
        "FETCH(FUNCTION($manager, 'fetchRequestForSourceEntityNamed:predicateString:', '\(entity)', 'TRUEPREDICATE'), $manager.sourceContext, NO)"
    }

    @Test("A stray source expression beside automatic ones is left out, in JSON made of it too", arguments: stray)
    func straySourceExpression(text: String) throws {
        let bytes = file(
            entity(
                "1",
                [
                    "sourcename": "Trade", "destinationname": "Deal", "autogenerateexpression": "1",
                    "sourceexpressiondata": try archived(text),
                ]), property("a", "amount", of: "1"))
        let model = try read(bytes)
        #expect(model.entityMappings[0].sourceExpression == nil)
        #expect(model.entityMappings[0].sourceFetch == .all)
        let converted = try MappingModel.reading(xcode: Array(bytes.utf8), path: "x.xcmappingmodel").json()
        let again = try MappingModel.reading(
            json: Array(converted.utf8), path: "x.json", source: try models().source,
            destination: try models().destination)
        #expect(again.differences(from: model) == [])
    }

    @Test("A source expression of the file's own counts, even if the file calls it generated")
    func ownSourceExpression() throws {
        let text = "\(Self.fetch("Trade")) MINUS \(Self.fetch("Trade"))"
        for flag in ["0", "1"] {
            let model = try read(
                file(
                    entity(
                        "1",
                        [
                            "sourcename": "Trade", "destinationname": "Deal", "autogenerateexpression": flag,
                            "sourceexpressiondata": try archived(text),
                        ])))
            #expect(model.entityMappings[0].sourceExpression?.format == (try ValueExpression(parsing: text)).format)
        }
        let own = try #require(throws: MigrationError.self) {
            try read(
                file(
                    entity(
                        "1",
                        [
                            "sourcename": "Trade", "destinationname": "Deal", "autogenerateexpression": "0",
                            "sourceexpressiondata": try archived(Self.fetch("Gone")),
                        ])))
        }
        #expect(own.code == "mapping.unknownEntity")
    }

    @Test("An add mapping has no use for a source expression, nor for what its properties say of a source")
    func addMapping() throws {
        let model = try read(
            file(
                entity(
                    "1", ["destinationname": "Person", "sourceexpressiondata": try archived(Self.fetch("Gone"))]),
                property("a", "name", of: "1", ["valueexpressiondata": try archived("$source.amount + 1")])))
        #expect(model.entityMappings[0].mappingType == .addEntityMappingType)
        #expect(model.entityMappings[0].usedSourceExpression == nil)
    }

    @Test("A relationship with a key path and a mapping looks that mapping up; an emptied one is left alone")
    func lookups() throws {
        func relationship(_ more: [String: String]) throws -> PropertyMapping? {
            let model = try read(
                file(
                    entity("1", ["sourcename": "Account", "destinationname": "Account", "mappingnumber": "1"]),
                    entity("2", ["sourcename": "Person", "destinationname": "Person", "mappingnumber": "2"]),
                    property("r", "fresh", of: "1", isRelationship: true, more)))
            return model.entityMappings[0].relationshipMapping(named: "fresh")
        }
        let prefix = "FUNCTION($manager, 'destinationInstancesFor"
        #expect(
            try relationship(["sourcekeypath": "$source.owner", "sourcemappingname": "PersonToPerson"])?
                .valueExpression?.format
                == prefix + "EntityMappingNamed:sourceInstances:', 'PersonToPerson', $source.owner)")
        #expect(
            try relationship(["sourcekeypath": "$source.owner"])?.valueExpression?.format
                == prefix + "EntityMappingNamed:sourceInstances:', 'PersonToPerson', $source.owner)")
        #expect(try relationship(["autogenerateexpression": "0"])?.valueExpression == nil)
        // New, so that no expression is also what the compiler fills in.
        #expect(try relationship(["autogenerateexpression": "0"])?.isAutomatic == true)
        let unknown = try #require(throws: MigrationError.self) {
            try relationship(["sourcekeypath": "$source.owner", "sourcemappingname": "Nobody"])
        }
        #expect(unknown.code == "mapping.unknownMapping" && unknown.context.property == "fresh")
        let bad = try #require(throws: MigrationError.self) { try relationship(["sourcekeypath": "$source."]) }
        #expect(bad.code == "mapping.expression" && bad.context.objectID == "r")
    }

    @Test("Swapped escapes are undone, also of pairs; other backslashes stay")
    func escapes() {
        #expect("a \\u3c00 b".unescapedFromXcode == "a < b")
        #expect("\\u3dd8\\u00de".unescapedFromXcode == "😀")
        #expect("\\n \\u12 \\ü \\".unescapedFromXcode == "\\n \\u12 \\ü \\")
        #expect("größe".unescapedFromXcode == "größe")
        #expect(MappingFile.isMappingModel(name: "x.xml", beginning: Array("<?xml?><database>".utf8)))
        #expect(!MappingFile.isMappingModel(name: "x.xml", beginning: Array("<?xml?><model>".utf8)))
    }

    // MARK: What is refused

    @Test("Damage is named with line, object, entity mapping and property")
    func errors() throws {
        let pair = entity("1", ["sourcename": "Trade", "destinationname": "Deal"])
        func value(_ text: String, name: String? = "amount") -> String {
            file(pair, property("a", name, of: "1", ["valueexpressiondata": text]))
        }
        let cases: [(String, String)] = [
            (file(pair).replacingOccurrences(of: "database", with: "model"), "mapping.notAMapping"),
            ("<database></database>", "mapping.notAMapping"),
            (file(pair, pair), "mapping.duplicateObject"),
            (file(object("XDDEVENTITYMAPPING", "", [:], [:])), "mapping.missingAttribute"),
            (file(pair, property("a", nil, of: "1")), "mapping.missingName"),
            (value("AAA"), "mapping.base64"), (value("@@@@"), "mapping.base64"),
            (value("AAAA"), "mapping.archive"),
            (value(String(try archived("$source.amount").dropLast(40))), "mapping.archive"),
            (value(try archived("$source.nothing")), "mapping.unknownKeyPath"),
            (value(try archived("1"), name: "nothing"), "mapping.unknownProperty"),
            (value(try archived("1"), name: "account"), "mapping.propertyKind"),
            (
                file(pair, property("a", "amount", of: "1"), property("b", "amount", of: "1")),
                "mapping.duplicateProperty"
            ),
            (
                file(entity("1", ["sourcename": "Trade", "destinationname": "Deal", "mappingnumber": "x"])),
                "mapping.number"
            ),
            (file(entity("1", ["sourcename": "Trade", "destinationname": "Gone"])), "mapping.unknownEntity"),
            (
                file(
                    entity(
                        "1", ["sourcename": "Trade", "destinationname": "Deal", "sourcefilterpredicatestring": "a >"])),
                "mapping.expression"
            ),
            (
                file(entity("1", ["sourcename": "Trade", "destinationname": "Deal", "userinfodata": "AAAA"])),
                "mapping.archive"
            ),
            (
                file(
                    object(
                        "XDDEVENTITYMAPPING", "1", ["sourcename": "Trade", "destinationname": "Deal"],
                        ["mappingmodel": "m", "attributemappings": "z9"])), "mapping.reference"
            ),
            (
                file(
                    pair, entity("2", ["sourcename": "Person", "destinationname": "Person"]),
                    object("XDDEVATTRIBUTEMAPPING", "a", ["name": "amount"], ["entitymapping": "1 2"])),
                "mapping.reference"
            ),
            (file(property("a", "amount", of: "1"), entity("1", ["name": "x"])), "mapping.type"),
        ]
        for (index, item) in cases.enumerated() {
            let error = try failure(item.0)
            #expect(error.code.rawValue == item.1, "\(index): \(error)")
            #expect(error.category == .configuration && error.context.path == "x.xml", "\(index): \(error)")
            #expect(error.context.line != nil || item.1 == "mapping.notAMapping", "\(index): \(error)")
        }
        let named = try failure(value("AAAA"))
        #expect(named.context.objectID == "a" && named.context.property == "amount")
        #expect(named.context.entityMapping == "TradeToDeal")
        #expect((named.cause as? MigrationError)?.code == "archive.format")
    }

    @Test("Hostile XML is refused before it costs anything")
    func hostile() throws {
        let bomb = """
            <!DOCTYPE database [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;">]>
            """
        #expect(try failure(file(prolog: bomb)).code == "mapping.documentType")
        let external = "<!DOCTYPE database [<!ENTITY x SYSTEM \"file:///etc/hostname\">]>"
        #expect(try failure(file("&x;", prolog: external)).code == "mapping.documentType")
        #expect(try failure(file("&x;")).code == "mapping.xml")
        #expect(try failure(file("<object")).code == "mapping.xml")
        #expect(try failure(file(String(repeating: "<a>", count: 100_000))).code.rawValue.hasPrefix("mapping."))
        #expect(try failure("").code.rawValue.hasPrefix("mapping."))
        let large = #expect(throws: MigrationError.self) {
            try XcodeMapping(Array(repeating: 0x20, count: MappingFile.greatestByteCount + 1), path: "x.xml")
        }
        #expect(large?.code == "mapping.tooLarge")
        // Many objects, and one that all share.
        let many = (0..<20_000).map { entity("e\($0)", ["name": "x"]) }.joined()
        #expect(try read(file(many)).entityMappings.isEmpty)
        let shared = (0..<2000).map {
            object(
                "XDDEVENTITYMAPPING", "e\($0)", ["sourcename": "Trade"],
                ["mappingmodel": "m", "attributemappings": "p"])
        }.joined()
        #expect(
            try failure(file(shared, object("XDDEVATTRIBUTEMAPPING", "p", ["name": "x"], [:]))).code
                == "mapping.reference")
    }

    @Test("Mutated files are refused or read, and never more")
    func mutations() throws {
        let seed = RandomSeeds.first
        print("XcodeMappingTests.mutations seed \(seed)")
        var random = SeededGenerator(seed: seed)
        let value = try archived("TERNARY($source.amount > 1, $source.amount * 2, nil)")
        let original = Array(
            file(
                whole.dropFirst(5).joined(), whole[0], whole[1], whole[2], whole[3],
                property("v", "amount", of: "2", ["valueexpressiondata": value])
            ).utf8)
        var (read, refused) = (0, 0)
        for _ in 0..<2000 {
            var bytes = original
            switch random.below(4) {
            case 0: bytes[random.below(bytes.count)] = UInt8(truncatingIfNeeded: random.next())
            case 1: bytes.swapAt(random.below(bytes.count), random.below(bytes.count))
            case 2: bytes.removeSubrange(random.below(bytes.count)..<bytes.count)
            default:
                let start = random.below(bytes.count)
                bytes.removeSubrange(start..<min(bytes.count, start + random.below(60)))
            }
            do {
                let (source, destination) = try models()
                _ = try XcodeMapping(bytes, path: "x.xml").mappingModel(source: source, destination: destination)
                read += 1
            } catch let error as MigrationError {
                #expect(error.category == .configuration, "seed \(seed): \(error)")
                refused += 1
            }
        }
        print("\(read) read, \(refused) refused")
        #expect(read > 50 && refused > 50)
    }

    @Test("A folder, the file in it, and what is neither")
    func files() throws {
        let folder = try TemporaryFolder()
        let (source, destination) = try models()
        func load(_ name: String) throws -> MappingModel {
            try MappingModel.read(path: folder.file(name), sourceModel: source, destinationModel: destination)
        }
        func code(_ name: String) throws -> MigrationError {
            try #require(throws: MigrationError.self) { try load(name) }
        }
        try FileManager.default.createDirectory(
            atPath: folder.file("A.xcmappingmodel"), withIntermediateDirectories: true)
        #expect(try code("A.xcmappingmodel").code == "mapping.notFound")
        try Data(file(whole.joined()).utf8).write(
            to: folder.url.appendingPathComponent("A.xcmappingmodel/xcmapping.xml"))
        #expect(try load("A.xcmappingmodel").entityMappings.count == 4)
        #expect(try load("A.xcmappingmodel/").entityMappings.count == 4)
        #expect(try load("A.xcmappingmodel/xcmapping.xml").entityMappings.count == 4)
        #expect(try code("none.cdm").category == .noInput)
        for (name, text) in [("a.cdm", "x"), ("b.cdm", "bplist00"), ("c.txt", "hello"), ("d.cdm", "")] {
            try Data(text.utf8).write(to: folder.url.appendingPathComponent(name))
            let error = try code(name)
            #expect(error.category == .configuration && error.context.path == folder.file(name), "\(name): \(error)")
        }
        #expect(try code("c.txt").code == "mapping.unknownKind")
    }
}
