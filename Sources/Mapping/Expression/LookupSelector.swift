/// Selectors of the migration manager that look objects up by a name.
package enum LookupSelector {
    package static let byEntityMapping = "destinationInstancesForEntityMappingNamed:sourceInstances:"
    /// The method's name in Swift, which some mapping models use.
    package static let byEntityMappingName = "destinationInstancesForEntityMappingName:sourceInstances:"
    package static let bySourceRelationship = "destinationInstancesForSourceRelationshipNamed:sourceInstances:"
    static let sourcesByEntityMapping = "sourceInstancesForEntityMappingNamed:destinationInstances:"
    package static let fetch = "fetchRequestForSourceEntityNamed:predicateString:"
    package static let fetchWithSubentities = "fetchRequestForSourceEntityNamed:predicateString:includesSubentities:"
}
