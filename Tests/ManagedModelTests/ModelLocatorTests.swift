import Diagnostics
import Foundation
import TestSupport
import Testing

@testable import ManagedModel

@Suite("Finding a model by its path")
struct ModelLocatorTests {
    private func failure(_ argument: String) -> MigrationError? {
        do {
            _ = try ModelLocator.load(argument)
            return nil
        } catch {
            return error
        }
    }

    /// A bundle in a temporary folder with one empty model per name.
    private func bundle(_ versions: [String], current: String? = nil) throws -> (TemporaryFolder, String) {
        let folder = try TemporaryFolder()
        let bundle = folder.file("My Model.xcdatamodeld")
        try FileManager.default.createDirectory(atPath: bundle, withIntermediateDirectories: true)
        for version in versions {
            let version = "\(bundle)/\(version).xcdatamodel"
            try FileManager.default.createDirectory(atPath: version, withIntermediateDirectories: true)
            try ModelFixtures.data("<entity name=\"A\"/>").write(to: URL(fileURLWithPath: version + "/contents"))
        }
        if let current {
            try Data(current.utf8).write(to: URL(fileURLWithPath: bundle + "/.xccurrentversion"))
        }
        return (folder, bundle)
    }

    private func currentVersion(_ name: String) -> String {
        """
        <?xml version="1.0" encoding="UTF-8"?>
        <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
        <plist version="1.0"><dict><key>Other</key><string>No</string>
        <key>_XCCurrentVersionName</key><string>\(name)</string></dict></plist>
        """
    }

    @Test("A bundle gives its current version")
    func current() throws {
        let loaded = try ModelLocator.load(ModelFixtures.library)
        #expect(loaded.versionName == "Library 2")
        #expect(loaded.path == ModelFixtures.library + "/Library 2.xcdatamodel/contents")
        #expect(loaded.model.entity(named: "Publisher") != nil)
        #expect(try ModelLocator.load(ModelFixtures.library + "///").versionName == "Library 2")
    }

    @Test("A bundle gives a version by name, with or without extension")
    func named() throws {
        for name in ["Library", "Library.xcdatamodel", "Library.xcdatamodel/"] {
            let loaded = try ModelLocator.load("\(ModelFixtures.library):\(name)")
            #expect(loaded.versionName == "Library")
            #expect(loaded.model.entity(named: "Chapter") != nil)
        }
    }

    @Test("A folder of a version, and its contents file, are read")
    func single() throws {
        let folder = ModelFixtures.library + "/Library.xcdatamodel"
        #expect(try ModelLocator.load(folder).versionName == "Library")
        #expect(try ModelLocator.load(folder + "/contents").versionName == "Library")
        let temporary = try TemporaryFolder()
        try FileManager.default.copyItem(atPath: folder + "/contents", toPath: temporary.file("contents"))
        #expect(try ModelLocator.load(temporary.file("contents")).versionName == nil)
    }

    @Test("The only version needs no .xccurrentversion")
    func only() throws {
        #expect(try ModelLocator.load(ModelFixtures.everything).versionName == "Everything")
    }

