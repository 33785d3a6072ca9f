import CSQLite
import CoreDataStore
import Diagnostics
import ManagedModel
import Mapping
import Stagecoach
import TestSupport
import Testing

/// Values in columns of another type, which SQLite accepts: checks find them, and migrations agree with the checks.
@Suite("Values of another type than their attribute's")
struct ColumnTypeTests {
    /// Columns and values that they cannot have as SQL, by row from 1 on.
    private static let bad = [
        ("i", "'abc'"), ("j", "1.5"), ("b", "x'00'"), ("d", "'x'"), ("f", "x'01'"), ("da", "'now'"), ("de", "'dec'"),
        ("s", "x'0102'"), ("url", "x'03'"), ("bin", "'text'"), ("u", "5"), ("i", "x'01'"),
    ]

    private static func version(_ extra: [AttributeDefinition] = []) throws -> ManagedObjectModel {
        try model(
            entity(
                "E",
                [
                    attribute("i", .integer32), attribute("j", .integer64), attribute("b", .boolean),
                    attribute("d", .double), attribute("f", .float), attribute("da", .date),
                    attribute("de", .decimal), attribute("s", .string), attribute("url", .uri),
                    attribute("bin", .binaryData), attribute("u", .uuid),
                ] + extra))
    }

    private func fixture(
        _ mapping: MappingModel, staged: Bool, writer: StoreWriter = .pages,
        _ change: (inout MigrationOptions) -> Void = { _ in }
    ) throws -> (migration: Migration, folder: TemporaryFolder) {
        let folder = try TemporaryFolder()
        let (old, new) = (try Self.version(), try Self.version([attribute("extra", .string)]))
        let path = folder.file("old.sqlite")
        try ReferenceStore.make(old) { store in
            for key in 1...20 {
                store.insert(
                    "E", Int64(key),
                    [
                        "i": .integer(1), "j": .integer(-2), "b": .integer(1), "d": .real(1.5), "f": .real(2),
                        "da": .real(3.5), "de": key == 20 ? .text("NaN") : .real(4.25), "s": .text("s"),
                        "url": .text("https://example.org"), "bin": .blob([1]),
                    ])
            }
        }.write(path: path)
        let connection = try Connection(path: path, flags: SQLITE_OPEN_READWRITE)
        for (row, value) in Self.bad.enumerated() {
            try connection.execute("UPDATE ZE SET Z\(value.0.uppercased()) = \(value.1) WHERE Z_PK = \(row + 1)")
        }
        try connection.close()
        var options = MigrationComparison.Variant(isStaged: staged).options
        options.writer = writer
        change(&options)
        let migration = Migration(
            from: path, model: old, mapping: mapping, to: folder.file("new.sqlite"), model: new, options: options)
        return (migration, folder)
    }

    private static func inferred() throws -> MappingModel {
        try .inferred(from: try version(), to: try version([attribute("extra", .string)]))
    }

    private static func explicit() throws -> MappingModel {
        let model = try inferred()
        model.rulesOfTheSource = .error
        return model
    }

    private static let found = [
        "b 1", "bin 1", "d 1", "da 1", "de 1", "f 1", "i 2", "j 1", "s 1", "u 1", "url 1",
    ]

    @Test(
        "An inferred copy keeps them, and says so; a strict one is refused", arguments: [false, true],
        [StoreWriter.pages, .sqlite])
    func inferred(staged: Bool, writer: StoreWriter) throws {
        let (migration, folder) = try fixture(try Self.inferred(), staged: staged, writer: writer)
        let check = try migration.check()
        #expect(check.violations == [])
        #expect(check.warnings.filter { $0.rule == .type }.map { "\($0.property) \($0.count)" } == Self.found)
        #expect(check.warnings.first { $0.property == "i" }?.samples.map(\.sourceID) == ["E/p1", "E/p12"])
        let report = try migration.run()
        #expect(report.counts.warnings["E.i: value of another type"] == 2)
        #expect(try StoreVerification(migration).run().differences.isEmpty)
        let strict = try fixture(try Self.inferred(), staged: staged, writer: writer) { $0.strictValidation = true }
        #expect(try strict.migration.check().violations.map { "\($0.property) \($0.count)" } == Self.found)
        let error = #expect(throws: MigrationError.self) { try strict.migration.run() }
        #expect(error?.code == "validation.type" && error?.context.objectID == "E/p1" && error?.context.property == "i")
        _ = folder
    }

    @Test(
        "Under a mapping model of one's own they are errors, and rejected where that is asked for",
        arguments: [false, true])
    func explicit(staged: Bool) throws {
        let (migration, folder) = try fixture(try Self.explicit(), staged: staged)
        #expect(try migration.check().violations.map { "\($0.property) \($0.count)" } == Self.found)
        let error = #expect(throws: MigrationError.self) { try migration.run() }
        #expect(error?.code == "validation.type" && error?.category == .data)
        let rejecting = try fixture(try Self.explicit(), staged: staged) { $0.onInvalid = .reject }
        #expect(try rejecting.migration.check().rejectedObjects == Self.bad.count)
        let report = try rejecting.migration.run()
        #expect(report.rejects?.objects == Self.bad.count && report.rejects?.byRule == ["type": Self.bad.count])
        #expect(try StoreVerification(rejecting.migration).run().differences.isEmpty)
        _ = folder
    }
}
