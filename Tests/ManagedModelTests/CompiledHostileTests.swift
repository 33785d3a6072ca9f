import Diagnostics
import Foundation
import TestSupport
import Testing

@testable import ManagedModel

@Suite("Compiled bundles that lie")
struct CompiledHostileTests {
    private static func bundle() throws -> (folder: TemporaryFolder, path: String, mom: [UInt8], info: [UInt8]) {
        let folder = try TemporaryFolder()
        let path = folder.file("Library.momd")
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        let model = try ModelLocator.load(ModelFixtures.library).model
        let mom = try ModelArchive.encode(model)
        let list: [String: Any] = [
            "NSManagedObjectModel_CurrentVersionName": "Library 2",
            "NSManagedObjectModel_VersionHashes": ["Library 2": model.entityVersionHashesByName],
        ]
        let info = try PropertyListSerialization.data(fromPropertyList: list, format: .binary, options: 0)
        try Data(mom).write(to: URL(fileURLWithPath: path + "/Library 2.mom"))
        try info.write(to: URL(fileURLWithPath: path + "/VersionInfo.plist"))
        return (folder, path, mom, Array(info))
    }

    @Test(
        "Bytes changed, cut off, doubled and moved give a model or a clear error",
        arguments: 1...6 as ClosedRange<UInt64>)
    func mutated(seed: UInt64) throws {
        let (folder, path, mom, info) = try Self.bundle()
        defer { _ = folder }
        #expect(try ModelLocator.load(path).versionName == "Library 2")
        var generator = SeededGenerator(seed: seed)
        var (models, errors) = (0, 0)
        for round in 0..<120 {
            let isInfo = round % 4 == 0
            var bytes = isInfo ? info : mom
            for _ in 0...generator.below(6) {
                let place = generator.below(bytes.count)
                switch generator.below(5) {
                case 0: bytes[place] = UInt8(truncatingIfNeeded: generator.below(256))
                case 1: bytes[place] ^= 1 << UInt8(generator.below(8))
                case 2: bytes = Array(bytes.prefix(max(1, place)))
                case 3:
                    let part = bytes[place..<min(bytes.count, place + 1 + generator.below(64))]
                    bytes.insert(contentsOf: part, at: generator.below(bytes.count))
                default:
                    // The number of objects and their places are at the end.
                    bytes[bytes.count - 1 - generator.below(min(32, bytes.count))] = UInt8(generator.below(256))
                }
            }
            let file = path + (isInfo ? "/VersionInfo.plist" : "/Library 2.mom")
            try Data(bytes).write(to: URL(fileURLWithPath: file))
            do throws(MigrationError) {
                _ = try ModelLocator.load(path)
                models += 1
            } catch {
                errors += 1
                #expect(error.category == .configuration && error.context.path != nil, "round \(round): \(error)")
            }
            try Data(isInfo ? info : mom).write(to: URL(fileURLWithPath: file))
        }
        print("compiled bundles, seed \(seed): \(models) read, \(errors) refused")
        #expect(errors > 40)
    }

    @Test("Folders, links in a circle, and files without end in the place of a model are errors")
    func places() throws {
        let (folder, path, _, _) = try Self.bundle()
        defer { _ = folder }
        func code() throws -> String {
            try #require(throws: MigrationError.self) { try ModelLocator.load(path) }.code.rawValue
        }
        let file = path + "/Library 2.mom"
        try FileManager.default.removeItem(atPath: file)
        try FileManager.default.createSymbolicLink(atPath: file, withDestinationPath: "Library 2.mom")
        #expect(try code() == "model.noVersion")
        try FileManager.default.removeItem(atPath: file)
        try FileManager.default.createDirectory(atPath: file, withIntermediateDirectories: false)
        #expect(try code() == "model.noVersion")
        try FileManager.default.removeItem(atPath: file)
        try Data("bplist00".utf8).write(to: URL(fileURLWithPath: file))
        let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: file))
        try handle.truncate(atOffset: 4 << 40)
        try handle.close()
        #expect(try code() == "model.archive")
    }
}
