import Diagnostics

/// Builds a ``ModelDefinition`` from the tags of a `contents` file.
///
/// Unknown elements are skipped with all their content, because newer versions of Xcode add some (the diagram's `elements`
/// among them). A known element in a place where it has no meaning is an error. Attributes that only Xcode reads are kept as
/// they are: how code is generated, what takes part in iCloud's old synchronisation, what is for CloudKit.
///
/// Memory: the definition, and a number per entity and property.
final class ModelTagHandler: XMLTagHandler {
    private(set) var definition = ModelDefinition()
    /// The places of entities, composites and their properties, as byte offsets of their tags; for a repeated name that of the
    /// second. A name that is only referenced, by a configuration, has the place of the reference.
    private(set) var offsets: [Declaration: Int] = [:]

    /// An entity, or a property of it.
    struct Declaration: Hashable {
        var entity: String
        var property: String?
    }

    /// The names of the open elements, the outermost first; an empty one for an element that is skipped with its content.
    private var scopes: [String] = []
    private var entity = EntityDefinition(name: "")
    private var attribute = AttributeDefinition(name: "", type: .undefined)
    private var relationship = RelationshipDefinition(name: "", destinationEntityName: "")
    private var fetchedProperty = FetchedPropertyDefinition(name: "")
    private var fetchIndex = FetchIndexDefinition(name: "")
    private var members: [String] = []
    private var composite: (name: String, attributes: [AttributeDefinition]) = ("", [])
    private var configurationName = ""
    private var userInfo: [String: String] = [:]
    /// The different sets of attributes that only Xcode reads. Nearly all tags have one of a few.
    private var xcodeTexts: Set<[String: String]> = []

    /// Ignores text, which has no meaning in models.
    func text(_ piece: String) {}

    /// Reads a start tag in the context of the open elements.
    func open(_ tag: XMLTag) throws(MigrationError) {
        let isKnown = try read(tag, in: scopes.last)
        if !isKnown, scopes.last != "", Self.declarations.contains(tag.name) {
            throw MigrationError(
                "model.misplacedElement", .configuration, "A <\(tag.name)> is in a place where it means nothing",
                remedy: "Move it into the element it belongs to, or remove it",
                context: .init(entity: scopes.contains("entity") ? entity.name : nil))
        }
        scopes.append(isKnown ? tag.name : "")
    }

    /// Stores the result of the innermost element.
    func close() throws(MigrationError) {
        guard let scope = scopes.popLast() else { return }
        switch scope {
        case "entity": definition.entities.append(entity)
        case "attribute" where scopes.last == "composite": composite.attributes.append(attribute)
        case "attribute": entity.attributes.append(attribute)
        case "relationship": entity.relationships.append(relationship)
        case "fetchedProperty": entity.fetchedProperties.append(fetchedProperty)
        case "fetchIndex": entity.indexes.append(fetchIndex)
        case "compoundIndex": if !members.isEmpty { entity.compoundIndexes.append(members) }
        case "uniquenessConstraint": if !members.isEmpty { entity.uniquenessConstraints.append(members) }
        case "configuration": definition.configurations[configurationName] = members
        case "composite": definition.composites[composite.name] = composite.attributes
        case "userInfo": keepUserInfo()
        default: break
        }
    }

    /// Reads a start tag. Returns false if it has no meaning in its place.
    private func read(_ tag: XMLTag, in parent: String?) throws(MigrationError) -> Bool {
        switch (parent, tag.name) {
        case (nil, "model"):
            if let identifier = TagValues(tag: tag).text("userDefinedModelVersionIdentifier") {
                definition.versionIdentifiers = [identifier]
            }
            definition.xcode = xcode(tag)
        case (nil, _):
            throw MigrationError(
                "model.notAModel", .configuration, "The root element is <\(tag.name)>, not <model>",
                remedy: "Name the contents file of an .xcdatamodel, or its folder")
        case ("model"?, _): return try openModelChild(tag)
        case ("entity"?, _): return try openEntityChild(tag)
        case ("composite"?, "attribute"):
            attribute = try AttributeTag.read(tag, owner: composite.name)
            attribute.xcode = xcode(tag)
            place(composite.name, attribute.name, tag)
        case ("attribute"?, "userInfo"), ("relationship"?, "userInfo"), ("fetchedProperty"?, "userInfo"): userInfo = [:]
        case ("userInfo"?, "entry"):
            let values = TagValues(tag: tag, entity: scopes.contains("entity") ? entity.name : nil)
            userInfo[try values.required("key")] = values.text("value") ?? ""
        case ("fetchedProperty"?, "fetchRequest"):
            fetchedProperty.fetchRequest = try fetchRequest(tag, entity: entity.name)
        case ("fetchIndex"?, "fetchIndexElement"):
            var element = try PropertyTags.fetchIndexElement(tag, entity: entity.name, index: fetchIndex.name)
            element.xcode = xcode(tag)
            fetchIndex.elements.append(element)
        case ("compoundIndexes"?, "compoundIndex"), ("uniquenessConstraints"?, "uniquenessConstraint"): members = []
        case ("compoundIndex"?, "index"), ("uniquenessConstraint"?, "constraint"):
            members.append(try TagValues(tag: tag, entity: entity.name).required("value"))
        case ("configuration"?, "memberEntity"):
            let member = try TagValues(tag: tag).required("name")
            place(member, nil, tag)
            members.append(member)
        default: return false
        }
        return true
    }

