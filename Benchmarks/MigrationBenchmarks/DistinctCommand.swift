import CoreDataStore
import Diagnostics
import Foundation
import Glibc
import ManagedModel
import Mapping
import SpillStorage
import Stagecoach

/// `distinct [--objects 200000] [--values 2000] [--rounds 3] [--memory-limit 64M] [--folder FOLDER]`: makes an artist for each
/// distinct name that songs have, by `distinctBy` and by a policy that fetches the artist of each song and makes it where there is
/// none. Each runs in a process of its own, in turn; the verification of the former runs beside them. Prints the processor seconds
/// of each round and the median of their ratios, and compares the contents.
enum DistinctCommand {
    /// The ways, the first of which the others are held against.
    private enum Way: String, CaseIterable {
        case distinctBy, policy, verify
    }

    /// Fetches the artist of a song, and makes it where there is none.
    private final class ArtistPolicy: EntityMigrationPolicy {
        override func createDestinationInstances(
            forSource sInstance: ManagedObject, in mapping: EntityMapping, manager: MigrationManager
        ) throws {
            guard let name = sInstance.value(forKey: "artistName") as? String else { return }
            let request = FetchRequest<ManagedObject>(entityName: "Artist")
            request.predicate = FormatPredicate(format: "name == %@", name)
            request.fetchLimit = 1
            if let found = try manager.destinationContext.fetch(request).first {
                manager.associate(sourceInstance: sInstance, withDestinationInstance: found, for: mapping)
            } else {
                try super.createDestinationInstances(forSource: sInstance, in: mapping, manager: manager)
            }
        }
    }

    static func run(_ list: [String]) throws {
        let arguments = try Arguments(
            list, options: ["objects", "values", "rounds", "memory-limit", "folder", "source", "output", "way"])
        let limit = try arguments.bytes("memory-limit") ?? 64 << 20
        if let name = arguments.text("way") {
            guard let way = Way(rawValue: name) else { throw Arguments.usage("--way distinctBy, policy or verify") }
            return try run(
                way, from: try arguments.required("source"), to: try arguments.required("output"), memoryLimit: limit)
        }
        let folder = arguments.text("folder") ?? "distinct-\(getpid()).bench"
        try BenchmarkFolder.make(folder)
        let source = "\(folder)/source.sqlite"
        try write(
            songs: try arguments.number("objects") ?? 200_000, names: try arguments.number("values") ?? 2000, to: source
        )
        let schema = StoreSchema(model: try makeModel(isNew: true))
        var contents: [ContentChecksum] = []
        var ratios: [Way: [Double]] = [:]
        for round in 1...(try arguments.number("rounds") ?? 3) {
            var seconds: [Way: Double] = [:]
            for way in Way.allCases {
                // The verification reads what distinctBy made.
                let output = "\(folder)/\(way == .policy ? "policy" : "distinct").sqlite"
                if way != .verify { unlink(output) }
                let child = try ChildProcess(
                    CommandLine.arguments[0],
                    [
                        "distinct", "--way", way.rawValue, "--source", source, "--output", output, "--memory-limit",
                        String(limit),
                    ])
                guard child.code == 0 else {
                    throw MigrationError("benchmark.child", .internal, "\(way) ended with exit code \(child.code)")
                }
                seconds[way] = child.processorSeconds
                let line = "round \(round), \(way): \(text(child.processorSeconds)) s of processor time"
                print("\(line), \(child.output)", terminator: "")
                if round == 1, way != .verify { contents.append(try ContentChecksum(path: output, schema: schema)) }
            }
            guard let first = seconds[.distinctBy] else { continue }
            for (way, own) in seconds { ratios[way, default: []].append(own / max(first, 1e-9)) }
        }
        guard contents.allSatisfy({ $0 == contents[0] }) else {
            throw MigrationError("benchmark.contents", .internal, "The ways made different contents")
        }
        for way in Way.allCases.dropFirst() {
            let sorted = (ratios[way] ?? []).sorted()
            print("\(way) takes \(text(sorted[sorted.count / 2])) times the processor time of distinctBy")
        }
        try FileManager.default.removeItem(atPath: folder)
    }

