import Foundation
import Stagecoach
import TestSupport
import Testing

@testable import StagecoachCommand

/// Runs commands in the process, on one store of the demonstration.
@Suite("Commands in process")
struct CommandTests {
    /// Made once: 200,000 objects.
    private static let library: Result<TemporaryFolder, any Error> = Result {
        let folder = try TemporaryFolder()
        // A static is never released: the folder goes with the process.
        atexit {
            if let folder = try? CommandTests.library.get() { try? FileManager.default.removeItem(at: folder.url) }
        }
        try DemoStore.create(
            at: folder.file("library.sqlite"),
            model: try ModelArgument.load("\(bundle):Library").model, cancellation: CancellationFlag())
        return folder
    }
    private static let bundle = SharedStores.repository.appendingPathComponent("Fixtures/Models/Library.xcdatamodeld")
        .path
    private static let mapping = SharedStores.repository.appendingPathComponent("Fixtures/Mappings/library.json").path

    private struct Run {
        let code: Int32
        let output: String
        let messages: String
    }

    private func run(_ arguments: String...) -> Run { run(arguments) }

    private func run(_ arguments: [String]) -> Run {
        let output = TextBuffer()
        let messages = TextBuffer()
        let code = Command.run(arguments, console: Console(output: output, error: messages))
        return Run(code: code, output: output.text, messages: messages.text)
    }

