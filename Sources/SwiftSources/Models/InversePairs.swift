/// The inverses of the relationships of a version.
///
/// `inverse:` on one side is enough. Where neither side of a possible pair has it, SwiftData pairs some and not others, and no
/// source says which: such a pair stays open until a hash decides it.
struct InversePairs {
    struct Key: Hashable, Comparable, CustomStringConvertible {
        let entity: String
        let property: String

        var description: String { "\(entity).\(property)" }

        static func < (left: Key, right: Key) -> Bool {
            (left.entity, left.property) < (right.entity, right.property)
        }
    }

    /// The inverse of each relationship that has one.
    private(set) var inverses: [Key: Key] = [:]
    /// The relationships that may have one of several inverses, or none.
    private(set) var open: [Key: [Key]] = [:]
    /// The written forms of the relationships that were open at first, with those of their candidates: what decides alike in
    /// every version.
    private(set) var forms: [Key: String] = [:]
    /// The relationships whose `inverse:` names no relationship of the destination.
    private(set) var broken: [Key] = []

    init(_ classes: [ClassModel]) {
        var links: [Key: ClassModel.Link] = [:]
        for model in classes { for link in model.links { links[model.key(link)] = link } }
        let keys = Dictionary(grouping: links.keys.sorted(), by: \.entity)
        for (key, link) in links.sorted(by: { $0.key < $1.key }) {
            guard let name = link.inverse else { continue }
            let other = Key(entity: link.definition.destinationEntityName, property: name)
            guard links[other] != nil else {
                broken.append(key)
                continue
            }
            inverses[key] = other
            if inverses[other] == nil { inverses[other] = key }
        }
        for (key, link) in links where inverses[key] == nil {
            let candidates = keys[link.definition.destinationEntityName, default: []].filter { other in
                other != key && inverses[other] == nil && links[other]?.definition.destinationEntityName == key.entity
            }
            guard !candidates.isEmpty else { continue }
            open[key] = candidates
            forms[key] = ([key] + candidates).map { "\($0): \(links[$0]?.form ?? "")" }.joined(separator: " | ")
        }
    }

    /// The readings of the open relationships of an entity: an inverse or nil for each; none if there are too many to try.
    func readings(of entity: String) -> [[(key: Key, inverse: Key?)]] {
        let own = open.filter { $0.key.entity == entity }.sorted { $0.key < $1.key }
        var readings: [[(key: Key, inverse: Key?)]] = [[]]
        for (key, candidates) in own {
            readings = readings.flatMap { reading in
                ([nil] + candidates.map(Optional.some)).map { reading + [(key, $0)] }
            }
            guard readings.count <= 1024 else { return [] }
        }
        return readings.filter(isSound)
    }

    /// Tells whether no relationship is the inverse of two, and pairs inside the entity agree.
    private func isSound(_ reading: [(key: Key, inverse: Key?)]) -> Bool {
        let taken = reading.compactMap(\.inverse)
        guard Set(taken).count == taken.count else { return false }
        return reading.allSatisfy { key, inverse in
            if let inverse, let other = reading.first(where: { $0.key == inverse }) { return other.inverse == key }
            return inverse != nil || !taken.contains(key)
        }
    }

    mutating func decide(_ reading: [(key: Key, inverse: Key?)]) {
        for (key, inverse) in reading {
            open[key] = nil
            for other in open.keys { open[other]?.removeAll { $0 == key } }
            guard let inverse else { continue }
            (inverses[key], inverses[inverse]) = (inverse, key)
            open[inverse] = nil
            for other in open.keys { open[other]?.removeAll { $0 == inverse } }
        }
        open = open.filter { !$0.value.isEmpty }
    }
}
