import Diagnostics
import Foundation
import ManagedModel
import Mapping
import Stagecoach
import TestSupport
import Testing

@Suite("Ways from version to version")
struct RouteTests {
    /// A bundle of the chain's versions, and mapping models of neighbours as JSON.
    private struct Fixture {
        let folder: TemporaryFolder
        let versions: [ModelVersion]
        let bundle: String

        /// - Parameter definitions: one a version, compiled by our own writer.
        init(_ versions: [ModelVersion]) throws {
            self.versions = versions
            folder = try TemporaryFolder()
            bundle = folder.file("Books.momd")
            try FileManager.default.createDirectory(atPath: bundle, withIntermediateDirectories: true)
            for version in versions {
                try Data(try ModelArchive.encode(version.model)).write(
                    to: URL(fileURLWithPath: "\(bundle)/\(version.name ?? "").mom"))
            }
        }

        /// The inferred mapping model of two versions as a file.
        func mapping(_ from: Int, _ to: Int, hashes: Bool = true) throws -> String {
            let path = folder.file("\(from)to\(to)-\(hashes).json")
            let mapping = try MappingModel.inferred(
                from: versions[from - 1].model, to: versions[to - 1].model)
            for one in mapping.entityMappings { one.statesVersionHashes = hashes }
            try Data(try mapping.json().utf8).write(to: URL(fileURLWithPath: path))
            return path
        }

        func route(
            _ from: Int, _ to: Int, via: [Int] = [], mappings: [String] = []
        ) throws -> VersionRoute {
            try VersionRoute.find(
                from: ModelVersion(name: "said by the store", model: versions[from - 1].model),
                to: versions[to - 1], bundle: bundle, via: via.map { versions[$0 - 1] }, mappings: mappings)
        }
    }

    private func names(_ route: VersionRoute) -> [String] {
        route.steps.map {
            "\($0.destination.name ?? "-")\($0.files.isEmpty ? "" : " by \($0.files.map { URL(fileURLWithPath: $0).lastPathComponent.prefix(4) }.joined(separator: "+"))")"
        }
    }

    @Test("One step if it can be inferred, mapping models in any order, inference between, versions by --via")
    func ways() throws {
        let fixture = try Fixture(ChainTests.versions())
        #expect(try names(fixture.route(1, 4)) == ["4"])
        #expect(try names(fixture.route(1, 4, via: [3])) == ["3", "4"])
        #expect(try names(fixture.route(1, 4, via: [2, 3])) == ["2", "3", "4"])
        let (two, three) = (try fixture.mapping(1, 2), try fixture.mapping(3, 4))
        #expect(try names(fixture.route(1, 4, mappings: [three, two])) == ["2 by 1to2", "3", "4 by 3to4"])
        #expect(try names(fixture.route(1, 4, mappings: [three])) == ["3", "4 by 3to4"])
        #expect(try names(fixture.route(1, 4, via: [2, 3], mappings: [three])) == ["2", "3", "4 by 3to4"])
        #expect(try names(fixture.route(4, 3)) == ["3"])
        #expect(try fixture.route(2, 4, via: [3]).steps[0].source.name == "2")
    }

    @Test("A mapping model of versions beside the way is left out, and said")
    func beside() throws {
        let fixture = try Fixture(ChainTests.versions())
        let (first, last) = (try fixture.mapping(1, 2), try fixture.mapping(3, 4))
        let route = try fixture.route(2, 4, mappings: [first, last])
        #expect(names(route) == ["3", "4 by 3to4"] && route.unneeded == [first])
        let only = try fixture.route(2, 4, mappings: [first])
        #expect(names(only) == ["4"] && only.unneeded == [first])
        let here = try fixture.route(2, 2, mappings: [first, last])
        #expect(names(here) == ["2"] && here.unneeded == [first, last])
    }

