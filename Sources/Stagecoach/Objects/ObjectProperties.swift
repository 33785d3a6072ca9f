import CoreDataStore
import ManagedModel

/// The columns and link stores of an object's properties, by name. Names are resolved once for each entity, not once
/// for each call.
final class ObjectProperties {
    /// One property of an entity.
    final class Property {
        /// The attribute; nil for a relationship.
        let attribute: AttributeDescription?
        let type: AttributeType
        let isExternal: Bool
        /// The column's index; nil for a transient attribute and a relationship without a column in the object's row.
        let column: Int?
        /// The relationship; nil for an attribute.
        let relationship: RelationshipDescription?
        let isToMany: Bool
        let isOrdered: Bool
        /// The table of the relationship's objects.
        let targetTable: Int
        /// The links; nil on the source's side and for transient relationships.
        let links: (store: LinkStore, side: LinkStore.Side)?

        init(
            attribute: AttributeDescription? = nil, relationship: RelationshipDescription? = nil, column: Int?,
            targetTable: Int = 0, links: (store: LinkStore, side: LinkStore.Side)? = nil
        ) {
            self.attribute = attribute
            self.relationship = relationship
            self.column = column
            self.targetTable = targetTable
            self.links = links
            type = attribute?.attributeType ?? .undefined
            isExternal = attribute?.definition.allowsExternalBinaryDataStorage ?? false
            isToMany = relationship?.isToMany ?? false
            isOrdered = relationship?.isOrdered ?? false
        }
    }

    private let schema: StoreSchema
    private let stores: LinkStores?
    /// The properties by entity index; each entity's are made on first use.
    private var entities: [[String: Property]?]

    /// Creates the properties of one side.
    ///
    /// - Parameter stores: the destination's links; nil for the source, whose links are in its rows.
    init(schema: StoreSchema, stores: LinkStores?) {
        self.schema = schema
        self.stores = stores
        entities = Array(repeating: nil, count: schema.model.entities.count)
    }

    /// Returns a property of an entity; nil if the entity has none with this name.
    func property(_ name: String, of entity: EntityDescription) -> Property? {
        if let known = entities[entity.index] { return known[name] }
        var properties: [String: Property] = [:]
        for attribute in entity.attributes {
            properties[attribute.name] = Property(attribute: attribute, column: schema.column(of: attribute))
        }
        for relationship in entity.relationships {
            var column: Int?
            if case .toOne(_, let own, _, _) = schema.storage(of: relationship) { column = own }
            properties[relationship.name] = Property(
                relationship: relationship, column: column,
                targetTable: schema.tableIndex(of: relationship.destination), links: stores?.store(of: relationship))
        }
        entities[entity.index] = properties
        return properties[name]
    }
}
