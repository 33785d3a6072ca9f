import Diagnostics
import Foundation
import ManagedModel
import Mapping
import Stagecoach
import TestSupport
import Testing

/// Members of to-many relationships that come and go one at a time: what is counted is records written and read.
@Suite("To-many relationships member by member")
struct OrderedMemberTests {
    typealias Steps = ClosurePolicy.Steps

    /// In which relationship of an album: ordered, the inverse to-one, ordered to-many, or none; and one without an order.
    static let relationships = ["tracks", "marks", "extras", "friends"]

    /// The way in which members are set.
    enum Way: CaseIterable {
        case add
        case insertAtTheEnd
        case addByTheOtherSide
        case setTheSet
    }

    /// In which method of the policy.
    enum Stage: CaseIterable {
        case create
        case end
    }

    private struct Fixture {
        let folder: TemporaryFolder
        let model: ManagedObjectModel
        let mapping: MappingModel
        var source: String { folder.file("source.sqlite") }
        var destination: String { folder.file("destination.sqlite") }

        init() throws {
            folder = try TemporaryFolder()
            var definition = ModelDefinition()
            definition.entities = [
                entity(
                    "Album", [attribute("name", .string)],
                    [
                        toMany("tracks", "Track", inverse: "album", ordered: true),
                        toMany("marks", "Track", inverse: "marked", ordered: true),
                        toMany("extras", "Track", ordered: true),
                        toMany("friends", "Track", inverse: "befriended"),
                    ]),
                entity(
                    "Track", [attribute("number", .integer32)],
                    [
                        toOne("album", "Album", inverse: "tracks"),
                        toMany("marked", "Album", inverse: "marks", ordered: true),
                        toMany("befriended", "Album", inverse: "friends"),
                    ]),
            ]
            model = try ManagedObjectModel(definition)
            mapping = mappings(try StagecoachTests.mapping("Albums", "Album", "Album", ["name": "$source.name"]))
            try ReferenceStore.make(model) { store in
                store.insert("Album", 1, ["name": .text("one")])
                store.insert("Album", 2, ["name": .text("two")])
            }.write(path: folder.file("source.sqlite"))
        }

