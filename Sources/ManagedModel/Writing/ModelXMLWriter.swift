/// Writes a model version in Xcode's form: the `contents` of an `.xcdatamodel`, which ``ModelXMLReader`` reads.
///
/// Parts for which Xcode's form has no place are left out; ``ModelComparison`` names them. Memory: the text.
package struct ModelXMLWriter {
    private var text = ""
    private var indentation = ""

    /// Returns the text of a model version, in the order of the definition.
    ///
    /// - Complexity: O(model).
    package static func contents(of definition: ModelDefinition) -> String {
        var writer = ModelXMLWriter()
        writer.write(definition)
        return writer.text
    }

    private mutating func write(_ model: ModelDefinition) {
        text = "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n"
        let attributes =
            Self.attributes(model.xcode.texts ?? Self.usualOfModel)
            + [("userDefinedModelVersionIdentifier", model.versionIdentifiers.first)]
        element("model", attributes) { writer in
            for entity in model.entities { writer.write(entity) }
            for (name, elements) in model.composites.sorted(by: { ModelResolution.precedes($0.key, $1.key) }) {
                let attributes = [("name", name)] + Self.attributes(model.xcode.parts["composite \(name)"])
                writer.element("composite", attributes) { writer in
                    for attribute in elements { writer.write(attribute) }
                }
            }
            for (name, members) in model.configurations.sorted(by: { ModelResolution.precedes($0.key, $1.key) }) {
                let attributes = [("name", name)] + Self.attributes(model.xcode.parts["configuration \(name)"])
                writer.element("configuration", attributes) { writer in
                    for member in members { writer.element("memberEntity", [("name", member)]) }
                }
            }
            for request in model.fetchRequests { writer.write(request) }
        }
    }

    private mutating func write(_ entity: EntityDefinition) {
        var xcode = entity.xcode.texts ?? ["syncable": "YES"]
        let classInModule = xcode.removeValue(forKey: "representedClassName")
        // The reader takes a leading point as that of the module.
        let className = entity.managedObjectClassName.map { name in
            name.hasPrefix(".") || classInModule == "." + name ? "." + name : name
        }
        let attributes: [Attribute] = [
            ("name", entity.name), ("representedClassName", className),
            ("parentEntity", entity.superentityName), ("isAbstract", Self.flag(entity.isAbstract)),
            ("elementID", entity.renamingIdentifier), ("versionHashModifier", entity.versionHashModifier),
        ]
        element("entity", attributes + Self.attributes(xcode)) { writer in
            for attribute in entity.attributes { writer.write(attribute) }
            for relationship in entity.relationships { writer.write(relationship) }
            for property in entity.fetchedProperties { writer.write(property) }
            for index in entity.indexes { writer.write(index) }
            writer.lists("compoundIndexes", "compoundIndex", "index", entity.compoundIndexes)
            writer.lists("uniquenessConstraints", "uniquenessConstraint", "constraint", entity.uniquenessConstraints)
            writer.write(userInfo: entity.userInfo)
        }
    }

    // MARK: Properties

    private mutating func write(_ attribute: AttributeDefinition) {
        let isNamed = attribute.type != .undefined || !attribute.isTransient
        var attributes: [Attribute] = [
            ("name", attribute.name), ("optional", Self.flag(attribute.isOptional)),
            ("transient", Self.flag(attribute.isTransient)), ("indexed", Self.flag(attribute.isIndexed)),
            ("attributeType", isNamed ? attribute.type.label : nil),
        ]
        if attribute.type == .composite { attributes.append(("composite", attribute.compositeName)) }
        if let expression = attribute.derivationExpression {
            attributes += [("derived", "YES"), ("derivationExpression", expression)]
        }
        attributes += ModelAttributeText.bounds(of: attribute)
        attributes.append(ModelAttributeText.defaultValue(of: attribute))
        attributes += [
            ("usesScalarValueType", attribute.usesScalarValueType.map { $0 ? "YES" : "NO" }),
            ("valueTransformerName", attribute.valueTransformerName), ("customClassName", attribute.valueClassName),
            ("allowsExternalBinaryDataStorage", Self.flag(attribute.allowsExternalBinaryDataStorage)),
            ("preserveAfterDeletion", Self.flag(attribute.preservesValueInHistoryOnDeletion)),
            ("allowsCloudEncryption", Self.flag(attribute.allowsCloudEncryption)),
            ("spotlightIndexingEnabled", Self.flag(attribute.isIndexedBySpotlight)),
            ("storedInTruthFile", Self.flag(attribute.isStoredInExternalRecord)),
            ("elementID", attribute.renamingIdentifier), ("versionHashModifier", attribute.versionHashModifier),
        ]
        attributes += Self.attributes(attribute.xcode.texts)
        element("attribute", attributes) { $0.write(userInfo: attribute.userInfo) }
    }

    private mutating func write(_ relationship: RelationshipDefinition) {
        let greatest: Int? =
            if relationship.isToMany { relationship.maximumCount == 0 ? nil : relationship.maximumCount } else { 1 }
        let rule = PropertyTags.deleteRules.first { $0.value == relationship.deleteRule }?.key
        let attributes: [Attribute] = [
            ("name", relationship.name), ("optional", Self.flag(relationship.isOptional)),
            ("transient", Self.flag(relationship.isTransient)), ("indexed", Self.flag(relationship.isIndexed)),
            ("toMany", Self.flag(relationship.isToMany)),
            ("minCount", relationship.minimumCount == 0 ? nil : String(relationship.minimumCount)),
            ("maxCount", greatest.map { String($0) }), ("ordered", Self.flag(relationship.isOrdered)),
            ("deletionRule", rule), ("destinationEntity", relationship.destinationEntityName),
            ("inverseName", relationship.inverseName),
            ("inverseEntity", relationship.inverseName.map { _ in relationship.destinationEntityName }),
            ("spotlightIndexingEnabled", Self.flag(relationship.isIndexedBySpotlight)),
            ("storedInTruthFile", Self.flag(relationship.isStoredInExternalRecord)),
            ("elementID", relationship.renamingIdentifier), ("versionHashModifier", relationship.versionHashModifier),
        ]
        element("relationship", attributes + Self.attributes(relationship.xcode.texts)) {
            $0.write(userInfo: relationship.userInfo)
        }
    }

    private mutating func write(_ property: FetchedPropertyDefinition) {
        let attributes: [Attribute] = [
            ("name", property.name), ("optional", Self.flag(property.isOptional)),
            ("elementID", property.renamingIdentifier), ("versionHashModifier", property.versionHashModifier),
        ]
        element("fetchedProperty", attributes + Self.attributes(property.xcode.texts)) { writer in
            if let request = property.fetchRequest { writer.write(request) }
            writer.write(userInfo: property.userInfo)
        }
    }

    private mutating func write(_ request: FetchRequestDefinition) {
        let attributes: [Attribute] = [
            ("name", request.name), ("entity", request.entityName), ("predicateString", request.predicate),
            ("resultType", Self.number(request.resultType)), ("fetchLimit", Self.number(request.fetchLimit)),
            ("fetchBatchSize", Self.number(request.fetchBatchSize)),
            ("returnDistinctResults", Self.flag(request.returnsDistinctResults)),
        ]
        element("fetchRequest", attributes + Self.attributes(request.xcode.texts))
    }

    private mutating func write(_ index: FetchIndexDefinition) {
        let attributes: [Attribute] = [("name", index.name), ("partialIndexPredicate", index.partialIndexPredicate)]
        element("fetchIndex", attributes + Self.attributes(index.xcode.texts)) { writer in
            for element in index.elements {
                let attributes: [Attribute] = [
                    ("property", element.propertyName), ("expression", element.expression),
                    ("type", element.isRTree ? "RTree" : "Binary"),
                    ("order", element.isAscending ? "ascending" : "descending"),
                ]
                writer.element("fetchIndexElement", attributes + Self.attributes(element.xcode.texts))
            }
        }
    }

    private mutating func lists(_ outer: String, _ inner: String, _ member: String, _ lists: [[String]]) {
        guard !lists.isEmpty else { return }
        element(outer, []) { writer in
            for list in lists {
                writer.element(inner, []) { writer in
                    for name in list { writer.element(member, [("value", name)]) }
                }
            }
        }
    }

    private mutating func write(userInfo: [String: String]) {
        // The form has no place for a key or value with characters that XML does not allow.
        let entries = userInfo.filter {
            !$0.key.isEmpty && Self.escaped($0.key) != nil && Self.escaped($0.value) != nil
        }
        guard !entries.isEmpty else { return }
        element("userInfo", []) { writer in
            for (key, value) in entries.sorted(by: { ModelResolution.precedes($0.key, $1.key) }) {
                writer.element("entry", [("key", key), ("value", value)])
            }
        }
    }

    // MARK: XML

    /// An attribute of a tag; left out if its value is nil.
    typealias Attribute = (name: String, value: String?)

    /// The attributes of a model that Xcode did not write.
    private static let usualOfModel = [
        "type": "com.apple.IDECoreDataModeler.DataModel", "documentVersion": "1.0", "lastSavedToolsVersion": "22758",
        "systemVersion": "23E224", "minimumToolsVersion": "Automatic", "sourceLanguage": "Swift",
    ]

    /// Returns texts by name as attributes, in the order of their names.
    private static func attributes(_ texts: [String: String]?) -> [Attribute] {
        (texts ?? [:]).sorted { ModelResolution.precedes($0.key, $1.key) }.map { ($0.key, $0.value) }
    }

    private static func number(_ number: Int) -> String? { number == 0 ? nil : String(number) }

    private static func flag(_ flag: Bool) -> String? { flag ? "YES" : nil }

    private mutating func element(
        _ name: String, _ attributes: [Attribute], _ content: (inout ModelXMLWriter) -> Void = { _ in }
    ) {
        text += "\(indentation)<\(name)"
        for (name, value) in attributes {
            if let value, let escaped = Self.escaped(value) { text += " \(name)=\"\(escaped)\"" }
        }
        text += ">\n"
        let start = text.utf8.count
        indentation += "    "
        content(&self)
        indentation.removeLast(4)
        if text.utf8.count > start {
            text += "\(indentation)</\(name)>\n"
        } else {
            text.removeLast(2)
            text += "/>\n"
        }
    }

    /// Returns the text as an attribute's value; nil if it has characters that XML 1.0 does not allow.
    private static func escaped(_ text: String) -> String? {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\"": escaped += "&quot;"
            case "\t", "\n", "\r": escaped += "&#\(scalar.value);"
            case "\u{0}"..."\u{1F}", "\u{FFFE}", "\u{FFFF}": return nil
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}
