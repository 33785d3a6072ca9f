import CSQLite
import CoreDataStore
import Foundation
import ManagedModel
import Stagecoach
import TestSupport
import Testing

/// Runs the command with the example library of policies, and with what `port` makes of sources for Core Data.
@Suite("Libraries of policies")
struct PolicyLibraryTests {
    private static let models = PolicyLibrary.example.appendingPathComponent("Contacts.xcdatamodeld").path

    private func model(_ version: String) throws -> ManagedObjectModel {
        try ModelLocator.load(Self.models + ":" + version).model
    }

    /// A store of three contacts.
    private func source(in folder: TemporaryFolder) throws -> String {
        let path = folder.file("contacts.sqlite")
        var store = ReferenceStore(model: try model("Contacts"))
        store.insert("Contact", 1, ["fullName": .text("Ada King Lovelace"), "companyName": .text("Engines")])
        store.insert("Contact", 2, ["fullName": .text("Charles Babbage"), "companyName": .text("Engines")])
        store.insert("Contact", 3, ["fullName": .text("Hypatia")])
        store.complete()
        try store.write(path: path)
        return path
    }

    private func arguments(_ source: String, _ destination: String, _ libraries: String...) -> [String] {
        [
            "migrate", source, destination, "--to", Self.models,
            "--mapping", PolicyLibrary.example.appendingPathComponent("contacts.json").path,
        ] + libraries.flatMap { ["--policies", $0] }
    }

    @Test("Without the program that loads them beside it, the command says what is missing, and does nothing")
    func alone() throws {
        let folder = try TemporaryFolder()
        let source = try source(in: folder)
        let command = folder.file("stagecoach")
        try FileManager.default.copyItem(atPath: CommandBinary.path, toPath: command)
        let outcome = try CommandBinary.run(
            arguments(source, folder.file("new.sqlite"), folder.file("lib.so")), command: command)
        #expect(outcome.code == 78 && outcome.output.isEmpty)
        #expect(outcome.messages.contains("Put stagecoach-policies beside this program"), "\(outcome.messages)")
        #expect(outcome.messages.contains(folder.file("stagecoach-policies")), "\(outcome.messages)")
        #expect(!FileManager.default.fileExists(atPath: folder.file("new.sqlite")))
    }

    @Test("The example's policies and functions run in the command's own Stagecoach")
    func example() throws {
        let library = try PolicyLibrary.exampleLibrary()
        let folder = try TemporaryFolder()
        let source = try source(in: folder)
        let destination = folder.file("new.sqlite")
        let outcome = try CommandBinary.run(arguments(source, destination, library) + ["--check", "full"])
        #expect(outcome.code == 0, "\(outcome.messages)")
        let connection = try Connection(path: destination, flags: SQLITE_OPEN_READWRITE)
        func rows(_ select: String) throws -> [String] {
            return try connection.firstColumn(select)
        }
        #expect(
            try rows(
                """
                SELECT ZFIRSTNAME || '|' || coalesce(ZLASTNAME, '-') || '|' || ZINITIALS || '|' || coalesce(ZCOMPANY, '-')
                FROM ZCONTACT ORDER BY Z_PK
                """) == ["Ada|King Lovelace|AKL|1", "Charles|Babbage|CB|1", "Hypatia|-|H|-"])
        #expect(try rows("SELECT ZNAME || '|' || ZNUMBEROFEMPLOYEES FROM ZCOMPANY") == ["Engines|2"])

        let plan = try CommandBinary.run(
            ["plan"] + arguments(source, folder.file("planned.sqlite"), library).dropFirst())
        #expect(plan.code == 0, "\(plan.messages)")

