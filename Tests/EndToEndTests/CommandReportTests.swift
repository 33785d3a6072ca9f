import Foundation
import FoundationXML
import TestSupport
import Testing

/// Reports of the built command: as a page, as JSON and as comma-separated values.
@Suite("Reports of the built command")
struct CommandReportTests {
    private static let mapping = SharedStores.repository.appendingPathComponent("Fixtures/Mappings/library.json").path

    private func page(_ path: String) throws -> XMLElement {
        let data = try Data(contentsOf: URL(fileURLWithPath: path))
        return try #require(try XMLDocument(data: data).rootElement())
    }

    private func json(_ path: String) throws -> [String: Any] {
        let data = try Data(contentsOf: URL(fileURLWithPath: path))
        return try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
    }

    private func rows(_ id: String, in page: XMLElement) throws -> [[String]] {
        try page.nodes(forXPath: "//*[@id='\(id)']//*[local-name()='tr']").map { row in
            (row.children ?? []).compactMap { $0 as? XMLElement }.map { $0.stringValue ?? "" }
        }
    }

    private func number(_ text: String) -> Int { Int(text.filter(\.isNumber)) ?? -1 }

    @Test("One run writes all three, and their figures are the same and add up")
    func threeForms() throws {
        let source = try CommandBinary.librarySource()
        let folder = try TemporaryFolder()
        let outcome = try CommandBinary.run(
            [
                "migrate", source, "new.sqlite", "--to", CommandBinary.models, "--mapping", Self.mapping, "--report",
                "r.html", "--report=r.json", "--report", "r.csv", "--memory-limit", Instrumentation.limit("64M"),
            ], in: folder.path)
        #expect(outcome.code == 0, "\(outcome.messages)")
        let report = try json(folder.file("r.json"))
        let counts = try #require(report["counts"] as? [String: Any])
        let mappings = try #require(counts["mappings"] as? [[String: Any]])
        let page = try page(folder.file("r.html"))
        let lines = try rows("counts", in: page).dropFirst()
        #expect(lines.count == mappings.count + 1)
        for (line, mapping) in zip(lines, mappings) {
            #expect(line[0] == mapping["name"] as? String)
            #expect(number(line[2]) == mapping["sourceObjects"] as? Int)
            #expect(number(line[3]) == mapping["migrated"] as? Int)
            #expect(number(line[1]) == mapping["created"] as? Int)
            #expect(number(line[2]) == line[3..<line.count - 2].reduce(0) { $0 + number($1) })
        }
        let last = try #require(lines.last)
        for column in 1..<last.count - 2 {
            #expect(number(last[column]) == lines.dropLast().reduce(0) { $0 + number($1[column]) })
        }
        let table = try String(contentsOfFile: folder.file("r.csv"), encoding: .utf8).split(separator: "\r\n")
            .map { $0.split(separator: ",", omittingEmptySubsequences: false).map(String.init) }
        #expect(table.count == mappings.count + 1)
        for (line, row) in zip(lines, table.dropFirst()) {
            #expect(row[0] == "migrated" && row[2] == line[0] && number(row[5]) == number(line[2]))
            #expect(number(row[11]) == number(line[1]))
        }
        let pictures = try page.nodes(forXPath: "//*[local-name()='svg']")
        #expect(pictures.count >= 3)
        let stages = try page.nodes(forXPath: "//*[@id='stages']//*[@class='stage']")
        #expect(stages.count >= 4)
        let command = try #require(try page.nodes(forXPath: "//*[@id='command']").first?.stringValue)
        #expect(command.hasPrefix("stagecoach migrate \(source) new.sqlite --to "))
        #expect(report["outcome"] as? String == "migrated")
        // The same command again refuses the destination, and leaves the reports as they are.
        let before = try CommandBinary.contents(of: folder.path)
        let again = try CommandBinary.run(
            ["migrate", source, "other.sqlite", "--to", CommandBinary.models, "--report", "r.html"], in: folder.path)
        #expect(again.code == 73 && again.messages.contains("r.html"))
        #expect(try CommandBinary.contents(of: folder.path) == before)
    }

