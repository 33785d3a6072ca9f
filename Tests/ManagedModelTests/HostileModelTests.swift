import Diagnostics
import Foundation
import TestSupport
import Testing

@testable import ManagedModel

@Suite("Hostile model files end in an error, never in a crash")
struct HostileModelTests {
    @Test("Entity declarations are refused before a parser sees them (billion laughs)")
    func billionLaughs() throws {
        var text = "<?xml version=\"1.0\"?>\n<!DOCTYPE lolz [\n<!ENTITY lol0 \"lol\">\n"
        for level in 1...9 {
            let references = String(repeating: "&lol\(level - 1);", count: 10)
            text += "<!ENTITY lol\(level) \"\(references)\">\n"
        }
        text += "]>\n<model><entity name=\"&lol9;\"/></model>"
        let error = try #require(ModelFixtures.failure(Data(text.utf8)))
        #expect(error.code == "model.documentType")
        #expect(error.category == .configuration)
        #expect(error.context.line == 2)
        #expect(error.context.column == 1)
    }

    @Test("An external entity is refused, and its file never read")
    func externalEntity() throws {
        let folder = try TemporaryFolder()
        let secret = folder.file("secret.txt")
        try Data("SECRET".utf8).write(to: URL(fileURLWithPath: secret))
        let text = """
            <!DOCTYPE model [ <!ENTITY s SYSTEM "file://\(secret)"> ]>
            <model userDefinedModelVersionIdentifier="1">&s;</model>
            """
        let error = try #require(ModelFixtures.failure(Data(text.utf8)))
        #expect(error.code == "model.documentType")
        #expect(!error.description.contains("SECRET"))
    }

    @Test(
        "A processing instruction without data is passed over or an error",
        arguments: ["<?a?>", "<?xm?>", "<?xml?>", "<??>", "<?a b?><?c?>", "<?a", "<?a?"])
    func emptyInstruction(instruction: String) throws {
        let inside = "<model><entity name=\"A\"/>\(instruction)</model>"
        for text in [inside, instruction + "<model><entity name=\"A\"/></model>"] {
            guard let error = ModelFixtures.failure(Data(text.utf8)) else { continue }
            #expect(error.code == "model.xml", "\(text): \(error)")
        }
        #expect(ModelFixtures.failure(Data("<?a?><model><entity name=\"A\"/><?b?></model>".utf8)) == nil)
    }

    @Test("An undeclared entity is an error")
    func undeclaredEntity() throws {
        for body in ["&nobody;", "<entity name=\"A\" representedClassName=\"&nobody;\"/>", "<entity name=\"A&b;\"/>"] {
            #expect(ModelFixtures.failure(body)?.code == "model.xml", "\(body)")
        }
    }

    @Test("A document type cannot hide in another encoding")
    func encodings() throws {
        let text = "<?xml version=\"1.0\" encoding=\"UTF-16\"?><!DOCTYPE model [<!ENTITY a \"b\">]><model/>"
        let encodings: [String.Encoding] = [
            .utf16, .utf16LittleEndian, .utf16BigEndian, .utf32, .utf32LittleEndian, .utf32BigEndian,
        ]
        for encoding in encodings {
            let data = try #require(text.data(using: encoding))
            #expect(ModelFixtures.failure(data)?.code == "model.encoding", "\(encoding)")
        }
        for name in ["UTF-16", "UTF-7", "ISO-8859-1", "EBCDIC-US", "shift_jis"] {
            let data = Data("<?xml version=\"1.0\" encoding='\(name)'?><model/>".utf8)
            #expect(ModelFixtures.failure(data)?.code == "model.encoding", "\(name)")
        }
        #expect(ModelFixtures.failure(Data([0x4C, 0x6F, 0xA7, 0x94, 0x93]))?.code == "model.encoding")
        #expect(ModelFixtures.failure(Data("<model a=\"\u{FC}\"/>".utf8)) == nil)
        let latin = Data(Array("<model a=\"".utf8) + [0xFC] + Array("\"/>".utf8))
        #expect(ModelFixtures.failure(latin)?.code == "model.encoding")
    }

    @Test("Depth is bounded")
    func depth() throws {
        let nested = String(repeating: "<x>", count: 100_000)
        let error = try #require(ModelFixtures.failure(Data("<model>\(nested)".utf8)))
        #expect(error.code == "model.tooDeep")
        #expect(error.context.line == 1)
    }

