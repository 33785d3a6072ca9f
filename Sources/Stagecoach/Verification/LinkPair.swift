import CoreDataStore
import ManagedModel

/// A relationship of the destination and its inverse: one set of links.
///
/// A link's `a` is an object that has the near relationship, its `b` an object of the near relationship's destination.
struct LinkPair {
    enum Kind {
        /// A to-one without inverse.
        case plainToOne
        /// A to-many without inverse, stored in a hidden column of its members.
        case hidden
        /// A to-one, the near side, and its to-many inverse.
        case oneToMany
        case manyToMany
        case oneToOne
    }

    let index: Int
    let near: RelationshipDescription
    let far: RelationshipDescription?
    let kind: Kind
    /// The reason why its links cannot be worked out; nil if they can.
    var obstacle: String?

    var isReflexive: Bool { far == near }
    var label: String { "\(near.entity.definition.name).\(near.name)" }

    /// The report's line; without links and checksums, one that says that the links could not be worked out.
    func line(links: Int = 0, checksum: String = "", isRecomputed: Bool = true) -> VerificationReport.Relationship {
        VerificationReport.Relationship(
            entity: near.entity.definition.name, name: near.name,
            inverse: far.map { "\($0.entity.definition.name).\($0.name)" }, isRecomputed: isRecomputed,
            expectedLinks: links, foundLinks: links, expectedChecksum: checksum, foundChecksum: checksum, differing: 0)
    }

    /// The report's line for links that were compared with the rows.
    func line(_ tally: MemberRows.Tally) -> VerificationReport.Relationship {
        var line = line(links: tally.expected.count, checksum: tally.expected.text)
        (line.foundLinks, line.foundChecksum, line.differing) = (tally.found.count, tally.found.text, tally.differing)
        return line
    }

    /// All pairs of a model's stored relationships, in its order.
    ///
    /// - Parameter keepsColumns: whether both columns of a one-to-one relationship are copied unchanged; nil: it cannot be
    ///   told.
    static func all(
        in model: ManagedObjectModel, schema: StoreSchema,
        keepsColumns: (RelationshipDescription) -> Bool? = { _ in false }
    ) -> [LinkPair] {
        var pairs: [LinkPair] = []
        // To-ones whose column a to-many uses although it is not their inverse.
        var shared: Set<PropertyReference> = []
        for entity in model.entities {
            for relationship in entity.relationships where relationship.entity == entity && !relationship.isTransient {
                let named = relationship.inverseRelationship.flatMap { $0.isTransient ? nil : $0 }
                guard let inverse = named, inverse.inverseRelationship == relationship else {
                    let isShared = relationship.isToMany && named != nil
                    if isShared, let named { shared.insert(named.reference) }
                    pairs.append(
                        LinkPair(
                            index: pairs.count, near: relationship, far: nil,
                            kind: relationship.isToMany ? .hidden : .plainToOne,
                            obstacle: isShared ? "its inverse names another relationship" : nil))
                    continue
                }
                let kind: Kind
                switch (relationship.isToMany, inverse.isToMany) {
                case (true, false): continue
                case (false, true): kind = .oneToMany
                case (true, true): kind = .manyToMany
                case (false, false): kind = .oneToOne
                }
                let isKept = kind == .oneToOne ? keepsColumns(relationship) : false
                if isKept == true {
                    pairs.append(LinkPair(index: pairs.count, near: relationship, far: nil, kind: .plainToOne))
                    continue
                }
                if kind != .oneToMany, relationship != inverse, !Self.isFirst(relationship, inverse) { continue }
                pairs.append(
                    LinkPair(
                        index: pairs.count, near: relationship, far: inverse, kind: kind,
                        obstacle: isKept == nil
                            ? "its mapping models treat its two sides in different ways"
                            : kind == .oneToOne && relationship == inverse ? "it is its own inverse" : nil))
            }
        }
        for index in pairs.indices where shared.contains(pairs[index].near.reference) {
            pairs[index].obstacle = "another relationship uses its column"
        }
        for index in pairs.indices where pairs[index].kind == .hidden {
            if case .toManyHidden = schema.storage(of: pairs[index].near) { continue }
            pairs[index].obstacle = pairs[index].obstacle ?? "it has no column of its own"
        }
        return pairs
    }

    private static func isFirst(_ one: RelationshipDescription, _ other: RelationshipDescription) -> Bool {
        (one.entity.index, one.name) < (other.entity.index, other.name)
    }
}
