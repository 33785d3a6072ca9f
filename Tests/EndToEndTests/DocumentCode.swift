import Foundation
import TestSupport

/// The code of a document: its fenced blocks, each with the comments directly above it.
///
/// - `<!-- before: … -->`: code that the reader has, and the page need not show; it comes before the block's own.
/// - `<!-- file: NAME -->`: the block is a file of that name, for the blocks after it.
/// - `<!-- not run: why -->`: the block is neither compiled nor run.
struct DocumentCode {
    struct Block {
        /// The line of its fence, from 1.
        var line: Int
        var language: String
        var text: String
        var before = ""
        var file: String?
        var notRun: String?
    }

    /// The path below the repository.
    let name: String
    private(set) var blocks: [Block] = []
    /// Lines of code that no fence encloses, or whose fence does not end.
    private(set) var strayLines: [Int] = []

    init(_ name: String) throws {
        let text = try String(contentsOf: SharedStores.repository.appendingPathComponent(name), encoding: .utf8)
        self.init(name, text: text)
    }

    private init(_ name: String, text: String) {
        self.name = name
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        var comments: [(key: String, text: String)] = []
        var index = 0
        while index < lines.count {
            let line = lines[index]
            let number = index + 1
            index += 1
            if line.hasPrefix("```") {
                var body: [String] = []
                while index < lines.count, lines[index] != "```" {
                    body.append(lines[index])
                    index += 1
                }
                if index == lines.count { strayLines.append(number) }
                index += 1
                var block = Block(line: number, language: String(line.dropFirst(3)), text: body.joined(separator: "\n"))
                for comment in comments {
                    switch comment.key {
                    case "before": block.before = comment.text
                    case "file": block.file = comment.text
                    case "not run": block.notRun = comment.text
                    default: break
                    }
                }
                blocks.append(block)
                comments = []
            } else if line.hasPrefix("<!--") {
                var comment = line
                while !comment.hasSuffix("-->"), index < lines.count {
                    comment += "\n" + lines[index]
                    index += 1
                }
                let content = comment.dropFirst(4).dropLast(3).trimmingCharacters(in: .whitespacesAndNewlines)
                let parts = content.split(separator: ":", maxSplits: 1)
                if parts.count == 2 {
                    comments.append((String(parts[0]), parts[1].trimmingCharacters(in: .whitespacesAndNewlines)))
                }
            } else if !line.isEmpty {
                comments = []
                if line.hasPrefix("    "), number > 1, lines[number - 2].isEmpty { strayLines.append(number) }
            }
        }
    }

    /// The files of `Sources` whose doc comments have code, each as a document of its doc comments alone.
    static func comments() throws -> [DocumentCode] {
        let root = SharedStores.repository.appendingPathComponent("Sources").path
        return try FileManager.default.subpathsOfDirectory(atPath: root).filter { $0.hasSuffix(".swift") }.sorted()
            .compactMap { name in
                let text = try String(contentsOfFile: root + "/" + name, encoding: .utf8)
                guard text.contains("/// ```") else { return nil }
                let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
                    let line = line.drop { $0 == " " }
                    return line.hasPrefix("///") ? line.dropFirst(line.hasPrefix("/// ") ? 4 : 3) : ""
                }
                return DocumentCode("Sources/" + name, text: lines.joined(separator: "\n"))
            }
    }

    /// The README and the articles of the documentation.
    static func all() throws -> [DocumentCode] {
        let catalogue = "Sources/Stagecoach/Stagecoach.docc"
        let articles = try FileManager.default.contentsOfDirectory(
            atPath: SharedStores.repository.appendingPathComponent(catalogue).path
        ).filter { $0.hasSuffix(".md") }.sorted().map { "\(catalogue)/\($0)" }
        return try (["README.md"] + articles).map(DocumentCode.init)
    }
}
