import CoreDataStore
import Diagnostics
import ManagedModel
import Mapping

/// A one-to-one pair of the destination both sides of which are copied from one pair of the source.
///
/// The source's two columns may disagree: an object names another one that does not name it back. A migration in place leaves
/// both columns as they stand, and so does a mapping model that is inferred; any other completes the links, as Core Data's
/// manager does by setting one side after the other.
struct CopiedPair {
    /// The source's relationships: of the near side and of the far side; the same twice where it is its own inverse.
    let near: RelationshipDescription
    let far: RelationshipDescription
    /// True where both columns stay as they stand.
    let isKept: Bool

    /// - Parameters:
    ///   - relationship: a to-one relationship of the destination.
    ///   - mappings: of one mapping model.
    /// - Returns: nil for every other pair, and where a mapping says something else of either side.
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

    /// The to-one relationship of the source that every mapping copies into a relationship.
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
