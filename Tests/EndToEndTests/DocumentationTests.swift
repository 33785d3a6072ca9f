import Foundation
import ManagedModel
import TestSupport
import Testing

/// All code in the README and in the articles of the documentation.
@Suite("The code in the documentation")
struct DocumentationTests {
    @Test("Every block is of a language that is checked, or says why it is not")
    func blocks() throws {
        for document in try DocumentCode.all() {
            #expect(document.strayLines.isEmpty, "\(document.name): code without a fence in \(document.strayLines)")
            for block in document.blocks {
                #expect(
                    ["sh", "swift", "json", "jsonl", "csv", "text"].contains(block.language) || block.notRun != nil,
                    "\(document.name):\(block.line): nothing checks '\(block.language)'")
                #expect(block.notRun != "", "\(document.name):\(block.line): no reason")
            }
        }
    }

    /// What the examples in doc comments may name without declaring it, as parameters of the function around them.
    private static let given = """
        _ manager: MigrationManager, _ migration: Migration, _ old: ManagedObjectModel, _ new: ManagedObjectModel,
        _ mappingModel: MappingModel, _ object: ManagedObject
        """

    /// The symbols that people meet first.
    private static let firstSymbols: Set = [
        "Migration", "MigrationManager", "ChainedMigration", "StagedMigrationManager", "StoreVerification",
        "MigrationOptions", "MigrationPlan", "MigrationReport", "CheckReport", "VerificationReport", "LeftBehind",
        "RejectReport", "ProgressCounter", "EntityMigrationPolicy", "PolicyRegistry", "MappingModel", "EntityMapping",
        "PropertyMapping", "ManagedObject", "ManagedObjectContext", "FetchRequest", "FormatPredicate",
        "ValueExpression", "ManagedObjectModel", "ModelLocator", "MigrationError",
    ]

    @Test("The doc comments of the symbols that people meet first have an example")
    func examples() throws {
        var found: Set<String> = []
        for document in try DocumentCode.comments() {
            let text = try String(
                contentsOf: SharedStores.repository.appendingPathComponent(document.name), encoding: .utf8)
            let declarations = text.matches(of: /\/\/\/ ```\n(public|open) (final )?(class|struct|enum) ([A-Za-z]+)\b/)
            found.formUnion(declarations.map { String($0.4) })
        }
        #expect(Self.firstSymbols.subtracting(found) == [])
    }

    @Test("Every Swift block compiles, in articles and in doc comments")
    func swift() throws {
        let folder = try TemporaryFolder()
        var files: [String] = []
        let (articles, comments) = (try DocumentCode.all(), try DocumentCode.comments())
        #expect(comments.flatMap(\.blocks).allSatisfy { $0.language == "swift" && $0.notRun == nil })
        for (index, document) in (articles + comments).enumerated() {
            let given = index < articles.count ? "" : Self.given
            for block in document.blocks where block.language == "swift" && block.notRun == nil {
                let lines = (block.before + "\n" + block.text).split(separator: "\n", omittingEmptySubsequences: false)
                let isImport = { (line: Substring) in line.hasPrefix("import ") }
                var text = lines.filter(isImport).joined(separator: "\n") + "\nimport Stagecoach\n"
                let rest = lines.filter { !isImport($0) }.joined(separator: "\n")
                // Statements need a function; exported names cannot be in one.
                let isLocal = !rest.contains("@_cdecl")
                text += isLocal ? "func block\(files.count)(\(given)) throws {\n\(rest)\n}\n" : rest
                let stem = ((document.name as NSString).lastPathComponent as NSString).deletingPathExtension
                let path = folder.file("\(stem)-\(block.line).swift")
                try text.write(toFile: path, atomically: true, encoding: .utf8)
                files.append(path)
            }
        }
        #expect(files.count > Self.firstSymbols.count)
        // The compiler leaves folders where it puts temporary files.
        let outcome = try CommandBinary.run(
            PolicyLibrary.compiler + ["-typecheck", "-parse-as-library", "-module-name", "Blocks"] + files,
            environment: ["TMPDIR": folder.path], through: ["/usr/bin/env"], command: nil)
        #expect(outcome.code == 0, "\(outcome.messages.suffix(6000))")
    }

    @Test(
        "README's program prints what the comments beside its prints say, and its lines of Package.swift are Installing's",
        .enabled(if: !Instrumentation.isSanitized, "a library with a sanitizer is linked into no other program")
    )
    func readme() throws {
        let folder = try sandbox()
        let readme = try DocumentCode("README.md")
        let code = try #require(readme.blocks.first { $0.language == "swift" }).text
        try code.write(toFile: folder.file("main.swift"), atomically: true, encoding: .utf8)
        let built = try CommandBinary.run(
            PolicyLibrary.compiler + [
                "-warnings-as-errors", "main.swift", "-o", "program", "-L", CommandBinary.products,
                "-lStagecoachForPolicies",
                "-Xlinker", "-rpath", "-Xlinker", CommandBinary.products,
            ], in: folder.url.path, environment: ["TMPDIR": folder.path], through: ["/usr/bin/env"], command: nil)
        #expect(built.code == 0, "\(built.messages.suffix(6000))")
        let outcome = try CommandBinary.run([], in: folder.url.path, command: folder.file("program"))
        let said = code.matches(of: /print\(.+ \/\/ (.+)/).map { String($0.1) }
        #expect(outcome.code == 0 && !said.isEmpty, "\(outcome.messages)")
        #expect(outcome.output == said.map { $0 + "\n" }.joined())

        let texts = try ["README.md", "Sources/Stagecoach/Stagecoach.docc/Installing.md"].map {
            try String(contentsOf: SharedStores.repository.appendingPathComponent($0), encoding: .utf8)
        }
        let lines = texts[0].matches(of: /\.(package|product)\(.+?\)/).map(\.0)
        #expect(lines.count == 2 && lines.allSatisfy { texts[1].contains($0) })
        #expect(texts[0].split(separator: "\n", omittingEmptySubsequences: false).count <= 160)
    }

    @Test(
        "Every shell block runs, line by line, with the files that the page shows",
        .enabled(if: !Instrumentation.isSanitized, "a sanitizer's memory would count"))
    func shell() throws {
        let fixtures = SharedStores.repository.appendingPathComponent("Fixtures/Mappings").path
        for document in try DocumentCode.all() where document.blocks.contains(where: { $0.language == "sh" }) {
            let folder = try sandbox()
            for block in document.blocks {
                let place = "\(document.name):\(block.line)"
                if let file = block.file {
                    // The short mapping model that `demo --keep` leaves is the page's.
                    if file == "books.json", let kept = FileManager.default.contents(atPath: "\(fixtures)/\(file)") {
                        #expect(kept == Data((block.text + "\n").utf8), "\(place)")
                    }
                    try (block.text + "\n").write(toFile: folder.file(file), atomically: true, encoding: .utf8)
                }
                guard block.language == "sh", block.notRun == nil else { continue }
                if !block.before.isEmpty {
                    let outcome = try run(block.before, in: folder)
                    #expect(outcome.code == 0, "\(place): before: \(outcome.messages)")
                }
                for line in block.text.replacing("\\\n", with: " ").split(separator: "\n") {
                    let outcome = try run(String(line), in: folder)
                    #expect(outcome.code == 0, "\(place): \(line)\n\(outcome.output)\(outcome.messages)")
                }
            }
        }
    }

    @Test("The catalogue builds without a warning, and every public symbol has a comment", .timeLimit(.minutes(30)))
    func catalogue() throws {
        let folder = try TemporaryFolder()
        let outcome = try CommandBinary.run(
            [folder.file("archive")],
            environment: ["BUILD_FOLDER": CommandBinary.products],
            through: [SharedStores.repository.appendingPathComponent("Tests/Documentation/build").path], command: nil)
        #expect(outcome.code == 0, "\(outcome.output.suffix(4000))\(outcome.messages.suffix(4000))")
    }

    @Test("Every test that the articles name is there")
    func tests() throws {
        let root = SharedStores.repository
        var declared: Set<String> = []
        let folder = root.appendingPathComponent("Tests").path
        for name in try FileManager.default.subpathsOfDirectory(atPath: folder) where name.hasSuffix(".swift") {
            let text = try String(contentsOfFile: folder + "/" + name, encoding: .utf8)
            for match in text.matches(of: /(struct|class|enum) ([A-Za-z0-9]+Tests)\b/) {
                declared.insert(String(match.2))
            }
        }
        for document in try DocumentCode.all() {
            let text = try String(contentsOf: root.appendingPathComponent(document.name), encoding: .utf8)
            for match in text.matches(of: /`([A-Z][A-Za-z0-9]+Tests)`/) {
                #expect(declared.contains(String(match.1)), "\(document.name): no \(match.1)")
            }
            for match in text.matches(of: /`((Tests|Fixtures|Benchmarks)\/[A-Za-z\/]+)`/) {
                let path = root.appendingPathComponent(String(match.1)).path
                #expect(FileManager.default.fileExists(atPath: path), "\(document.name): no \(match.1)")
            }
        }
    }

    @Test("Every block of JSON is JSON")
    func json() throws {
        for document in try DocumentCode.all() {
            for block in document.blocks where block.language.hasPrefix("json") && block.notRun == nil {
                let texts = block.language == "json" ? [block.text[...]] : block.text.split(separator: "\n")
                for text in texts {
                    #expect(
                        (try? JSONSerialization.jsonObject(with: Data(text.utf8))) != nil,
                        "\(document.name):\(block.line)")
                }
            }
        }
    }

    /// A line of a page. One that makes `New.sqlite` finds none from the line before.
    private func run(_ line: String, in folder: TemporaryFolder) throws -> CommandBinary.Outcome {
        let makesNew = line.contains(" New.sqlite") && !line.contains("--append") && !line.contains("stagecoach verify")
        let script = (makesNew ? "rm -rf New.sqlite .New.sqlite*\n" : "") + line
        let path = folder.file("bin") + ":" + (ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin")
        return try CommandBinary.run(
            ["-euo", "pipefail", "-c", script], in: folder.url.path, environment: ["PATH": path],
            through: ["/bin/bash"], command: nil)
    }

    /// A folder with what the pages' commands name: two stores of the library, its model in four versions, a mapping
    /// model, policies' sources, stores of customers, a manifest, and the command on the path.
    private func sandbox() throws -> TemporaryFolder {
        let folder = try TemporaryFolder()
        let files = FileManager.default
        let fixtures = SharedStores.repository.appendingPathComponent("Fixtures").path
        try files.createDirectory(atPath: folder.file("bin"), withIntermediateDirectories: false)
        try files.createSymbolicLink(
            atPath: folder.file("bin/stagecoach"), withDestinationPath: CommandBinary.path)
        try files.copyItem(
            atPath: fixtures + "/Models/Library.xcdatamodeld", toPath: folder.file("Library.xcdatamodeld"))
        try files.copyItem(atPath: fixtures + "/Mappings/library.json", toPath: folder.file("library.json"))
        try files.copyItem(atPath: fixtures + "/PortExamples", toPath: folder.file("Migrations"))
        let model = try ModelLocator.load(CommandBinary.models + ":Library").model
        for (name, first) in [("Library", 1), ("Other", 100)] {
            try ReferenceStore.make(model) { store in
                for key in Int64(first)..<Int64(first + 5) {
                    store.insert("Author", key, ["name": .text("Author \(key)")])
                    store.insert(
                        "Book", key + 10,
                        ["title": .text("Book \(key)"), "isbn": .text("\(key)"), "pageCount": .integer(300)])
                }
            }.write(path: folder.file("\(name).sqlite"))
        }
        for customer in ["1", "2", "3"] {
            try files.createDirectory(atPath: folder.file("customers/\(customer)"), withIntermediateDirectories: true)
            try files.copyItem(
                atPath: folder.file("Library.sqlite"), toPath: folder.file("customers/\(customer)/Library.sqlite"))
        }
        try files.createDirectory(atPath: folder.file("new"), withIntermediateDirectories: false)
        try ["1", "2", "3"].map {
            "{\"source\": \"customers/\($0)/Library.sqlite\", \"destination\": \"new/\($0).sqlite\"}\n"
        }.joined().write(toFile: folder.file("stores.jsonl"), atomically: true, encoding: .utf8)
        return folder
    }
}
