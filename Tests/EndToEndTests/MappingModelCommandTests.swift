import CSQLite
import CoreDataStore
import Diagnostics
import Foundation
import ManagedModel
import Mapping
import Stagecoach
import TestSupport
import Testing

/// The work of an app's policy of this name: a car's maker, a text, becomes an object of its own. The policy relates makers, as
/// the mapping model relates owners.
private final class V2to3MakerPolicy: EntityMigrationPolicy {
    override func createDestinationInstances(
        forSource sInstance: ManagedObject, in mapping: EntityMapping, manager: MigrationManager
    ) throws {
        try super.createDestinationInstances(forSource: sInstance, in: mapping, manager: manager)
        guard let name = sInstance.value(forKey: "maker") as? String,
            let car = manager.destinationInstances(
                forEntityMappingName: mapping.name, sourceInstances: [sInstance]
            ).first
        else { return }
        let context = manager.destinationContext
        var makers = manager.userInfo?["makers"] as? [String: ManagedObject] ?? [:]
        let maker = makers[name] ?? EntityDescription.insertNewObject(forEntityName: "Maker", into: context)
        maker.setValue(name, forKey: "name")
        makers[name] = maker
        manager.userInfo = ["makers": makers]
        car.setValue(maker, forKey: "createdBy")
    }
}

@Suite("Mapping models of Xcode, run", .enabled(if: SharedStores.isPresent, "the folder of shared stores is absent"))
struct MappingModelCommandTests {
    private static func shared(_ name: String) -> String { SharedStores.url.appendingPathComponent(name).path }
    private static let models = shared("coredataplus/models/SampleModel.xcdatamodeld")
    private static let compiledModels = shared("coredataplus/momd/SampleModel.momd")
    private static let source = shared("coredataplus/mappings/V2toV3.xcmappingmodel")
    private static let compiled = shared("coredataplus/mappings/V2toV3.cdm")

    /// Every row of every table, a line each, but for the store's own identity.
    private func rows(_ path: String, without absent: Set<String> = []) throws -> [String] {
        let connection = try Connection(path: path, flags: SQLITE_OPEN_READONLY)
        var lines: [String] = []
        for table in ["ZCAR", "ZPERSON", "ZMAKER", "Z_1PREVIOUSOWNERS", "Z_PRIMARYKEY"]
        where !absent.contains(table) {
            let columns = try connection.firstColumn("SELECT name FROM pragma_table_info('\(table)')")
                .joined(separator: ", ")
            lines += try connection.firstColumn("SELECT '\(table) ' || json_array(\(columns)) FROM \(table) ORDER BY 1")
        }
        return lines
    }

