import Diagnostics
import Foundation
import ManagedModel
import Mapping
import SpillStorage
import Stagecoach

/// `stagecoach demo`: makes a store, migrates it and shows the result.
struct DemoCommand {
    /// The memory limit of the demonstration in bytes, if none is given.
    static let standardLimit = 64 << 20

    private let kept: String?
    private let memoryLimit: Int
    private let console: Console

    init(_ arguments: ParsedArguments, console: Console) {
        kept = arguments[option: "keep"]
        memoryLimit = arguments.number("memory-limit") ?? Self.standardLimit
        self.console = console
    }

    /// Runs the demonstration. Its folder is removed at the end, unless the user keeps it.
    func run() throws {
        let cancellation = CancellationFlag()
        try console.interruption.during(cancellation) {
            let folder = try DemoFolder(kept: kept, environment: console.environment)
            var isDone = false
            defer { if kept == nil || !isDone { folder.remove() } }
            try show(in: folder, cancellation)
            isDone = true
        }
    }

    private func show(in folder: DemoFolder, _ cancellation: CancellationFlag) throws {
        let old = try ModelXMLReader.readModel(Data(DemoTexts.sourceModel.utf8), path: "Library")
        let new = try ModelXMLReader.readModel(Data(DemoTexts.destinationModel.utf8), path: "Library 2")
        let mapping = try MappingModel.reading(
            json: Array(DemoTexts.mapping.utf8), path: "library.json", source: old, destination: new)
        if kept != nil { try folder.writeTexts() }
        let source = folder.file("Library.sqlite")
        let destination = folder.file("Library-2.sqlite")

        say("Making a store of \(Figures.count(DemoStore.objects)) objects")
        try DemoStore.create(at: source, model: old, cancellation: cancellation)
        try showRows(
            source, old,
            [
                ("Author", 1, ["name"]), ("Book", 1, ["title", "pageCount", "author"]),
                ("Chapter", 1, ["heading", "book"]),
            ])

        var options = MigrationOptions()
        options.memoryLimit = memoryLimit
        let progress = ProgressCounter()
        let migration = Migration(
            from: source, model: old, mapping: mapping, to: destination, model: new, options: options,
            progress: progress, cancellation: cancellation)
        say("\nPlanning")
        let names = MigrationNames(sourceVersion: "Library", destinationVersion: "Library 2", mapping: "library.json")
        let plan = try migration.plan()
        console.output.write(
            PlanWording.text(PlanOutline(plan: plan, source: source, destination: destination, names: names)))
        say("\nMigrating within \(Figures.size(memoryLimit))")
        let report = try ProgressDisplay.during(
            progress, console: console, style: ProgressDisplay.Style(choice: nil, console: console)
        ) { try migration.run() }
        console.output.write(SummaryWording.text(MigrationResult(report: report, names: names)))
        say("\nThe same objects afterwards")
        try showRows(
            destination, new,
            [
                ("Author", 1, ["fullName"]), ("Publisher", 32, ["name"]),
                ("Book", 1, ["title", "citation", "isLong", "author", "publisher"]),
                ("Section", 1, ["heading", "book"]),
            ])
        try finish(folder)
    }

    /// Reports the peak memory of the whole process, which also made the store.
    private func finish(_ folder: DemoFolder) throws {
        let peak = ProcessMemory.peakResident() ?? 0
        let limit = Figures.size(memoryLimit)
        guard peak <= memoryLimit else {
            throw MigrationError(
                "demo.memory", .internal,
                "The demonstration held \(Figures.size(peak)), more than its limit of \(limit)")
        }
        say("\nPeak memory of the whole demonstration (VmHWM): \(Figures.size(peak)) of \(limit)")
        guard kept != nil else { return say("The stores are removed; --keep DIR keeps them.") }
        try folder.writeFleet()
        say(
            "Kept in \(folder.path), under the names that the articles use: \(DemoFolder.names.joined(separator: ", "))"
        )
    }

    private func showRows(
        _ path: String, _ model: ManagedObjectModel, _ rows: [(entity: String, key: Int64, properties: [String])]
    ) throws {
        let sample = try DemoSample(path: path, model: model)
        for row in rows { say("  " + (try sample.line(row.entity, key: row.key, row.properties)).printable) }
    }

    private func say(_ line: String) { console.output.write(line + "\n") }
}

/// The folder of a demonstration, and the files in it that may be removed.
struct DemoFolder {
    let path: String
    private let isOurs: Bool

    /// Makes a temporary folder, or uses the folder to keep, which must be new or empty.
    init(kept: String?, environment: [String: String]) throws(MigrationError) {
        guard let kept else {
            let base = environment["TMPDIR"].flatMap { $0.isEmpty ? nil : $0 } ?? "/tmp"
            var template = Array("\(base)/stagecoach-demo-XXXXXX".utf8CString)
            guard mkdtemp(&template) != nil else { throw Self.failure(base, errno) }
            path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
            isOurs = true
            return
        }
        path = kept
        isOurs = mkdir(kept, 0o755) == 0
        if !isOurs {
            let reason = errno
            guard reason == EEXIST, InputFile.isFolder(kept) else { throw Self.failure(kept, reason) }
            guard (try? FileManager.default.contentsOfDirectory(atPath: kept))?.isEmpty == true else {
                throw MigrationError(
                    "demo.folder", .cannotCreate, "The folder is not empty", remedy: "Name a new or empty folder",
                    at: kept)
            }
        }
    }

    /// The names of the files that stay in a folder to keep.
    static let names = [
        "Library.sqlite", "Library-2.sqlite", "Library.xcdatamodeld", "library.json", "books.json", "customers",
        "stores.jsonl",
    ]

    func file(_ name: String) -> String { "\(path)/\(name)" }

    /// Writes the models as a bundle, and the mapping model.
    func writeTexts() throws {
        for (version, text) in [("Library", DemoTexts.sourceModel), ("Library 2", DemoTexts.destinationModel)] {
            let folder = file("Library.xcdatamodeld/\(version).xcdatamodel")
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            try OutputFile.create("\(folder)/contents", text)
        }
        try OutputFile.create(
            file("Library.xcdatamodeld/.xccurrentversion"), ModelCommand.currentVersion("Library 2.xcdatamodel"))
        try OutputFile.create(file("library.json"), DemoTexts.mapping)
        try OutputFile.create(file("books.json"), DemoTexts.shortMapping)
    }

    /// Writes stores of three customers, which share the blocks of the library's file, and a manifest of them.
    func writeFleet() throws {
        var manifest = ""
        for customer in 1...3 {
            let store = "customers/\(customer)/Library.sqlite"
            try FileManager.default.createDirectory(
                atPath: file("customers/\(customer)"), withIntermediateDirectories: true)
            if link(file("Library.sqlite"), file(store)) != 0 {
                try FileManager.default.copyItem(atPath: file("Library.sqlite"), toPath: file(store))
            }
            manifest += "{\"source\": \"\(store)\", \"destination\": \"new/\(customer).sqlite\"}\n"
        }
        try OutputFile.create(file("stores.jsonl"), manifest)
    }

    /// Removes the files of the demonstration, and the folder if the demonstration made it.
    func remove() {
        let made = Self.names.map(file)
        for path in isOurs ? [path] : made { try? FileManager.default.removeItem(atPath: path) }
    }

    private static func failure(_ path: String, _ number: Int32) -> MigrationError {
        MigrationError(
            "demo.folder", number == EACCES || number == EPERM ? .permission : .cannotCreate,
            "The folder cannot be made: \(String(cString: strerror(number)))", at: path)
    }
}
