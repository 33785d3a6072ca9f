import Diagnostics

/// The parts of an entity that code makes before a model takes it over. Its other parts are in the definition of the model
/// that stands for it alone.
final class EntityDraft: @unchecked Sendable {
    var properties: [NSPropertyDescription] = []
    var subentities: [EntityDescription] = []
    /// The entity of the model that took it over; nil until then.
    fileprivate(set) var taken: EntityDescription?
}

extension EntityDescription {
    /// Makes an entity of no model, without a name and properties.
    public init() { self.init(managedObjectModel: ManagedObjectModel(draft: EntityDraft()), index: 0) }

    var draft: EntityDraft? { managedObjectModel.draft }

    /// The entity of the model that took it over; the entity itself if it is one of a model, or of none.
    package var inModel: EntityDescription { draft?.taken ?? self }

    /// Changes an entity of no model.
    func changing(_ body: (EntityDraft, inout EntityDefinition) -> Void) {
        guard let draft, draft.taken == nil else {
            preconditionFailure("\(definition.name) is an entity of a model and cannot be changed")
        }
        var definition = definition
        body(draft, &definition)
        managedObjectModel.setDraft(definition)
    }

    /// The definition of an entity that code made, with its properties.
    fileprivate var completeDefinition: EntityDefinition {
        var complete = definition
        for property in draft?.properties ?? [] {
            switch property {
            case let attribute as NSAttributeDescription: complete.attributes.append(attribute.completeDefinition)
            case let relationship as NSRelationshipDescription:
                complete.relationships.append(relationship.completeDefinition)
            default: break
            }
        }
        return complete
    }
}

extension ManagedObjectModel {
    /// Makes an empty model, whose ``entities`` may be set.
    public convenience init() { self.init(ModelDefinition(), [], [:], isOpen: true) }

    /// Makes a model that stands for an entity of no model.
    convenience init(draft: EntityDraft) {
        self.init(ModelDefinition(), [ResolvedEntity(alone: EntityDefinition(name: ""))], [:], draft: draft)
    }

    /// Merges the entities and configurations of several models; nil if there are none, or if they have conflicting entities.
    /// An entity that several of them define alike counts once.
    public convenience init?(byMerging models: [ManagedObjectModel]?) {
        guard let models, !models.isEmpty,
            let merged = try? ManagedObjectModel(merging: models.map { (name: "", model: $0) })
        else { return nil }
        self.init(merged.definition, merged.resolved, merged.indexByName)
    }

    /// Takes over entities: those that code made become this model's, of others the definitions are copied.
    ///
    /// - Throws: the errors of ``init(_:)``.
    func take(_ entities: [EntityDescription]) throws(MigrationError) {
        var made = definition
        made.entities = entities.map(\.completeDefinition)
        for (index, entity) in entities.enumerated() {
            guard entity.draft == nil else {
                for sub in entity.subentities {
                    guard
                        let number = entities.firstIndex(where: { $0.managedObjectModel === sub.managedObjectModel })
                    else { continue }
                    made.entities[number].superentityName = made.entities[index].name
                }
                continue
            }
            made.composites.merge(entity.managedObjectModel.definition.composites) { first, _ in first }
        }
        try replace(by: made)
        for entity in entities {
            guard let draft = entity.draft, let own = self.entity(named: entity.definition.name) else { continue }
            draft.taken = own
            for property in draft.properties { property.entity = own }
        }
        for property in entities.flatMap({ $0.draft?.properties ?? [] }) {
            (property as? NSRelationshipDescription)?.resolveDestination()
        }
    }
}