    @Test("A way through a third version is no way around a refusal that keeps links, unless --via names it")
    func lossesOnTheWay() throws {
        func version(_ name: String, _ club: [RelationshipDefinition], _ person: [RelationshipDefinition]) throws
            -> ModelVersion
        {
            ModelVersion(name: name, model: try model(entity("Club", [], club), entity("Person", [], person)))
        }
        let fixture = try Fixture([
            version(
                "1", [toMany("members", "Person", inverse: "clubs")], [toMany("clubs", "Club", inverse: "members")]),
            version("2", [], []),
            version(
                "3", [toMany("members", "Person", inverse: "club")], [toOne("club", "Club", inverse: "members")]),
        ])
        let error = try #require(throws: MigrationError.self) { try fixture.route(1, 3) }
        #expect(error.code == "inference.cardinality" && error.context == .init(entity: "Club", property: "members"))
        #expect(error.remedy?.contains("--unmappable leave") == true)
        #expect(try names(fixture.route(1, 3, via: [2])) == ["2", "3"])
        let left = try VersionRoute.find(
            from: fixture.versions[0], to: fixture.versions[2], bundle: fixture.bundle, unmappable: .leave)
        #expect(names(left) == ["3"])
    }

    @Test("A mapping model that fits no two versions is refused for what does not fit the two ends")
    func misfit() throws {
        func version(_ name: String, _ attributes: String...) throws -> ModelVersion {
            ModelVersion(name: name, model: try model(entity("Order", attributes.map { attribute($0, .string) })))
        }
        let fixture = try Fixture([
            version("1", "memo"), version("2", "note"), version("3", "note", "sum"), version("4", "note", "currency"),
        ])
        for (key, value, column, hint) in [
            ("currency", "$source.memoo", 15, "Did you mean 'memo'?"),
            ("curency", "$source.memo", 3, "Did you mean 'currency'?"),
        ] {
            let path = fixture.folder.file("\(key).json")
            try Data(
                """
                {"formatVersion": 2, "entityMappings": [{
                  "sourceEntity": "Order", "destinationEntity": "Order", "attributes": {
                  "\(key)": "\(value)"}}]}
                """.utf8
            ).write(to: URL(fileURLWithPath: path))
            let error = try #require(throws: MigrationError.self) { try fixture.route(1, 4, mappings: [path]) }
            #expect(error.message.hasPrefix("1 → 4: ") && error.remedy == hint, "\(error)")
            #expect(error.context.line == 3 && error.context.column == column, "\(error)")
        }
    }

