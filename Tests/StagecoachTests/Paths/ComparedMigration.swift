import Foundation
import Mapping
import Stagecoach
import TestSupport
import Testing

/// A random explicit migration with a changed mapping model, and its store in a folder, to be compared with the reference.
struct ComparedMigration {
    let random: RandomMigration
    let mapping: MappingModel
    let folder: TemporaryFolder
    let path: String

    /// Writes the store.
    init(_ random: RandomMigration, mapping: MappingModel, store: ReferenceStore) throws {
        self.random = random
        self.mapping = mapping
        folder = try TemporaryFolder()
        path = folder.file("source.sqlite")
        try store.write(path: path)
    }

    var comparison: MigrationComparison {
        MigrationComparison(
            source: random.source, destination: random.destination, mapping: mapping, sourcePath: path,
            folder: folder)
    }

    func migration(_ options: MigrationOptions, to name: String) -> Migration {
        Migration(
            from: path, model: random.source, mapping: mapping, to: folder.file(name), model: random.destination,
            options: options)
    }

    /// Runs the migration with batches of one row, killed at random and resumed, and compares its store with the reference's.
    func expectSameWhenKilled(_ generator: inout SeededGenerator) throws {
        guard case .success(let expected) = try comparison.reference() else { return }
        let options = MigrationComparison.Variant(batchSize: 1).options
        let run = try KilledRun(&generator, options) { migration($0, to: "new.sqlite") }
        let store = try ReferenceStore.read(path: folder.file("new.sqlite"), model: random.destination)
        let lines = store.differences(from: expected.store)
        #expect(lines.isEmpty, "\(run.attempts) attempts\n\(lines.joined(separator: "\n"))\n\(random)")
    }
}
