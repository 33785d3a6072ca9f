import CSQLite
import CoreDataStore
import Foundation
import FoundationXML
import ManagedModel
import TestSupport
import Testing

/// Many stores with the built command.
@Suite("Batches with the built command")
struct CommandBatchTests {
    private static let models = SharedStores.repository.appendingPathComponent("Fixtures/Models/Orders.xcdatamodeld")
        .path

    /// A folder with stores of so many customers as their number, `in/1.sqlite` and so on.
    private func stores(_ count: Int) throws -> TemporaryFolder {
        let folder = try TemporaryFolder()
        try FileManager.default.createDirectory(atPath: folder.file("in"), withIntermediateDirectories: false)
        try FileManager.default.createDirectory(atPath: folder.file("out"), withIntermediateDirectories: false)
        let model = try ModelLocator.load(Self.models + ":Orders").model
        for number in 1...count {
            try ReferenceStore.make(model) { store in
                for key in 1...Int64(number) {
                    store.insert(
                        "Customer", key,
                        ["age": .integer(30), "name": .text("Customer \(key)"), "email": .text("\(key)@example.org")])
                }
            }.write(path: folder.file("in/\(number).sqlite"))
        }
        return folder
    }

    private func manifest(_ count: Int, in folder: TemporaryFolder) throws -> String {
        let lines = (1...count).map { "{\"source\": \"in/\($0).sqlite\", \"destination\": \"out/\($0).sqlite\"}\n" }
        let path = folder.file("stores.jsonl")
        try lines.joined().write(toFile: path, atomically: true, encoding: .utf8)
        return path
    }

    private func batch(_ arguments: [String], environment: [String: String] = [:]) throws -> CommandBinary.Outcome {
        try CommandBinary.run(["batch"] + arguments + ["--to", Self.models], environment: environment)
    }

    private func customers(_ path: String) throws -> Int {
        let model = try ModelLocator.load(Self.models).model
        return try ReferenceStore.read(path: path, model: model).objects().joined()
            .count { $0.entity.name == "Customer" }
    }

