import Diagnostics
import Foundation
import Testing

@testable import ManagedModel

@Suite("Version hashes")
struct VersionHashTests {
    private func hashes(_ body: String) throws -> [String: EntityVersionHash] {
        VersionHash.entityHashes(of: try ModelFixtures.model(body))
    }

    @Test("The worked example: User of SampleModel3_V1")
    func workedExample() throws {
        let model = try ModelFixtures.model(
            """
            <entity name="User">
                <attribute name="petName" optional="YES" attributeType="String"/>
                <attribute name="name" attributeType="String"/>
            </entity>
            """)
        let user = try #require(model.entity(named: "User"))
        let properties = VersionHash.propertyHashes(of: user).compactMapValues { $0.bytes?.hexadecimal.prefix(8) }
        #expect(properties == ["name": "8cb9965c", "petName": "3600ceed"])
        let known = model.entityVersionHashesByName.mapValues { [UInt8]($0) }
        #expect(
            known["User"]?.hexadecimal == "6b31f4e97b691d16c4c820bae55f89408d47013bd42151ecfde1eac7fe4be798")
        #expect(model.versionChecksum == "u970QgYhRHEJGIt0zQr1UhuZL2ZJ1KxBS+B7rkAx0ik=")
        #expect(
            VersionHash.digest(of: known)
                == "0KLB/FnL8roMcgeszeCxnPnvYqnn4VzB2DpFP6csqrDKzLB6fyG5rrVfjY5DtnQxx4355oWuKFublPf2Jo1UWg==")
    }

    /// Entity A with an attribute `a`, a relationship `r` to B and its inverse; each part can be replaced.
    private func body(
        entity: String = "", attribute: String = "attributeType=\"String\"",
        relationship: String = "maxCount=\"1\" destinationEntity=\"B\" inverseName=\"s\"", rest: String = "",
        base: String = ""
    ) -> String {
        """
        <entity name="P"><attribute name="p" \(base) attributeType="Date"/></entity>
        <entity name="A" parentEntity="P" \(entity)><attribute name="a" \(attribute)/>
            <relationship name="r" \(relationship)/>\(rest)</entity>
        <entity name="B"><relationship name="s" toMany="YES" destinationEntity="A" inverseName="r"/>
            <relationship name="t" toMany="YES" destinationEntity="A" inverseName="r"/></entity>
        """
    }

    @Test("Properties that Core Data hashes change the hash")
    func sensitive() throws {
        var seen: [EntityVersionHash?] = [try hashes(body())["A"]]
        let variants = [
            body(entity: "isAbstract=\"YES\""), body(entity: "versionHashModifier=\"x\""),
            body(attribute: "attributeType=\"URI\""), body(attribute: "attributeType=\"String\" optional=\"YES\""),
            body(attribute: "attributeType=\"String\" transient=\"YES\""),
            body(attribute: "attributeType=\"String\" versionHashModifier=\"x\""),
            body(attribute: "attributeType=\"Binary\""),
            body(attribute: "attributeType=\"Binary\" allowsExternalBinaryDataStorage=\"YES\""),
            body(relationship: "destinationEntity=\"B\""),
            body(relationship: "destinationEntity=\"B\" inverseName=\"t\""),
            body(relationship: "destinationEntity=\"A\""),
            body(relationship: "toMany=\"YES\" destinationEntity=\"B\" inverseName=\"s\""),
            body(relationship: "toMany=\"YES\" ordered=\"YES\" destinationEntity=\"B\" inverseName=\"s\""),
            body(relationship: "toMany=\"YES\" maxCount=\"5\" destinationEntity=\"B\" inverseName=\"s\""),
            body(relationship: "minCount=\"1\" destinationEntity=\"B\" inverseName=\"s\""),
            body(relationship: "optional=\"YES\" destinationEntity=\"B\" inverseName=\"s\""),
            body(relationship: "versionHashModifier=\"x\" destinationEntity=\"B\" inverseName=\"s\""),
            body(relationship: "transient=\"YES\" destinationEntity=\"B\" inverseName=\"s\""),
            body(rest: "<attribute name=\"b\" attributeType=\"String\"/>"),
            body(
                rest: "<uniquenessConstraints><uniquenessConstraint><constraint value=\"a\"/></uniquenessConstraint>"
                    + "</uniquenessConstraints>"),
            // A parent's property changes the children.
            body(base: "optional=\"YES\""),
        ]
        for variant in variants {
            let hash = try hashes(variant)["A"]
            #expect(hash?.bytes?.count == VersionHash.byteCount)
            #expect(!seen.contains(hash), "\(variant)")
            seen.append(hash)
        }
    }

    @Test("Properties that Core Data does not hash do not change the hash")
    func insensitive() throws {
        let plain = try hashes(body())
        let variants = [
            body(entity: "representedClassName=\"X\" elementID=\"Old\""),
            body(attribute: "attributeType=\"String\" defaultValueString=\"x\" minValueString=\"1\" elementID=\"b\""),
            body(attribute: "attributeType=\"String\" indexed=\"YES\" regularExpressionString=\"x\""),
            body(relationship: "maxCount=\"1\" deletionRule=\"Cascade\" destinationEntity=\"B\" inverseName=\"s\""),
            body(rest: "<userInfo><entry key=\"k\" value=\"v\"/></userInfo>"),
            body(rest: "<fetchedProperty name=\"f\"><fetchRequest name=\"n\" entity=\"B\"/></fetchedProperty>"),
            body(rest: "<fetchIndex name=\"i\"><fetchIndexElement property=\"a\"/></fetchIndex>"),
            body(rest: "<attribute name=\"q\" transient=\"YES\"/>"),
        ]
        for variant in variants { #expect(try hashes(variant) == plain, "\(variant)") }
    }

    @Test("The name of an inverse that is the relationship itself does not enter")
    func ownInverse() throws {
        let own = try hashes(
            "<entity name=\"A\"><relationship name=\"r\" toMany=\"YES\" destinationEntity=\"A\" inverseName=\"r\"/></entity>"
        )
        let none = try hashes(
            "<entity name=\"A\"><relationship name=\"r\" toMany=\"YES\" destinationEntity=\"A\"/></entity>")
        #expect(own == none)
        // A relationship of the same name on another entity is another relationship.
        let pair = try ModelFixtures.model(
            """
            <entity name="A"><relationship name="r" destinationEntity="B" inverseName="r"/></entity>
            <entity name="B"><relationship name="r" destinationEntity="A" inverseName="r"/></entity>
            """)
        let lone = try ModelFixtures.model(
            """
            <entity name="A"><relationship name="r" destinationEntity="B"/></entity>
            <entity name="B"><relationship name="r" destinationEntity="A"/></entity>
            """)
        #expect(VersionHash.entityHashes(of: pair) != VersionHash.entityHashes(of: lone))
    }

    @Test("Several constraints count in any order")
    func constraints() throws {
        func text(_ names: [String]) -> String {
            let list = names.map { "<uniquenessConstraint><constraint value=\"\($0)\"/></uniquenessConstraint>" }
            return """
                <entity name="A"><attribute name="a" attributeType="String"/><attribute name="b" attributeType="String"/>
                <uniquenessConstraints>\(list.joined())</uniquenessConstraints></entity>
                """
        }
        #expect(try hashes(text(["a", "b"])) == hashes(text(["b", "a"])))
    }

    @Test(
        "A derivation of an unknown form makes its entity's hash unknown, and those of all descendants, and of nobody else"
    )
    func derived() throws {
        let model = try ModelFixtures.model(
            """
            <entity name="A"><attribute name="n" attributeType="String" derived="YES" derivationExpression="uppercase:(t)"/>
            <attribute name="t" attributeType="String"/></entity>
            <entity name="B" parentEntity="A"/>
            <entity name="C" parentEntity="B"/>
            <entity name="D"><relationship name="a" destinationEntity="A"/></entity>
            """)
        let hashes = VersionHash.entityHashes(of: model)
        for name in ["A", "B", "C"] {
            #expect(hashes[name]?.reason?.hasPrefix("A.n is derived") == true)
            #expect(hashes[name]?.bytes == nil)
        }
        #expect(hashes["D"]?.reason == nil)
        #expect(model.entityVersionHashesByName.keys.sorted() == ["D"])
        #expect(model.versionChecksum == nil)
    }

    @Test(
        "A derived attribute's hash is that of its expression's text, whatever its name, type and flags",
        arguments: [
            ("pages.@count", "count:(pages)"), ("count:(pages)", "count:(pages)"),
            ("canonical:( name )", "canonical:(name)"),
            ("now()", "now()"), ("other.serverId", "other.serverId"),
        ])
    func derivedText(expression: String, text: String) {
        var function = SHA256()
        function.update(text)
        var attribute = AttributeDefinition(name: "a", type: .integer64)
        attribute.derivationExpression = expression
        let hash = VersionHash.hash(of: attribute)
        #expect(hash == .known(function.finalize()))
        attribute.name = "b"
        attribute.type = .string
        attribute.isOptional.toggle()
        #expect(VersionHash.hash(of: attribute) == hash)
        attribute.versionHashModifier = "2"
        #expect(VersionHash.hash(of: attribute).reason?.hasPrefix("is derived by \(expression)") == true)
    }

    @Test("The hash of count:(pages) is the one that SampleModel2 shows")
    func knownDerivation() {
        var attribute = AttributeDefinition(name: "pagesCount", type: .integer64)
        attribute.derivationExpression = "pages.@count"
        #expect(VersionHash.hash(of: attribute).bytes?.hexadecimal.hasPrefix("50081597fb1d6648") == true)
    }

    @Test("A composite's hash is that of its elements by name, without its own name and flags")
    func composite() {
        let x = AttributeDefinition(name: "x", type: .double)
        let a = AttributeDefinition(name: "a", type: .string)
        var point = AttributeDefinition(name: "place", type: .composite)
        point.compositeName = "P"
        var function = SHA256()
        for element in [a, x] { function.update(VersionHash.hash(of: element).bytes ?? []) }
        #expect(VersionHash.hash(of: point, composites: ["P": [x, a]]) == .known(function.finalize()))
        point.name = "other"
        point.isOptional.toggle()
        #expect(VersionHash.hash(of: point, composites: ["P": [a, x]]).bytes != nil)
        // Composites in composites, and modifiers, show in no file.
        #expect(VersionHash.hash(of: point, composites: ["P": [a, point]]).reason?.hasPrefix("is composite") == true)
        point.versionHashModifier = "2"
        #expect(VersionHash.hash(of: point, composites: ["P": [x, a]]).bytes == nil)
    }

    @Test("Object IDs make the hash unknown")
    func unknownTypes() throws {
        let composite = try hashes(
            """
            <entity name="A"><attribute name="c" attributeType="Composite" composite="P"/></entity>
            <composite name="P"><attribute name="x" attributeType="Double"/></composite>
            """)
        #expect(composite["A"]?.bytes != nil)
        let objectID = try hashes("<entity name=\"A\"><attribute name=\"o\" attributeType=\"ObjectID\"/></entity>")
        #expect(objectID["A"]?.reason?.hasPrefix("A.o is an object ID") == true)
    }

    @Test("The own models have the hashes they had, all known in Library")
    func fixtures() throws {
        let first = try ModelLocator.load(ModelFixtures.library + ":Library").model
        let second = try ModelLocator.load(ModelFixtures.library).model
        #expect(first.entityVersionHashesByName.count == 6)
        #expect(second.entityVersionHashesByName.count == 7)
        let old = first.entityVersionHashesByName
        let new = second.entityVersionHashesByName
        // Tags and items only know each other, and did not change.
        #expect(old["Tag"] == new["Tag"] && old["Item"] == new["Item"] && old["Article"] == new["Article"])
        #expect(old["Book"] != new["Book"] && old["Author"] != new["Author"])
        let everything = VersionHash.entityHashes(of: try ModelLocator.load(ModelFixtures.everything).model)
        #expect(everything["Sample"]?.bytes == nil)
        #expect(everything["Part"]?.bytes != nil && everything["Wheel"]?.bytes != nil)
    }

    @Test("Digest and checksum sort by code point, upper case first")
    func order() {
        let hashes: [String: [UInt8]] = ["SyncFeature": [1], "Syncable": [2]]
        var expected = SHA256()
        expected.update([1, 2])
        #expect(VersionHash.checksum(of: hashes) == Data(expected.finalize()).base64EncodedString())
        var digest = SHA512()
        digest.update("SyncFeature".utf8)
        digest.update([1])
        digest.update("Syncable".utf8)
        digest.update([2])
        #expect(VersionHash.digest(of: hashes) == Data(digest.finalize()).base64EncodedString())
        #expect(VersionHash.checksum(of: [:]) == "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=")
    }
}