        /// Runs a step for the first album, in a policy, and reads the destination.
        func run(_ stage: Stage, _ body: @escaping (ManagedObject, ManagedObjectContext) throws -> Void) throws
            -> ReferenceStore
        {
            var steps = Steps()
            func first(_ manager: MigrationManager) -> ManagedObject? {
                manager.destinationInstances(forEntityMappingName: "Albums", sourceInstances: nil).first
            }
            if stage == .create {
                steps.endCreation = { _, manager in
                    try body(try #require(first(manager)), manager.destinationContext)
                }
            } else {
                steps.end = { _, manager in
                    try body(try #require(first(manager)), manager.destinationContext)
                }
            }
            mapping.entityMappingsByName["Albums"]?.entityMigrationPolicyClassName = "AlbumPolicy"
            let manager = MigrationManager(sourceModel: model, destinationModel: model)
            manager.policies = PolicyRegistry()
            let carried = Unchecked(steps)
            manager.policies.register("AlbumPolicy") {
                let policy = ClosurePolicy()
                policy.steps = carried.value
                return policy
            }
            manager.options.memoryLimit = 8 << 30
            manager.options.fullCheck = true
            try manager.migrateStore(
                from: URL(fileURLWithPath: source), type: .sqlite, mapping: mapping,
                to: URL(fileURLWithPath: destination), type: .sqlite)
            return try ReferenceStore.read(path: destination, model: model)
        }
    }

    private static func add(_ track: ManagedObject, to album: ManagedObject, _ relationship: String, _ way: Way) throws
    {
        let isOrdered = relationship != "friends"
        switch way {
        case .add:
            if isOrdered {
                album.mutableOrderedSetValue(forKey: relationship).add(track)
            } else {
                album.mutableSetValue(forKey: relationship).add(track)
            }
        case .insertAtTheEnd:
            guard isOrdered else { return album.mutableSetValue(forKey: relationship).add(track) }
            let members = album.mutableOrderedSetValue(forKey: relationship)
            #expect(!members.contains(track))
            members.insert(track, at: members.count)
        case .addByTheOtherSide:
            switch relationship {
            case "tracks": track.setValue(album, forKey: "album")
            case "marks": track.mutableOrderedSetValue(forKey: "marked").add(album)
            case "friends": track.mutableSetValue(forKey: "befriended").add(album)
            default: album.mutableOrderedSetValue(forKey: relationship).add(track)
            }
        case .setTheSet:
            guard isOrdered else { return album.mutableSetValue(forKey: relationship).add(track) }
            let present = try #require(album.value(forKey: relationship) as? NSOrderedSet)
            let members = NSMutableOrderedSet(array: present.array)
            album.willChangeValue(forKey: relationship)
            members.add(track)
            album.setValue(members, forKey: relationship)
            album.didChangeValue(forKey: relationship)
        }
    }

    @Test(
        "Adding members one at a time writes and reads records that grow with their number", arguments: Way.allCases,
        Stage.allCases)
    func linear(way: Way, stage: Stage) throws {
        // A set that is given as a whole is compared with what was there: that is the giver's cost.
        let number = way == .setTheSet ? 300 : 1500
        for relationship in Self.relationships {
            let fixture = try Fixture()
            let store = try fixture.run(stage) { album, context in
                let before = context.linkStatistics
                for index in 0..<number {
                    let track = EntityDescription.insertNewObject(forEntityName: "Track", into: context)
                    track.setValue(index, forKey: "number")
                    try Self.add(track, to: album, relationship, way)
                }
                let after = context.linkStatistics
                let written = after.writtenRecords - before.writtenRecords
                let read = after.readRecords - before.readRecords
                #expect(written <= 4 * number + 8, "\(relationship): \(written) written")
                if way != .setTheSet { #expect(read <= 8 * number + 8, "\(relationship): \(read) read") }
                let members = album.objectIDs(forRelationshipNamed: relationship).map(\.key)
                #expect(members.count == number)
                if relationship != "friends" { #expect(members == Array(1...Int64(number))) }
            }
            let saved = try #require(store.objects("Album")[1])
            #expect(saved.related(relationship).map(\.key) == Array(1...Int64(number)), "\(relationship)")
            let orders = saved.toMany[relationship]?.map(\.order)
            let places: [Int64?] = (0..<number).map { 2048 + 1024 * Int64($0) }
            if relationship != "friends" { #expect(orders == places, "\(relationship)") }
        }
    }

    @Test(
        "Taking members out one at a time, and adding others in between, reads no more than that",
        arguments: Stage.allCases)
    func removing(stage: Stage) throws {
        let number = 1000
        for relationship in ["tracks", "marks", "extras"] {
            let fixture = try Fixture()
            let store = try fixture.run(stage) { album, context in
                let members = album.mutableOrderedSetValue(forKey: relationship)
                var tracks: [ManagedObject] = []
                for _ in 0..<number {
                    tracks.append(EntityDescription.insertNewObject(forEntityName: "Track", into: context))
                    members.add(tracks[tracks.count - 1])
                }
                let before = context.linkStatistics
                for index in 0..<number / 2 {
                    members.remove(tracks[index * 2])
                    let new = EntityDescription.insertNewObject(forEntityName: "Track", into: context)
                    members.add(new)
                    #expect(!members.contains(tracks[index * 2]) && members.contains(new))
                    #expect(members.count == number)
                }
                let read = context.linkStatistics.readRecords - before.readRecords
                #expect(read <= 12 * number, "\(relationship): \(read) read")
            }
            let expected = (0..<number / 2).map { Int64($0 * 2 + 2) } + (0..<number / 2).map { Int64(number + 1 + $0) }
            #expect(store.objects("Album")[1]?.related(relationship).map(\.key) == expected, "\(relationship)")
        }
    }

    @Test(
        "What was set before stage 2 and grew is what it was, other objects' changes in between",
        arguments: [31, 32, 33] as [UInt64])
    func grownEarly(seed: UInt64) throws {
        print("members set early, seed \(seed)")
        let fixture = try Fixture()
        var expected: [Int64: [Int64]] = [1: [], 2: []]
        let store = try fixture.run(.create) { _, context in
            var random = SeededGenerator(seed: seed)
            let albums = try context.fetch(request("Album"))
            let tracks = (0..<20).map { _ in EntityDescription.insertNewObject(forEntityName: "Track", into: context) }
            for _ in 0..<200 {
                let album = albums[random.below(2)]
                let (own, other) = (album.objectID.key, 3 - album.objectID.key)
                let track = tracks[random.below(20)]
                let key = track.objectID.key
                func move() {
                    expected[other]?.removeAll { $0 == key }
                    if expected[own]?.contains(key) == false { expected[own]?.append(key) }
                }
                switch random.below(5) {
                case 0, 1:
                    let members = NSMutableOrderedSet(
                        array: (album.value(forKey: "tracks") as? NSOrderedSet)?.array ?? [])
                    members.add(track)
                    album.setValue(members, forKey: "tracks")
                    move()
                case 2:
                    album.mutableOrderedSetValue(forKey: "tracks").add(track)
                    move()
                case 3:
                    track.setValue(album, forKey: "album")
                    move()
                default:
                    album.mutableOrderedSetValue(forKey: "tracks").remove(track)
                    expected[own]?.removeAll { $0 == key }
                }
                let seen = album.objectIDs(forRelationshipNamed: "tracks").map(\.key)
                #expect(seen == expected[own], "seed \(seed)")
            }
        }
        for (key, members) in expected {
            #expect(store.objects("Album")[key]?.related("tracks").map(\.key) == members, "seed \(seed)")
        }
    }
}