    @Test("Several for one pair run in turn; one that fits several pairs has to be told")
    func several() throws {
        let fixture = try Fixture(ChainTests.versions())
        let direct = try fixture.mapping(1, 4)
        #expect(try names(fixture.route(1, 4, mappings: [direct])) == ["4 by 1to4"])
        let vague = fixture.folder.file("vague.json")
        try Data(
            #"{"formatVersion": 2, "entityMappings": [{"sourceEntity": "Book", "destinationEntity": "Book"}]}"#.utf8
        )
        .write(to: URL(fileURLWithPath: vague))
        #expect(try names(fixture.route(1, 4, mappings: [vague])) == ["4 by vagu"])
        let error = try #require(throws: MigrationError.self) {
            try fixture.route(1, 4, mappings: [vague, fixture.mapping(3, 4)])
        }
        #expect(error.code == "chain.ambiguousMapping" && error.remedy?.contains("--via") == true)
    }

    @Test("A mapping model is for the versions that its argument or its text names")
    func stated() throws {
        let fixture = try Fixture(ChainTests.versions())
        func vague(_ name: String, _ keys: String = "") throws -> String {
            let path = fixture.folder.file(name)
            let text =
                "{\"formatVersion\": 2,\(keys) \"entityMappings\": [{\"sourceEntity\": \"Book\", \"destinationEntity\": \"Book\"}]}"
            try Data(text.utf8).write(to: URL(fileURLWithPath: path))
            return path
        }
        let plain = try vague("vague.json")
        let told = try vague("told.json", #""from": "2", "to": "3","#)
        #expect(try names(fixture.route(1, 4, via: [2, 3], mappings: ["2..3=\(plain)"])) == ["2", "3 by vagu", "4"])
        #expect(try names(fixture.route(1, 4, via: [2, 3], mappings: [told])) == ["2", "3 by told", "4"])
        #expect(try names(fixture.route(1, 4, mappings: ["2..3=\(plain)"])) == ["2", "3 by vagu", "4"])
        #expect(try names(fixture.route(1, 4, mappings: [told])) == ["2", "3 by told", "4"])
        #expect(try names(fixture.route(1, 4, mappings: ["1..4=\(plain)"])) == ["4 by vagu"])
        // The argument's word is the later one.
        #expect(try names(fixture.route(1, 4, via: [2, 3], mappings: ["1..2=\(told)"])) == ["2 by told", "3", "4"])
        #expect(try names(fixture.route(1, 3, mappings: ["1..2=\(plain)", told])) == ["2 by vagu", "3 by told"])
        let beside = try fixture.route(1, 2, mappings: ["1..2=\(plain)", told])
        #expect(names(beside) == ["2 by vagu"] && beside.unneeded == [told])

        for (mappings, via, code, words) in [
            (["2..9=\(plain)"], [], "chain.unknownVersion", "there is no version 9"),
            ([try vague("typo.json", #""from": "two", "to": "3","#)], [], "chain.unknownVersion", "no version two"),
            (["1..3=\(plain)"], [2, 3], "chain.noWay", "--via"),
        ] as [([String], [Int], String, String)] {
            let error = try #require(throws: MigrationError.self) {
                try fixture.route(1, 4, via: via, mappings: mappings)
            }
            #expect(error.code.rawValue == code && error.message.contains(words), "\(error)")
        }
        let elsewhere = try fixture.route(1, 2, mappings: [told])
        #expect(names(elsewhere) == ["2"])
        #expect(elsewhere.leftOut.map(\.sentence) == ["\(told) is for 2 to 3, which is not on the way: left out"])
    }

    @Test("The hint for a mapping model of several pairs can be followed")
    func hint() throws {
        let fixture = try Fixture(ChainTests.versions())
        let path = fixture.folder.file("vague.json")
        let text = #"{"formatVersion": 2, "entityMappings": [{"sourceEntity": "Book", "destinationEntity": "Book"}]}"#
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        let error = try #require(throws: MigrationError.self) {
            try fixture.route(1, 4, via: [2, 3], mappings: [path])
        }
        #expect(error.code == "chain.ambiguousMapping")
        let remedy = try #require(error.remedy)
        #expect(!remedy.contains("--via"), "\(remedy)")
        #expect(remedy.contains("--mapping \"1..2=\(path)\""), "\(remedy)")
        #expect(remedy.contains(#""from": "1", "to": "2""#), "\(remedy)")
        #expect(try names(fixture.route(1, 4, via: [2, 3], mappings: ["1..2=\(path)"])) == ["2 by vagu", "3", "4"])
    }

    @Test(
        "A text is a path with versions before it, or a path",
        arguments: [
            ("A..B=c.json", "c.json", "A B"), ("M 39..M 40=d/39to40.cdm", "d/39to40.cdm", "M 39 M 40"),
            ("../x=y.json", "../x=y.json", nil), ("d/..B=c.json", "d/..B=c.json", nil), ("A..=c", "A..=c", nil),
            ("..B=c", "..B=c", nil), ("A..B", "A..B", nil), ("a=b..c", "a=b..c", nil), ("A..B=c=d..e", "c=d..e", "A B"),
        ] as [(String, String, String?)])
    func argument(text: String, path: String, versions: String?) {
        let argument = MappingArgument(text)
        #expect(argument.path == path)
        #expect(argument.versions.map { "\($0.source) \($0.destination)" } == versions)
        let placed = MappingArgument.placing(text) { "/far/\($0)" }
        #expect(MappingArgument(placed).path == "/far/\(path)")
        #expect(MappingArgument(placed).versions == argument.versions)
    }

    @Test("A file that is named like an argument with versions is a file")
    func file() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("A..B=c.json")
        try Data().write(to: URL(fileURLWithPath: path))
        #expect(MappingArgument(path).versions == nil)
        #expect(MappingArgument.placing("A..B=c.json") { folder.file($0) } == path)
    }

    @Test("Where a step cannot be inferred, the way goes round it or says why there is none")
    func refused() throws {
        func version(_ name: String, _ type: AttributeType?) throws -> ModelVersion {
            ModelVersion(
                name: name,
                model: try model(
                    entity(
                        "A", type.map { [attribute("x", $0), attribute("y", .string)] } ?? [attribute("y", .string)])))
        }
        let round = try Fixture([version("1", .string), version("2", nil), version("3", .integer16)])
        #expect(try names(round.route(1, 3)) == ["2", "3"])
        let none = try Fixture([version("1", .string), version("2", .integer64), version("3", .integer16)])
        let error = try #require(throws: MigrationError.self) { try none.route(1, 3) }
        #expect(error.code == "inference.attributeType" && error.message.contains("no way from"))
        #expect(error.remedy?.contains("--mapping") == true)
    }

    @Test("A store's version is told by hashes, all that match, by its cached model, or by its tables")
    func storeVersion() throws {
        var versions = try ChainTests.versions()
        // The same to a store: a default does not enter the hash.
        let same = try model(entity("Book", [attribute("title", .string) { $0.defaultValue = .string("x") }]))
        versions.insert(ModelVersion(name: "1b", model: same), at: 1)
        let fixture = try Fixture(versions)
        let path = try ChainTests.source(fixture.folder, versions[0])
        let found = try StoreVersion.find(store: path, bundle: fixture.bundle, namesAll: true)
        #expect(found.evidence == .hashes && found.names == ["1", "1b"])
        let alone = try #require(throws: MigrationError.self) { try StoreVersion.find(store: path, bundle: nil) }
        #expect(alone.code == "model.unknownVersion" && alone.remedy?.contains("--from") == true)

        // Other hashes, the same tables.
        let other = try model(entity("Book", [attribute("title", .string, default: .string(""), required: true)]))
        let near = try Fixture([ModelVersion(name: "near", model: other), versions[4]])
        let told = try StoreVersion.find(store: path, bundle: near.bundle)
        #expect(told.evidence == .schema && told.names == ["near"])
        var options = MigrationOptions()
        let refused = try #require(throws: MigrationError.self) {
            try Migration(
                from: path, model: other, mapping: .inferred(from: other, to: versions[4].model),
                to: near.folder.file("new.sqlite"), model: versions[4].model, options: options
            ).run()
        }
        #expect(refused.code == "store.otherModel")
        options.sourceIsKnownByTables = true
        try Migration(
            from: path, model: other, mapping: .inferred(from: other, to: versions[4].model),
            to: near.folder.file("new.sqlite"), model: versions[4].model, options: options
        ).run()
        let far = try Fixture([versions[4]])
        let unknown = try #require(throws: MigrationError.self) {
            try StoreVersion.find(store: path, bundle: far.bundle)
        }
        #expect(unknown.message.contains("nearest to those of 4, but the table ZBOOK has no column ZHEADING"))
    }
}

