import Diagnostics
import ManagedModel

/// The name of data in a source that is meant to stay behind: `Entity` for its objects, `Entity.property` for values or links.
package struct LossName: Hashable {
    package let entity: String
    /// The property, own or inherited; nil for the objects of the entity.
    package let property: String?

    package init(_ text: String) {
        let parts = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        (entity, property) = (parts[0], parts.count > 1 ? parts[1] : nil)
    }

    package init(entity: String, property: String?) { (self.entity, self.property) = (entity, property) }

    /// Returns the reason why a model has no such entity or property, and the remedy; nil if it has it.
    package func problem(
        in model: ManagedObjectModel
    ) -> (code: MigrationError.Code, message: String, remedy: String?)? {
        guard let known = model.entity(named: entity) else {
            return (
                "mapping.unknownEntity", "The source model has no entity \(entity) whose data could stay behind",
                EditDistance.remedy(for: entity, among: model.entities.map(\.definition.name))
            )
        }
        guard let property, !known.hasProperty(named: property) else { return nil }
        return (
            "mapping.unknownProperty", "The source entity \(entity) has no property \(property) that could stay behind",
            EditDistance.remedy(for: property, among: known.declaredPropertyNames)
        )
    }
}
