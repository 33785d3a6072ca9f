import CoreDataStore
import ManagedModel
import Mapping

/// The decision which derived attributes (texts in another form, and times of a save) the mapping models carry over, and which
/// are computed: those that are new, that have another derivation, or whose source attribute is not copied.
enum DerivedColumns {
    /// Returns the derived attributes that are computed.
    ///
    /// - Complexity: O(derived attributes × entity mappings).
    static func anew(
        _ models: [MappingModel], source: ManagedObjectModel, destination: ManagedObjectModel
    ) -> Set<DerivedReference> {
        var anew: Set<DerivedReference> = []
        for entity in destination.entities {
            for attribute in entity.attributes where attribute.isStored {
                guard let text = attribute.definition.derivationExpression, DerivationForm(text)?.isCarried == true
                else { continue }
                let into = models.flatMap { $0.entityMappings ?? [] }.filter {
                    $0.destinationEntityName == entity.definition.name && ($0.sourceEntityName != nil || $0.hasPolicy)
                }
                let isCarried = into.allSatisfy { carries(attribute, $0, from: source) }
                guard into.isEmpty || !isCarried else { continue }
                anew.insert(DerivedReference(attribute: attribute.reference, entity: entity.index))
            }
        }
        return anew
    }

    private static func carries(
        _ attribute: AttributeDescription, _ mapping: EntityMapping, from source: ManagedObjectModel
    ) -> Bool {
        func origin(_ name: String) -> AttributeDescription? {
            guard let path = mapping.attributeMapping(named: name)?.valueExpression?.node.sourceKeyPath else {
                return nil
            }
            return mapping.sourceEntityName.flatMap { source.entity(named: $0) }?
                .attribute(named: path.joined(separator: "."))
        }
        guard !mapping.hasPolicy, let old = origin(attribute.name), old.attributeType == attribute.attributeType,
            let form = attribute.definition.derivationExpression.flatMap(DerivationForm.init),
            let oldForm = old.definition.derivationExpression.flatMap(DerivationForm.init)
        else { return false }
        if form == .now { return oldForm == .now }
        // An attribute of a related object may have changed. Then the text is computed, which gives the same text if it has
        // not.
        guard let own = form.ownText, let oldOwn = oldForm.ownText, own.functions == oldOwn.functions else {
            return false
        }
        return origin(own.attribute)?.name == oldOwn.attribute
    }
}