@Suite("Ways over real versions", .enabled(if: SharedStores.isPresent, "the shared stores are absent"))
struct RealRouteTests {
    private func path(_ name: String) -> String { SharedStores.url.appendingPathComponent(name).path }

    @Test("Moody goes from 1 to 5 over its three mapping models, given in any order")
    func moody() throws {
        let bundle = path("objcio-moody/models/Moody.xcdatamodeld")
        let mappings = ["4-Moody 5", "2-Moody 3", "3-Moody 4"].map {
            path("objcio-moody/mappings/Moody \($0).xcmappingmodel")
        }
        let folder = try TemporaryFolder()
        let source = try folder.copyStore(SharedStores.url.appendingPathComponent("objcio-moody/stores/Moody.moody"))
        let store = try StoreVersion.find(store: source, bundle: bundle)
        let last = ModelVersion(name: "Moody 5", model: try ModelLocator.load(bundle + ":Moody 5").model)
        let route = try VersionRoute.find(from: store.version, to: last, bundle: bundle, mappings: mappings)
        #expect(route.steps.map(\.destination.name) == ["Moody 2", "Moody 3", "Moody 4", "Moody 5"])
        #expect(route.steps.map(\.files.count) == [0, 1, 1, 1] && route.unneeded.isEmpty)
        let chain = ChainedMigration(from: source, steps: route.steps, to: folder.file("new.moody"))
        print("Moody: \(try chain.plan().runs.map { "\($0.steps.count) steps, then \($0.obstacle ?? "the end")" })")
        let apart = ChainedMigration(from: source, steps: route.steps, to: folder.file("apart.moody"))
        apart.fusesSteps = false
        let moods = try chain.run().counts.created["Mood"]
        #expect(try apart.run().counts.created["Mood"] == moods && moods == 4)
        let one = try ReferenceStore.read(path: folder.file("new.moody"), model: last.model)
        #expect(
            one.differences(from: try ReferenceStore.read(path: folder.file("apart.moody"), model: last.model)) == [])
    }
}