    @Test("A store that fails does not stop the others; the next run does what is left", arguments: [1, 3])
    func rest(jobs: Int) throws {
        let folder = try stores(6)
        let manifest = try manifest(6, in: folder)
        let third = try #require(FileManager.default.contents(atPath: folder.file("in/3.sqlite")))
        try Data("no store".utf8).write(to: URL(fileURLWithPath: folder.file("in/3.sqlite")))
        let arguments = [manifest, "--jobs", "\(jobs)", "--memory-limit", Instrumentation.limit("400M")]
        let first = try batch(arguments)
        #expect(first.code == 65, "\(first.messages)")
        #expect(first.messages == "")
        #expect(first.output.split(separator: "\n").count { $0.hasPrefix("done ") } == 5)
        #expect(first.output.contains("failed 65  "))
        #expect(first.output.contains("The file is not an SQLite database"))
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.file("out")).count == 5)

        try third.write(to: URL(fileURLWithPath: folder.file("in/3.sqlite")))
        let second = try batch(arguments + ["--json"])
        #expect(second.code == 0, "\(second.messages)")
        let lines = try second.output.split(separator: "\n").map {
            try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
        }
        #expect(
            lines.compactMap { $0["status"] as? String }.sorted() == ["done"] + Array(repeating: "skipped", count: 5))
        #expect(lines.last?["done"] as? Int == 1 && lines.last?["skipped"] as? Int == 5)
        for number in 1...6 { #expect(try customers(folder.file("out/\(number).sqlite")) == number) }
    }

    @Test("The folders of destinations are made, and lines, results and reports name stores in one form")
    func places() throws {
        let folder = try stores(2)
        let resolved = try #require(realpath(folder.path, nil))
        defer { free(resolved) }
        let real = String(cString: resolved)
        let rows = "in/1.sqlite,new/a/1.sqlite\n./in/../in/2.sqlite,new/b/../b/2.sqlite\n"
        try ("source,destination\n" + rows).write(
            toFile: folder.file("stores.csv"), atomically: true, encoding: .utf8)
        func lines(_ arguments: [String]) throws -> [[String: Any]] {
            let outcome = try CommandBinary.run(
                ["batch", "stores.csv", "--to", Self.models, "--json"] + arguments, in: folder.path)
            #expect(outcome.code == 0, "\(outcome.output)\(outcome.messages)")
            return try outcome.output.split(separator: "\n").map {
                try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
            }
        }
        let wanted = ["\(real)/new/a/1.sqlite", "\(real)/new/b/2.sqlite"]
        for status in ["done", "skipped"] {
            let lines = try lines(["--report", folder.file("\(status).json")])
            #expect(lines.dropLast().map { $0["status"] as? String } == [status, status])
            #expect(lines.dropLast().map { $0["destination"] as? String } == wanted)
            #expect(lines.dropLast().map { $0["source"] as? String } == ["\(real)/in/1.sqlite", "\(real)/in/2.sqlite"])
            #expect(lines.last?["wallSeconds"] is Double)
        }
        let results = try String(contentsOfFile: folder.file("stores.csv.results.jsonl"), encoding: .utf8)
        #expect(wanted.allSatisfy { results.contains($0.replacing("/", with: "\\/")) || results.contains($0) })
        let again = try CommandBinary.run(["batch", "stores.csv", "--to", Self.models], in: folder.path)
        #expect(again.output.contains("\nResults: stores.csv.results.jsonl\n"), "\(again.output)")
    }

    @Test("The folders of a line's report, reject file and map of ids are made, if the store fails too")
    func resultFolders() throws {
        let folder = try stores(1)
        try Data("no store".utf8).write(to: URL(fileURLWithPath: folder.file("in/bad.sqlite")))
        let files = { (name: String) in
            "\"report\": \"r/\(name)/r.json\", \"rejectFile\": \"x/\(name)/x\", \"idMap\": \"i/\(name)/i.csv\""
        }
        let lines = ["1", "bad"].map {
            "{\"source\": \"in/\($0).sqlite\", \"destination\": \"out/\($0).sqlite\", \(files($0))}\n"
        }
        try lines.joined().write(toFile: folder.file("stores.jsonl"), atomically: true, encoding: .utf8)
        let outcome = try batch([folder.file("stores.jsonl"), "--on-invalid", "reject"])
        #expect(outcome.code == 65 && outcome.output.hasPrefix("done "), "\(outcome.output)\(outcome.messages)")
        for file in ["r/1/r.json", "x/1/x", "i/1/i.csv", "r/bad/r.json"] {
            #expect(FileManager.default.fileExists(atPath: folder.file(file)), "\(file)")
        }
    }

    @Test("A store that is at the target version already says so")
    func atTarget() throws {
        let folder = try stores(1)
        let manifest = try manifest(1, in: folder)
        let outcome = try CommandBinary.run(["batch", manifest, "--to", Self.models + ":Orders"])
        #expect(outcome.code == 0 && outcome.output.contains(", at the target version already"), "\(outcome.output)")
        #expect(outcome.output.contains("at the target version already  1\n"))
        #expect(try !batch(["--into", folder.file("other"), folder.file("in/1.sqlite")]).output.contains("already"))
    }

    @Test("jq reads the results as the article shows it", .enabled(if: jq != nil, "jq is not installed"))
    func jsonQuery() throws {
        let folder = try stores(3)
        let manifest = try manifest(3, in: folder)
        try Data("no store".utf8).write(to: URL(fileURLWithPath: folder.file("in/2.sqlite")))
        #expect(try batch([manifest]).code == 65)
        let article = try DocumentCode("Sources/Stagecoach/Stagecoach.docc/Fleets.md")
        let block = try #require(article.blocks.first { $0.text.hasPrefix("jq ") })
        let lines = block.text.replacing("fleet.jsonl.results.jsonl", with: manifest + ".results.jsonl")
            .split(separator: "\n")
        let outputs = try lines.map { line in
            let outcome = try CommandBinary.run(["-c", String(line)], through: ["/bin/bash"], command: nil)
            #expect(outcome.code == 0, "\(line): \(outcome.messages)")
            return outcome.output
        }
        #expect(outputs.count == 3 && outputs[0].contains("in/2.sqlite\t") && outputs[2] == "0\n")
        #expect(outputs[1].split(separator: "\n").count == 2)
        // The step that verifies each pair: it tells which differs.
        let verify = try #require(article.blocks.last { $0.text.hasPrefix("jq ") }).text.replacing("\\\n", with: " ")
            .replacing("fleet.jsonl.results.jsonl", with: manifest + ".results.jsonl")
            .replacing("Library.xcdatamodeld", with: Self.models)
        #expect(verify.contains("stagecoach verify"))
        let path = CommandBinary.products + ":" + (ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin")
        func verified() throws -> CommandBinary.Outcome {
            try CommandBinary.run(
                ["-c", verify], environment: ["PATH": path], through: ["/bin/bash"], command: nil)
        }
        let equal = try verified()
        #expect(equal.code == 0, "\(equal.messages)")
        try Connection(path: folder.file("out/3.sqlite"), flags: SQLITE_OPEN_READWRITE).execute(
            "UPDATE ZCUSTOMER SET ZNAME = 'x' WHERE Z_PK = 2")
        let different = try verified()
        #expect(different.code == 123 && different.output.contains("out/3.sqlite"), "\(different)")
    }

    @Test("After any order of runs the last line of a store says how it stands")
    func truth() throws {
        let folder = try stores(2)
        let manifest = try manifest(2, in: folder)
        let results = manifest + ".results.jsonl"
        func lines() throws -> [[String: Any]] {
            try String(contentsOfFile: results, encoding: .utf8).split(separator: "\n").map {
                try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
            }
        }
        #expect(try batch([manifest]).code == 0)
        #expect(try batch([manifest, "--keys", "sequential"]).code == 65)
        let failed = try CommandBinary.run(["merge-reports", results])
        #expect(failed.code == 65, "\(failed.output)")
        let again = try batch([manifest])
        #expect(again.code == 0 && again.output.ranges(of: "  done before").count == 2, "\(again.output)")
        let told = try lines().suffix(2)
        #expect(told.allSatisfy { $0["status"] as? String == "done" && $0["isDoneBefore"] as? Bool == true })
        #expect(told.compactMap { $0["objects"] as? Int }.sorted() == [1, 2])
        let merged = try CommandBinary.run(["merge-reports", results])
        #expect(merged.code == 0 && merged.output.contains(/\n? *done +2\n/), "\(merged.output)")
        // Once it says so, nothing is added.
        let count = try lines().count
        #expect(try batch([manifest]).code == 0)
        #expect(try lines().count == count)
    }

    @Test(
        "What no store can use ends the batch with its code before a line is written",
        arguments: [
            (["--mapping", "missing.json"], 66, "missing.json"), (["--mapping", "broken.json"], 78, "broken.json"),
            (["--from", "No.xcdatamodeld"], 66, "No.xcdatamodeld"), (["--via", "Nowhere"], 66, "Nowhere"),
            (["--policies", "libNone.so"], 66, "libNone.so"),
        ] as [([String], Int32, String)])
    func wrongOptions(options: [String], code: Int32, name: String) throws {
        let folder = try stores(2)
        let manifest = try manifest(2, in: folder)
        try Data("{".utf8).write(to: URL(fileURLWithPath: folder.file("broken.json")))
        let outcome = try CommandBinary.run(
            ["batch", manifest, "--to", Self.models] + options, in: folder.path)
        #expect(outcome.code == code && outcome.output.isEmpty, "\(outcome)")
        #expect(outcome.messages.ranges(of: name).count == 1, "\(outcome.messages)")
        #expect(!FileManager.default.fileExists(atPath: manifest + ".results.jsonl"))
    }

    @Test("A wrong --to fails once, for all stores")
    func wrongModel() throws {
        let folder = try stores(2)
        let outcome = try CommandBinary.run(
            ["batch", "in/*.sqlite", "--into", "new", "--to", "None.xcdatamodeld"], in: folder.path)
        #expect(outcome.code == 66 && outcome.output.isEmpty, "\(outcome)")
        #expect(outcome.messages.contains("None.xcdatamodeld"))
        #expect(!FileManager.default.fileExists(atPath: folder.file("new")))
    }

    @Test("A file that is no results file is refused, and not added to")
    func foreignResults() throws {
        let folder = try stores(1)
        let manifest = try manifest(1, in: folder)
        let before = FileManager.default.contents(atPath: manifest)
        let merged = try CommandBinary.run(["merge-reports", manifest])
        #expect(merged.code == 65 && merged.messages.contains("no results file"), "\(merged.messages)")
        let added = try batch([manifest, "--results", manifest])
        #expect(added.code == 65 && added.messages.contains("no results file"), "\(added.messages)")
        #expect(FileManager.default.contents(atPath: manifest) == before)
        // A first line that a kill cut off, and an empty file, are of a batch.
        for text in ["", "{\"configuration\":\"12"] {
            let results = folder.file("r.jsonl")
            try Data(text.utf8).write(to: URL(fileURLWithPath: results))
            #expect(try CommandBinary.run(["merge-reports", results]).code == 0)
            try? FileManager.default.removeItem(atPath: folder.file("out/1.sqlite"))
            let outcome = try batch([manifest, "--results", results])
            #expect(outcome.code == 0, "\(outcome)")
        }
    }

    @Test("A folder that a pattern finds is named; paths in the current folder are printed from there")
    func folders() throws {
        let folder = try stores(2)
        try FileManager.default.createDirectory(atPath: folder.file("in/3.sqlite"), withIntermediateDirectories: false)
        func run(_ stores: String) throws -> CommandBinary.Outcome {
            try CommandBinary.run(
                ["batch", stores, "--into", "new", "--to", Self.models, "--report", "page.html"], in: folder.path)
        }
        let outcome = try run("in/*.sqlite")
        #expect(outcome.code == 0)
        #expect(outcome.messages == "stagecoach: in/3.sqlite: A folder is no store: left out\n", "\(outcome.messages)")
        #expect(outcome.output.contains("\ndone       in/2.sqlite → new/2.sqlite  "), "\(outcome.output)")
        #expect(outcome.output.contains("\nResults: new/batch.results.jsonl\n"))
        let page = try String(contentsOfFile: folder.file("page.html"), encoding: .utf8)
        #expect(page.contains(">in/2.sqlite<") && page.contains(" data-name=\"destination\">new/2.sqlite<"))
        #expect(!page.contains("references nil") && !page.contains("rejected<"), "columns of zeros")
        let named = try run("in")
        #expect(named.code == 66 && named.messages.contains("'in/*.sqlite'"), "\(named.messages)")
        let only = try run("i*")
        #expect(only.code == 66 && only.messages.contains("the folder in"), "\(only.messages)")
    }

    private static let jq = ["/usr/bin/jq", "/usr/local/bin/jq"].first {
        FileManager.default.isExecutableFile(atPath: $0)
    }

    @Test("A store whose source or options changed is not passed over")
    func changed() throws {
        let folder = try stores(2)
        let manifest = try manifest(2, in: folder)
        #expect(try batch([manifest]).code == 0)
        let other = try batch([manifest, "--keys", "sequential"])
        #expect(other.code == 65 && other.output.contains("it was made with other models, mapping models, policies or"))
        #expect(try batch([manifest]).code == 0)
        try FileManager.default.removeItem(atPath: folder.file("in/1.sqlite"))
        try FileManager.default.copyItem(atPath: folder.file("in/2.sqlite"), toPath: folder.file("in/1.sqlite"))
        let replaced = try batch([manifest])
        #expect(replaced.code == 65)
        #expect(replaced.output.contains("skipped") && replaced.output.contains("failed 73"))
        #expect(replaced.output.contains("the source has changed since it was migrated to it"))
        #expect(try customers(folder.file("out/1.sqlite")) == 1)
    }

    @Test("A run that was killed after the rename and before its line has done the store")
    func recovered() throws {
        let folder = try stores(1)
        let manifest = try manifest(1, in: folder)
        #expect(try batch([manifest]).code == 0)
        let results = manifest + ".results.jsonl"
        let lines = try String(contentsOfFile: results, encoding: .utf8).split(separator: "\n")
        #expect(lines.count == 2)
        for jobs in ["1", "2"] {
            try (lines[0] + "\n{\"status\": \"do").write(toFile: results, atomically: true, encoding: .utf8)
            // The files of a run that was killed between the rename and the removal of its work directory.
            let work = folder.file("out/.1.sqlite.stagecoach")
            try FileManager.default.createDirectory(atPath: work, withIntermediateDirectories: false)
            try Data("rest".utf8).write(to: URL(fileURLWithPath: work + "/store.sqlite"))
            let again = try batch([manifest, "--jobs", jobs, "--memory-limit", Instrumentation.limit("200M")])
            #expect(again.code == 0 && again.output.contains("done  "), "\(again.output)")
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.file("out")) == ["1.sqlite"])
            #expect(try batch([manifest]).output.contains("skipped"))
        }
    }

    @Test(
        "A run that is killed before it has written a store's report writes it when it runs again", arguments: [1, 2])
    func told(jobs: Int) throws {
        let folder = try stores(2)
        let manifest = try manifest(2, in: folder)
        let text = try String(contentsOfFile: manifest, encoding: .utf8)
        try text.replacingOccurrences(of: "1.sqlite\"}", with: "1.sqlite\", \"report\": \"out/1.json\"}")
            .write(toFile: manifest, atomically: true, encoding: .utf8)
        let arguments = [manifest, "--jobs", "\(jobs)", "--memory-limit", Instrumentation.limit("200M")]
        _ = try batch(
            arguments,
            environment: FaultInjection.environment([
                "FAULT_ROOTS": folder.file("out"), "FAULT_NAME": "1.json", "FAULT_DO": "kill", "FAULT_KINDS": "link",
                "FAULT_AT": "1",
            ]))
        let killed = try FileManager.default.contentsOfDirectory(atPath: folder.file("out"))
        try #require(killed.contains("1.sqlite") && !killed.contains("1.json"), "\(killed)")
        let again = try batch(arguments)
        #expect(again.code == 0, "\(again.output)\(again.messages)")
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: folder.file("out")).sorted()
                == ["1.json", "1.sqlite", "2.sqlite"])
        let results = try String(contentsOfFile: manifest + ".results.jsonl", encoding: .utf8)
        let last = try #require(results.split(separator: "\n").last { $0.contains("out/1.sqlite") })
        #expect(last.contains("\"status\":\"done\"") && last.contains("\"objects\":1"), "\(last)")
    }

    @Test("A store that another run does meanwhile, under another results file, counts as done before")
    func overtaken() throws {
        let folder = try stores(2)
        let manifest = try manifest(2, in: folder)
        let source = try CommandBinary.librarySource()
        let line =
            "{\"source\": \"\(source)\", \"destination\": \"out/library.sqlite\", "
            + "\"model\": \"\(CommandBinary.models)\"}\n"
        let text = try String(contentsOfFile: manifest, encoding: .utf8)
        try (line + text).write(toFile: manifest, atomically: true, encoding: .utf8)
        // The first is at work on the library while the second does the others, and is stopped meanwhile.
        let (process, output, messages) = try CommandBinary.start(["batch", manifest, "--to", Self.models])
        let work = folder.file("out/.library.sqlite.stagecoach")
        while process.isRunning, !FileManager.default.fileExists(atPath: work) { usleep(500) }
        kill(process.processIdentifier, SIGSTOP)
        let other = manifest + ".results-other.jsonl"
        let second = try batch([manifest, "--results", other])
        kill(process.processIdentifier, SIGCONT)
        let first = CommandBinary.finish(process, output, messages)
        #expect(first.code == 0, "\(first.output)\(first.messages)")
        // The library was held by the first, or done.
        #expect([0, 75].contains(second.code), "\(second.output)\(second.messages)")
        #expect(try batch([manifest]).output.split(separator: "\n").count { $0.hasPrefix("skipped    /") } == 3)
    }

    @Test("A batch that is killed takes its workers with it, and the next run does the rest")
    func killedBatch() throws {
        let folder = try stores(1)
        let path = folder.file("stores.jsonl")
        let source = try CommandBinary.librarySource()
        try (0..<4).map {
            "{\"source\": \"\(source)\", \"destination\": \"out/\($0).sqlite\", \"model\": \"\(CommandBinary.models)\"}\n"
        }.joined().write(toFile: path, atomically: true, encoding: .utf8)
        let arguments = ["batch", path, "--jobs", "2", "--memory-limit", Instrumentation.limit("300M")]
        let (process, output, messages) = try CommandBinary.start(arguments)
        while process.isRunning, Self.children(of: process.processIdentifier).count < 2 { usleep(2000) }
        usleep(300_000)
        let workers = Self.children(of: process.processIdentifier)
        kill(process.processIdentifier, SIGKILL)
        #expect(CommandBinary.finish(process, output, messages).code == -SIGKILL)
        // They end in a state that can be resumed.
        for worker in workers {
            for _ in 0..<6000 where kill(worker, 0) == 0 { usleep(10_000) }
            #expect(kill(worker, 0) != 0)
        }
        let again = try CommandBinary.run(arguments)
        #expect(again.code == 0, "\(again.output)\(again.messages)")
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: folder.file("out")).sorted()
                == (0..<4).map { "\($0).sqlite" })
    }

    @Test("GNU parallel spreads shares", .enabled(if: parallel != nil, "GNU parallel is not installed"))
    func gnuParallel() throws {
        let folder = try stores(5)
        let manifest = try manifest(5, in: folder)
        let outcome = try CommandBinary.run(
            ["--retries", "3", CommandBinary.path, "batch", manifest, "--to", Self.models, "--shard", "{}/3", ":::"]
                + ["0", "1", "2"],
            environment: ["PARALLEL_HOME": folder.file("parallel")], through: [try #require(Self.parallel)],
            command: nil)
        #expect(outcome.code == 0, "\(outcome.messages)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.file("out")).count == 5)
    }

    private static let parallel = ["/usr/bin/parallel", "/usr/local/bin/parallel"].first {
        FileManager.default.isExecutableFile(atPath: $0)
    }

    @Test("Paths with spaces, quotes and line ends are paths; CR LF and a byte order mark are no part of them")
    func paths() throws {
        let folder = try stores(3)
        let names = ["in/a b.sqlite", "in/\"q\".sqlite", "in/line\nend.sqlite"]
        for (index, name) in names.enumerated() {
            try FileManager.default.moveItem(
                atPath: folder.file("in/\(index + 1).sqlite"), toPath: folder.file(name))
        }
        let rows = names.map { name in
            let field = name.replacing("\"", with: "\"\"")
            return "\"\(field)\",\"\(field.replacing("in/", with: "out/"))\"\r\n"
        }
        let path = folder.file("stores.csv")
        try ("\u{feff}source, destination\r\n\r\n" + rows.joined()).write(
            toFile: path, atomically: true, encoding: .utf8)
        let outcome = try batch([path, "--jobs", "2", "--memory-limit", Instrumentation.limit("200M")])
        #expect(outcome.code == 0, "\(outcome.output)\(outcome.messages)")
        for name in names {
            #expect(FileManager.default.fileExists(atPath: folder.file(name.replacing("in/", with: "out/"))))
        }
        #expect(outcome.output.split(separator: "\n").count { $0.hasPrefix("done ") } == 3)
        #expect(try batch([path]).code == 0)
    }

    @Test("Shares of a pattern's stores make the whole, by option or scheduler, and add up")
    func shards() throws {
        let folder = try stores(5)
        let pattern = [folder.file("in") + "/*.sqlite", "--into", folder.file("new/deep")]
        #expect(try batch(pattern + ["--shard", "0/3"]).code == 0)
        let slurm = ["SLURM_ARRAY_TASK_ID": "5", "SLURM_ARRAY_TASK_MIN": "3", "SLURM_ARRAY_TASK_STEP": "2"]
        #expect(try batch(pattern, environment: slurm.merging(["SLURM_ARRAY_TASK_COUNT": "3"]) { $1 }).code == 0)
        let unfinished = try FileManager.default.contentsOfDirectory(atPath: folder.file("new/deep"))
        #expect(unfinished.count { $0.hasSuffix(".sqlite") } == 4)
        #expect(try batch(pattern, environment: ["JOB_COMPLETION_INDEX": "2", "JOB_COMPLETIONS": "3"]).code == 0)
        let results = (0..<3).map { folder.file("new/deep/batch.results-\($0)-of-3.jsonl") }
        let merged = try CommandBinary.run(["merge-reports", "--json"] + results)
        #expect(merged.code == 0, "\(merged.messages)")
        let object = try #require(
            try JSONSerialization.jsonObject(with: Data(merged.output.utf8)) as? [String: Any])
        #expect(object["done"] as? Int == 5 && object["objects"] as? Int == 15)
        // The whole batch finds what its shares did.
        #expect(try batch(pattern).output.split(separator: "\n").count { $0.hasPrefix("skipped    /") } == 5)
        #expect(try batch(pattern, environment: ["JOB_COMPLETION_INDEX": "2"]).code == 64)
    }

    @Test("merge-reports names stores without a result, and those that began and did not end")
    func missing() throws {
        let folder = try stores(3)
        let manifest = try manifest(3, in: folder)
        #expect(try batch([manifest, "--shard", "0/2"]).code == 0)
        let results = manifest + ".results-0-of-2.jsonl"
        let page = folder.file("batch.html")
        let table = folder.file("batch.csv")
        let merged = try CommandBinary.run(
            ["merge-reports", results, "--manifest", manifest, "--report", page, "--report", table])
        #expect(merged.code == 75)
        let text = try XMLDocument(data: Data(contentsOf: URL(fileURLWithPath: page))).rootElement()?.stringValue ?? ""
        #expect(text.contains("1 of 3 stores not done") && text.contains("in/2.sqlite"))
        let lines = try String(contentsOfFile: table, encoding: .utf8).split(separator: "\r\n")
        #expect(lines.count == 4 && lines.filter { $0.hasPrefix("done,0,") }.count == 2)
        #expect(merged.output.contains("Without a result") && merged.output.contains("in/2.sqlite"))
        let kept = try String(contentsOfFile: results, encoding: .utf8).split(separator: "\n")
        try (kept[0] + "\n").write(toFile: results, atomically: true, encoding: .utf8)
        let begun = try CommandBinary.run(["merge-reports", results])
        #expect(begun.code == 75 && begun.output.contains("began and has no end"))
    }

    @Test(
        "A batch's report lists its stores, takes the place of its earlier one, and of no other file",
        arguments: [1, 2])
    func report(jobs: Int) throws {
        let folder = try stores(3)
        let manifest = try manifest(3, in: folder)
        let second = try #require(FileManager.default.contents(atPath: folder.file("in/2.sqlite")))
        try Data("no store".utf8).write(to: URL(fileURLWithPath: folder.file("in/2.sqlite")))
        let forms = ["html", "csv", "json"].map { folder.file("batch.\($0)") }
        let arguments =
            [manifest, "--jobs", "\(jobs)", "--memory-limit", Instrumentation.limit("400M")]
            + forms.flatMap { ["--report", $0] }
        #expect(try batch(arguments).code == 65)
        func page() throws -> String {
            try XMLDocument(data: Data(contentsOf: URL(fileURLWithPath: forms[0]))).rootElement()?.stringValue ?? ""
        }
        func states() throws -> [String] {
            try String(contentsOfFile: forms[1], encoding: .utf8).split(separator: "\r\n").dropFirst()
                .map { String($0.prefix { $0 != "," }) }.sorted()
        }
        #expect(try page().contains("1 of 3 stores not done"))
        #expect(try states() == ["done", "done", "failed"])
        // No store has a report of its own.
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: folder.file("out")).sorted() == [
                "1.sqlite", "3.sqlite",
            ])

        try second.write(to: URL(fileURLWithPath: folder.file("in/2.sqlite")))
        #expect(try batch(arguments).code == 0)
        #expect(try page().contains("All stores are done"))
        #expect(try states() == ["done", "skipped", "skipped"])
        let json = try #require(
            try JSONSerialization.jsonObject(with: Data(contentsOf: URL(fileURLWithPath: forms[2]))) as? [String: Any])
        #expect(json["batchReport"] as? Int == 1 && json["done"] as? Int == 1 && json["skipped"] as? Int == 2)
        #expect((json["stores"] as? [[String: Any]])?.count == 3)

        // Another file is refused before the work begins.
        try FileManager.default.removeItem(atPath: folder.file("out/1.sqlite"))
        try Data("notes".utf8).write(to: URL(fileURLWithPath: forms[1]))
        let refused = try batch(arguments)
        #expect(refused.code == 73 && refused.messages.contains("batch.csv"))
        #expect(try String(contentsOfFile: forms[1], encoding: .utf8) == "notes")
        #expect(!FileManager.default.fileExists(atPath: folder.file("out/1.sqlite")))
    }

    @Test("A worker that is killed takes one store with it")
    func killedWorker() throws {
        let folder = try stores(3)
        let path = try manifest(3, in: folder)
        // The first is large enough that the others are done before it.
        let library =
            "{\"source\": \"\(try CommandBinary.librarySource())\", \"destination\": \"out/library.sqlite\", "
            + "\"model\": \"\(CommandBinary.models)\"}\n"
        try (library + String(contentsOfFile: path, encoding: .utf8)).write(
            toFile: path, atomically: true, encoding: .utf8)
        let arguments = [
            "batch", path, "--to", Self.models, "--jobs", "2", "--memory-limit", Instrumentation.limit("300M"),
        ]
        let (process, output, messages) = try CommandBinary.start(arguments)
        let results = path + ".results.jsonl"
        func done() -> Int {
            let text = (try? String(contentsOfFile: results, encoding: .utf8)) ?? ""
            return text.split(separator: "\n").count { $0.contains("\"status\":\"done\"") }
        }
        while process.isRunning, done() < 3 { usleep(2000) }
        let workers = Self.children(of: process.processIdentifier)
        #expect(!workers.isEmpty)
        for worker in workers { kill(worker, SIGKILL) }
        let outcome = CommandBinary.finish(process, output, messages)
        #expect(outcome.code == 65, "\(outcome.output)\(outcome.messages)")
        #expect(outcome.output.contains("was ended by signal 9"), "\(outcome.output)")
        #expect(outcome.output.split(separator: "\n").count { $0.hasPrefix("done ") } == 3)
        #expect(try CommandBinary.run(arguments).code == 0)
    }

    /// The processes that a process has started.
    private static func children(of process: pid_t) -> [pid_t] {
        let threads = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/task")) ?? []
        return threads.flatMap { thread in
            ((try? String(contentsOfFile: "/proc/\(process)/task/\(thread)/children", encoding: .utf8)) ?? "")
                .split(separator: " ").compactMap { pid_t($0) }
        }
    }

    @Test("A first signal ends the stores at work and begins no other; the next run continues", arguments: [1, 2])
    func signal(jobs: Int) throws {
        let folder = try stores(2)
        let path = folder.file("stores.jsonl")
        let source = try CommandBinary.librarySource()
        try (0..<6).map {
            "{\"source\": \"\(source)\", \"destination\": \"out/\($0).sqlite\", \"model\": \"\(CommandBinary.models)\"}\n"
        }.joined().write(toFile: path, atomically: true, encoding: .utf8)
        let arguments = ["batch", path, "--jobs", "\(jobs)", "--memory-limit", Instrumentation.limit("300M")]
        let (process, output, messages) = try CommandBinary.start(arguments)
        let results = path + ".results.jsonl"
        while process.isRunning, FileManager.default.contents(atPath: results)?.isEmpty ?? true { usleep(2000) }
        usleep(100_000)
        process.terminate()
        let outcome = CommandBinary.finish(process, output, messages)
        #expect(outcome.code == 75, "\(outcome.output)\(outcome.messages)")
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.file("out"))
        #expect(names.count { $0.hasSuffix(".sqlite") } < 6)
        let again = try CommandBinary.run(arguments)
        #expect(again.code == 0, "\(again.output)\(again.messages)")
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: folder.file("out")).sorted()
                == (0..<6).map { "\($0).sqlite" })
    }

    @Test(
        "A manifest that is wrong is refused with its line, and nothing runs",
        arguments: [
            ("source,destination\nin/1.sqlite,out/1.sqlite\nin/2.sqlite,out/1.sqlite\n", "csv:3: 'destination' is the"),
            ("source,destination\nin/1.sqlite\n", "csv:2: 'source' and 'destination' must both be there"),
            ("source,destination\n\"in/1.sqlite,out\n", "csv:2: A quoted value does not end"),
            ("source,destination\nin/1.sqlite,out/1.sqlite,more\n", "csv:2: The line has more values"),
            ("source,destination\nin/1.sqlite,in/../in/1.sqlite\n", "csv:2: Source and destination are the same"),
            ("source,destination,modell\na,b,c\n", "csv:2: A manifest knows no 'modell'"),
            ("in/1.sqlite,out/1.sqlite\n", "csv:1: The first line does not name the columns"),
            ("source,destination\n", "The manifest names no store"),
        ])
    func wrong(text: String, message: String) throws {
        let folder = try stores(2)
        let path = folder.file("stores.csv")
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        let outcome = try batch([path])
        #expect(outcome.code == 65)
        #expect(outcome.messages.contains(message), "\(outcome.messages)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.file("out")).isEmpty)
        #expect(!FileManager.default.fileExists(atPath: path + ".results.jsonl"))
    }

    @Test("Too many jobs for the memory are refused with a number that works")
    func memory() throws {
        let folder = try stores(2)
        let manifest = try manifest(2, in: folder)
        let refused = try batch([manifest, "--jobs", "12", "--memory-limit", "400M"])
        #expect(refused.code == 78, "\(refused.messages)")
        let bytes = try batch([manifest, "--jobs", "2", "--memory-limit", "900"])
        #expect(bytes.messages.contains("2 jobs within 900 bytes") && bytes.messages.contains("Did you mean 900M?"))
        let number = try #require(refused.messages.firstMatch(of: /Give --jobs ([0-9]+)/)).1
        #expect(try batch([manifest, "--jobs", String(number), "--memory-limit", "400M"]).code != 78)
    }
}
