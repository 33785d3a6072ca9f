import Diagnostics

/// Links of the source, by relationship and cause, that the destination does not have although something reads the relationship.
///
/// Every link of the source is in the destination, in one of these lines, or in a line of ``LeftBehind`` because nothing reads it.
public struct LinksNotMade: Sendable, Codable, Equatable {
    /// The reason why a link was not made; of its two objects, either may be the one that a cause speaks of.
    public typealias Cause = NilReferences.Cause

    /// The destination relationship, `Entity.relationship`, where it is declared.
    public var relationship: String
    /// The source relationship whose links they are, `Entity.relationship`, where it is declared.
    public var source: String
    /// The reason why the links were not made.
    public var cause: Cause
    /// The number of links. A pair of inverses is one link.
    public var links: Int
    /// The number of links that the source relationship has; nil if they were not counted one by one.
    public var ofLinks: Int?
    /// The first objects that lack a link, at most three: `Entity/p<key>` of the destination, or of the source where no
    /// object was made.
    public var objects: [String]
    /// True if the loss is declared: ``MigrationOptions/allowedLosses``, or `losses` in the mapping model.
    public var isMeant: Bool?
    /// True if the run was told that data may stay behind. Then there is no warning. Nil otherwise.
    public var isAllowed: Bool?

    /// The most objects of a line.
    static let mostObjects = 3

    /// True if data is lost that nobody meant to lose.
    public var isLoss: Bool { cause.isLoss && isMeant != true && isAllowed != true }

    /// The line as a sentence without a full stop.
    public var sentence: String {
        let were = links == 1 ? "was" : "were"
        let why =
            switch cause {
            case .taken: "another link took " + (links == 1 ? "its place" : "their places")
            case .otherEntity: "an object is of an entity that the relationship cannot hold"
            case .otherMapping: "the lookup does not ask the entity mapping that made the object"
            case .dangling: "an object does not exist"
            case .filtered: "a filter left an object out"
            case .dropped: "a policy made nothing of an object"
            case .filteredOrDropped: "a filter or a policy left an object out"
            case .removed: "an entity mapping removes an object"
            case .withoutMapping: "the entity of an object has no entity mapping"
            case .stray: "an object is of no entity of the source model"
            case .deleted: "a policy deleted an object"
            case .rejected: "an object was rejected"
            case .merged: "an object was merged into another one"
            case .kept: "a row that was there before stays as it is"
            case .policy: "a policy decided so"
            }
        let more = links > objects.count ? ", …" : ""
        let all = ofLinks.map { " of \($0.grouped)" } ?? ""
        let first = objects.isEmpty ? "" : " (\(objects.joined(separator: ", "))\(more))"
        return "\(relationship): \(links.counted("link"))\(all) \(were) not made: \(why)\(first)"
    }

    var order: (String, String, String) { (relationship, source, cause.rawValue) }
}

/// The order of the lists of one ordered relationship of the source, which the destination does not keep.
public struct OrdersNotKept: Sendable, Codable, Equatable {
    /// The source relationship, `Entity.relationship`, where it is declared.
    public var relationship: String
    /// The number of objects that have at least two members in it.
    public var lists: Int
    /// The way to keep the order, as a sentence without a full stop; nil if none is known.
    public var remedy: String?
    /// True if the loss is declared: ``MigrationOptions/allowedLosses``, or `losses` in the mapping model.
    public var isMeant: Bool?
    /// True if the run was told that data may stay behind. Then there is no warning. Nil otherwise.
    public var isAllowed: Bool?

    /// True if the order is lost and nobody meant to lose it.
    public var isLoss: Bool { isMeant != true && isAllowed != true }

    /// The line as a sentence without a full stop.
    public var sentence: String { "\(relationship): the order of \(lists.counted("list")) stays behind" }
}

extension MigrationReport {
    /// The number of links between migrated objects that are lost and were not meant to be lost.
    package var lostLinks: Int { (linksNotMade ?? []).lost }
    /// The number of lists whose order is lost and was not meant to be lost.
    package var lostOrders: Int { (ordersNotKept ?? []).lost }
}

extension Sequence<LinksNotMade> {
    /// The number of links that are lost and were not meant to be lost.
    package var lost: Int { reduce(0) { $0 + ($1.isLoss ? $1.links : 0) } }
}

extension Sequence<OrdersNotKept> {
    /// The number of lists whose order is lost and was not meant to be lost.
    package var lost: Int { reduce(0) { $0 + ($1.isLoss ? $1.lists : 0) } }
}

/// The sentences about lost links and orders.
package enum LinkLosses {
    /// Returns the notes for the user: lines that say the same as a reference that became nil are left out.
    package static func notes(
        _ links: [LinksNotMade]?, _ orders: [OrdersNotKept]?, beside references: [NilReferences]?
    ) -> [String] {
        let told = Set((references ?? []).map { "\($0.relationship) \($0.cause.rawValue)" })
        let untold = (links ?? []).filter { !told.contains("\($0.relationship) \($0.cause.rawValue)") }
        return untold.map(\.sentence)
            + (orders ?? []).map { line in line.sentence + (line.remedy.map { ": \($0)" } ?? "") }
    }
}