    @Test("Versions are listed, their numbers compared as numbers")
    func versions() throws {
        #expect(try ModelLocator.versions(in: ModelFixtures.library) == ["Library", "Library 2"])
        let (folder, path) = try bundle(["V10", "V9", "V1"])
        let versions = try ModelLocator.versions(in: path)
        withExtendedLifetime(folder) { #expect(versions == ["V1", "V9", "V10"]) }
    }

    @Test("Several versions without a current one are refused, and listed")
    func ambiguous() throws {
        let (folder, path) = try bundle(["V1", "V2"])
        try withExtendedLifetime(folder) {
            let error = try #require(failure(path))
            #expect(error.code == "model.ambiguousVersion")
            #expect(error.category == .configuration)
            #expect(error.remedy?.contains("\"V1\", \"V2\"") == true)
        }
    }

    @Test("A current version that is absent, or not named, is refused, and the versions listed")
    func brokenCurrent() throws {
        let texts = [
            currentVersion("V3.xcdatamodel"), "<plist version=\"1.0\"><dict/></plist>", currentVersion(""),
            "<plist><dict><key>_XCCurrentVersionName</key><integer>1</integer></dict></plist>",
            "<plist><array><dict><key>_XCCurrentVersionName</key><string>V1</string></dict></array></plist>",
        ]
        for text in texts {
            let (folder, path) = try bundle(["V1", "V2"], current: text)
            try withExtendedLifetime(folder) {
                let error = try #require(failure(path), "\(text)")
                #expect(error.code == "model.currentVersion")
                #expect(error.category == .configuration)
                #expect(error.context.path == path + "/.xccurrentversion")
                #expect(error.remedy?.contains("\"V1\", \"V2\"") == true)
                #expect(try ModelLocator.load(path + ":V1").versionName == "V1")
            }
        }
    }

    @Test("Entities in .xccurrentversion are refused, malformed ones have a line")
    func hostileCurrent() throws {
        let laughs = "<!DOCTYPE plist [<!ENTITY a \"V1\">]><plist><dict><key>k</key><string>&a;</string></dict></plist>"
        let examples: [(String, MigrationError.Code)] = [
            (laughs, "model.documentType"), ("<plist><dict>", "model.xml"), ("bplist00", "model.xml"),
        ]
        for (text, code) in examples {
            let (folder, path) = try bundle(["V1", "V2"], current: text)
            try withExtendedLifetime(folder) {
                let error = try #require(failure(path))
                #expect(error.code == code)
                #expect(error.context.path == path + "/.xccurrentversion")
                #expect(error.context.line == 1)
            }
        }
    }

    @Test("A model that does not exist is missing input")
    func notFound() throws {
        let folder = try TemporaryFolder()
        let paths = [
            folder.file("Nothing.xcdatamodeld"), folder.file("Nothing.xcdatamodeld:V1"), folder.file("contents"),
            "", "/dev/null",
        ]
        for path in paths {
            let error = try #require(failure(path), "\(path)")
            #expect(error.code == "model.notFound", "\(path)")
            #expect(error.category == .noInput)
            #expect(error.remedy?.isEmpty == false)
        }
        // Names of folders on files, and folders without a contents file.
        try Data().write(to: URL(fileURLWithPath: folder.file("File.xcdatamodeld")))
        try Data().write(to: URL(fileURLWithPath: folder.file("File.xcdatamodel")))
        try FileManager.default.createDirectory(
            atPath: folder.file("Empty.xcdatamodel"), withIntermediateDirectories: true)
        for name in ["File.xcdatamodeld", "File.xcdatamodel", "Empty.xcdatamodel"] {
            #expect(failure(folder.file(name))?.code == "model.notFound", "\(name)")
        }
        #expect(throws: MigrationError.self) { try ModelLocator.versions(in: folder.file("Nothing.xcdatamodeld")) }
    }

    @Test("A version that is not there is no input, and those that are get listed")
    func unknownVersion() throws {
        let error = try #require(failure(ModelFixtures.library + ":Library 3"))
        #expect(error.code == "model.unknownVersion")
        #expect(error.category == .noInput)
        #expect(error.remedy == "Did you mean 'Library 2'? It has \"Library\", \"Library 2\"")
        #expect(failure(ModelFixtures.library + ":")?.code == "model.unknownVersion")
        #expect(failure(ModelFixtures.library + ":../Library 2")?.code == "model.unknownVersion")
    }

    @Test("A bundle without versions is refused")
    func empty() throws {
        let (folder, path) = try bundle([])
        try withExtendedLifetime(folder) {
            let error = try #require(failure(path))
            #expect(error.code == "model.noVersion")
            #expect(error.category == .configuration)
        }
    }

    @Test("The form of Xcode 3 is named as such")
    func oldFormat() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("Old.xcdatamodel")
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        try Data("bplist00".utf8).write(to: URL(fileURLWithPath: path + "/elements"))
        let error = try #require(failure(path))
        #expect(error.code == "model.oldFormat")
        #expect(error.category == .configuration)
    }

    @Test("A file of another kind is refused")
    func unknownKind() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("notes.txt")
        try Data("hello".utf8).write(to: URL(fileURLWithPath: path))
        let error = try #require(failure(path))
        #expect(error.code == "model.unknownKind")
        #expect(error.category == .configuration)
    }

    @Test("A model that does not parse names its file and line")
    func malformed() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("contents")
        try Data("<model>\n<entity/></model>".utf8).write(to: URL(fileURLWithPath: path))
        let error = try #require(failure(path))
        #expect(error.code == "model.missingAttribute")
        #expect(error.description.hasPrefix("\(path):2:1: "))
    }

    @Test("A model that may not be read is a matter of permission, one on a bad disk of input and output")
    func unreadable() {
        // Raised by hand: the tests may run as root, who reads everything, and on sound disks.
        let permission = ModelFile.unreadable("p", CocoaError(.fileReadNoPermission))
        #expect(permission.code == "model.permission")
        #expect(permission.category == .permission)
        #expect(permission.cause != nil)
        let damage = ModelFile.unreadable("p", CocoaError(.fileReadUnknown))
        #expect(damage.code == "model.unreadable")
        #expect(damage.category == .io)
        #expect(damage.context.path == "p")
    }
}