    @Test("The source and the compiled form give equal destinations, by source and by compiled models")
    func equalDestinations() throws {
        PolicyRegistry.shared.register("V2to3MakerPolicy") { V2to3MakerPolicy() }
        var results: [[String]] = []
        for (mapping, models) in [
            (Self.source, Self.models), (Self.compiled, Self.models), (Self.compiled, Self.compiledModels),
        ] {
            let folder = try TemporaryFolder()
            let store = try folder.copyStore(
                SharedStores.url.appendingPathComponent("coredataplus/stores/SampleModel_V2.sqlite"))
            let old = try ModelLocator.load(models + ":SampleModel2").model
            let new = try ModelLocator.load(models + ":SampleModel3").model
            let manager = MigrationManager(sourceModel: old, destinationModel: new)
            // The process of all tests together is larger than a program that migrates.
            manager.options.memoryLimit = 8 << 30
            let destination = folder.file("new.sqlite")
            try manager.migrateStore(
                from: URL(fileURLWithPath: store), type: .sqlite,
                mapping: try MappingModel.read(path: mapping, sourceModel: old, destinationModel: new),
                to: URL(fileURLWithPath: destination), type: .sqlite)
            results.append(try rows(destination))
            let connection = try Connection(path: destination, flags: SQLITE_OPEN_READONLY)
            #expect(try connection.integer("SELECT count(*) FROM ZCAR") == 125)
            #expect(try connection.integer("SELECT count(*) FROM ZPERSON") == 20)
            #expect(try connection.integer("SELECT count(*) FROM ZCAR WHERE ZCREATEDBY IS NULL") == 0)
            #expect(
                try connection.integer("SELECT count(*) FROM ZCAR WHERE ZOWNER IS NOT NULL")
                    == connection.integer("SELECT count(DISTINCT rowid) FROM Z_1PREVIOUSOWNERS"))
        }
        #expect(results[0] == results[1])
        #expect(results[0] == results[2])
        #expect(results[0].count > 150)
    }

    @Test("convert writes either form, and migrate reads what it wrote as the same")
    func convert() throws {
        let folder = try TemporaryFolder()
        let models = ["--from", Self.models + ":SampleModel2", "--to", Self.models + ":SampleModel3"]
        let source = try CommandBinary.run(["convert", Self.source] + models)
        #expect(source.code == 0 && source.messages.isEmpty, "\(source.messages)")
        #expect(source.output.contains("\"name\": \"PersonToPerson\""))
        let file = try CommandBinary.run(
            ["convert", Self.source + "/xcmapping.xml", "-o", "made.json"] + models, in: folder.path)
        #expect(file.code == 0 && file.output.isEmpty, "\(file.messages)")
        #expect(try String(contentsOfFile: folder.file("made.json"), encoding: .utf8) == source.output)
        #expect(try CommandBinary.run(["convert", "made.json"] + models, in: folder.path).output == source.output)
        #expect(
            try CommandBinary.run(["convert", Self.source, "-o", "made.json"] + models, in: folder.path).code == 73)
        let bare = try CommandBinary.run(["convert", Self.compiled])
        #expect(bare.code == 0 && bare.output.contains("\"convertedFrom\": \"cdm\""), "\(bare.messages)")
        let open = try CommandBinary.run(["convert", Self.source, "-o", "open.json"], in: folder.path)
        #expect(open.code == 0, "\(open.messages)")
        let alone = try CommandBinary.run(["convert", "open.json"], in: folder.path)
        #expect(alone.output == (try String(contentsOfFile: folder.file("open.json"), encoding: .utf8)))
        #expect(try CommandBinary.run(["convert", "open.json"] + models, in: folder.path).output == source.output)
        // A mapping model that leaves out the models' part still needs them.
        let refused = try CommandBinary.run(["convert", "made.json"], in: folder.path)
        #expect(refused.code == 78 && refused.messages.contains("--from"), "\(refused.messages)")
        let whole = try CommandBinary.run(["convert", Self.compiled] + models)
        #expect(whole.code == 0 && !whole.output.contains("unlisted"))
        let momd = ["--from", Self.compiledModels + ":SampleModel2", "--to", Self.compiledModels + ":SampleModel3"]
        #expect(try CommandBinary.run(["convert", Self.compiled] + momd).output == whole.output)
    }

    @Test("convert says that it needs models, and which, and what else is wrong")
    func refused() throws {
        let folder = try TemporaryFolder()
        try Data("hello".utf8).write(to: folder.url.appendingPathComponent("text.cdm"))
        let from = ["--from", Self.models + ":SampleModel2"]
        for (arguments, code, said) in [
            ([Self.source] + from, 78, "SampleModel2.xcdatamodel"), ([Self.source] + from, 78, "--to"),
            ([Self.compiled] + from, 78, "--to"), (["none.cdm"], 66, "none.cdm"), (["text.cdm"], 78, "text.cdm"),
            (["."], 66, "xcmapping.xml"), ([Self.compiled, "--from", Self.models, "--to", Self.models], 78, "version"),
            ([], 64, "MAPPING"),
        ] {
            let outcome = try CommandBinary.run(["convert"] + arguments, in: folder.path)
            #expect(outcome.code == Int32(code), "\(arguments): \(outcome.messages)")
            #expect(outcome.messages.contains(said), "\(arguments): \(outcome.messages)")
            #expect(outcome.output.isEmpty)
        }
    }

    @Test("inspect shows mapping models of each form, and compiled models")
    func inspect() throws {
        let xcode = try CommandBinary.run(["inspect", Self.source])
        #expect(xcode.code == 0 && xcode.output.contains("PersonToPerson  Person → Person  copy"), "\(xcode.messages)")
        #expect(xcode.output.contains("automatic") && xcode.output.contains("SampleModel2.xcdatamodel"))
        let cdm = try CommandBinary.run(["inspect", Self.compiled, "--json"])
        #expect(
            cdm.output.contains("\"form\" : \"cdm\"") || cdm.output.contains("\"form\": \"cdm\""),
            "\(cdm.output.prefix(300))")
        let xml = try CommandBinary.run(["inspect", Self.source + "/xcmapping.xml"])
        #expect(xml.code == 0 && xml.output.contains("PersonToPerson"))
        let bundle = try CommandBinary.run(["inspect", Self.compiledModels])
        #expect(
            bundle.code == 0 && bundle.output.contains("SampleModel, SampleModel2, SampleModel3"), "\(bundle.messages)")
        let version = try CommandBinary.run(["inspect", Self.compiledModels + "/SampleModel2.mom"])
        #expect(version.code == 0 && version.output.contains("Entity LuxuryCar"), "\(version.messages)")
    }

    @Test("migrate takes a mapping model of Xcode's and compiled models")
    func migrate() throws {
        let folder = try TemporaryFolder()
        let store = Self.shared("objcio-moody/stores")
        let name = try #require(
            try FileManager.default.contentsOfDirectory(atPath: store).first { $0 == "Moody 4.moody" })
        let path = try folder.copyStore(URL(fileURLWithPath: "\(store)/\(name)"))
        let models = Self.shared("objcio-moody/models/Moody.xcdatamodeld")
        let outcome = try CommandBinary.run(
            [
                "migrate", path, folder.file("new.moody"), "--to", models + ":Moody 5", "--mapping",
                Self.shared("objcio-moody/mappings/Moody 4-Moody 5.xcmappingmodel"), "--progress", "none",
            ])
        #expect(outcome.code == 0, "\(outcome.messages)")
        let connection = try Connection(path: folder.file("new.moody"), flags: SQLITE_OPEN_READONLY)
        #expect((try connection.integer("SELECT count(*) FROM ZMOOD") ?? 0) > 0)
        let sample = try folder.copyStore(
            URL(fileURLWithPath: Self.shared("coredataplus/stores/SampleModel_V1.sqlite")))
        let inferred = try CommandBinary.run(
            [
                "migrate", sample, folder.file("2.sqlite"), "--to", Self.compiledModels + ":SampleModel2", "--progress",
                "none",
            ])
        #expect(inferred.code == 0, "\(inferred.messages)")
        // Without its cached model the store's version is found among the compiled ones by its hashes.
        let writable = try Connection(path: sample, flags: SQLITE_OPEN_READWRITE)
        try writable.execute("DELETE FROM Z_MODELCACHE")
        try writable.close()
        let found = try CommandBinary.run(
            [
                "migrate", sample, folder.file("found.sqlite"), "--to", Self.compiledModels + ":SampleModel2",
                "--progress", "none",
            ])
        #expect(found.code == 0, "\(found.messages)")
        #expect(try rows(folder.file("found.sqlite"), without: ["ZMAKER", "Z_1PREVIOUSOWNERS"]).count > 140)
        #expect(
            try rows(folder.file("found.sqlite"), without: ["ZMAKER", "Z_1PREVIOUSOWNERS"])
                == rows(folder.file("2.sqlite"), without: ["ZMAKER", "Z_1PREVIOUSOWNERS"]))
    }
}
