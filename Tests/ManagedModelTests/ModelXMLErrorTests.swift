import Diagnostics
import Foundation
import Testing

@testable import ManagedModel

@Suite("Errors of model XML name code, line, entity and property")
struct ModelXMLErrorTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var code: String
        var line: Int
        var entity: String?
        var property: String?
        var body: String

        init(_ code: String, line: Int, _ entity: String?, _ property: String?, _ body: String) {
            self.code = code
            self.line = line
            self.entity = entity
            self.property = property
            self.body = body
        }

        init(_ code: String, line: Int, _ body: String) {
            self.init(code, line: line, nil, nil, body)
        }

        var testDescription: String { "\(code): \(body)" }
    }

    /// An entity A around a body; the body's first line is line 4 of the file.
    private static func entity(_ body: String) -> String { "<entity name=\"A\">\n\(body)\n</entity>" }

    static let cases: [Case] = [
        Case("model.missingAttribute", line: 3, "<entity/>"),
        Case("model.missingAttribute", line: 3, "<entity name=\"\"/>"),
        Case("model.missingAttribute", line: 4, "A", nil, entity("<attribute attributeType=\"String\"/>")),
        Case(
            "model.missingAttribute", line: 5, "A", "r",
            entity("<attribute name=\"a\" attributeType=\"String\"/>\n<relationship name=\"r\"/>")),
        Case(
            "model.missingAttribute", line: 4, "A", "d",
            entity("<attribute name=\"d\" attributeType=\"String\" derived=\"YES\"/>")),
        Case(
            "model.missingAttribute", line: 4, "A", "c", entity("<attribute name=\"c\" attributeType=\"Composite\"/>")),
        Case(
            "model.missingAttribute", line: 5, "A", "i",
            entity("<fetchIndex name=\"i\">\n<fetchIndexElement/></fetchIndex>")),
        Case("model.unknownType", line: 4, "A", "a", entity("<attribute name=\"a\" attributeType=\"Integer 128\"/>")),
        Case("model.untyped", line: 4, "A", "a", entity("<attribute name=\"a\"/>")),
        Case(
            "model.invalidFlag", line: 4, "A", "a",
            entity("<attribute name=\"a\" optional=\"MAYBE\" attributeType=\"String\"/>")),
        Case(
            "model.invalidNumber", line: 4, "A", "r",
            entity("<relationship name=\"r\" destinationEntity=\"A\" minCount=\"few\"/>")),
        Case(
            "model.invalidNumber", line: 4, "A", "a",
            entity("<attribute name=\"a\" attributeType=\"Date\" defaultDateTimeInterval=\"nan\"/>")),
        Case(
            "model.invalidChoice", line: 4, "A", "r",
            entity("<relationship name=\"r\" destinationEntity=\"A\" deletionRule=\"Explode\"/>")),
        Case(
            "model.invalidChoice", line: 5, "A", "i",
            entity("<fetchIndex name=\"i\">\n<fetchIndexElement property=\"a\" order=\"up\"/></fetchIndex>")),
        Case(
            "model.invalidDefault", line: 4, "A", "a",
            entity("<attribute name=\"a\" attributeType=\"Integer 16\" defaultValueString=\"32768\"/>")),
        Case(
            "model.invalidDefault", line: 4, "A", "a",
            entity("<attribute name=\"a\" attributeType=\"Integer 32\" defaultValueString=\"1.5\"/>")),
        Case(
            "model.invalidDefault", line: 4, "A", "a",
            entity("<attribute name=\"a\" attributeType=\"Double\" defaultValueString=\"0x10\"/>")),
        Case(
            "model.invalidDefault", line: 4, "A", "a",
            entity("<attribute name=\"a\" attributeType=\"Decimal\" defaultValueString=\"1.5x\"/>")),
        Case(
            "model.invalidDefault", line: 4, "A", "a",
            entity("<attribute name=\"a\" attributeType=\"Boolean\" defaultValueString=\"2\"/>")),
        Case(
            "model.invalidDefault", line: 4, "A", "a",
            entity("<attribute name=\"a\" attributeType=\"Date\" defaultValueString=\"yesterday\"/>")),
        Case(
            "model.invalidBound", line: 4, "A", "a",
            entity("<attribute name=\"a\" attributeType=\"String\" maxValueString=\"-1\"/>")),
        Case(
            "model.invalidBound", line: 4, "A", "a",
            entity("<attribute name=\"a\" attributeType=\"Integer 32\" minValueString=\"low\"/>")),
        Case(
            "model.invalidBound", line: 4, "A", "a",
            entity("<attribute name=\"a\" attributeType=\"Date\" minValueString=\"today\"/>")),
        Case("model.misplacedElement", line: 3, "<attribute name=\"a\" attributeType=\"String\"/>"),
        Case(
            "model.misplacedElement", line: 4, "A", nil, entity("<entity name=\"B\"/>")),
        Case("model.duplicateName", line: 4, "<configuration name=\"C\"/>\n<configuration name=\"C\"/>"),
        Case("model.duplicateName", line: 4, "<composite name=\"C\"/>\n<composite name=\"C\"/>"),
        // Found when names are resolved; the line is found again.
        Case("model.duplicateEntity", line: 4, "A", nil, "<entity name=\"A\"/>\n<entity name=\"A\"/>"),
        Case("model.invalidName", line: 3, "A (", nil, "<entity name=\"A (\"/>"),
        Case("model.invalidName", line: 4, "A", "x y", entity("<attribute name=\"x y\" attributeType=\"String\"/>")),
        Case("model.unknownSuperentity", line: 3, "A", nil, "<entity name=\"A\" parentEntity=\"B\"/>"),
        Case(
            "model.inheritanceCycle", line: 3, "A", nil,
            "<entity name=\"A\" parentEntity=\"B\"/>\n<entity name=\"B\" parentEntity=\"A\"/>"),
        Case(
            "model.duplicateProperty", line: 5, "A", "a",
            entity(
                "<attribute name=\"a\" attributeType=\"String\"/>\n<relationship name=\"a\" destinationEntity=\"A\"/>")),
        Case(
            "model.redeclaredProperty", line: 7, "B", "a",
            entity("<attribute name=\"a\" attributeType=\"String\"/>")
                + "\n<entity name=\"B\" parentEntity=\"A\">\n<attribute name=\"a\" attributeType=\"String\"/></entity>"),
        Case(
            "model.unknownDestination", line: 4, "A", "r",
            entity("<relationship name=\"r\" destinationEntity=\"Nobody\"/>")),
        Case(
            "model.unknownInverse", line: 4, "A", "r",
            entity("<relationship name=\"r\" destinationEntity=\"A\" inverseName=\"s\" inverseEntity=\"A\"/>")),
        Case(
            "model.relationshipCount", line: 4, "A", "r",
            entity("<relationship name=\"r\" destinationEntity=\"A\" toMany=\"YES\" minCount=\"3\" maxCount=\"2\"/>")),
        Case(
            "model.relationshipCount", line: 4, "A", "r",
            entity("<relationship name=\"r\" destinationEntity=\"A\" maxCount=\"2\"/>")),
        Case(
            "model.relationshipCount", line: 4, "A", "r",
            entity("<relationship name=\"r\" destinationEntity=\"A\" minCount=\"-2\"/>")),
        Case(
            "model.unknownConstraintProperty", line: 3, "A", "q",
            entity(
                "<uniquenessConstraints><uniquenessConstraint><constraint value=\"q\"/></uniquenessConstraint>"
                    + "</uniquenessConstraints>")),
        Case(
            "model.unknownComposite", line: 4, "A", "c",
            entity("<attribute name=\"c\" attributeType=\"Composite\" composite=\"None\"/>")),
    ]

    @Test("Each fault is found with its place", arguments: cases)
    func each(_ example: Case) throws {
        let error = try #require(ModelFixtures.failure(example.body))
        #expect(error.code.rawValue == example.code)
        #expect(error.category == .configuration)
        #expect(error.context.path == "dir/contents")
        #expect(error.context.line == example.line)
        #expect(error.context.column == 1)
        #expect(error.context.entity == example.entity)
        #expect(error.context.property == example.property)
        #expect(error.remedy?.isEmpty == false)
    }

    @Test("The column is that of the tag, in characters")
    func column() throws {
        let error = try #require(
            ModelFixtures.failure("<entity name=\"Ä\"><attribute name=\"a\" attributeType=\"?\"/></entity>"))
        #expect(error.context.line == 3)
        #expect(error.context.column == 18)
    }

    @Test("A tag is found behind comments, CDATA, instructions and values with angle brackets")
    func tagPositions() throws {
        let body = """
            <!-- <entity name="X"/> --><![CDATA[ <a> ]]><?pi <b> ?>
            <entity name="A" representedClassName="A>B">
                <userInfo><entry key="k" value='">"'/></userInfo>
                <attribute
                    name="a" attributeType="?"/>
            </entity>
            """
        let error = try #require(ModelFixtures.failure(body))
        #expect(error.context.line == 6)
        #expect(error.context.column == 5)
    }

    @Test("A composite that holds itself, and a configuration of nobody, are refused")
    func withoutEntity() throws {
        let cycle = try #require(
            ModelFixtures.failure(
                """
                <composite name="P"><attribute name="q" attributeType="Composite" composite="Q"/></composite>
                <composite name="Q"><attribute name="p" attributeType="Composite" composite="P"/></composite>
                """))
        #expect(cycle.code == "model.compositeCycle")
        #expect(cycle.context.line == 4)
        let stray = try #require(
            ModelFixtures.failure("<configuration name=\"C\"><memberEntity name=\"Z\"/></configuration>"))
        #expect(stray.code == "model.unknownConfigurationEntity")
        #expect(stray.context.entity == "Z")
        #expect(stray.context.line == 3)
    }

    @Test("Another root element is refused")
    func anotherRoot() throws {
        let error = try #require(ModelFixtures.failure(Data("<plist version=\"1.0\"/>".utf8)))
        #expect(error.code == "model.notAModel")
        #expect(error.context.line == 1)
    }

    @Test("Text that is no XML is refused with a line")
    func notXML() throws {
        for text in [
            "", " ", "bplist00", "<model", "<model>\n<entity name=\"A\">\n</model>", "<model/><model/>", "&;",
            "<model/>x",
            "<model><![CDATA[</model>", "<model><entity name=A/></model>", "<model><entity name=\"A\"",
            "<model>]]></model>", "<model a:b=\"1\"/>",
            "<model a=\"1\"b=\"2\"/>", "<model a=\"1\" a=\"2\"/>", "<model a=\"<\"/>", "<model>&#0;</model>",
        ] {
            let error = try #require(ModelFixtures.failure(Data(text.utf8)), "\(text)")
            #expect(error.code == "model.xml", "\(text)")
            #expect(error.category == .configuration)
            #expect((error.context.line ?? 0) >= 1)
        }
        let mismatch = try #require(ModelFixtures.failure(Data("<model>\n<entity name=\"A\">\n</model>".utf8)))
        #expect(mismatch.context.line == 3)
    }
}
