import Diagnostics
import TestSupport
import Testing

@testable import SpillStorage

/// Pairs in plain arrays and dictionaries: what the table must answer.
private struct PlainAssociations {
    var pairs: [(source: ObjectReference, destination: ObjectReference)] = []
    var destinations: [ObjectReference: [ObjectReference]] = [:]
    var sources: [ObjectReference: [ObjectReference]] = [:]
    var firsts: [(destination: ObjectReference, source: ObjectReference)] = []

    mutating func add(_ source: ObjectReference, _ destination: ObjectReference) {
        if destinations[source]?.contains(destination) == true { return }
        pairs.append((source, destination))
        if sources[destination] == nil { firsts.append((destination, source)) }
        destinations[source, default: []].append(destination)
        sources[destination, default: []].append(source)
    }

    /// By source, those of a source in order of association.
    var bySource: [(source: ObjectReference, destination: ObjectReference)] {
        destinations.keys.sorted { ($0.entity, $0.key) < ($1.entity, $1.key) }
            .flatMap { source in (destinations[source] ?? []).map { (source, $0) } }
    }
}

@Suite("Association table") struct AssociationTableTests {
    /// One pair in the manner of a policy of a certain kind.
    private func pair(
        _ kind: Int, _ number: Int, _ random: inout SeededGenerator
    ) -> (ObjectReference, ObjectReference) {
        func reference(_ entity: Int, _ key: Int) -> ObjectReference {
            ObjectReference(entity: UInt32(entity), key: Int64(key))
        }
        switch kind {
        case 0: return (reference(1, number * 2), reference(2, 100 + number))
        case 1: return (reference(1, number * 3), reference(2, number * 3))
        case 2: return (reference(1, number * 2), reference(2, 100 + number + (number > 2500 ? 1 : 0)))
        case 3:
            return (reference(random.below(3), random.below(2000)), reference(2 + random.below(2), random.below(2000)))
        case 4: return (reference(1, random.below(3000)), reference(2, number))
        case 5:
            let wide = number > 3000 && random.chance(50)
            return (
                wide ? ObjectReference(entity: 70_000, key: .min) : reference(1, random.below(500)),
                wide ? ObjectReference(entity: 3, key: .max - Int64(random.below(5))) : reference(2, number / 3)
            )
        case 6: return (reference(1, 7), reference(2, random.below(4000)))
        case 8: return (reference(1, number / 3 * 2 + number / 1000), reference(2, number * 2 + number / 7))
        case 9:
            let source = number < 3000 ? number / 2 : 1500 + number / 2000
            return (reference(1, source), reference(2, number == 11_000 ? 5 : number * 3))
        default: return (reference(1, number), number == 4000 ? reference(9, 1) : reference(2, 1 + number))
        }
    }

    private func check(
        _ table: AssociationTable, _ model: PlainAssociations, _ random: inout SeededGenerator, _ label: String
    ) throws {
        for _ in 0..<40 {
            let known = model.pairs[random.below(model.pairs.count)]
            let probe = ObjectReference(entity: known.source.entity, key: known.source.key &+ Int64(random.below(3)))
            var found: [ObjectReference] = [.none]
            try table.destinations(of: probe, into: &found)
            #expect(found == [.none] + (model.destinations[probe] ?? []), "\(label)")
            found = []
            let target = ObjectReference(
                entity: known.destination.entity, key: known.destination.key &- Int64(random.below(2)))
            try table.sources(of: target, into: &found)
            #expect(found == model.sources[target] ?? [], "\(label)")
        }
        for key in [Int64.min, .max] {
            let probe = ObjectReference(entity: 1, key: key)
            var found: [ObjectReference] = []
            try table.destinations(of: probe, into: &found)
            #expect(found == model.destinations[probe] ?? [], "\(label)")
        }
    }

    private func checkWhole(_ table: AssociationTable, _ model: PlainAssociations, _ label: String) throws {
        let order = try table.destinationsInOrderOfFirstAssociation()
        var firsts: [(destination: ObjectReference, source: ObjectReference)] = []
        while let next = try order.next() { firsts.append((next.destination, next.source)) }
        #expect(firsts.elementsEqual(model.firsts) { $0 == $1 }, "\(label)")
        let cursor = try table.pairs()
        var pairs: [(source: ObjectReference, destination: ObjectReference)] = []
        while let pair = try cursor.next() { pairs.append(pair) }
        #expect(pairs.elementsEqual(model.bySource) { $0 == $1 }, "\(label)")
    }

