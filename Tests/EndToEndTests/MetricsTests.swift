import Foundation
import ManagedModel
import TestSupport
import Testing

/// `--metrics` of the built command.
@Suite("Metrics of the built command")
struct MetricsTests {
    /// Reads a file of metrics: the values by name and labels, without the labels that say whose they are. Its form is checked
    /// line by line.
    private func metrics(_ path: String, of labels: String) throws -> [String: Double] {
        let text = try String(contentsOfFile: path, encoding: .utf8)
        #expect(text.hasPrefix("# TYPE stagecoach_running gauge\n") && text.hasSuffix("\n# EOF\n"))
        var values: [String: Double] = [:]
        var family = (name: "", type: "")
        for line in text.split(separator: "\n", omittingEmptySubsequences: false).dropLast(2) {
            if let type = line.wholeMatch(of: /# TYPE (stagecoach_[a-z_]+) (gauge|counter)/) {
                #expect(!values.keys.contains { $0.hasPrefix(type.1 + "{") || $0 == type.1 }, "\(line) comes twice")
                family = (String(type.1), String(type.2))
            } else if let help = line.wholeMatch(of: /# HELP (stagecoach_[a-z_]+) .+/) {
                #expect(help.1 == family.name)
            } else {
                let sample = try #require(
                    line.wholeMatch(of: /([a-z_]+)(\{([a-z_]+="[^"]*",?)+\})? ([0-9.e+-]+)/), "\(line)")
                #expect(sample.1 == family.name + (family.type == "counter" ? "_total" : ""))
                let value: Double = try #require(Double(sample.4))
                let found = try #require(sample.2)
                #expect(found.hasPrefix("{" + labels), "\(line)")
                let own = found.dropFirst(labels.count + 1).drop { $0 == "," }
                values[String(sample.1) + (own == "}" ? "" : "{" + own)] = value
            }
        }
        return values
    }

    private func real(_ path: String) throws -> String {
        let resolved = try #require(realpath(path, nil))
        defer { free(resolved) }
        return String(cString: resolved)
    }

    /// Debian's exporter, or the one that STAGECOACH_NODE_EXPORTER names.
    private static let exporter = [
        ProcessInfo.processInfo.environment["STAGECOACH_NODE_EXPORTER"], "/usr/bin/prometheus-node-exporter",
    ].compactMap(\.self).first { FileManager.default.isExecutableFile(atPath: $0) }

    /// Two runs and a batch in one folder, read by Debian's exporter as another user than the runs' may.
    @Test(
        "The node exporter reads several runs' files in one folder", .enabled(if: exporter != nil, "no node exporter"))
    func scrape() throws {
        let models = SharedStores.repository.appendingPathComponent("Fixtures/Models/Orders.xcdatamodeld").path
        let folder = try TemporaryFolder()
        try ReferenceStore.make(try ModelLocator.load(models + ":Orders").model) { store in
            store.insert("Customer", 1, ["age": .integer(30), "name": .text("A"), "email": .text("a@example.org")])
        }.write(path: folder.file("old.sqlite"))
        try #require(chmod(folder.file("old.sqlite"), 0o600) == 0)
        try FileManager.default.createDirectory(atPath: folder.file("figures"), withIntermediateDirectories: false)
        for (index, arguments) in [
            ["migrate", "old.sqlite", "new.sqlite"], ["migrate", "old.sqlite", "other.sqlite"],
            ["verify", "old.sqlite", "new.sqlite"], ["check", "old.sqlite"], ["batch", "old.sqlite", "--into", "out"],
        ].enumerated() {
            let file = folder.file("figures/\(index).prom")
            let outcome = try CommandBinary.run(
                arguments + ["--to", models, "--metrics", file], in: folder.path,
                through: ["/bin/sh", "-c", "umask 022; exec \"$0\" \"$@\""])
            #expect(outcome.code == 0, "\(outcome.messages)")
            var status = stat()
            #expect(stat(file, &status) == 0 && status.st_mode & 0o777 == 0o644)
        }
        let port = 20_000 + Int(getpid() % 20_000)
        let (process, output, messages) = try CommandBinary.start(
            [
                "--collector.disable-defaults", "--collector.textfile", "--web.listen-address=127.0.0.1:\(port)",
                "--collector.textfile.directory=\(folder.file("figures"))",
            ], through: [try #require(Self.exporter)], command: nil)
        var page = ""
        for _ in 0..<100 where process.isRunning && page.isEmpty {
            let ask = "exec 3<>/dev/tcp/127.0.0.1/\(port); printf 'GET /metrics HTTP/1.0\\r\\n\\r\\n' >&3; cat <&3"
            page = try CommandBinary.run(["-c", ask], through: ["/bin/bash"], command: nil).output
            if page.isEmpty { usleep(100_000) }
        }
        process.terminate()
        let outcome = CommandBinary.finish(process, output, messages)
        #expect(page.contains("\nnode_textfile_scrape_error 0\n"), "\(page)\(outcome.messages)")
        #expect(!outcome.messages.contains("level=error"), "\(outcome.messages)")
        for name in ["new.sqlite", "other.sqlite"] {
            #expect(page.contains(try Regex("stagecoach_running\\{.*\(name)\"\\} 0\n")), "\(page)")
            #expect(page.contains(try Regex("stagecoach_rows_total\\{.*\(name)\"\\} 1\n")), "\(page)")
        }
    }

    @Test("A run's metrics stand there while it runs, and at its end with what came of it")
    func run() throws {
        let source = try CommandBinary.librarySource()
        let folder = try TemporaryFolder()
        let path = folder.file("run.prom")
        let arguments = [
            "migrate", source, "new.sqlite", "--to", CommandBinary.models, "--metrics", path, "--progress", "none",
            "--json",
        ]
        let (process, output, messages) = try CommandBinary.start(arguments, in: folder.path)
        while process.isRunning, !FileManager.default.fileExists(atPath: path) { usleep(500) }
        kill(process.processIdentifier, SIGSTOP)
        let labels = "command=\"migrate\",store=\"\(try real(folder.path))/new.sqlite\""
        let begun = try metrics(path, of: labels)
        kill(process.processIdentifier, SIGCONT)
        let outcome = CommandBinary.finish(process, output, messages)
        #expect(outcome.code == 0, "\(outcome.messages)")
        #expect(begun["stagecoach_running"] == 1 && begun["stagecoach_exit_code"] == nil)
        let ended = try metrics(path, of: labels)
        #expect(ended["stagecoach_running"] == 0 && ended["stagecoach_exit_code"] == 0)
        let report = try JSONSerialization.jsonObject(with: Data(outcome.output.utf8)) as? [String: Any]
        #expect(ended["stagecoach_rows_total"] == ended["stagecoach_rows_expected"])
        for kind in ["objects", "values", "links"] { #expect(ended["stagecoach_left_out{kind=\"\(kind)\"}"] == 0) }
        #expect(ended["stagecoach_nil_references"] == 0 && ended["stagecoach_rejected_objects"] == 0)
        let made = (report?["counts"] as? [String: Any])?["created"] as? [String: Int]
        #expect(ended["stagecoach_objects_made"] == made.map { Double($0.values.reduce(0, +)) })
        #expect(ended["stagecoach_rows_total"] ?? 0 > 0 && ended["stagecoach_rows_expected"] ?? 0 > 0)
        #expect(ended["stagecoach_destination_bytes"] == report?["destinationBytes"] as? Double)
        #expect(ended["stagecoach_phase_seconds_total{phase=\"load\"}"] ?? 0 > 0)
        for name in ["destination_bytes", "memory_peak_bytes", "memory_limit_bytes", "processor_seconds_total"] {
            #expect(ended["stagecoach_" + name] ?? 0 > 0, "\(name)")
        }
        #expect(ended["stagecoach_run{source=\"\(source)\",destination=\"new.sqlite\"}"] == 1)
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() == ["new.sqlite", "run.prom"])
        // The next run replaces them: this one fails.
        let again = try CommandBinary.run(arguments, in: folder.path)
        #expect(again.code == 73)
        #expect(try metrics(path, of: labels)["stagecoach_exit_code"] == 73)
    }

    @Test("Another file is not replaced, nor is one that the run reads or makes")
    func foreign() throws {
        let source = try CommandBinary.librarySource()
        let folder = try TemporaryFolder()
        try Data("notes".utf8).write(to: URL(fileURLWithPath: folder.file("notes")))
        let arguments = ["migrate", source, "new.sqlite", "--to", CommandBinary.models, "--metrics"]
        let refused = try CommandBinary.run(arguments + ["notes"], in: folder.path)
        #expect(refused.code == 73 && refused.messages.contains("notes"))
        #expect(try CommandBinary.run(arguments + ["new.sqlite"], in: folder.path).code == 64)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["notes"])
    }

    @Test("Losses are counted; check and verify have metrics, too")
    func others() throws {
        let models = SharedStores.repository.appendingPathComponent("Fixtures/Models/Orders.xcdatamodeld").path
        let folder = try TemporaryFolder()
        try ReferenceStore.make(try ModelLocator.load(models + ":Orders").model) { store in
            store.insert("Customer", 1, ["age": .integer(30), "name": .text("A"), "email": .text("a@example.org")])
        }.write(path: folder.file("old.sqlite"))
        let mapping =
            #"{"formatVersion": 1, "entityMappings": [{"sourceEntity": "Customer", "#
            + #""destinationEntity": "Customer", "attributes": {"email": "'none@example.org'"}, "relationships": {"orders": null}}]}"#
        try mapping.write(toFile: folder.file("map.json"), atomically: true, encoding: .utf8)
        for command in [["migrate", "old.sqlite", "new.sqlite"], ["check", "old.sqlite"]] {
            let outcome = try CommandBinary.run(
                command + ["--to", models, "--mapping", "map.json", "--metrics", "m.prom"], in: folder.path)
            #expect(outcome.code == 0, "\(outcome.messages)")
            let name = command[0] == "check" ? "old.sqlite" : "new.sqlite"
            let labels = "command=\"\(command[0])\",store=\"\(try real(folder.path))/\(name)\""
            #expect(try metrics(folder.file("m.prom"), of: labels)["stagecoach_left_out{kind=\"values\"}"] == 1)
        }
        let verified = try CommandBinary.run(
            ["verify", "old.sqlite", "new.sqlite", "--to", models, "--metrics", "m.prom"], in: folder.path)
        #expect(verified.code == 65)
        let labels = "command=\"verify\",store=\"\(try real(folder.path))/new.sqlite\""
        #expect(try metrics(folder.file("m.prom"), of: labels)["stagecoach_exit_code"] == 65)
    }

    @Test("Rejected objects and references that became nil are counted, and rows done are those expected")
    func rejects() throws {
        let folder = try TemporaryFolder()
        try ReferenceStore.make(try ModelLocator.load(CommandBinary.models + ":Library").model) { store in
            for key in 1...3 as ClosedRange<Int64> {
                store.insert(
                    "Book", key,
                    [
                        "isbn": .text("\(key)"), "title": .text("\(key)"), "pageCount": .integer(key == 2 ? 0 : 30),
                    ])
            }
            store.setToOne("Book", 3, "author", 99)
        }.write(path: folder.file("old.sqlite"))
        for command in [["migrate", "old.sqlite", "new.sqlite"], ["check", "old.sqlite"]] {
            let outcome = try CommandBinary.run(
                command + [
                    "--to", CommandBinary.models, "--strict-validation", "--on-invalid", "reject", "--metrics",
                    "m.prom",
                ], in: folder.path)
            #expect(outcome.code == 0, "\(outcome.messages)")
            let store = try real(folder.path) + "/" + (command[0] == "check" ? "old.sqlite" : "new.sqlite")
            let metrics = try metrics(
                folder.file("m.prom"), of: "command=\"\(command[0])\",store=\"\(store)\"")
            #expect(metrics["stagecoach_rejected_objects"] == 1 && metrics["stagecoach_nil_references"] == 1)
            #expect(metrics["stagecoach_rows_total"] == metrics["stagecoach_rows_expected"])
            #expect(metrics["stagecoach_left_out{kind=\"objects\"}"] == 0)
        }
    }

    @Test("A batch's metrics count its stores", arguments: [1, 2])
    func batch(jobs: Int) throws {
        let folder = try TemporaryFolder()
        let models = SharedStores.repository.appendingPathComponent("Fixtures/Models/Orders.xcdatamodeld").path
        let model = try ModelLocator.load(models + ":Orders").model
        for number in 1...3 {
            try ReferenceStore.make(model) { store in
                store.insert("Customer", 1, ["age": .integer(1), "name": .text("A"), "email": .text("a@example.org")])
            }.write(path: folder.file("\(number).sqlite"))
        }
        try Data("no store".utf8).write(to: URL(fileURLWithPath: folder.file("2.sqlite")))
        try "source,destination\n1.sqlite,new/1.sqlite\n2.sqlite,new/2.sqlite\n3.sqlite,new/3.sqlite\n".write(
            toFile: folder.file("stores.csv"), atomically: true, encoding: .utf8)
        let outcome = try CommandBinary.run(
            [
                "batch", "stores.csv", "--to", models, "--metrics", "batch.prom", "--jobs", "\(jobs)", "--memory-limit",
                "400M",
            ], in: folder.path)
        #expect(outcome.code == 65, "\(outcome.messages)")
        let results = try real(folder.path) + "/stores.csv.results.jsonl"
        let metrics = try metrics(folder.file("batch.prom"), of: "command=\"batch\",batch=\"\(results)\"")
        #expect(metrics["stagecoach_stores{status=\"done\"}"] == 2)
        #expect(metrics["stagecoach_stores{status=\"failed\"}"] == 1 && metrics["stagecoach_stores_expected"] == 3)
        #expect(metrics["stagecoach_objects_total"] == 2 && metrics["stagecoach_exit_code"] == 65)
        #expect(metrics["stagecoach_rows_total"] == 2 && metrics["stagecoach_nil_references"] == 0)
        #expect(metrics["stagecoach_phase_seconds_total{phase=\"load\"}"] ?? 0 > 0)
        #expect(metrics["stagecoach_batch_seconds"] ?? 0 > 0 && metrics["stagecoach_memory_peak_bytes"] ?? 0 > 0)
    }
}