    private func names(in folder: TemporaryFolder) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
    }

    @Test("plan prints passes, keys and mappings, as text and as JSON, and touches nothing")
    func plan() throws {
        let source = try Self.library.get().file("library.sqlite")
        let folder = try TemporaryFolder()
        let text = run(
            "plan", source, folder.file("new.sqlite"), "--to", Self.bundle, "--keys", "sequential", "--passes", "2")
        #expect(text.code == 0 && text.messages.isEmpty)
        #expect(text.output.contains("Pass 2 of 2"))
        #expect(text.output.contains("keys sequential: asked for by --keys"))
        let json = run(
            "plan", source, folder.file("new.sqlite"), "--to", Self.bundle, "--mapping", Self.mapping, "--format=json")
        let object = try #require(
            try JSONSerialization.jsonObject(with: Data(json.output.utf8)) as? [String: Any])
        let models = try #require(object["models"] as? [[String: Any]])
        #expect((models.first?["passes"] as? [Any])?.count == 4)
        #expect((models.first?["relationships"] as? [Any])?.count == 8)
        #expect(object["destinationVersion"] as? String == "Library 2")
        let graph = run(
            "plan", source, folder.file("new.sqlite"), "--to", Self.bundle, "--mapping", Self.mapping, "--format=dot")
        #expect(graph.output.hasPrefix("digraph plan {\n") && graph.output.hasSuffix("}\n"))
        #expect(graph.output.contains("[label=\"author\", style=solid]"))
        #expect(graph.output.contains("[label=\"tags\", style=bold, dir=both]"))
        #expect(try names(in: folder).isEmpty)
        #expect(try names(in: try Self.library.get()) == ["library.sqlite"])
    }

    @Test("A saved plan is run by migrate --plan, with passes by name or number, and an id map is written")
    func savedPlan() throws {
        let source = try Self.library.get().file("library.sqlite")
        let folder = try TemporaryFolder()
        let arguments = [source, folder.file("new.sqlite"), "--to", Self.bundle, "--mapping", Self.mapping]
        let saved = run(
            ["plan"] + arguments + [
                "--passes", "ChapterToSection; AuthorToAuthor,BookToBook", "--save", folder.file("p.json"),
            ])
        #expect(saved.code == 0, "\(saved.messages)")
        #expect(saved.output.contains("Pass 3 of 3"))
        let again = run(["plan"] + arguments + ["--save", folder.file("p.json")])
        #expect(again.code == 73)
        let migrated = run(
            ["migrate"] + arguments
                + ["--plan", folder.file("p.json"), "--id-map", folder.file("ids.csv"), "--progress", "none"])
        #expect(migrated.code == 0, "\(migrated.messages)")
        #expect(migrated.output.contains("passes            3, row path"))
        #expect(try names(in: folder) == ["ids.csv", "new.sqlite", "p.json"])
        let ids = try String(contentsOfFile: folder.file("ids.csv"), encoding: .utf8)
        #expect(ids.split(separator: "\n").count == DemoStore.objects + 5001)
        let other = [source, folder.file("b.sqlite"), "--to", Self.bundle]
        let outdated = run(["migrate"] + other + ["--plan", folder.file("p.json")])
        #expect(outdated.code == 78 && outdated.messages.contains("the mapping model"), "\(outdated.messages)")
        #expect(run(["migrate"] + other + ["--plan", folder.file("missing.json")]).code == 66)
        #expect(run(["migrate"] + other + ["--plan", folder.file("p.json"), "--passes", "2"]).code == 64)
        #expect(run(["migrate"] + other + ["--passes", "0"]).code == 64)
        #expect(run(["migrate"] + other + ["--passes", "A,;B"]).code == 64)
        #expect(run(["migrate"] + other + ["--id-map", "ids.txt"]).code == 64)
        #expect(run(["plan"] + other + ["--passes", "Nobody"]).code == 78)
    }

    @Test("migrate prints a summary, or the report as JSON, which is what --report writes")
    func migrate() throws {
        let source = try Self.library.get().file("library.sqlite")
        let folder = try TemporaryFolder()
        let summary = run("migrate", source, folder.file("a.sqlite"), "--to", Self.bundle, "--mapping", Self.mapping)
        #expect(summary.code == 0 && summary.messages.isEmpty)
        #expect(summary.output.contains("Migrated \(source) → \(folder.file("a.sqlite"))\n"))
        #expect(summary.output.contains("  Section    149,800\n"))
        #expect(summary.output.contains("  in all     205,000\n"))
        let report = run(
            "migrate", source, folder.file("b.sqlite"), "--to", Self.bundle, "--json", "--report",
            folder.file("r.json"), "--check", "full", "--progress", "none")
        #expect(report.code == 0)
        #expect(report.output == (try String(contentsOfFile: folder.file("r.json"), encoding: .utf8)))
        let decoded = try JSONDecoder().decode(MigrationReport.self, from: Data(report.output.utf8))
        #expect(decoded.counts.mappings.reduce(0) { $0 + $1.created } == DemoStore.objects)
        #expect(try names(in: folder) == ["a.sqlite", "b.sqlite", "r.json"])
        let dry = run("migrate", source, folder.file("c.sqlite"), "--to", Self.bundle, "--dry-run")
        #expect(dry.code == 0 && dry.output.hasPrefix("Dry run, nothing published"))
        #expect(try names(in: folder) == ["a.sqlite", "b.sqlite", "r.json"])
    }

    @Test("inspect shows stores, models and mapping models, as text and as JSON")
    func inspect() throws {
        let source = try Self.library.get().file("library.sqlite")
        let store = run("inspect", source)
        #expect(store.code == 0)
        #expect(store.output.contains("  Chapter      2          149,800  149,800\n"))
        #expect(store.output.contains("  ordered relationship Book.chapters\n"))
        let model = run("inspect", Self.bundle)
        #expect(model.output.contains("Entity Section: was Chapter\n"))
        let mapping = run("inspect", Self.mapping)
        #expect(mapping.output.contains("ChapterToSection  Chapter → Section\n"))
        for (path, key) in [(source, "uuid"), (Self.bundle, "versionChecksum"), (Self.mapping, "entityMappings")] {
            let object = try JSONSerialization.jsonObject(with: Data(run("inspect", path, "--json").output.utf8))
            #expect((object as? [String: Any])?[key] != nil)
        }
        #expect(run("inspect", "/nowhere/at/all").code == 66)
    }

    @Test("infer writes a mapping model that migrate takes, to standard output or to a new file only")
    func infer() throws {
        let folder = try TemporaryFolder()
        let file = folder.file("m.json")
        let printed = run("infer", "--from", "\(Self.bundle):Library", "--to", Self.bundle)
        let written = run("infer", "--from", "\(Self.bundle):Library", "--to", Self.bundle, "-o", file)
        #expect(printed.code == 0 && written.code == 0 && written.output.isEmpty)
        #expect(printed.output == (try String(contentsOfFile: file, encoding: .utf8)))
        let again = run("infer", "--from", "\(Self.bundle):Library", "--to", Self.bundle, "-o", file)
        #expect(again.code == 73 && again.messages.contains(file))
        let source = try Self.library.get().file("library.sqlite")
        #expect(run("migrate", source, folder.file("n.sqlite"), "--to", Self.bundle, "--mapping", file).code == 0)
    }

    @Test("an input's error comes before the destination's, and that before nothing at all")
    func order() throws {
        let source = try Self.library.get().file("library.sqlite")
        let folder = try TemporaryFolder()
        let taken = folder.file("taken.sqlite")
        try Data().write(to: URL(fileURLWithPath: taken))
        #expect(run("migrate", source, taken, "--to", Self.bundle, "--passes", "x;").code == 64)
        #expect(run("migrate", source + "x", taken, "--to", Self.bundle).code == 66)
        #expect(run("migrate", source, taken, "--to", Self.bundle + "x").code == 66)
        #expect(run("migrate", source, taken, "--to", Self.bundle, "--from", Self.bundle).code == 78)
        #expect(
            run("migrate", source, taken, "--to", Self.bundle, "--from", Self.bundle, "--report", "/no/r.json").code
                == 78)
        #expect(run("migrate", source, taken, "--to", Self.bundle).code == 73)
        #expect(run("migrate", source, folder.file("n"), "--to", Self.bundle, "--report", "/no/r.json").code == 73)
        #expect(run("migrate", source, folder.file("n"), "--to", Self.bundle, "--report", folder.file("n")).code == 64)
        #expect(try names(in: folder) == ["taken.sqlite"])
        #expect(try Data(contentsOf: URL(fileURLWithPath: taken)).isEmpty)
    }
}
