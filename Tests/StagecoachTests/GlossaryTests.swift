import Foundation
import TestSupport
import Testing

/// The words that the glossary retires.
@Suite("Glossary")
struct GlossaryTests {
    private static var sources: URL { SharedStores.repository.appendingPathComponent("Sources") }

    /// The words in backquotes of a sentence of the glossary.
    private static func listed(after beginning: String) throws -> Set<String> {
        let glossary = try String(
            contentsOf: sources.appendingPathComponent("Stagecoach/Stagecoach.docc/Glossary.md"), encoding: .utf8)
        let start = try #require(glossary.range(of: beginning), "the glossary has no sentence '\(beginning) …'")
        let sentence = glossary[start.upperBound...].prefix { $0 != "." }
        return Set(sentence.matches(of: /`([A-Za-z]+)`/).map { String($0.1) })
    }

    /// The words of which a name is made, in small letters.
    static func parts(of name: String) -> [String] {
        name.matches(of: /[A-Z]+(?![a-z])|[A-Z]?[a-z]+/).map { $0.0.lowercased() }
    }

    @Test("A name is divided where its capitals are")
    func division() {
        #expect(Self.parts(of: "endTurn") == ["end", "turn"])
        #expect(Self.parts(of: "EarlierRun") == ["earlier", "run"])
        #expect(Self.parts(of: "return") == ["return"])
        #expect(Self.parts(of: "_scene2") == ["scene"])
    }

    @Test("No name in the sources has a word that the glossary retires")
    func names() throws {
        let retired = try Self.listed(after: "Names in the sources have none of these words:")
        let kept = try Self.listed(after: "Foundation give keep theirs:")
        #expect(retired.count >= 6 && kept.count >= 3)
        let files = try SourceRooms.sources(in: Self.sources)
        #expect(files.count > 500)
        for (file, text) in files {
            let words = Set(SourceRooms.words(in: text)).subtracting(kept)
            for word in words where !retired.isDisjoint(with: Self.parts(of: word)) {
                Issue.record("\(file): \(word)")
            }
        }
    }
}
