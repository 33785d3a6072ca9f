import Archives
import Diagnostics

/// Reads the object graph of an archived model. It holds the archive and the resulting definition.
struct ModelArchiveReader {
    let archive: KeyedArchive
    /// Renders expressions and predicates. Its guard bounds the whole model: members of collections count as visits, because
    /// entities that share one large dictionary must not multiply it.
    let texts = ArchivedExpressionText(tree: ArchivedTreeGuard(maximumVisits: 3_000_000))
    /// The names of the properties of each entity read, by its number in the archive.
    private var propertyNames: [Int: Set<String>] = [:]
    var composites: [String: [AttributeDefinition]] = [:]

    init(_ archive: KeyedArchive) { self.archive = archive }

    mutating func read() throws(MigrationError) -> ModelDefinition {
        let root = try archive.root()
        guard root.isKind(of: "NSManagedObjectModel") else {
            throw Self.malformed("The archive holds a \(root.className), not a model")
        }
        guard let entries = try entries(root, "NSEntities") else {
            throw Self.malformed("The archived model has no entities")
        }
        var definition = ModelDefinition()
        for entry in entries {
            let name = try self.name(entry.key, "entity")
            do throws(MigrationError) { definition.entities.append(try entity(name, entry.value)) } catch {
                throw error.inside(.init(entity: name))
            }
        }
        definition.entities.sort { ModelResolution.precedes($0.name, $1.name) }
        definition.versionIdentifiers = try (elements(root, "NSVersionIdentifiers") ?? [])
            .map { identifier throws(MigrationError) in try self.name(identifier, "version identifier") }.sorted()
        for entry in try self.entries(root, "NSConfigurations") ?? [] {
            let name = try self.name(entry.key, "configuration")
            definition.configurations[name] = try members(entry.value, "configuration \(name)")
                .map { entity throws(MigrationError) in try entityName(entity.object) ?? "" }
                .sorted(by: ModelResolution.precedes)
        }
        for entry in try self.entries(root, "NSFetchRequestTemplates") ?? [] {
            let name = try self.name(entry.key, "fetch request")
            let request = try part(entry.value, "The fetch request \(name)", is: "is")
            definition.fetchRequests.append(try fetchRequest(request, name: name, entityName: nil))
        }
        definition.fetchRequests.sort { ModelResolution.precedes($0.name, $1.name) }
        definition.composites = composites
        return definition
    }

    // MARK: Entities

    private mutating func entity(_ name: String, _ value: ArchivedValue) throws(MigrationError) -> EntityDefinition {
        guard let object = value.object, object.isKind(of: "NSEntityDescription") else {
            throw Self.malformed("The entity is archived as a \(value.kindName)")
        }
        guard try entityName(object) == name else {
            throw Self.malformed("The entity is archived under another name than its own")
        }
        var entity = EntityDefinition(name: name)
        entity.managedObjectClassName = try object.string("NSClassNameForEntity")
        entity.isAbstract = try object.flag("NSIsAbstract")
        try readCommonFields(object, into: &entity, beside: KnownFields.entity)
        var inherited: Set<String> = []
        if let superentity = try object.object("NSSuperentity") {
            guard let superName = try entityName(superentity) else {
                throw Self.malformed("The parent entity has no name")
            }
            entity.superentityName = superName
            inherited = try names(ofPropertiesOf: superentity)
        }
        // Inherited properties are copied into subentities, or are proxies there (wire 1-24 to 2-5).
        for (propertyName, property) in try properties(of: object) where !inherited.contains(propertyName) {
            do throws(MigrationError) { try add(property, named: propertyName, to: &entity) } catch {
                throw error.inside(.init(entity: name, property: propertyName))
            }
        }
        entity.attributes.sort { ModelResolution.precedes($0.name, $1.name) }
        entity.relationships.sort { ModelResolution.precedes($0.name, $1.name) }
        entity.fetchedProperties.sort { ModelResolution.precedes($0.name, $1.name) }
        entity.uniquenessConstraints = try nameLists(object, "NSUniqueTuples")
        entity.compoundIndexes = try nameLists(object, "NSCompoundIndexes")
        for index in try elements(object, "NSFetchIndexDescriptions") ?? [] {
            entity.indexes.append(try fetchIndex(index))
        }
        return entity
    }

    private mutating func names(ofPropertiesOf entity: ArchivedObject) throws(MigrationError) -> Set<String> {
        if let names = propertyNames[entity.uid] { return names }
        let names = Set(try properties(of: entity).map(\.name))
        propertyNames[entity.uid] = names
        return names
    }

