/// Selectors of the migration manager that look objects up by a name.
package enum LookupSelector {
    package static let byEntityMapping = "destinationInstancesForEntityMappingNamed:sourceInstances:"
    /// The method's name in Swift, which some mapping models use.
    package static let byEntityMappingName = "destinationInstancesForEntityMappingName:sourceInstances:"
    package static let bySourceRelationship = "destinationInstancesForSourceRelationshipNamed:sourceInstances:"
    static let sourcesByEntityMapping = "sourceInstancesForEntityMappingNamed:destinationInstances:"
    /// Of the objects that a mapping with `forEach` made: those of a source object, of a member, of both. They are this
    /// program's own: `FUNCTION($stagecoach, …)`.
    package static let bySource = "objectsOfEntityMapping:source:"
    package static let byMember = "objectsOfEntityMapping:member:"
    package static let bySourceAndMember = "objectsOfEntityMapping:source:member:"
    package static let ofForEach: Set = [bySource, byMember, bySourceAndMember]
    package static let fetch = "fetchRequestForSourceEntityNamed:predicateString:"
    package static let fetchWithSubentities = "fetchRequestForSourceEntityNamed:predicateString:includesSubentities:"
}
