import CoreDataStore
import Diagnostics
import Foundation
import Glibc
import ManagedModel
import Mapping
import Stagecoach

/// `deletions [--objects 1000000] [--kills 0] [--seed 1] [--memory-limit 64M] [--folder FOLDER]`: migrates folders of nine notes
/// each with policies that delete every tenth folder of the source, and every tenth of the destination, with their notes. Prints
/// processor seconds and the peak of memory, and compares the contents with those of a migration of a store without these folders.
///
/// With kills it does so again, killed that many times at random moments and resumed each time.
enum DeletionsCommand {
    /// Deletes source folders before anything is made of them, and destination folders once they have their notes.
    private final class FolderPolicy: EntityMigrationPolicy {
        override func createDestinationInstances(
            forSource sInstance: ManagedObject, in mapping: EntityMapping, manager: MigrationManager
        ) throws {
            if DeletionsCommand.isDeletedInSource(sInstance.value(forKey: "number") as? Int64) {
                return manager.sourceContext.delete(sInstance)
            }
            try super.createDestinationInstances(forSource: sInstance, in: mapping, manager: manager)
        }

        override func createRelationships(
            forDestination dInstance: ManagedObject, in mapping: EntityMapping, manager: MigrationManager
        ) throws {
            try super.createRelationships(forDestination: dInstance, in: mapping, manager: manager)
            if DeletionsCommand.isDeletedInDestination(dInstance.value(forKey: "number") as? Int64) {
                manager.destinationContext.delete(dInstance)
            }
        }
    }

    private static let notesOfFolder = 9

    private static func isDeletedInSource(_ number: Int64?) -> Bool { (number ?? 0) % 10 == 3 }

    private static func isDeletedInDestination(_ number: Int64?) -> Bool { (number ?? 0) % 10 == 7 }

    static func run(_ list: [String]) throws {
        let arguments = try Arguments(
            list, options: ["objects", "kills", "seed", "memory-limit", "folder", "source", "output"])
        let limit = try arguments.bytes("memory-limit") ?? 64 << 20
        if let source = arguments.text("source") {
            return try migrate(source, to: try arguments.required("output"), memoryLimit: limit)
        }
        let folders = (try arguments.number("objects") ?? 1_000_000) / (notesOfFolder + 1)
        let folder = arguments.text("folder") ?? "deletions-\(getpid()).bench"
        try BenchmarkFolder.make(folder)
        let (source, output) = ("\(folder)/source.sqlite", "\(folder)/output.sqlite")
        let model = try makeModel()
        let schema = StoreSchema(model: model)
        try write(model, folders: folders, to: source) { _ in true }
        let rest = "\(folder)/rest.sqlite"
        try write(model, folders: folders, to: rest) { !isDeletedInSource($0) && !isDeletedInDestination($0) }
        _ = try Migration(
            from: rest, model: model, mapping: .inferred(from: model, to: model), to: output, model: model
        ).run()
        let expected = try ContentChecksum(path: output, schema: schema)
        unlink(output)
        let own = ["deletions", "--source", source, "--output", output, "--memory-limit", String(limit)]
        func check(_ name: String) throws {
            let isEqual = try ContentChecksum(path: output, schema: schema) == expected
            guard isEqual else {
                throw MigrationError("benchmark.contents", .internal, "\(name): the contents are not as expected")
            }
            unlink(output)
        }
        let unbroken = try ChildProcess(CommandLine.arguments[0], own)
        guard unbroken.code == 0 else { throw failure(unbroken) }
        try check("unbroken")
        print(
            "\(String(format: "%.2f", unbroken.processorSeconds)) s of processor time, \(unbroken.output)",
            terminator: "")
        var random = UInt64(try arguments.number("seed") ?? 1)
        var left = try arguments.number("kills") ?? 0
        while left > 0 {
            random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            let end = Date().addingTimeInterval(unbroken.wallSeconds * Double(random >> 40) / Double(1 << 24))
            let child = try ChildProcess(CommandLine.arguments[0], own) { Date() >= end }
            if child.code == 128 + SIGKILL {
                left -= 1
            } else if child.code == 0 {
                try check("resumed, \(left) kills left")
            } else {
                throw failure(child)
            }
        }
        if FileManager.default.fileExists(atPath: output) == false, try arguments.number("kills") != nil {
            guard try ChildProcess(CommandLine.arguments[0], own).code == 0 else { throw failure(unbroken) }
            try check("resumed")
        }
        try FileManager.default.removeItem(atPath: folder)
    }

