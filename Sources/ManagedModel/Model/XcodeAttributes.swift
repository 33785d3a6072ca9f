/// The attributes of a tag that only Xcode reads: how code is generated, what is for CloudKit, how a fetch request is shown.
///
/// They are kept as they were written, so that the model can be written again. They have no archived form, and do not make two
/// models different: no hash, digest or comparison of definitions has them. Memory: tags with equal attributes share one
/// dictionary.
package struct XcodeAttributes: Sendable, Equatable {
    /// The texts by the attributes' names; nil for a part of a model that was not read from Xcode's form.
    package var texts: [String: String]?

    /// The texts of a model's parts that have no definition of their own, by words such as `configuration Cloud`.
    package var parts: [String: [String: String]] = [:]

    package init(_ texts: [String: String]? = nil) { self.texts = texts }

    package static func == (left: XcodeAttributes, right: XcodeAttributes) -> Bool { true }

    /// Adds those of another model; of one that both have, the own value stays.
    mutating func add(_ other: XcodeAttributes) {
        if let added = other.texts { texts = (texts ?? [:]).merging(added) { own, _ in own } }
        parts.merge(other.parts) { own, _ in own }
    }

    /// Returns the attributes of a tag that the definitions have no property for.
    static func texts(of tag: XMLTag) -> [String: String] {
        let known = read[tag.name] ?? []
        return tag.attributes.filter { name, text in
            // The point stands for the module that the model is compiled into; the definition has the class without it.
            name == "representedClassName" ? text.hasPrefix(".") : !known.contains(name)
        }
    }

    /// The names of the attributes that are read into definitions, by that of the tag. A text that means nothing for the
    /// property's type, such as a bound of a Boolean, is one of them: it is left out.
    private static let read: [String: Set<String>] = {
        let named: Set<String> = ["name", "elementID", "renamingIdentifier", "versionHashModifier"]
        let property = named.union([
            "optional", "transient", "indexed", "spotlightIndexingEnabled", "storedInTruthFile",
        ])
        return [
            "model": ["userDefinedModelVersionIdentifier"],
            "entity": named.union(["parentEntity", "isAbstract"]),
            "attribute": property.union([
                "attributeType", "composite", "derived", "derivationExpression", "defaultValueString",
                "defaultDateTimeInterval", "minValueString", "maxValueString", "minDateTimeInterval",
                "maxDateTimeInterval", "regularExpressionString", "usesScalarValueType", "valueTransformerName",
                "customClassName", "allowsExternalBinaryDataStorage", "preserveAfterDeletion", "allowsCloudEncryption",
            ]),
            "relationship": property.union([
                "toMany", "minCount", "maxCount", "ordered", "deletionRule", "destinationEntity", "inverseName",
                "inverseEntity",
            ]),
            "fetchedProperty": named.union(["optional"]),
            "fetchRequest": [
                "name", "entity", "predicateString", "resultType", "fetchLimit", "fetchBatchSize",
                "returnDistinctResults",
            ],
            "fetchIndex": ["name", "partialIndexPredicate"],
            "fetchIndexElement": ["property", "expression", "type", "order"],
            "configuration": ["name"], "composite": ["name"],
        ]
    }()
}
