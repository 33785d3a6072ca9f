// The keys of mapping models and of their parts.
extension KnownObject {
    private static let tables: [KnownObject: [String: Key]] = [
        .manager: managers, .entityMapping: entityMappings, .propertyMapping: propertyMappings,
        .mappingModel: mappingModels, .model: models, .entity: entities, .attribute: attributes,
        .relationship: relationships, .objectID: objectIDs, .expression: expressions,
    ]

    /// Returns the key of a name; nil for an unknown name.
    func key(_ name: String) -> Key? { Self.tables[self]?[name] }

    /// The names of the keys, in order.
    var keyNames: [String] { (Self.tables[self] ?? [:]).keys.sorted() }

    fileprivate static let entityMappings = table(
        [
            "name": (text, \.name), "mappingType": (.value(.integer), \.mappingType.rawValue),
            "sourceEntityName": (text, \.sourceEntityName), "destinationEntityName": (text, \.destinationEntityName),
            "sourceEntityVersionHash": (.value(.data), \.sourceEntityVersionHash),
            "destinationEntityVersionHash": (.value(.data), \.destinationEntityVersionHash),
            "attributeMappings": (list(.propertyMapping), \.attributeMappings),
            "relationshipMappings": (list(.propertyMapping), \.relationshipMappings),
            "sourceExpression": (service(.expression), \.sourceExpression),
            "entityMigrationPolicyClassName": (text, \.entityMigrationPolicyClassName),
            "userInfo": (userInfo, \.userInfo),
        ] as [String: Row<EntityMapping>])

    fileprivate static let propertyMappings = table(
        [
            "name": (text, \.name), "valueExpression": (service(.expression), \.valueExpression),
            "userInfo": (userInfo, \.userInfo),
        ] as [String: Row<PropertyMapping>])

    fileprivate static let mappingModels = table(
        [
            "entityMappings": (list(.entityMapping), \.entityMappings),
            "entityMappingsByName": (.dictionary(service(.entityMapping)), \.entityMappingsByName),
        ] as [String: Row<MappingModel>])
}

extension EntityMapping: KeyedObject { static var keys: [String: KnownObject.Key] { KnownObject.entityMappings } }
extension PropertyMapping: KeyedObject { static var keys: [String: KnownObject.Key] { KnownObject.propertyMappings } }
extension MappingModel: KeyedObject { static var keys: [String: KnownObject.Key] { KnownObject.mappingModels } }
