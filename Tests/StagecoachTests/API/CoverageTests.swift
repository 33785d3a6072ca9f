import Foundation
import TestSupport
import Testing

/// The table of Core Data's parts names tests that are there.
@Suite("The table of Core Data's parts")
struct CoverageTests {
    @Test("Every row names a test, and every test that is named exists")
    func tests() throws {
        let root = SharedStores.repository
        let table = try String(
            contentsOf: root.appendingPathComponent("Sources/Stagecoach/Stagecoach.docc/CoreDataCoverage.md"),
            encoding: .utf8)
        let functions = try functions(below: root.appendingPathComponent("Tests").path)
        var rows = 0
        let parts = table.components(separatedBy: "## What is not here")
        #expect(parts.count == 2)
        for line in parts[0].split(separator: "\n") where line.hasPrefix("| ") && !line.hasSuffix("| Test |") {
            let cell = line.split(separator: "|").last.map(String.init) ?? ""
            let names = cell.split(separator: ",").map { $0.trimmingCharacters(in: CharacterSet(charactersIn: " `")) }
            #expect(!names.isEmpty && !cell.trimmingCharacters(in: .whitespaces).isEmpty, "no test: \(line)")
            for name in names { #expect(functions.contains(name), "no test \(name): \(line)") }
            rows += 1
        }
        #expect(rows > 60)
    }

    /// `Suite/function` of everything that a file declares, by its first type; good enough for one suite a file.
    private func functions(below folder: String) throws -> Set<String> {
        var found: Set<String> = []
        for name in try FileManager.default.subpathsOfDirectory(atPath: folder) where name.hasSuffix("Tests.swift") {
            var suite = ""
            var isTest = false
            for line in try String(contentsOfFile: folder + "/" + name, encoding: .utf8).split(separator: "\n") {
                let words = line.split { !$0.isLetter && !$0.isNumber && $0 != "_" && $0 != "@" }.map(String.init)
                if words.contains("@Test") { isTest = true }
                if let type = words.firstIndex(where: { $0 == "struct" || $0 == "class" }), type + 1 < words.count,
                    words[type + 1].hasSuffix("Tests")
                {
                    suite = words[type + 1]
                }
                if isTest, words.first == "func", words.count > 1 {
                    found.insert("\(suite)/\(words[1])")
                    isTest = false
                }
            }
        }
        return found
    }
}