    private static func text(_ number: Double) -> String { String(format: "%.2f", number) }

    private static func run(_ way: Way, from source: String, to output: String, memoryLimit: Int) throws {
        let (old, new) = (try makeModel(isNew: false), try makeModel(isNew: true))
        if way == .policy { PolicyRegistry.shared.register("Artists") { ArtistPolicy() } }
        let rule = way == .policy ? #""migrationPolicy": "Artists""# : #""distinctBy": ["$source.artistName"]"#
        let selector = "destinationInstancesForEntityMappingNamed:sourceInstances:"
        let json = """
            { "formatVersion": 2, "unlisted": "infer", "entityMappings": [
              { "name": "SongToArtist", "sourceEntity": "Song", "destinationEntity": "Artist", \(rule),
                "attributes": { "name": "$source.artistName" }, "relationships": { "songs": null } },
              { "name": "SongToSong", "sourceEntity": "Song", "destinationEntity": "Song",
                "relationships": { "artist": "FUNCTION($manager, '\(selector)', 'SongToArtist', $source)" } }
            ] }
            """
        let mapping = try MappingModel.reading(json: Array(json.utf8), path: "distinct", source: old, destination: new)
        var options = MigrationOptions()
        options.memoryLimit = memoryLimit
        let migration = Migration(
            from: source, model: old, mapping: mapping, to: output, model: new, options: options)
        guard way == .verify else {
            let report = try migration.run()
            let made = report.counts.created.values.reduce(0, +)
            return print("peak \(report.peakMemory >> 10) KiB; \(made) objects made")
        }
        let report = try StoreVerification(migration).run()
        guard report.isEqual, report.isComplete else {
            throw MigrationError("benchmark.failed", .internal, "\(report.differenceCount) differences were found")
        }
        print("peak \((ProcessMemory.peakResident() ?? 0) >> 10) KiB; \(report.compared.objects) objects compared")
    }

    private static func makeModel(isNew: Bool) throws -> ManagedObjectModel {
        var song = EntityDefinition(name: "Song")
        song.attributes = ["title", "artistName"].map { AttributeDefinition(name: $0, type: .string) }
        var definition = ModelDefinition()
        definition.entities = [song]
        guard isNew else { return try ManagedObjectModel(definition) }
        var owner = RelationshipDefinition(name: "artist", destinationEntityName: "Artist")
        (owner.inverseName, owner.deleteRule) = ("songs", .nullify)
        song.relationships = [owner]
        var artist = EntityDefinition(name: "Artist")
        artist.attributes = [AttributeDefinition(name: "name", type: .string)]
        var songs = RelationshipDefinition(name: "songs", destinationEntityName: "Song")
        (songs.isToMany, songs.inverseName, songs.deleteRule, songs.maximumCount) = (true, "artist", .nullify, 0)
        artist.relationships = [songs]
        definition.entities = [song, artist]
        return try ManagedObjectModel(definition)
    }

    /// Writes a store of songs, whose artists come in any order.
    private static func write(songs count: Int, names: Int, to path: String) throws {
        let model = try makeModel(isNew: false)
        let store = try DestinationStore(
            creating: path, schema: StoreSchema(model: model), cacheBytes: 8 << 20, vfs: nil)
        var generator = BenchmarkGenerator(seed: 1)
        var text = RandomText(&generator)
        var rows = try TableFill(store, entity: "Song")
        let (title, name) = (rows.slot("ZTITLE"), rows.slot("ZARTISTNAME"))
        for key in 1...max(1, count) {
            try rows.begin(key: Int64(key))
            text.make(10...40, &generator)
            rows.set(title, text)
            text.set("The artist number ")
            text.append(generator.below(max(1, names)))
            rows.set(name, text)
        }
        try rows.finish()
        try store.finish(
            metadata: DestinationMetadata(
                uuid: "51A6EC0A-0000-4000-8000-000000000005", sourceProperties: [:],
                versionHashes: model.entityVersionHashesByName.mapValues { Array($0) }, versionIdentifiers: []),
            maximumKeys: [Int64(count)], modelCache: try ModelCache.encode(model))
    }
}
