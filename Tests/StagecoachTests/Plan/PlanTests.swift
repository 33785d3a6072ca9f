import Diagnostics
import Foundation
import ManagedModel
import Mapping
import Stagecoach
import TestSupport
import Testing

@Suite("Plans")
struct PlanTests {
    /// A fixture's destination after a run with some options.
    private func run(_ fixture: FailureFixture, _ options: MigrationOptions) throws -> ReferenceStore {
        defer { try? FileManager.default.removeItem(atPath: fixture.destinationPath) }
        try fixture.migration(options).run()
        return try ReferenceStore.read(path: fixture.destinationPath, model: fixture.destination)
    }

    private func reread(_ plan: MigrationPlan) throws -> MigrationPlan {
        try MigrationPlan.read(json: Data(try plan.json().utf8))
    }

    @Test("A plan says which way entity mappings take, which side carries a relationship, and what is loaded when")
    func description() throws {
        let fixture = try FailureFixture()
        var options = fixture.options()
        let plan = try fixture.migration(options).plan()
        #expect(try reread(plan) == plan)
        let model = try #require(plan.models.first)
        #expect(!model.isStaged && model.reasons.isEmpty)
        #expect(model.entityMappings.map(\.path) == [.rows, .rows])
        #expect(model.entityMappings.map(\.sourceRows) == [4, 40])
        #expect(model.groups == [["Author"], ["Book"]])
        let books = try #require(model.relationships.first { $0.name == "books" })
        #expect(books.carrier == "Book.author" && books.resolution == .inverse && books.pass == 2)
        let author = try #require(model.relationships.first { $0.name == "author" })
        #expect(author.carrier == "Book.author" && author.resolution == .row && author.inverse == "Author.books")
        #expect(model.passes.map { $0.steps.map(\.rootEntity) } == [["Author"], ["Book"]])
        #expect(plan.disk.least > 0 && plan.disk.least < plan.disk.destination)

        fixture.mapping.entityMappings[1].entityMigrationPolicyClassName = "BookPolicy"
        let manager = MigrationManager(sourceModel: fixture.source, destinationModel: fixture.destination)
        manager.policies = PolicyRegistry()
        manager.policies.register("BookPolicy") { EntityMigrationPolicy() }
        let staged = try fixture.migration(options, manager: manager).plan()
        #expect(staged.isStaged)
        #expect(staged.models[0].reasons == ["IEM_Transform_Book has the migration policy BookPolicy"])
        #expect(staged.models[0].entityMappings.map(\.path) == [.rows, .objects])
        #expect(staged.models[0].tables.map(\.keys) == [.kept, .sequential])
        #expect(staged.models[0].relationships.allSatisfy { $0.resolution == .logged || $0.resolution == .inverse })

        fixture.mapping.entityMappings[1].entityMigrationPolicyClassName = nil
        options.usesStoreSpecificMigrationManager = false
        #expect(try fixture.migration(options).plan().isStaged)
    }

    @Test("So many passes are made as are asked for: tables are cut by key range, and a table closes once")
    func ranges() throws {
        let fixture = try FailureFixture()
        var options = fixture.options()
        options.passes = 5
        let model = try #require(try fixture.migration(options).plan().models.first)
        #expect(model.passes.count == 5)
        let books = model.passes.flatMap(\.steps).filter { $0.rootEntity == "Book" }
        #expect(books.count == 4)
        #expect(books.map(\.afterKey) == [nil, 10, 20, 30] && books.map(\.throughKey) == [10, 20, 30, nil])
        #expect(books.map(\.closes) == [false, false, false, true])
        #expect(books.reduce(0) { $0 + $1.sourceRows } == 40)
        options.passes = .max
        #expect(try fixture.migration(options).plan().passes.count <= 44)
    }

