import CoreDataStore
import Diagnostics
import Foundation
import ManagedModel
import Mapping
import Stagecoach
import TestSupport
import Testing

/// NULL in a required attribute that has a default. Only an attribute that was optional before gets the default; a rule that
/// the source broke already stays broken, and is counted.
@Suite("NULL in a required attribute with a default")
struct RequiredDefaultTests {
    /// Photos whose `kept` was required in the first version already; `given` was optional there.
    private static func version(_ number: Int) throws -> ManagedObjectModel {
        let more = (1..<number).map { attribute("more\($0)", .string) }
        return try model(
            entity(
                "Photo",
                [
                    attribute("kept", .integer16, default: .integer(7), required: true),
                    attribute("given", .integer16, default: .integer(8), required: number > 1),
                ] + more))
    }

    private static func write(_ model: ManagedObjectModel, to path: String) throws {
        try ReferenceStore.make(model) { store in
            store.insert("Photo", 1, ["kept": .null, "given": .null])
            store.insert("Photo", 2, ["kept": .integer(5), "given": .integer(6)])
        }.write(path: path)
    }

    private static func values(_ path: String, _ model: ManagedObjectModel) throws -> [[ReferenceValue?]] {
        let store = try ReferenceStore.read(path: path, model: model)
        return ["kept", "given"].map { name in [1, 2].map { store.column("Photo", name)[$0] } }
    }

    @Test(
        "Run, check and verification keep what was NULL under the same rule, and count it, on every path",
        arguments: [false, true], [false, true])
    func kept(isStaged: Bool, isFromFile: Bool) throws {
        let (old, new) = (try Self.version(1), try Self.version(2))
        let folder = try TemporaryFolder()
        try Self.write(old, to: folder.file("old.sqlite"))
        var mapping = try MappingModel.inferred(from: old, to: new)
        if isFromFile {
            let text = try mapping.json()
            mapping = try MappingModel.reading(
                json: Array(text.utf8), path: "m.json", source: old, destination: new)
            #expect(try mapping.json() == text)
        }
        var options = MigrationOptions()
        options.usesStoreSpecificMigrationManager = !isStaged
        func migration() -> Migration {
            Migration(
                from: folder.file("old.sqlite"), model: old, mapping: mapping, to: folder.file("new.sqlite"),
                model: new, options: options)
        }
        let check = try migration().check()
        #expect(check.violations.isEmpty)
        #expect(check.warnings.map { "\($0.property) \($0.rule.rawValue) \($0.count)" } == ["kept required 1"])
        let report = try migration().run()
        #expect(report.isStaged == isStaged)
        #expect(report.counts.warnings.values.reduce(0, +) == 1, "\(report.counts.warnings)")
        #expect(
            try Self.values(folder.file("new.sqlite"), new)
                == [[.null, .integer(5)], [.integer(8), .integer(6)]])
        let verification = try StoreVerification(migration()).run()
        #expect(verification.isEqual, "\(verification.differences)")
        options.strictValidation = true
        let refusal = #expect(throws: MigrationError.self) {
            _ = try Migration(
                from: folder.file("old.sqlite"), model: old, mapping: mapping, to: folder.file("strict.sqlite"),
                model: new, options: options
            ).run()
        }
        #expect(refusal?.code == "validation.missing" && refusal?.context.property == "kept")
    }

    @Test("A copy at the same version keeps it")
    func copied() throws {
        let version = try Self.version(2)
        let folder = try TemporaryFolder()
        try Self.write(version, to: folder.file("old.sqlite"))
        let migration = Migration(
            from: folder.file("old.sqlite"), model: version,
            mapping: try .inferred(from: version, to: version), to: folder.file("new.sqlite"), model: version)
        #expect(try migration.run().counts.warnings.values.reduce(0, +) == 2)
        #expect(
            try Self.values(folder.file("new.sqlite"), version) == [[.null, .integer(5)], [.null, .integer(6)]])
        #expect(try StoreVerification(migration).run().isEqual)
    }

    @Test("A chain gives what its steps give one after the other", arguments: [false, true])
    func chain(isFused: Bool) throws {
        let versions = try (1...3).map(Self.version)
        let folder = try TemporaryFolder()
        try Self.write(versions[0], to: folder.file("old.sqlite"))
        let steps = try zip(versions, versions.dropFirst()).map { try MappingModel.inferred(from: $0, to: $1) }
        if isFused {
            let composed = try MappingComposition.compose(
                steps[0], steps[1], source: versions[0], middle: versions[1], destination: versions[2],
                excuses: true)
            try Migration(
                from: folder.file("old.sqlite"), model: versions[0], mapping: composed,
                to: folder.file("new.sqlite"), model: versions[2]
            ).run()
        } else {
            for (number, step) in steps.enumerated() {
                try Migration(
                    from: folder.file(number == 0 ? "old.sqlite" : "middle.sqlite"), model: versions[number],
                    mapping: step, to: folder.file(number == 0 ? "middle.sqlite" : "new.sqlite"),
                    model: versions[number + 1]
                ).run()
            }
        }
        #expect(
            try Self.values(folder.file("new.sqlite"), versions[2])
                == [[.null, .integer(5)], [.integer(8), .integer(6)]])
    }
}
