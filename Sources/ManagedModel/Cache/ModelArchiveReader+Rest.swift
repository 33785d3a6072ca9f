import Archives
import Diagnostics

/// The names of archived fields for which a definition has a place, or that follow from it.
enum KnownFields {
    private static let property: Set<String> = [
        "NSPropertyName", "NSEntity", "NSRenamingIdentifier", "NSIsOptional", "NSIsTransient", "NSIsOrdered",
        "NSIsIndexed", "NSIsReadOnly", "NSUserInfo", "NSVersionHashModifier", "_P",
    ]
    static let entity: Set<String> = [
        "NSEntityName", "NSClassNameForEntity", "NSManagedObjectModel", "NSSuperentity", "NSRenamingIdentifier",
        "NSVersionHashModifier", "NSUserInfo", "NSSubentities", "NSProperties", "NSIsAbstract", "NSUniqueTuples",
        "NSCompoundIndexes", "NSFetchIndexDescriptions",
    ]
    static let attribute = property.union([
        "NSAttributeType", "NSAttributeValueClassName", "NSDefaultValue", "NSValueTransformerName", "NSFlagsKey",
        "NSValidationPredicates", "NSValidationWarnings", "NSDerivationExpression", "NSElements", "NSCompositeElements",
        "NSIndexedBySpotlight",
    ])
    static let relationship = property.union([
        "NSDestinationEntity", "_NSDestinationEntityName", "NSInverseRelationship", "_NSInverseRelationshipName",
        "NSMinCount", "NSMaxCount", "NSDeleteRule", "NSIndexedBySpotlight",
    ])
    static let fetchedProperty = property.union(["NSFetchRequest", "_NSFetchRequestEntityName"])
    static let fetchRequest: Set<String> = [
        "NSEntity", "NSEntityName", "NSPredicate", "NSFetchLimit", "NSBatchSize", "NSResultType",
    ]
}

/// The fields that Core Data sets in every fetch request.
enum FetchRequestFields {
    static let absent = [
        "NSSortDescriptors", "NSValuesToFetch", "NSPredicate", "NSValuesToGroupBy", "NSHavingPredicate",
        "NSRelationshipKeyPathsForPrefetching",
    ]
    static let zero = ["NSFetchOffset", "NSAllocationType"]
    /// The flag for counting equal results once.
    static let distinct: Int64 = 1

    /// The flags that Core Data sets by itself: those of SwiftGen's requests for objects, their ids, and dictionaries.
    static func flags(of request: FetchRequestDefinition) -> Int64 {
        let usual: Int64 =
            switch request.resultType {
            case 1: 26
            case 2: 14
            default: 30
            }
        return usual | (request.returnsDistinctResults ? distinct : 0)
    }

    static func isUsual(_ value: ArchivedGraph, _ key: String) -> Bool {
        switch value.plainValue {
        case .null?: true
        case .boolean(let flag)?: key == "NSHasFetchRequestFlags" && flag
        case .integer(let number)?: zero.contains(key) && number == 0
        default: false
        }
    }
}

extension ModelArchiveReader {
    /// Returns a part of the archive unchanged; entities and properties are referred to by name.
    func graph(_ value: ArchivedValue) throws(MigrationError) -> ArchivedGraph {
        let graph = try ArchivedGraph(value) { object throws(MigrationError) in try Self.partName(of: object) }
        try texts.tree.charge(bytes: graph.count * 64)
        return graph
    }

    /// Returns the unknown fields of an object that are not nil. A field that cannot be taken over is left out, because nothing
    /// needs it.
    func otherFields(
        _ object: ArchivedObject, beside known: Set<String>
    ) throws(MigrationError) -> [String: ArchivedGraph] {
        var fields: [String: ArchivedGraph] = [:]
        for key in object.keys where !known.contains(key) {
            do throws(MigrationError) {
                let value = try object.value(key)
                if !value.isNull { fields[key] = try graph(value) }
            } catch {
                // A failed attempt has its price too, so that an archive with many of them is refused.
                try texts.tree.charge(bytes: 20_000 * 64)
            }
        }
        return fields
    }

    /// Reads the fields that entities and properties of all kinds have. A renaming identifier equal to the name is the archived
    /// form of a missing one.
    func readCommonFields(
        _ object: ArchivedObject, into definition: inout some NamedDefinition, beside known: Set<String>
    ) throws(MigrationError) {
        let identifier = try object.string("NSRenamingIdentifier")
        definition.renamingIdentifier = identifier == definition.name ? nil : identifier
        definition.versionHashModifier = try object.string("NSVersionHashModifier")
        for entry in try entries(object, "NSUserInfo") ?? [] {
            guard let key = try entry.key.string() else { continue }
            try texts.tree.charge(bytes: key.utf8.count)
            if let text = try entry.value.string() {
                definition.userInfo[key] = text
            } else if let number = try entry.value.number(), let text = Self.userInfoText(number) {
                definition.userInfo[key] = text
                definition.archived.numbers[key] = number
            } else if !entry.value.isNull {
                definition.archived.userInfo[key] = try graph(entry.value)
            }
        }
        definition.archived.fields = try otherFields(object, beside: known)
    }

    /// Returns the name by which a kept part of the archive refers to an entity, a property or the model: `model`,
    /// `entity:Book`, `property:Book:title`; nil for other objects.
    private static func partName(of object: ArchivedObject) throws(MigrationError) -> String? {
        if object.isKind(of: "NSManagedObjectModel") { return "model" }
        if object.isKind(of: "NSEntityDescription") { return try object.string("NSEntityName").map { "entity:\($0)" } }
        var property = object
        var owner: ArchivedObject?
        if object.isKind(of: "_NSPropertyDescriptionProxy") {
            owner = try object.object("NSEntityDescription")
            guard let underlying = try object.object("NSUnderlyingProperty") else { return nil }
            property = underlying
        }
        guard property.isKind(of: "NSPropertyDescription"), !property.isKind(of: "NSExpressionDescription") else {
            return nil
        }
        if owner == nil { owner = try property.object("NSEntity") }
        guard let name = try property.string("NSPropertyName"), let entity = try owner?.string("NSEntityName") else {
            return nil
        }
        return "property:\(entity):\(name)"
    }
}