    @Test("A dry run, one that fails and one that is interrupted have reports too, and the next run's replaces these")
    func otherEnds() throws {
        let source = try CommandBinary.librarySource()
        let folder = try TemporaryFolder()
        let arguments = ["migrate", source, "new.sqlite", "--to", CommandBinary.models, "--mapping", Self.mapping]
        let dry = try CommandBinary.run(arguments + ["--dry-run", "--report", "dry.html"], in: folder.path)
        #expect(dry.code == 0)
        let words = try page(folder.file("dry.html")).stringValue ?? ""
        #expect(words.contains("Dry run, nothing published"))
        let reports = ["--report", "r.html", "--report", "r.json", "--report", "r.csv"]
        let failed = try CommandBinary.run(arguments + reports + ["--memory-limit", "1M"], in: folder.path)
        #expect(failed.code == 78)
        let failure = try page(folder.file("r.html"))
        #expect((failure.stringValue ?? "").contains("Exit code 78, memory.limitTooLow"))
        #expect(try json(folder.file("r.json"))["exitCode"] as? Int == 78)
        let missing = try CommandBinary.run(
            ["migrate", "none.sqlite", "new.sqlite", "--to", CommandBinary.models] + reports, in: folder.path)
        #expect(missing.code == 66)
        let told = try json(folder.file("r.json"))["error"] as? [String: Any]
        #expect(told?["code"] as? String == "store.notFound")
        // A signal at a record of the journal: the run stops there, and the same command resumes it.
        let (process, output, messages) = try CommandBinary.start(
            arguments + reports, in: folder.path, environment: FaultInjection.environment())
        let journal = folder.file(".new.sqlite.stagecoach/run.journal")
        while process.isRunning, !FileManager.default.fileExists(atPath: journal) { usleep(2000) }
        process.interrupt()
        let stopped = CommandBinary.finish(process, output, messages)
        if stopped.code == 75 {
            #expect(stopped.messages.contains("SIGINT: stopping"))
            #expect((try page(folder.file("r.html")).stringValue ?? "").contains("Interrupted"))
            #expect(try json(folder.file("r.json"))["outcome"] as? String == "interrupted")
            let rest = try CommandBinary.run(arguments + reports, in: folder.path)
            #expect(rest.code == 0, "\(rest.messages)")
        }
        #expect(try json(folder.file("r.json"))["outcome"] as? String == "migrated")
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
                == ["dry.html", "new.sqlite", "r.csv", "r.html", "r.json"])
    }

    @Test("Another ending is a usage error that names the three")
    func endings() throws {
        let outcome = try CommandBinary.run(["migrate", "a", "b", "--to", "c", "--report", "r.txt"])
        #expect(outcome.code == 64)
        #expect(
            outcome.messages.hasPrefix(
                "stagecoach: option '--report' needs a file name ending in .html, .json or .csv, not 'r.txt'\n"))
        let same = try CommandBinary.run(["migrate", "a", "b", "--to", "c", "--report", "r.csv", "--report", "./r.csv"])
        #expect(same.code == 64, "\(same.messages)")
    }

    /// A browser without a screen, where one is installed.
    private static let browser: String? = {
        let named = ProcessInfo.processInfo.environment["STAGECOACH_BROWSER"].map { [$0] } ?? []
        let names = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"]
        return (named + names.map { "/usr/bin/" + $0 }).first { FileManager.default.isExecutableFile(atPath: $0) }
    }()

    @Test(
        "A browser opens the page without an error, light and dark, on a desktop and on a phone",
        .enabled(
            if: CommandReportTests.browser != nil,
            "no browser: apt-get install chromium-headless-shell, or STAGECOACH_BROWSER"))
    func opensInABrowser() throws {
        let source = try CommandBinary.librarySource()
        let folder = try TemporaryFolder()
        let outcome = try CommandBinary.run(
            ["migrate", source, "new.sqlite", "--to", CommandBinary.models, "--report", "r.html"], in: folder.path)
        #expect(outcome.code == 0)
        for (width, isDark) in [(390, false), (390, true), (1280, false), (1280, true)] {
            let picture = folder.file("\(width)-\(isDark).png")
            let process = Process()
            process.executableURL = URL(fileURLWithPath: try #require(Self.browser))
            process.arguments = [
                "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--enable-logging=stderr", "--v=0",
                "--user-data-dir=\(folder.file("profile"))", "--window-size=\(width),1600",
                "--blink-settings=preferredColorScheme=\(isDark ? 0 : 1)", "--screenshot=\(picture)",
                "file://\(folder.file("r.html"))",
            ]
            let messages = Pipe()
            process.standardError = messages
            process.standardOutput = FileHandle.nullDevice
            try process.run()
            let said = String(decoding: messages.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
            process.waitUntilExit()
            #expect(process.terminationStatus == 0)
            #expect(!said.contains("CONSOLE"), "\(said)")
            let bytes = try Data(contentsOf: URL(fileURLWithPath: picture))
            #expect(bytes.prefix(8) == Data([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) && bytes.count > 10_000)
        }
    }
}