    private func properties(
        of entity: ArchivedObject
    ) throws(MigrationError) -> [(name: String, value: ArchivedObject)] {
        try (entries(entity, "NSProperties") ?? []).map { entry throws(MigrationError) in
            let name = try self.name(entry.key, "property")
            return (name, try part(entry.value, "The property \(name)"))
        }
    }

    private mutating func add(
        _ object: ArchivedObject, named name: String, to entity: inout EntityDefinition
    ) throws(MigrationError) {
        let property = try underlying(object)
        guard try property.string("NSPropertyName") == name else {
            throw Self.malformed("The property is archived under another name than its own")
        }
        if property.isKind(of: "NSAttributeDescription") {
            entity.attributes.append(try attribute(property, named: name, entity: entity.name))
        } else if property.isKind(of: "NSRelationshipDescription") {
            entity.relationships.append(try relationship(property, named: name))
        } else if property.isKind(of: "NSFetchedPropertyDescription") {
            entity.fetchedProperties.append(try fetchedProperty(property, named: name))
        } else {
            throw Self.malformed("The property is archived as a \(property.className)")
        }
    }

    /// Returns the property behind a proxy; any other property itself.
    func underlying(_ object: ArchivedObject) throws(MigrationError) -> ArchivedObject {
        guard object.isKind(of: "_NSPropertyDescriptionProxy") else { return object }
        guard let property = try object.object("NSUnderlyingProperty"),
            !property.isKind(of: "_NSPropertyDescriptionProxy")
        else { throw Self.malformed("A proxy stands for no property") }
        return property
    }

    // MARK: Parts common to several kinds of object

    static func malformed(_ message: String) -> MigrationError { .archive("archive.model", message) }

    /// Returns a part of the model that has to be an object.
    func part(
        _ value: ArchivedValue, _ what: String, is verb: String = "is archived as"
    ) throws(MigrationError) -> ArchivedObject {
        if let object = value.object { return object }
        throw Self.malformed("\(what) \(verb) a \(value.kindName)")
    }

    func elements(_ object: ArchivedObject, _ key: String) throws(MigrationError) -> [ArchivedValue]? {
        let elements = try object.elements(key)
        try texts.tree.charge(bytes: 64 * (1 + (elements?.count ?? 0)))
        return elements
    }

    func entries(
        _ object: ArchivedObject, _ key: String
    ) throws(MigrationError) -> [(key: ArchivedValue, value: ArchivedValue)]? {
        let entries = try object.entries(key)
        try texts.tree.charge(bytes: 64 * (1 + (entries?.count ?? 0)))
        return entries
    }

    private func members(_ value: ArchivedValue, _ what: String) throws(MigrationError) -> [ArchivedValue] {
        guard let members = try value.elements() else {
            throw Self.malformed("The \(what) is archived as a \(value.kindName)")
        }
        try texts.tree.charge(bytes: 64 * (1 + members.count))
        return members
    }

    private func name(_ value: ArchivedValue, _ what: String) throws(MigrationError) -> String {
        guard let name = try value.string() else {
            throw Self.malformed("The name of a \(what) is a \(value.kindName)")
        }
        // Names are hashed and sorted. A name of megabytes, shared by all entities, would take endless time.
        guard name.utf8.count <= 10_000 else {
            throw Self.malformed("The name of a \(what) is longer than 10000 bytes")
        }
        return name
    }

    func entityName(_ entity: ArchivedObject?) throws(MigrationError) -> String? {
        guard let entity, entity.isKind(of: "NSEntityDescription") else { return nil }
        return try entity.string("NSEntityName")
    }

    /// A number of a user info as text.
    static func userInfoText(_ number: PropertyListValue) -> String? {
        switch number {
        case .boolean(let flag): flag ? "true" : "false"
        case .integer(let integer): String(integer)
        case .real(let real): String(real)
        default: nil
        }
    }

    /// Lists of properties, each given by name, by itself, or by a proxy.
    private func nameLists(_ object: ArchivedObject, _ key: String) throws(MigrationError) -> [[String]] {
        try (elements(object, key) ?? []).map { list throws(MigrationError) in
            try members(list, "list in \(key)").map { member throws(MigrationError) in
                try propertyName(member, in: key)
            }
        }
    }

    /// Returns the name of a property that is given by name, as an object, or by a proxy.
    func propertyName(_ value: ArchivedValue, in key: String) throws(MigrationError) -> String {
        if let name = try value.string() { return name }
        guard let object = value.object, let name = try underlying(object).string("NSPropertyName") else {
            throw Self.malformed("\(key) names a property by a \(value.kindName)")
        }
        return name
    }
}
