import Foundation
import ManagedModel
import SpillStorage
import TestSupport
import Testing

@testable import Stagecoach

/// Links of one relationship pair as sets in memory: each change takes effect at once.
private struct LinkModel {
    let isReflexive: Bool
    let isExclusive: [Bool]
    /// Partners by object, on each side; one side where the relationship is its own inverse.
    private var partners: [[Int64: Set<Int64>]] = [[:], [:]]

    init(isReflexive: Bool, isExclusive: [Bool]) {
        self.isReflexive = isReflexive
        self.isExclusive = isExclusive
    }

    private func index(_ side: Int) -> Int { isReflexive ? 0 : side }

    func partners(of key: Int64, side: Int) -> [Int64] { (partners[index(side)][key] ?? []).sorted() }

    /// All pairs, seen from a side.
    func pairs(side: Int) -> [[Int64]] {
        partners[index(side)].flatMap { key, others in others.map { [key, $0] } }.sorted {
            ($0[0], $0[1]) < ($1[0], $1[1])
        }
    }

    mutating func unlink(_ key: Int64, side: Int, but kept: Int64? = nil) {
        for partner in partners(of: key, side: side) where partner != kept { remove(key, partner, side: side) }
    }

    mutating func remove(_ key: Int64, _ partner: Int64, side: Int) {
        partners[index(side)][key]?.remove(partner)
        partners[index(1 - side)][partner]?.remove(key)
    }

    mutating func add(_ key: Int64, _ partner: Int64, side: Int) {
        if isExclusive[side] { unlink(key, side: side, but: partner) }
        if isExclusive[1 - side] { unlink(partner, side: 1 - side, but: key) }
        partners[index(side)][key, default: []].insert(partner)
        partners[index(1 - side)][partner, default: []].insert(key)
    }
}

@Suite("Link store") struct LinkStoreTests {
    /// Relationships without order: one of each kind of pair.
    static let pairs = ["author", "tags", "detail", "spouse", "friends", "photos", "origin"]

    private static func model() throws -> ManagedObjectModel {
        var definition = ModelDefinition()
        definition.entities = [
            entity(
                "Book", [],
                [
                    toOne("author", "Author", inverse: "books"), toMany("tags", "Tag", inverse: "books"),
                    toOne("detail", "Detail", inverse: "book"), toMany("photos", "Photo"), toOne("origin", "Photo"),
                ]),
            entity(
                "Author", [],
                [
                    toMany("books", "Book", inverse: "author"), toOne("spouse", "Author", inverse: "spouse"),
                    toMany("friends", "Author", inverse: "friends"),
                ]),
            entity("Detail", [], [toOne("book", "Book", inverse: "detail")]),
            entity("Photo", [], []),
            entity("Tag", [], [toMany("books", "Book", inverse: "tags")]),
        ]
        return try ManagedObjectModel(definition)
    }

    private static func store(
        _ name: String, _ model: ManagedObjectModel, _ directory: WorkDirectory, memory: RecordMemory
    ) throws -> LinkStore {
        let owner = ["spouse", "friends"].contains(name) ? "Author" : "Book"
        let first = try #require(model.entity(named: owner)?.relationship(named: name))
        return LinkStore(
            number: 0, first: first, second: LinkPlanner.mutualInverse(of: first), directory: directory,
            memory: memory, filterBytes: 1024,
            makeSorter: { RecordSorter(directory: directory, name: "lost", width: $0, memory: 0) })
    }

    @Test(
        "Changes that read nothing give the links that changes at once would give", arguments: pairs, [20, 3000])
    func comparison(name: String, keys: Int) throws {
        let seed = ProcessInfo.processInfo.environment["STAGECOACH_SEED"].flatMap(UInt64.init) ?? UInt64(keys)
        print("link store \(name), \(keys) keys: seed \(seed)")
        var random = SeededGenerator(seed: seed)
        let folder = try TemporaryFolder()
        let directory = try WorkDirectory(path: folder.file("work"))
        let store = try Self.store(name, Self.model(), directory, memory: RecordMemory(bytes: 0))
        let sides: [LinkStore.Side] = [.first, .second]
        var model = LinkModel(isReflexive: store.isReflexive, isExclusive: sides.map(store.isExclusive))
        #expect(store.isPlain)
        // Z_ENT 7 is on the first side, 8 on the second.
        let numbers: [UInt32] = store.isReflexive ? [7, 7] : [7, 8]
        func end(_ side: Int) -> LinkEnd { LinkEnd(key: Int64(random.below(keys)) - 5, entity: numbers[side]) }
        func check(_ number: Int) throws {
            let side = random.below(2)
            let object = end(side)
            let views = try store.partners(of: object.key, side: sides[side])
            #expect(
                views.map(\.partner.key) == model.partners(of: object.key, side: side), "\(name), change \(number)")
            #expect(views.allSatisfy { $0.object == object && $0.partner.entity == numbers[1 - side] })
        }
        // The base: declared links, which do not exclude each other.
        for _ in 0..<keys / 2 { model.add(end(0).key, end(1).key, side: 0) }
        for pair in model.pairs(side: 0) where !store.isReflexive || pair[0] <= pair[1] {
            let ends = zip(pair, numbers).map { LinkEnd(key: $0, entity: $1) }
            try store.lay(
                LinkView(object: ends[0], partner: ends[1], orderOfPartner: .none, orderOfObject: .none), side: .first)
        }
        try check(-1)
        for number in 0..<keys * 20 + 3000 {
            let side = random.below(2)
            let object = end(side)
            switch random.below(10) {
            case 0..<6:
                let partner = end(1 - side)
                try store.add(object, partner, side: sides[side])
                model.add(object.key, partner.key, side: side)
            case 6, 7:
                try store.reset(object, side: sides[side])
                model.unlink(object.key, side: side)
            case 8:
                let partner = model.partners(of: object.key, side: side).randomElement(using: &random)
                let end = LinkEnd(key: partner ?? end(1 - side).key, entity: numbers[1 - side])
                try store.remove(object, end, side: sides[side])
                model.remove(object.key, end.key, side: side)
            default:
                if random.chance(1000) { try store.resolve() }
            }
            // Now and then nothing is read for long, so that changes pile up.
            if number / 3000 % 2 == 0, random.chance(3) { try check(number) }
        }
        for (index, side) in sides.enumerated() {
            let links = try store.live(side: side)
            var found: [[Int64]] = []
            while let view = try links.next() { found.append([view.object.key, view.partner.key]) }
            #expect(found == model.pairs(side: index), "\(name), side \(index)")
        }
        try store.resolve()
        #expect(!store.hasRecent)
        for _ in 0..<100 { try check(-1) }
        store.removeAll()
        #expect(try store.live(side: .first).next() == nil)
    }
}