    @Test("Entity mappings go into the passes that name them; the rest comes in a pass of its own")
    func named() throws {
        let fixture = try FailureFixture()
        let names = fixture.mapping.entityMappings.compactMap(\.name)
        var options = fixture.options()
        options.passNames = [[names[1]], [names[0]]]
        let plan = try fixture.migration(options).plan()
        #expect(plan.passes.map { $0.steps.map(\.rootEntity) } == [["Book"], ["Author"]])
        options.passNames = [[names[1]]]
        #expect(
            try fixture.migration(options).plan().passes.map { $0.steps.map(\.rootEntity) } == [["Book"], ["Author"]])
        options.passNames = [["Nobody"]]
        #expect(
            try fixture.problems("plan.unknownMapping", .configuration, naming: ["Nobody", names[0]]) {
                try $0.migration(options).run()
            } == [])
        options.passNames = [[String(names[0].dropLast())]]
        let slip = #expect(throws: MigrationError.self) { try fixture.migration(options).plan() }
        #expect(slip?.remedy == "Did you mean '\(names[0])'?")
        options.passNames = [[names[0]], [names[0]]]
        #expect(
            try fixture.problems("plan.mappingTwice", .configuration, naming: [names[0]]) {
                try $0.migration(options).run()
            } == [])
    }

    @Test("A saved plan runs: the passes and keys that it says, edited ones too")
    func edited() throws {
        let fixture = try FailureFixture()
        let expected = try run(fixture, fixture.options())
        var options = fixture.options()
        options.passes = 4
        var plan = try reread(try fixture.migration(options).plan())
        options.passes = nil
        options.plan = plan
        #expect(try run(fixture, options).differences(from: expected) == [])

        plan.models[0].passes.reverse()
        let books = plan.models[0].passes.indices.filter { number in
            plan.models[0].passes[number].steps.contains { $0.rootEntity == "Book" }
        }
        // The tables' order may be another one, that of a table's steps may not.
        let steps = books.map { plan.models[0].passes[$0] }
        for (place, pass) in zip(books, steps.reversed()) { plan.models[0].passes[place] = pass }
        options.plan = plan
        #expect(try fixture.migration(options).plan().passes.last?.steps.last?.rootEntity == "Author")
        #expect(try run(fixture, options).differences(from: expected) == [])

        plan.models[0].tables[1].keys = .sequential
        options.plan = plan
        var numbered = fixture.options()
        numbered.keys = .sequential
        let report = try fixture.migration(options).run()
        #expect(report.keys == ["Author": "kept", "Book": "sequential"])
        let actual = try ReferenceStore.read(path: fixture.destinationPath, model: fixture.destination)
        try FileManager.default.removeItem(atPath: fixture.destinationPath)
        #expect(actual.differences(from: try run(fixture, numbered)) == [])
    }

    @Test("A plan that leaves rows out, has them twice, or says what the run would not do is refused")
    func refused() throws {
        let fixture = try FailureFixture()
        var options = fixture.options()
        options.passes = 4
        let plan = try fixture.migration(options).plan()
        options.passes = nil
        func refusal(
            _ code: MigrationError.Code, _ words: [String], _ change: (inout MigrationPlan) -> Void
        ) throws -> [String] {
            var changed = plan
            change(&changed)
            options.plan = changed
            return try fixture.problems(code, .configuration, naming: words) { try $0.migration(options).run() }
        }
        #expect(try refusal("plan.steps", ["Book"]) { $0.models[0].passes.removeLast() } == [])
        #expect(try refusal("plan.steps", ["Book"]) { $0.models[0].passes.append($0.models[0].passes[2]) } == [])
        #expect(try refusal("plan.steps", ["Book"]) { $0.models[0].passes.swapAt(2, 3) } == [])
        #expect(try refusal("plan.steps", ["Nobody"]) { $0.models[0].passes[1].steps[0].rootEntity = "Nobody" } == [])
        #expect(
            try refusal("plan.steps", ["Nothing"]) { $0.models[0].passes[1].steps[0].entityMappings = ["Nothing"] }
                == [])
        #expect(try refusal("plan.steps", ["Book"]) { $0.models[0].passes[2].steps[0].throughKey = 2 } == [])
        #expect(try refusal("plan.edited", ["rows"]) { $0.models[0].entityMappings[0].path = .objects } == [])
        #expect(try refusal("plan.edited", ["row path"]) { $0.models[0].isStaged = true } == [])
        #expect(
            try refusal("plan.edited", ["Book.author"]) { plan in
                for index in plan.models[0].relationships.indices {
                    plan.models[0].relationships[index].resolution = .table
                }
            } == [])
        #expect(
            try refusal("plan.outdated", ["--batch-size was 3, and is not given now"]) {
                $0.inputs.options["--batch-size"] = "3"
            } == [])
        #expect(try refusal("plan.outdated", ["source model: Book"]) { $0.inputs.sourceModel["Book"] = "00" } == [])
        #expect(
            try refusal("plan.outdated", ["destination model: Author"]) { $0.inputs.destinationModel["Author"] = nil }
                == [])
        #expect(try refusal("plan.outdated", ["UUID"]) { $0.inputs.source?.uuid = "another" } == [])
        #expect(try refusal("plan.outdated", ["there were 2"]) { $0.inputs.mappingModels.append([]) } == [])
        #expect(try refusal("plan.outdated", ["no destination"]) { $0.inputs.destination = $0.inputs.source } == [])
    }

    @Test("A plan is refused once the source was written, the mapping model or an option changed; it says which")
    func outdated() throws {
        let fixture = try FailureFixture()
        var options = fixture.options()
        options.plan = try reread(try fixture.migration(options).plan())

        fixture.mapping.entityMappings[1].attributeMappings?[1].valueExpression = try ValueExpression(
            parsing: "'other'")
        #expect(
            try fixture.problems(
                "plan.outdated", .configuration, naming: ["the mapping model: IEM_Transform_Book changed"]
            ) { try $0.migration(options).run() } == [])
        options.plan = try fixture.migration(fixture.options()).plan()
        options.strictValidation = true
        #expect(
            try fixture.problems(
                "plan.outdated", .configuration, naming: ["--strict-validation was not given, and is given now"]
            ) {
                try $0.migration(options).run()
            } == [])
        options.strictValidation = false
        _ = try run(fixture, options)
        try fixture.change("INSERT INTO ZAUTHOR (Z_PK, Z_ENT, Z_OPT) VALUES (77, 1, 1)")
        #expect(
            try fixture.problems("plan.outdated", .configuration, naming: ["the source: it was written since"]) {
                try $0.migration(options).run()
            } == [])
        options.plan = try fixture.migration(fixture.options()).plan()
        try fixture.change("CREATE INDEX more ON ZAUTHOR (ZNAME)")
        #expect(
            try fixture.problems("plan.outdated", .configuration, naming: ["schema was changed"]) {
                try $0.migration(options).run()
            } == [])
    }

    @Test("A file that is no plan is refused with the place, and a plan of another form by its version")
    func unreadable() throws {
        let fixture = try FailureFixture()
        let text = try fixture.migration(fixture.options()).plan().json()
        for (damage, code) in [
            ("", "plan.parse"), ("[]", "plan.parse"), ("{}", "plan.parse"),
            (text.replacingOccurrences(of: "\"formatVersion\" : 1", with: "\"formatVersion\" : 2"), "plan.version"),
            (text.replacingOccurrences(of: "\"kept\"", with: "\"lost\""), "plan.parse"),
            (String(text.dropLast(5)), "plan.parse"),
        ] as [(String, MigrationError.Code)] {
            let error = #expect(throws: MigrationError.self) {
                try MigrationPlan.read(json: Data(damage.utf8), path: "p")
            }
            #expect(
                error?.code == code && error?.context.path == "p", "\(damage.prefix(60)): \(String(describing: error))")
        }
    }

    @Test("A later mapping model's plan knows the rows that an earlier one leaves, and the result is the same")
    func severalModels() throws {
        let fixture = try FailureFixture()
        // The filter of the first model leaves one author: its table is not empty when the second runs.
        let first = MappingModel()
        let second = MappingModel()
        let inferred = try #require(fixture.mapping.entityMappings)
        let filtered = try #require(inferred[0].copy() as? EntityMapping)
        filtered.name = "Some"
        filtered.relationshipMappings = []
        filtered.sourceFilter = try SourcePredicate(format: "name ENDSWITH '1'")
        first.entityMappings = [filtered]
        second.entityMappings = inferred
        var options = fixture.options()
        func migration() -> Migration {
            Migration(
                from: fixture.sourcePath, model: fixture.source, mappings: [first, second], to: fixture.destinationPath,
                model: fixture.destination, options: options)
        }
        func result() throws -> ReferenceStore {
            defer { try? FileManager.default.removeItem(atPath: fixture.destinationPath) }
            try migration().run()
            return try ReferenceStore.read(path: fixture.destinationPath, model: fixture.destination)
        }
        let expected = try result()
        options.passes = 6
        let plan = try migration().plan()
        #expect(plan.models.map { $0.tables[0].keys } == [.kept, .sequential])
        options.passes = nil
        options.plan = plan
        #expect(try result().differences(from: expected) == [])
    }
}

@Suite("Free space", .enabled(if: SmallDisk.isPossible, "mounting a small disk needs root"), .serialized)
struct FreeSpaceTests {
    @Test("A run without room for its destination is refused before anything is written; one with room is not")
    func refused() throws {
        let fixture = try FailureFixture(books: 4000, textLength: 400)
        let disk = try #require(SmallDisk(bytes: 256 << 10))
        fixture.destinationPath = disk.path + "/new.sqlite"
        #expect(
            try fixture.problems("disk.tooSmall", .io, naming: ["MiB", disk.path]) {
                try $0.migration($0.options()).run()
            } == [])
        let plan = try fixture.migration(fixture.options()).plan()
        let room = try #require(SmallDisk(bytes: plan.disk.destination * 2))
        fixture.destinationPath = room.path + "/new.sqlite"
        let report = try fixture.migration(fixture.options()).run()
        // The estimate is of the size that came out, by less than half.
        #expect(abs(report.destinationBytes - plan.disk.destination) < report.destinationBytes / 2)
        #expect(plan.disk.least < report.destinationBytes)
    }
}