    private static func failure(_ child: ChildProcess) -> MigrationError {
        MigrationError("benchmark.child", .internal, "The migration ended with exit code \(child.code)")
    }

    private static func migrate(_ source: String, to output: String, memoryLimit: Int) throws {
        let model = try makeModel()
        let mapping = try MappingModel.inferred(from: model, to: model)
        PolicyRegistry.shared.register("Folders") { FolderPolicy() }
        for mapping in mapping.entityMappings where mapping.sourceEntityName == "Folder" {
            mapping.entityMigrationPolicyClassName = "Folders"
        }
        // Folders first: their policy decides which notes are left.
        mapping.entityMappings.sort { $0.sourceEntityName ?? "" < $1.sourceEntityName ?? "" }
        var options = MigrationOptions()
        options.memoryLimit = memoryLimit
        let report = try Migration(
            from: source, model: model, mapping: mapping, to: output, model: model, options: options
        ).run()
        let counts = report.counts
        print(
            "peak \(report.peakMemory >> 10) KiB; \(counts.deletedSources ?? 0) source objects deleted, "
                + "\(counts.created.values.reduce(0, +)) objects made")
    }

    private static func makeModel() throws -> ManagedObjectModel {
        var folder = EntityDefinition(name: "Folder")
        folder.attributes = [AttributeDefinition(name: "number", type: .integer64)]
        var notes = RelationshipDefinition(name: "notes", destinationEntityName: "Note")
        (notes.isToMany, notes.inverseName, notes.deleteRule, notes.maximumCount) = (true, "folder", .cascade, 0)
        folder.relationships = [notes]
        var note = EntityDefinition(name: "Note")
        note.attributes = [AttributeDefinition(name: "number", type: .integer64)]
        var owner = RelationshipDefinition(name: "folder", destinationEntityName: "Folder")
        (owner.inverseName, owner.deleteRule) = ("notes", .nullify)
        note.relationships = [owner]
        var definition = ModelDefinition()
        definition.entities = [folder, note]
        return try ManagedObjectModel(definition)
    }

    /// Writes a store of those folders that are wanted, with their notes.
    private static func write(
        _ model: ManagedObjectModel, folders count: Int, to path: String, where isWanted: (Int64) -> Bool
    ) throws {
        let store = try DestinationStore(
            creating: path, schema: StoreSchema(model: model), cacheBytes: 8 << 20, vfs: nil)
        var folders = try TableFill(store, entity: "Folder")
        let number = folders.slot("ZNUMBER")
        for key in 1...max(1, count) where isWanted(Int64(key)) {
            try folders.begin(key: Int64(key))
            folders.set(number, key)
        }
        try folders.finish()
        var notes = try TableFill(store, entity: "Note")
        let (noteNumber, owner) = (notes.slot("ZNUMBER"), notes.slot("ZFOLDER"))
        for key in 1...max(1, count) where isWanted(Int64(key)) {
            for place in 0..<notesOfFolder {
                let note = (key - 1) * notesOfFolder + place + 1
                try notes.begin(key: Int64(note))
                notes.set(noteNumber, note)
                notes.set(owner, key)
            }
        }
        try notes.finish()
        try store.finish(
            metadata: DestinationMetadata(
                uuid: "51A6EC0A-0000-4000-8000-000000000004", sourceProperties: [:],
                versionHashes: model.entityVersionHashesByName.mapValues { Array($0) }, versionIdentifiers: []),
            maximumKeys: [Int64(count), Int64(count * notesOfFolder)], modelCache: try ModelCache.encode(model))
    }
}
