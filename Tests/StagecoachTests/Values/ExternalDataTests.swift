import CSQLite
import CoreDataStore
import Diagnostics
import Foundation
import Mapping
import TestSupport
import Testing

@testable import Stagecoach

@Suite("External binary data")
struct ExternalDataTests {
    private static let ways: [(String, @Sendable (inout MigrationOptions) -> Void)] = [
        ("row path", { _ in }), ("policy path", { $0.usesStoreSpecificMigrationManager = false }),
        ("SQLite's writer", { $0.writer = .sqlite }), ("new keys", { $0.keys = .sequential }),
        ("rejects", { $0.onInvalid = .reject }), ("one row a batch", { $0.batchSize = 1 }),
    ]

    @Test("Files come along, and values above the threshold become files, on every path")
    func carries() throws {
        for (name, change) in Self.ways {
            let fixture = try ExternalDataFixture(from: true, to: true)
            let before = try FailureFixture.contents(of: fixture.folder.file("in"))
            let report = try fixture.migration(change).run()
            let result = try fixture.result(isExternal: true)
            #expect(result.values == fixture.values, "\(name)")
            // 102,400 bytes are the most that a column keeps.
            #expect(result.files == [2, 3], "\(name)")
            #expect(report.counts.externalValues == 2 && report.counts.externalFilesCreated == 1, "\(name)")
            #expect(try fixture.names().count == 5, "\(name)")
            #expect(try FailureFixture.contents(of: fixture.folder.file("in")) == before)
        }
    }

    @Test("The marker byte comes and goes as the two models say", arguments: [(true, false), (false, true)])
    func markers(from: Bool, to: Bool) throws {
        for (name, change) in Self.ways {
            let fixture = try ExternalDataFixture(from: from, to: to)
            try fixture.migration(change).run()
            let result = try fixture.result(isExternal: to)
            #expect(result.values == fixture.values, "\(name)")
            #expect(result.files == (to ? [2, 3] : []), "\(name)")
            #expect(try fixture.names().count == (to ? 5 : 1), "\(name)")
        }
    }

    @Test("A value larger than the memory goes to a file and comes back in parts")
    func huge() throws {
        for (from, to) in [(false, true), (true, false), (true, true)] {
            let fixture = try ExternalDataFixture(from: from, to: to)
            let large = [UInt8](repeating: 0x5A, count: 24_000_000)
            if from {
                let name = ExternalReference(uuid: (0..<16).map { UInt8($0) }).name
                try Data(large).write(to: URL(fileURLWithPath: "\(fixture.files)/\(name)"))
            } else {
                try fixture.refer(to: large)
            }
            try fixture.migration {
                $0.memoryLimit = nil
                $0.memoryRoom = 40 << 20
            }.run()
            #expect(try fixture.result(isExternal: to).values[2] == large, "\(from) to \(to)")
        }
    }

    @Test("The threshold is an option")
    func threshold() throws {
        let fixture = try ExternalDataFixture(from: true, to: true)
        try fixture.migration { $0.externalThreshold = 29 }.run()
        let result = try fixture.result(isExternal: true)
        #expect(result.values == fixture.values)
        #expect(result.files == [1, 2, 3, 6])
    }