    @Test("Size is bounded")
    func size() throws {
        let data = Data(count: XMLSource.greatestByteCount + 1)
        let error = try #require(ModelFixtures.failure(data))
        #expect(error.code == "model.tooLarge")
        #expect(error.category == .configuration)
    }

    @Test("A chain of parents is bounded")
    func inheritanceDepth() throws {
        func chain(_ levels: Int) -> String {
            (0...levels).map {
                "<entity name=\"E\($0)\"" + ($0 == 0 ? "/>" : " parentEntity=\"E\($0 - 1)\"/>")
            }.joined()
        }
        let deepest = try ModelFixtures.model(chain(ModelChecks.greatestDepth))
        #expect(VersionHash.entityHashes(of: deepest).count == ModelChecks.greatestDepth + 1)
        #expect(ModelFixtures.failure(chain(ModelChecks.greatestDepth + 1))?.code == "model.inheritanceDepth")
        #expect(ModelFixtures.failure(chain(20_000))?.code == "model.inheritanceDepth")
    }

    @Test("Inherited properties are bounded")
    func inheritedProperties() throws {
        var definition = ModelDefinition()
        var parent = EntityDefinition(name: "P")
        parent.attributes = (0..<2000).map { AttributeDefinition(name: "a\($0)", type: .string) }
        definition.entities = [parent]
        for index in 0..<600 {
            var child = EntityDefinition(name: "C\(index)")
            child.superentityName = "P"
            definition.entities.append(child)
        }
        let error = #expect(throws: MigrationError.self) { try ManagedObjectModel(definition) }
        #expect(error?.code == "model.tooManyProperties")
    }

    @Test("Every truncation of a model is an error with a line", arguments: ["Library 2", "Library"])
    func truncations(version: String) throws {
        let data = try Data(
            contentsOf: URL(fileURLWithPath: ModelFixtures.library + "/\(version).xcdatamodel/contents"))
        let whole = data.count - 1
        for length in stride(from: 0, to: whole, by: 7) {
            let error = try #require(ModelFixtures.failure(data.prefix(length)), "length \(length)")
            #expect(error.code == "model.xml", "length \(length)")
            #expect((error.context.line ?? 0) >= 1, "length \(length)")
        }
    }

    /// Tokens that mean something to XML parsers.
    private static let tokens = [
        "&", ";", "&#xD800;", "&#xFFFE;", "&#x1F600;", "&#0;", "&a;", "&amp;", "<", "</", "/>", "<!", "<!--", "-->",
        "<?", "?>", "<![CDATA[", "]]>", "<!ENTITY a 'b'>", "<!DOCTYPE m>", "xmlns=''", " xmlns:a='b'", " a:b='c'", ":",
        "'", "\"", "\u{E9}", "\u{1F600}", "\u{FFFF}", "\u{85}", "\r", "\n", "\0",
    ]

    @Test("Mutated bytes give a model or an error with a line")
    func mutations() throws {
        let seed: UInt64 = 0x5EED_0002
        var random = SeededGenerator(seed: seed)
        let original = [UInt8](
            try Data(
                contentsOf: URL(
                    fileURLWithPath: ModelFixtures.everything + "/Everything.xcdatamodel/contents")))
        var refused = 0
        for round in 0..<2000 {
            var bytes = original
            for _ in 0...random.below(4) {
                let place = random.below(bytes.count)
                switch random.below(5) {
                case 0: bytes[place] = UInt8.random(in: 0...255, using: &random)
                case 1: bytes.remove(at: place)
                case 2: bytes.insert(UInt8.random(in: 0...255, using: &random), at: place)
                case 3: bytes.insert(contentsOf: Self.tokens[random.below(Self.tokens.count)].utf8, at: place)
                default:
                    let end = min(bytes.count, place + random.below(200))
                    let piece = Array(bytes[place..<end])
                    bytes.insert(contentsOf: piece, at: random.below(bytes.count))
                }
            }
            guard let error = ModelFixtures.failure(Data(bytes)) else { continue }
            refused += 1
            #expect(error.category == .configuration, "seed \(seed), round \(round)")
            #expect((error.context.line ?? 0) >= 1, "seed \(seed), round \(round): \(error)")
        }
        #expect(refused > 500)
    }
}
