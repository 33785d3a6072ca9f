import CSQLite
import CoreDataStore
import Diagnostics
import Foundation
import Mapping
import Stagecoach
import TestSupport
import Testing

/// A migration that is run by itself, without a manager's call.
@Suite("A migration run by itself")
struct BareRunTests {
    private static func migration(
        _ fixture: PolicyFixture, _ manager: MigrationManager, mappings: [MappingModel]? = nil
    ) -> Migration {
        Migration(
            from: fixture.sourcePath, model: fixture.source, mappings: mappings ?? [fixture.mapping],
            to: fixture.destinationURL.path, model: fixture.destination, options: manager.options, manager: manager)
    }

    private static func options(isStaged: Bool) -> MigrationOptions {
        var options = MigrationOptions()
        options.memoryLimit = 8 << 30
        options.appendsToExisting = true
        options.usesStoreSpecificMigrationManager = !isStaged
        return options
    }

    @Test("The manager that policies see has the mapping model at work, the models and the progress")
    func manager() throws {
        let fixture = try PolicyFixture(persons: 50)
        var seen = 0
        var progress: [Float] = []
        var steps = ClosurePolicy.Steps()
        // The fixture holds the policies: they hold what they compare with, not the fixture.
        let (source, destination, last) = (fixture.source, fixture.destination, fixture.mapping)
        var current = last
        steps.create = { _, mapping, manager, standard in
            #expect(manager.mappingModel === current)
            #expect(manager.sourceModel === source && manager.destinationModel === destination)
            #expect(manager.currentEntityMapping === mapping)
            progress.append(manager.migrationProgress)
            seen += 1
            try standard()
        }
        steps.end = { _, _ in current = last }
        let first = try #require(fixture.mapping.copy() as? MappingModel)
        first.entityMappingsByName["Persons"]?.entityMigrationPolicyClassName = "PersonsPolicy"
        fixture.policy("Persons", steps)
        current = first
        let manager = fixture.manager()
        try Self.migration(fixture, manager, mappings: [first, fixture.mapping]).run()
        #expect(seen == 100)
        // Rows count when their batch is done: none is when the first object is made.
        #expect(progress == progress.sorted() && progress[0] >= 0 && progress[99] > 0 && progress[99] < 1)
        #expect(manager.mappingModel.entityMappings.isEmpty && manager.currentEntityMapping.name == nil)
        #expect(manager.migrationProgress == 1)
    }

    @Test("A policy may end the run through the manager")
    func cancelled() throws {
        struct Stop: Error, Equatable {}
        let fixture = try PolicyFixture()
        var steps = ClosurePolicy.Steps()
        steps.begin = { _, manager in manager.cancelMigrationWithError(Stop()) }
        fixture.policy("Persons", steps)
        #expect(throws: Stop()) { try Self.migration(fixture, fixture.manager()).run() }
        #expect(try fixture.leftovers() == [])
    }

    @Test("An error of the destination names the path that the user gave", arguments: [false, true])
    func destinationPath(isLink: Bool) throws {
        let scene = try FailureFixture()
        try scene.migration(Self.options(isStaged: false)).run()
        let connection = try Connection(path: scene.destinationPath, flags: SQLITE_OPEN_READWRITE)
        try connection.execute("CREATE VIRTUAL TABLE search USING fts3(text)")
        try connection.close()
        if isLink {
            let link = scene.folder.file("link.sqlite")
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: scene.destinationPath)
            scene.destinationPath = link
        }
        for isStaged in [false, true] {
            let options = Self.options(isStaged: isStaged)
            let error = #expect(throws: MigrationError.self) { try scene.migration(options).run() }
            #expect(error?.code == "destination.virtualTable")
            #expect(error?.context.path == scene.destinationPath)
            let checked = #expect(throws: MigrationError.self) { try scene.migration(options).check() }
            #expect(checked?.context.path == scene.destinationPath)
        }
    }
}