        try connection.close()
        // Objects of policies are checked against the model's rules; when the policies run again, they are compared.
        let verify = ["verify"] + arguments(source, destination, library).dropFirst()
        let checked = try CommandBinary.run(verify)
        #expect(checked.code == 0, "\(checked.output)\(checked.messages)")
        #expect(checked.output.contains("Nothing differs of what was compared."), "\(checked.output)")
        #expect(checked.output.contains("checked against the model's rules because a policy made them"))
        let again = try CommandBinary.run(verify + ["--run-policies"])
        #expect(again.code == 0, "\(again.output)\(again.messages)")
        #expect(again.output.contains("compared with what the policies made when they ran again, which trusts them"))
        try Connection(path: destination, flags: SQLITE_OPEN_READWRITE).execute(
            "UPDATE ZCONTACT SET ZINITIALS = 'XX' WHERE Z_PK = 2")
        #expect(try CommandBinary.run(verify).code == 0)
        let damaged = try CommandBinary.run(verify + ["--run-policies"])
        #expect(damaged.code == 65 && damaged.output.contains("Contact/p2 initials"), "\(damaged.output)")
    }

    @Test("The check says what the example registers, and what is missing beside it")
    func check() throws {
        let library = try PolicyLibrary.exampleLibrary()
        let check = try CommandBinary.run(["policies", "check", library])
        #expect(check.code == 0 && check.messages.isEmpty, "\(check.output)\(check.messages)")
        // The Swift compiler's version is told where both have debug information.
        let program = try Data(contentsOf: URL(fileURLWithPath: CommandBinary.path + "-policies"))
        let compiler = program.range(of: Data("Swift version 6".utf8)) == nil ? "clang" : "Swift"
        #expect(check.output.contains("built by   \(compiler) version "), "\(check.output)")
        #expect(check.output.contains(", as this program"), "\(check.output)")
        #expect(check.output.contains("exports    stagecoach_register_policies"))
        #expect(check.output.contains("all found"))
        #expect(check.output.contains("    ExamplePolicies.ContactPolicy (ContactPolicy)\n      initialsOfName:\n"))
        let json = try CommandBinary.run(["policies", "check", library, "--json"])
        let object = try JSONSerialization.jsonObject(with: Data(json.output.utf8)) as? [String: Any]
        #expect((object?["policies"] as? [Any])?.count == 1 && (object?["missing"] as? [Any])?.isEmpty == true)

        // Alone in a folder, the library does not find Stagecoach.
        let folder = try TemporaryFolder()
        try FileManager.default.copyItem(atPath: library, toPath: folder.file("lib.so"))
        let alone = try CommandBinary.run(["policies", "check", folder.file("lib.so")])
        #expect(alone.code == 78)
        #expect(alone.output.contains("not found: libStagecoachForPolicies.so"), "\(alone.output)")
        #expect(alone.messages.contains("Copy it beside the library"), "\(alone.messages)")

        // Without the program that loads libraries, what the file itself shows is told.
        let command = folder.file("stagecoach")
        try FileManager.default.copyItem(atPath: CommandBinary.path, toPath: command)
        let bare = try CommandBinary.run(["policies", "check", library], command: command)
        #expect(bare.code == 78 && bare.output.contains("registers  not known"), "\(bare.output)")
        #expect(bare.messages.contains("Put stagecoach-policies beside this program"), "\(bare.messages)")
    }

    @Test("A host without Swift gets a sentence, and not the loader's error")
    func withoutSwift() throws {
        let folder = try TemporaryFolder()
        let source = try source(in: folder)
        let command = folder.file("stagecoach")
        try FileManager.default.copyItem(atPath: CommandBinary.path, toPath: command)
        // The program as it is on a host where its libraries are nowhere.
        let beside = URL(fileURLWithPath: CommandBinary.path).deletingLastPathComponent()
            .appendingPathComponent("stagecoach-policies")
        var program = try Data(contentsOf: beside)
        while let place = program.range(of: Data("libswiftCore.so\0".utf8)) {
            program.replaceSubrange(place, with: Data("libswiftNone.so\0".utf8))
        }
        try program.write(to: URL(fileURLWithPath: folder.file("stagecoach-policies")))
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o755], ofItemAtPath: folder.file("stagecoach-policies"))
        let outcome = try CommandBinary.run(
            arguments(source, folder.file("new.sqlite"), folder.file("lib.so")), command: command)
        #expect(outcome.code == 78 && outcome.output.isEmpty, "\(outcome.output)")
        #expect(outcome.messages.contains("This host has no Swift"), "\(outcome.messages)")
        #expect(outcome.messages.contains("libswiftNone.so"), "\(outcome.messages)")
    }

    @Test("A library that is not there, is none, or does not register is told apart")
    func wrong() throws {
        let folder = try TemporaryFolder()
        let source = try source(in: folder)
        let missing = try CommandBinary.run(arguments(source, folder.file("a.sqlite"), folder.file("none.so")))
        #expect(missing.code == 66)
        #expect(missing.messages.contains("none.so"))
        let text = folder.file("text.so")
        try Data("no library".utf8).write(to: URL(fileURLWithPath: text))
        let unloadable = try CommandBinary.run(arguments(source, folder.file("a.sqlite"), text))
        #expect(unloadable.code == 78)
        // Any library of the system exports no such function.
        let other = ["/lib/x86_64-linux-gnu/libm.so.6", "/lib/aarch64-linux-gnu/libm.so.6", "/lib64/libm.so.6"]
            .first { FileManager.default.fileExists(atPath: $0) }
        if let other {
            let silent = try CommandBinary.run(arguments(source, folder.file("a.sqlite"), other))
            #expect(silent.code == 78)
            #expect(silent.messages.contains("stagecoach_register_policies"))
        }
        let unregistered = try CommandBinary.run(arguments(source, folder.file("a.sqlite")))
        #expect(unregistered.code == 78)
        #expect(unregistered.messages.contains("ExamplePolicies.ContactPolicy"))
        #expect(unregistered.messages.contains("--policies"))
        #expect(!FileManager.default.fileExists(atPath: folder.file("a.sqlite")))
    }

    @Test("Ported sources compile against Stagecoach, and their library loads")
    func ported() throws {
        let folder = try TemporaryFolder()
        let sources = folder.file("ported")
        let port = try CommandBinary.run(
            ["port", SharedStores.repository.appendingPathComponent("Fixtures/PortExamples").path, "--apply", sources])
        #expect(port.code == 0, "\(port.messages)")
        // The types for which port makes no stub have to be there.
        let list = SharedStores.repository.appendingPathComponent("Sources/StagecoachCommand/Porting/KnownTypes.swift")
        let types = try String(contentsOf: list, encoding: .utf8).split(separator: "\n")
            .filter { $0.hasPrefix("        ") && !$0.contains("\"") }.flatMap { $0.split(separator: " ") }
        #expect(types.count > 600)
        let aliases = types.enumerated().map { "typealias Known\($0) = \($1)\n" }.joined()
        try Data("import Stagecoach\n\(aliases)".utf8).write(to: URL(fileURLWithPath: sources + "/KnownTypes.swift"))
        let compiled = try PolicyLibrary(sources: sources)
        defer { withExtendedLifetime(compiled) {} }
        let library = compiled.path
        let store = try source(in: folder)
        let outcome = try CommandBinary.run(arguments(store, folder.file("a.sqlite"), library))
        // The library registers its own policies, not the mapping model's.
        #expect(outcome.code == 78)
        #expect(outcome.messages.contains("BKBookPolicy"))
        let check = try CommandBinary.run(["policies", "check", library])
        #expect(check.code == 0, "\(check.output)\(check.messages)")
        for name in [
            "MessagePolicy", "CLMClimbPolicy", "WorkoutPolicy", "LedgerPolicy", "PlaylistPolicy", "NotePolicy (",
            "NTNotePolicy",
            "PlacePolicy", "AlbumPolicy", "ArchivePolicy", "BudgetPolicy", "RecipePolicy", "StationPolicy",
            "JREntryPolicy",
            "EpisodePolicy", "InvoicePolicy", "StickerPolicy", "TaskPolicy", "TripPolicy", "LoanPolicy", "PlantPolicy",
            "HabitPolicy", "MemoPolicy", "OrderPolicy", "ScanPolicy", "VehiclePolicy", "GarageLegacyPolicy",
            "GarmentPolicy", "ChannelPolicy", "RadioBasePolicy", "VisitPolicy", "frequencyOf:",
            "podcastFor:manager:", "fahrenheit:",
            "coordinateFromText:precision:", "slugForTitle:separator:",
        ] { #expect(check.output.contains(name), "\(name): \(check.output)") }
    }

    /// A policy that reads and sets an array and a value of the app's own transformer.
    private static let transformableSource = """
        import Stagecoach

        final class TagPolicy: NSEntityMigrationPolicy {
            override func createDestinationInstances(
                forSource sInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
            ) throws {
                let made = NSEntityDescription.insertNewObject(forEntityName: "Item", into: manager.destinationContext)
                let tags = sInstance.value(forKey: "tags") as? [String] ?? []
                made.setValue(tags.filter { $0 != "old" } + ["new"], forKey: "tags")
                made.setValue((sInstance.value(forKey: "color") as? String)?.uppercased(), forKey: "color")
                made.setValue((sInstance.value(forKey: "mark") as? Mark).map { Mark(text: $0.text + "!") }, forKey: "mark")
                manager.associate(sourceInstance: sInstance, withDestinationInstance: made, for: mapping)
            }
        }

        struct Mark { let text: String }

        /// The app's class, in attributes that name no transformer.
        final class MarkTransformer: NSSecureUnarchiveFromDataTransformer {
            override func transformedValue(_ value: Any?) -> Any? {
                (value as? Data).map { Mark(text: String(decoding: $0, as: UTF8.self)) }
            }
            override func reverseTransformedValue(_ value: Any?) -> Any? { (value as? Mark).map { Data($0.text.utf8) } }
        }

        final class ColorTransformer: ValueTransformer {
            override func transformedValue(_ value: Any?) -> Any? { (value as? String).map { Data($0.utf8) } }
            override func reverseTransformedValue(_ value: Any?) -> Any? {
                (value as? Data).map { String(decoding: $0, as: UTF8.self) }
            }
        }

        @_cdecl("stagecoach_register_policies")
        public func registerPolicies() {
            PolicyRegistry.register(TagPolicy.self)
            ValueTransformer.setValueTransformer(ColorTransformer(), forName: NSValueTransformerName("ColorTransformer"))
            ValueTransformer.setValueTransformer(MarkTransformer(), forName: .keyedUnarchiveFromDataTransformerName)
        }
        """

    @Test("A library's policy sees and sets the objects of transformable attributes")
    func transformables() throws {
        let folder = try TemporaryFolder()
        func write(_ text: String, _ path: String) throws -> String {
            let file = folder.url.appendingPathComponent(path)
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try text.write(to: file, atomically: true, encoding: .utf8)
            return file.path
        }
        _ = try write(Self.transformableSource, "Sources/TagPolicy.swift")
        let compiled = try PolicyLibrary(sources: folder.file("Sources"))
        defer { withExtendedLifetime(compiled) {} }
        let library = compiled.path
        _ = try write(
            """
            <?xml version="1.0" encoding="UTF-8"?>
            <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0">
            <entity name="Item">
            <attribute name="color" optional="YES" attributeType="Transformable" valueTransformerName="ColorTransformer"/>
            <attribute name="mark" optional="YES" attributeType="Transformable"/>
            <attribute name="tags" optional="YES" attributeType="Transformable"
                valueTransformerName="NSSecureUnarchiveFromDataTransformer"/>
            </entity>
            </model>
            """, "Tags.xcdatamodeld/Tags.xcdatamodel/contents")
        let models = folder.file("Tags.xcdatamodeld")
        let mapping = try write(
            """
            {"formatVersion": 1, "entityMappings": [{"sourceEntity": "Item", "destinationEntity": "Item",
            "migrationPolicy": "TagPolicy", "attributes": {"tags": null, "color": null, "mark": null}}]}
            """, "tags.json")
        let archiver = NSSecureUnarchiveFromDataTransformer()
        let archive = try #require(archiver.reverseTransformedValue(["old", "kept"]) as? Data)
        var store = ReferenceStore(model: try ModelLocator.load(models).model)
        store.insert(
            "Item", 1,
            ["tags": .blob(Array(archive)), "color": .blob(Array("red".utf8)), "mark": .blob(Array("x".utf8))])
        store.insert("Item", 2, [:])
        store.complete()
        try store.write(path: folder.file("old.sqlite"))
        let arguments = [
            folder.file("old.sqlite"), folder.file("new.sqlite"), "--to", models, "--mapping", mapping, "--policies",
            library,
        ]
        let outcome = try CommandBinary.run(["migrate"] + arguments)
        #expect(outcome.code == 0, "\(outcome.messages)")
        let made = try ReferenceStore.read(path: folder.file("new.sqlite"), model: store.model)
        guard case .blob(let tags) = made.value("Item", 1, "tags") else {
            Issue.record("no value")
            return
        }
        #expect(archiver.transformedValue(Data(tags)) as? [String] == ["kept", "new"])
        #expect(made.value("Item", 1, "color") == .blob(Array("RED".utf8)))
        #expect(made.value("Item", 1, "mark") == .blob(Array("x!".utf8)))
        let again = try CommandBinary.run(["verify"] + arguments + ["--run-policies"])
        #expect(again.code == 0, "\(again.output)\(again.messages)")
        // Bytes instead, which this policy does not know.
        let bytes = try CommandBinary.run(
            ["migrate", folder.file("old.sqlite"), folder.file("bytes.sqlite")] + arguments.dropFirst(2)
                + ["--transformable-bytes"])
        #expect(bytes.code == 65, "\(bytes.messages)")
    }
}
