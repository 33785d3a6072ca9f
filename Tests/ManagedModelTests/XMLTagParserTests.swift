import Foundation
import FoundationXML
import TestSupport
import Testing

@testable import ManagedModel

@Suite("Reading XML")
struct XMLTagParserTests {
    /// Returns an entry for each tag and each text of a file; nil if it is not well-formed.
    private func scanned(_ bytes: [UInt8]) -> [String]? {
        let handler = TagCollector()
        do { try XMLTagParser.parse(try XMLSource(Data(bytes), path: "model"), into: handler) } catch { return nil }
        return handler.found.entries
    }

    @Test("Line ends, white space, references and character data mean what XML says")
    func values() {
        let text =
            "\u{feff}<?xml version=\"1.0\"?>\r\n<a b='x\r\ny\tz&#10;&#x41;&lt;&quot;' c=\"'\"><!-- <d> -->1\r2\r\n3"
            + "<![CDATA[<&]]>&amp;<?p q?><e/></a >\n<!-- - -->"
        #expect(
            scanned(Array(text.utf8)) == [
                "<a b=x y z\nA<\"|c='>", "1\n2\n3<&&", "<e >", "</>", "</>",
            ])
        for wrong in [
            "<a></b>", "<a b='1' b='2'/>", "<a>&b;</a>", "<a>&#1;</a>", "<a b=\"<\"/>", "<a><!-- -- --></a>", "x<a/>",
            "<a/>x",
            "<a:b/>", "<a>]]></a>", "<a b=1/>", "<a", "<a><!DOCTYPE b></a>", "<?xml encoding='x'?><a/>", "< a/>",
            "<a>\u{1}</a>",
        ] { #expect(scanned(Array(wrong.utf8)) == nil, "\(wrong)") }
    }

    @Test("Models, whole and damaged at random, read as Foundation's parser reads them", arguments: [20_261_122])
    func agreement(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let tokens = [
            "&", ";", "&#10;", "&#0;", "&a;", "&amp;", "<", "</", "/>", "<!--", "-->", "--", "<?a b?>", "<![CDATA[",
            "]]>",
            "\r\n", "\r", "\t", "\"", "'", ">", " ", "=", "é", "<b/>", "<b>", "</b>", " a='1'",
        ]
        for version in ["Library", "Library 2"] {
            let path = ModelFixtures.library + "/\(version).xcdatamodel/contents"
            let whole = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
            #expect(scanned(whole) == FoundationTags.read(whole))
            for _ in 0..<300 {
                var bytes = whole
                // Behind the declaration, whose faults are not told apart.
                let place = Int.random(in: 60..<bytes.count, using: &random)
                switch Int.random(in: 0..<4, using: &random) {
                case 0:
                    bytes.insert(contentsOf: Array(tokens.randomElement(using: &random)?.utf8 ?? "".utf8), at: place)
                case 1: bytes.removeSubrange(place..<min(bytes.count, place + 2))
                case 2: bytes.removeSubrange(place...)
                default: bytes[place] = UInt8(ascii: "&")
                }
                guard String(validating: bytes, as: UTF8.self) != nil else { continue }
                #expect(scanned(bytes) == FoundationTags.read(bytes), "seed \(seed), at \(place)")
            }
        }
    }
}

/// The same by the parser of models.
private final class TagCollector: XMLTagHandler {
    var found = FoundTags()

    func open(_ tag: XMLTag) { found.open(tag.name, tag.attributes) }
    func close() { found.close() }
    func text(_ piece: String) { found.text += piece }
}

/// Tags and texts in order, texts joined.
private struct FoundTags {
    private(set) var entries: [String] = []
    var text = ""

    mutating func open(_ name: String, _ attributes: [String: String]) {
        flush()
        let list = attributes.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: "|")
        entries.append("<\(name) \(list)>")
    }

    mutating func close() {
        flush()
        entries.append("</>")
    }

    mutating func flush() {
        if !text.isEmpty { entries.append(text) }
        text = ""
    }
}

/// The same by Foundation's parser.
private final class FoundationTags: NSObject, XMLParserDelegate {
    private var found = FoundTags()

    static func read(_ bytes: [UInt8]) -> [String]? {
        let tags = FoundationTags()
        let parser = XMLParser(data: Data(bytes))
        parser.delegate = tags
        _ = parser.parse()
        guard parser.parserError == nil else { return nil }
        let entries = tags.found.entries
        let opened = entries.count { $0.hasPrefix("<") && $0 != "</>" }
        return opened > 0 && opened == entries.count { $0 == "</>" } ? entries : nil
    }

    func parser(
        _ parser: XMLParser, didStartElement elementName: String, namespaceURI: String?, qualifiedName qName: String?,
        attributes attributeDict: [String: String]
    ) { found.open(elementName, attributeDict) }

    func parser(
        _ parser: XMLParser, didEndElement elementName: String, namespaceURI: String?, qualifiedName qName: String?
    ) { found.close() }

    func parser(_ parser: XMLParser, foundCharacters string: String) { found.text += string }

    func parser(_ parser: XMLParser, foundCDATA data: Data) {
        found.text += String(decoding: data, as: UTF8.self)
    }
}
