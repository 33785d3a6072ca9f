import CoreDataStore
import Diagnostics
import ManagedModel
import Mapping

/// A one-to-one pair of the destination of which both sides are copied from one pair of the source.
///
/// The source's two columns may disagree: an object names another one that does not name it back. An inferred mapping model
/// keeps both columns unchanged, as a migration in place does. Any other mapping model completes the links, as Core Data's
/// manager does by setting one side after the other.
struct CopiedPair {
    /// The source's relationships of the near and of the far side; the same twice if it is its own inverse.
    let near: RelationshipDescription
    let far: RelationshipDescription
    /// True if both columns are copied unchanged.
    let isKept: Bool

    /// - Parameters:
    ///   - relationship: a to-one relationship of the destination.
    ///   - mappings: the entity mappings of one mapping model.
    /// - Returns: nil for any other pair, and if a mapping gives either side another value.
    init?(_ relationship: RelationshipDescription, among mappings: [PlannedMapping]) {
        guard !relationship.isToMany, let inverse = LinkPlanner.mutualInverse(of: relationship), !inverse.isToMany,
            let near = Self.original(of: relationship, among: mappings),
            let far = Self.original(of: inverse, among: mappings), LinkPlanner.mutualInverse(of: near) == far
        else { return nil }
        self.near = near
        self.far = far
        isKept =
            (LinkPlanner.owners(of: relationship, among: mappings)
            + LinkPlanner.owners(of: inverse, among: mappings)).allSatisfy(\.mapping.followsSource)
    }

    /// Returns the source's to-one relationship that every mapping copies into a relationship; nil if there is no such one.
    private static func original(
        of relationship: RelationshipDescription, among mappings: [PlannedMapping]
    ) -> RelationshipDescription? {
        var found: RelationshipDescription?
        for (_, planned) in LinkPlanner.owners(of: relationship, among: mappings) {
            guard case .lookup(.toOne(let steps, _, _, let original), _)? = planned.value, steps.isEmpty,
                found == nil || found == original
            else { return nil }
            found = original
        }
        return found
    }
}

/// The one-sided links of a copied one-to-one pair: pairs of objects of which only one names the other.
public struct OneSidedLinks: Sendable, Codable, Equatable {
    /// The source's relationship, `Entity.relationship`.
    public var relationship: String
    /// Its inverse; the same relationship if it is its own inverse.
    public var inverse: String
    /// The number of such links in the source.
    public var count: Int
    /// True if the links were completed; false if both columns are copied unchanged.
    public var isCompleted: Bool
    /// Some of the objects that are not named back.
    public var samples: [String]

    /// The most samples.
    static let mostSamples = 3

    /// The sentence for people.
    public var sentence: String {
        let pairs = count == 1 ? "1 link stands" : "\(count) links stand"
        let more = count > samples.count ? ", …" : ""
        return "\(relationship) and its inverse \(inverse): \(pairs) on one side only "
            + "(\(samples.joined(separator: ", "))\(more)); "
            + (isCompleted
                ? "the other side was set too, where no later link took its place, as Core Data's manager does"
                : "both sides were kept as they stand, as a migration in place keeps them")
    }

    /// Counts one-sided links of the pairs that mapping models copy.
    ///
    /// - Parameter turns: the entity mappings of each mapping model.
    /// - Complexity: O(rows of the tables of such pairs), and a lookup for each link.
    static func count(
        in source: SourceStore, _ layout: StoreLayout, turns: [[PlannedMapping]]
    ) throws(MigrationError) -> [OneSidedLinks] {
        var lines: [OneSidedLinks] = []
        var seen: Set<PropertyReference> = []
        for mappings in turns {
            for relationship in Set(mappings.flatMap { $0.relationships.map(\.relationship.reference) }).sorted(by: {
                ($0.entity, $0.name) < ($1.entity, $1.name)
            }) {
                guard let model = mappings.lazy.compactMap(\.destination?.managedObjectModel).first,
                    let own = model.entity(at: relationship.entity).relationship(named: relationship.name),
                    let pair = CopiedPair(own, among: mappings), seen.insert(pair.near.reference).inserted
                else { continue }
                seen.insert(pair.far.reference)
                if let line = try line(pair, source, layout) { lines.append(line) }
            }
        }
        return lines
    }

    private static func line(
        _ pair: CopiedPair, _ source: SourceStore, _ layout: StoreLayout
    ) throws(MigrationError) -> OneSidedLinks? {
        var line = OneSidedLinks(
            relationship: label(pair.near), inverse: label(pair.far), count: 0, isCompleted: !pair.isKept, samples: [])
        let sides = pair.near == pair.far ? [(pair.near, pair.far)] : [(pair.near, pair.far), (pair.far, pair.near)]
        for (side, other) in sides {
            guard case .toOne(let table, let column, _, _) = layout.schema.storage(of: side),
                case .toOne(let target, let back, _, _) = layout.schema.storage(of: other)
            else { return nil }
            let (rows, objects) = (layout.tables[table], layout.tables[target])
            let statement = try source.query(
                """
                SELECT r.Z_PK FROM \(SQLName.quoted(rows.name)) AS r NOT INDEXED
                JOIN \(SQLName.quoted(objects.name)) AS o ON o.Z_PK = r.\(SQLName.quoted(rows.columns[column]))
                WHERE o.\(SQLName.quoted(objects.columns[back])) IS NOT r.Z_PK
                """)
            while try source.stepping(statement) {
                line.count += 1
                guard line.samples.count < mostSamples else { continue }
                line.samples.append("\(side.entity.definition.name)/p\(statement.integer(0))")
            }
        }
        return line.count > 0 ? line : nil
    }

    private static func label(_ relationship: RelationshipDescription) -> String {
        "\(relationship.entity.definition.name).\(relationship.name)"
    }
}
