import CoreDataStore
import Diagnostics
import ManagedModel

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
        guard !LinkPlanner.sharesObjects(mappings), !relationship.isToMany,
            let inverse = LinkPlanner.mutualInverse(of: relationship), !inverse.isToMany,
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