    private func openModelChild(_ tag: XMLTag) throws(MigrationError) -> Bool {
        let values = TagValues(tag: tag)
        switch tag.name {
        case "entity": try openEntity(tag)
        case "composite":
            composite = (try values.required("name"), [])
            try refuseIfDuplicate("composite", composite.name, exists: definition.composites[composite.name] != nil)
            definition.xcode.parts["composite \(composite.name)"] = xcode(tag).texts
        case "configuration":
            configurationName = try values.required("name")
            members = []
            try refuseIfDuplicate(
                "configuration", configurationName, exists: definition.configurations[configurationName] != nil)
            definition.xcode.parts["configuration \(configurationName)"] = xcode(tag).texts
        case "fetchRequest": definition.fetchRequests.append(try fetchRequest(tag, entity: nil))
        default: return false
        }
        return true
    }

    private func openEntity(_ tag: XMLTag) throws(MigrationError) {
        entity = EntityDefinition(name: try TagValues(tag: tag).required("name"))
        let values = TagValues(tag: tag, entity: entity.name)
        // A leading point stands for the module that the model is compiled into.
        entity.managedObjectClassName = values.nonEmpty("representedClassName").map {
            $0.hasPrefix(".") ? String($0.dropFirst()) : $0
        }
        entity.superentityName = values.nonEmpty("parentEntity")
        entity.isAbstract = try values.flag("isAbstract")
        values.readNames(into: &entity)
        entity.xcode = xcode(tag)
        offsets[Declaration(entity: entity.name)] = tag.offset
    }

    private func openEntityChild(_ tag: XMLTag) throws(MigrationError) -> Bool {
        var name: String?
        switch tag.name {
        case "attribute":
            attribute = try AttributeTag.read(tag, owner: entity.name)
            attribute.xcode = xcode(tag)
            name = attribute.name
        case "relationship":
            relationship = try PropertyTags.relationship(tag, entity: entity.name)
            relationship.xcode = xcode(tag)
            name = relationship.name
        case "fetchedProperty":
            fetchedProperty = try PropertyTags.fetchedProperty(tag, entity: entity.name)
            fetchedProperty.xcode = xcode(tag)
            name = fetchedProperty.name
        case "fetchIndex":
            fetchIndex = try PropertyTags.fetchIndex(tag, entity: entity.name)
            fetchIndex.xcode = xcode(tag)
        case "compoundIndexes", "uniquenessConstraints": break
        case "userInfo": userInfo = [:]
        default: return false
        }
        if let name { offsets[Declaration(entity: entity.name, property: name)] = tag.offset }
        return true
    }

    private func fetchRequest(_ tag: XMLTag, entity: String?) throws(MigrationError) -> FetchRequestDefinition {
        var request = try PropertyTags.fetchRequest(tag, entity: entity)
        request.xcode = xcode(tag)
        return request
    }

    /// Returns the attributes of a tag that only Xcode reads.
    private func xcode(_ tag: XMLTag) -> XcodeAttributes {
        XcodeAttributes(xcodeTexts.insert(XcodeAttributes.texts(of: tag)).memberAfterInsert)
    }

    /// Records the place of a composite's attribute or of a reference, unless the name has a place: an entity's own tag wins.
    private func place(_ name: String, _ property: String?, _ tag: XMLTag) {
        let declaration = Declaration(entity: name, property: property)
        if offsets[declaration] == nil { offsets[declaration] = tag.offset }
    }

    private func keepUserInfo() {
        switch scopes.last {
        case "entity": entity.userInfo = userInfo
        case "attribute": attribute.userInfo = userInfo
        case "relationship": relationship.userInfo = userInfo
        case "fetchedProperty": fetchedProperty.userInfo = userInfo
        default: break
        }
    }

    private func refuseIfDuplicate(_ what: String, _ name: String, exists: Bool) throws(MigrationError) {
        guard exists else { return }
        throw MigrationError(
            "model.duplicateName", .configuration, "The model declares two \(what)s of the name \(name)",
            remedy: "Rename or remove one of them")
    }

    /// The elements that declare something, and that must not be skipped in a wrong place.
    private static let declarations: Set<String> = [
        "model", "entity", "attribute", "relationship", "fetchedProperty", "fetchIndex", "fetchIndexElement",
        "uniquenessConstraint", "constraint", "composite", "configuration", "memberEntity",
    ]
}