    @Test(
        "It answers like plain dictionaries between any adds, however policies associate", arguments: 0..<10,
        [0, 1 << 26])
    func model(kind: Int, memory: Int) throws {
        let seed = UInt64(500 + kind)
        print("association table: seed \(seed), kind \(kind), memory \(memory)")
        var random = SeededGenerator(seed: seed)
        let fixture = try SpillFixture()
        let table = AssociationTable(directory: fixture.directory, name: "pairs", memory: memory)
        var model = PlainAssociations()
        for number in 0..<12_000 {
            let (source, destination) = pair(kind, number, &random)
            try table.add(source: source, destination: destination)
            model.add(source, destination)
            if random.chance(4) {
                let again = model.pairs[random.below(model.pairs.count)]
                try table.add(source: again.source, destination: again.destination)
            }
            if random.chance(5000) { try table.prepareForLookups() }
            if random.chance(1500) { try check(table, model, &random, "seed \(seed), pair \(number)") }
            if random.chance(4000) { try checkWhole(table, model, "seed \(seed), pair \(number)") }
        }
        #expect((table.countOfDestinations != nil) == [0, 1].contains(kind))
        #expect(table.layout.isWide == (kind == 5))
        try check(table, model, &random, "seed \(seed), at the end")
        try checkWhole(table, model, "seed \(seed), at the end")
        if memory == 0 && kind > 1 { #expect(fixture.directory.bytesWritten > 0) }
    }

    @Test("A cursor shows the pairs of when it was made, while others are added")
    func snapshot() throws {
        let fixture = try SpillFixture()
        let table = AssociationTable(directory: fixture.directory, name: "pairs", memory: 0)
        func reference(_ key: Int) -> ObjectReference { ObjectReference(entity: 1, key: Int64(key)) }
        for number in 0..<5000 { try table.add(source: reference(number), destination: reference(number + 3)) }
        let order = try table.destinationsInOrderOfFirstAssociation()
        let cursor = try table.pairs()
        for number in 0..<60_000 {
            try table.add(source: reference((number * 7919) % 5003), destination: reference(100_000 + number))
        }
        #expect(table.countOfDestinations == nil)
        for number in 0..<5000 {
            let next = try order.next()
            #expect(next?.destination == reference(number + 3) && next?.source == reference(number))
            #expect(try cursor.next()?.source == reference(number))
        }
        #expect(try order.next() == nil)
        #expect(try cursor.next() == nil)
    }

    @Test("A changed byte in any block is an error, never a wrong destination")
    func damage() throws {
        let fixture = try SpillFixture()
        var random = SeededGenerator(seed: 2)
        let table = AssociationTable(directory: fixture.directory, name: "pairs", memory: 0)
        let order = (0..<60_000).shuffled(using: &random)
        for number in order {
            try table.add(
                source: ObjectReference(entity: 1, key: Int64(number)),
                destination: ObjectReference(entity: 2, key: Int64(number * 3)))
        }
        var checked = 0
        for path in try fixture.files() {
            for block in try SpillFixture.blocks(of: path) where random.chance(3) {
                try SpillFixture.withDamage(in: path, at: block.offset + random.below(block.length)) {
                    for number in stride(from: 0, to: 60_000, by: 300) {
                        do {
                            let source = ObjectReference(entity: 1, key: Int64(number))
                            var found: [ObjectReference] = []
                            try table.destinations(of: source, into: &found)
                            #expect(found.map(\.key) == [Int64(number * 3)])
                        } catch let error as MigrationError {
                            #expect(error.code == "spill.damaged" && error.context.path == path)
                        }
                    }
                    SpillFixture.expectDamage(path) {
                        let cursor = try table.pairs()
                        while try cursor.next() != nil {}
                    }
                }
                checked += 1
            }
        }
        #expect(checked > 5)
    }

    @Test("Pairs that are added together are those that are added one by one", arguments: RandomSeeds.seeds(12))
    func together(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let folder = try TemporaryFolder()
        let work = try WorkDirectory(path: folder.path)
        let together = AssociationTable(directory: work, name: "together", memory: 512 << 10)
        let single = AssociationTable(directory: work, name: "single", memory: 512 << 10)
        // Their own keys at first, or numbers; a gap that ends that; a destination that was passed over.
        var (source, destination) = (Int64(1), random.chance(2) ? Int64(1) : 100)
        for _ in 0..<40 {
            if random.chance(3) { source += Int64(random.below(4)) }
            if random.chance(12) { destination += Int64(1 + random.below(3)) }
            if random.chance(20) { source = max(1, source - 3) }
            let keys = (0..<Int64(1 + random.below(70))).map { step -> Int64 in
                if step > 0 { source += random.chance(40) ? 2 : 1 }
                return source
            }
            try keys.withUnsafeBufferPointer { try together.add(sources: $0, of: 3, destinations: destination, of: 8) }
            for (place, key) in keys.enumerated() {
                try single.add(
                    source: ObjectReference(entity: 3, key: key),
                    destination: ObjectReference(entity: 8, key: destination + Int64(place)))
            }
            source += 1
            destination += Int64(keys.count)
            #expect(together.countOfDestinations == single.countOfDestinations, "seed \(seed)")
        }
        let (found, expected) = (
            try together.destinationsInOrderOfFirstAssociation(), try single.destinationsInOrderOfFirstAssociation()
        )
        var distinct = 0
        while let pair = try expected.next() {
            distinct += 1
            let other = try #require(try found.next())
            #expect(other.destination == pair.destination && other.source == pair.source, "seed \(seed)")
        }
        #expect(try found.next() == nil)
        if let known = together.countOfDestinations { #expect(known == distinct, "seed \(seed)") }
    }
}