    @Test("Two appends keep the old files and add new ones")
    func append() throws {
        let fixture = try ExternalDataFixture(from: true, to: true)
        for round in 1...3 {
            try fixture.migration { $0.appendsToExisting = round > 1 }.run()
            let result = try fixture.result(isExternal: true)
            #expect(result.values.count == 6 * round && result.files.count == 2 * round)
            for (key, value) in result.values { #expect(value == fixture.values[(key - 1) % 6 + 1]) }
            let files = try FileManager.default.contentsOfDirectory(
                atPath: ExternalFolder(store: fixture.destinationPath).path)
            #expect(files.count == 2 * round)
        }
    }

    @Test("A reference without a file is kept and named; if its bytes are needed it is an error")
    func missing() throws {
        let kept = try ExternalDataFixture(from: true, to: true)
        let lost = ExternalReference(uuid: [UInt8](repeating: 0xAB, count: 16))
        try kept.refer(to: lost.stored)
        let report = try kept.migration().run()
        #expect(report.counts.missingExternalFiles == 1)
        #expect(report.notes.contains { $0.contains("Photo/p2.data: \(lost.name)") }, "\(report.notes)")
        let connection = try Connection(path: kept.destinationPath, flags: SQLITE_OPEN_READONLY)
        let row = try connection.prepare("SELECT ZDATA FROM ZPHOTO WHERE Z_PK = 2")
        #expect(try row.step() && row.blob(0) == lost.stored)

        let needed = try ExternalDataFixture(from: true, to: false)
        try needed.refer(to: lost.stored)
        let error = try #require(throws: MigrationError.self) { try needed.migration().run() }
        #expect(error.code == "external.missing" && error.context.objectID == "Photo/p2", "\(error)")
        #expect(error.description.contains(lost.name))
        #expect(try needed.names().isEmpty)
    }

    @Test("Names that lead elsewhere and links are refused, and nothing is left")
    func hostile() throws {
        for name in [
            "../../../../etc/passwd", "/etc/passwd", String("../../../../../../../../../etc/passwd00".prefix(36)),
        ] {
            let fixture = try ExternalDataFixture(from: true, to: true)
            try fixture.refer(to: [2] + Array(name.utf8) + [0])
            let error = try #require(throws: MigrationError.self) { try fixture.migration().run() }
            #expect(error.code == "external.name" && error.context.objectID == "Photo/p2", "\(error)")
            #expect(try fixture.names().isEmpty)
        }
        let fixture = try ExternalDataFixture(from: true, to: true)
        let lost = ExternalReference(uuid: [UInt8](repeating: 0xAB, count: 16))
        try fixture.refer(to: lost.stored)
        try FileManager.default.createSymbolicLink(
            atPath: "\(fixture.files)/\(lost.name)", withDestinationPath: "/etc/hostname")
        let error = try #require(throws: MigrationError.self) { try fixture.migration().run() }
        #expect(error.code == "external.notAFile", "\(error)")
        #expect(try fixture.names().isEmpty)
        try FileManager.default.createSymbolicLink(
            atPath: ExternalFolder(store: fixture.destinationPath).support, withDestinationPath: "/tmp")
        let folder = try #require(throws: MigrationError.self) { try fixture.migration().run() }
        #expect(folder.code == "external.folder", "\(folder)")
    }

    @Test("A policy reads and sets the bytes themselves")
    func policy() throws {
        let fixture = try ExternalDataFixture(from: true, to: true)
        let mapping = try MappingModel.inferred(from: fixture.source, to: fixture.destination)
        mapping.entityMappings.first?.entityMigrationPolicyClassName = "Tests.Photos"
        let manager = MigrationManager(sourceModel: fixture.source, destinationModel: fixture.destination)
        manager.policies = PolicyRegistry()
        manager.options.memoryLimit = 8 << 30
        manager.policies.register("Photos") {
            let policy = ClosurePolicy()
            policy.steps.create = { source, mapping, manager, _ in
                let made = NSEntityDescription.insertNewObject(forEntityName: "Photo", into: manager.destinationContext)
                let data = source.value(forKey: "data") as? Data
                made.setValue(data.map { Data($0.reversed()) }, forKey: "data")
                // The policy sees the value that it has set.
                guard made.value(forKey: "data") as? Data == data.map({ Data($0.reversed()) }) else {
                    throw MigrationError("test.data", .data, "other bytes")
                }
                manager.associate(sourceInstance: source, withDestinationInstance: made, for: mapping)
            }
            return policy
        }
        try manager.migrateStore(
            from: URL(fileURLWithPath: fixture.sourcePath), type: .sqlite, mapping: mapping,
            to: URL(fileURLWithPath: fixture.destinationPath), type: .sqlite)
        let result = try fixture.result(isExternal: true)
        #expect(result.values == fixture.values.mapValues { $0.map { Array($0.reversed()) } })
        #expect(result.files == [2, 3])
    }

    @Test("The next run removes a killed run's external files beside the destination, unless they were published")
    func killed() throws {
        let fixture = try ExternalDataFixture(from: true, to: true)
        let place = DestinationPath(path: fixture.destinationPath)
        let reference = ExternalReference(uuid: [UInt8](repeating: 0xCD, count: 16))
        for isPublished in [false, true] {
            let folder = ExternalFolder(store: place.path)
            let manager = FileManager.default
            try manager.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
            try manager.createDirectory(atPath: place.workDirectory, withIntermediateDirectories: true)
            let journal = ExternalJournal(path: place.workDirectory + "/external.journal", folder: folder)
            try journal.begin()
            try journal.append(.placed, reference)
            try journal.append(.madeSupport, nil)
            try journal.append(.madeData, nil)
            try journal.finish()
            try Data([1]).write(to: URL(fileURLWithPath: folder.path(of: reference)))
            if !isPublished { try Data([1]).write(to: URL(fileURLWithPath: place.workDirectory + "/store.sqlite")) }
            // Another run takes the place and fails.
            let area = try WorkArea(beside: place, spills: nil)
            _ = try InterruptedWork(in: area, of: place)
            area.close()
            #expect(try folder.holds(reference) == isPublished)
            #expect(try fixture.names().count == (isPublished ? 3 : 0))
        }
    }

    @Test("A killed run's external files stay if its journal cannot be read")
    func unknown() throws {
        let fixture = try ExternalDataFixture(from: true, to: true)
        let place = DestinationPath(path: fixture.destinationPath)
        let folder = ExternalFolder(store: place.path)
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
        let reference = ExternalReference(uuid: [UInt8](repeating: 0xCD, count: 16))
        try Data([1]).write(to: URL(fileURLWithPath: folder.path(of: reference)))
        // Reading a folder fails as reading a file from a broken disk does.
        let path = place.folder + "/external.journal"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        let journal = ExternalJournal(path: path, folder: folder)
        for isPrivate in [true, false] {
            let built = isPrivate ? fixture.sourcePath : place.folder + "/none"
            let error = #expect(throws: MigrationError.self) {
                try journal.recover(built: built, destination: place.path, staging: place.folder + "/staged")
            }
            #expect(error?.code == "external.io")
            #expect(error?.category == .io)
        }
        #expect(try folder.holds(reference))
        #expect(FileManager.default.fileExists(atPath: path))
    }
}
