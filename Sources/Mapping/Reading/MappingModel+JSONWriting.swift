import Diagnostics
import ManagedModel

extension MappingModel {
    /// Returns the mapping model in Stagecoach's JSON form (format version 2), for people and version control: two spaces a
    /// level, keys in a fixed order, properties by name, a line end at the end. Equal mapping models give equal texts.
    ///
    /// Every property is listed, with two exceptions, which reading restores: the automatic expression of an attribute that was
    /// optional and is now required with a default (a listed one never replaces nil by the default), and the properties of an
    /// entity mapping without source, if they have no expression.
    ///
    /// The keys before the entity mappings: `formatVersion`; `rulesOfTheSource` if it is `warn`, as in an inferred mapping
    /// model; `from` and `to` if the mapping model names its versions; `losses` if it declares data that is meant to stay behind.
    ///
    /// The keys of an entity mapping, without those that have no value: `name`, `mappingType`, `sourceEntity`,
    /// `destinationEntity`; `sourceEntityVersionHash` and `destinationEntityVersionHash` (hexadecimal digits; only if the
    /// mapping model stated them, else they follow from the models); `sourceFilter`; `sourceExpression` (unless it is the usual
    /// fetch of the source entity, which the filter describes); `distinctBy`, `mergeBy` or `matchBy` with their keys; `migrationPolicy`; `userInfo`; `convertedFrom` (`cdm` or
    /// `xcmappingmodel`, for a mapping model that was read without its models: unlisted properties are not touched, and the
    /// open parts of the form are filled in like that form when the JSON is read with the models); `attributes`;
    /// `relationships`.
    ///
    /// A property is written as its expression, as `null` for none (the property is not touched; `"nil"` is the expression that
    /// sets nil), or as `{"expression": …, "userInfo": {…}}` if it has a `userInfo` (without `expression` if reading restores
    /// it), and with `orderBy` if it has an order of its own. A property that could not be mapped and was left has `"expression": null` and the reason under `unmappable`, an
    /// open place of a template what is to be decided of it under `why`. With
    /// `convertedFrom`, `{}` leaves the property to the models, and `{"keyPath": …, "entityMapping": …}`, of which one may be
    /// missing, means the objects that an entity mapping made of those at a key path. Dates, data and decimals in a `userInfo`
    /// are objects with one key.
    ///
    /// Places are not written.
    ///
    /// - Throws: `mapping.notWritable` (78) for parts without a JSON form: a `userInfo` key that is not a string, a `userInfo`
    ///   value other than the above, a type that does not fit, a missing name.
    /// - Complexity: O(n log n) in properties.
    public func json() throws(MigrationError) -> String {
        for mapping in entityMappings ?? [] { try mapping.checkWritable(path: path) }
        var writer = JSONWriter()
        writer.container("{", "}") { writer in
            writer.key("formatVersion")
            writer.literal("\(MappingDocument.formatVersion)")
            writer.member("rulesOfTheSource", rulesOfTheSource == .error ? nil : rulesOfTheSource.rawValue)
            if let sourceVersionName, let destinationVersionName {
                writer.member("from", sourceVersionName)
                writer.member("to", destinationVersionName)
            }
            if !losses.isEmpty { writer.strings("losses", losses) }
            writer.key("entityMappings")
            writer.container("[", "]") { writer in
                for mapping in entityMappings ?? [] {
                    writer.element()
                    mapping.write(to: &writer)
                }
            }
        }
        return writer.text + "\n"
    }
}

extension ObjectGrouping {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.strings(keyName, expressions.map(\.expression.format))
        writer.member("compare", comparison.jsonName)
        if nilIsAValue {
            writer.key("nilIsAValue")
            writer.literal("true")
        }
        guard let merge else { return }
        writer.member("keep", merge.keep.jsonText)
        if merge.fills {
            writer.key("fill")
            writer.literal("true")
        }
    }
}

extension ObjectMatching {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.strings(Self.keyName, keys.map(\.name))
        writer.member("compare", comparison.jsonName)
    }
}

extension EntityMapping {
    /// Refuses parts that the JSON form cannot express.
    fileprivate func checkWritable(path: String?) throws(MigrationError) {
        func failure(_ message: String, property: String? = nil) -> MigrationError {
            MigrationError(
                "mapping.notWritable", .configuration, message,
                context: .init(path: path, line: place?.line, property: property, entityMapping: name))
        }
        if (name ?? "").isEmpty { throw failure("An entity mapping without name cannot be written as JSON") }
        if let typeProblem { throw failure(typeProblem) }
        func check(_ userInfo: [AnyHashable: Any]?, property: String? = nil) throws(MigrationError) {
            guard let userInfo else { return }
            guard let members = UserInfoValue.members(userInfo) else {
                throw failure(
                    "The mapping's userInfo has keys that are no strings, which JSON cannot hold", property: property)
            }
            if let type = UserInfoValue.object(members).foreignType {
                throw failure(
                    "The mapping's userInfo holds a value of type \(type), which JSON cannot hold", property: property)
            }
        }
        try check(userInfo)
        for mapping in propertyMappings {
            if (mapping.name ?? "").isEmpty { throw failure("A property mapping has no name") }
            try check(mapping.userInfo, property: mapping.name)
        }
    }

    fileprivate func write(to writer: inout JSONWriter) {
        writer.container("{", "}") { writer in
            writer.member("name", name)
            writer.member("mappingType", effectiveType.jsonName)
            writer.member("sourceEntity", sourceEntityName)
            writer.member("destinationEntity", destinationEntityName)
            if statesVersionHashes {
                writer.member("sourceEntityVersionHash", sourceEntityVersionHash?.hexadecimal)
                writer.member("destinationEntityVersionHash", destinationEntityVersionHash?.hexadecimal)
            }
            switch sourceFetch {
            case .all: break
            case .filtered(let filter): writer.member("sourceFilter", filter)
            case .other:
                writer.member("sourceFilter", sourceFilter?.format)
                writer.member("sourceExpression", sourceExpression?.format)
            }
            grouping?.write(to: &writer)
            writer.member("forEach", forEach?.format)
            matching?.write(to: &writer)
            if hasPolicy { writer.member("migrationPolicy", entityMigrationPolicyClassName) }
            Self.write(userInfo, to: &writer)
            writer.member("convertedFrom", convertedFrom?.rawValue)
            write("attributes", attributeMappings ?? [], sourceOnlyAttributes, to: &writer)
            write("relationships", relationshipMappings ?? [], sourceOnlyRelationships, to: &writer)
        }
    }

    /// Tells whether reading restores an omitted mapping.
    private func isRestored(_ mapping: PropertyMapping) -> Bool {
        mapping.isAutomatic && (mapping.replacesNil || (sourceEntityName == nil && mapping.valueExpression == nil))
    }

    private static func write(_ userInfo: [AnyHashable: Any]?, to writer: inout JSONWriter) {
        guard let members = userInfo.flatMap(UserInfoValue.members), !members.isEmpty else { return }
        writer.key("userInfo")
        UserInfoValue.write(members, to: &writer)
    }

    private static func write(_ expression: ValueExpression?, to writer: inout JSONWriter) {
        if let expression { writer.string(expression.format) } else { writer.literal("null") }
    }

    /// Writes the mappings, and the source properties that are left without one.
    private func write(
        _ key: String, _ mappings: [PropertyMapping], _ dropped: Set<String>, to writer: inout JSONWriter
    ) {
        let listed =
            mappings.filter { $0.userInfo?.isEmpty == false || $0.sorting != nil || !isRestored($0) }
            + dropped.map { PropertyMapping(name: $0, valueExpression: nil) }
        guard !listed.isEmpty else { return }
        writer.key(key)
        writer.container("{", "}") { writer in
            for mapping in listed.sortedByName {
                writer.key(mapping.name ?? "")
                if mapping.isObject {
                    writer.container("{", "}") { writer in
                        switch mapping.openValue {
                        case .automatic: break
                        case .lookup(let keyPath, let entityMapping):
                            writer.member("keyPath", keyPath?.format)
                            writer.member("entityMapping", entityMapping)
                        case nil where !isRestored(mapping):
                            writer.key("expression")
                            Self.write(mapping.valueExpression, to: &writer)
                        case nil: break
                        }
                        writer.member("orderBy", mapping.sorting?.keyPath)
                        if let question = mapping.unmapped?.question {
                            writer.member("why", question)
                        } else {
                            writer.member("unmappable", mapping.unmapped?.reason)
                        }
                        Self.write(mapping.userInfo, to: &writer)
                    }
                } else {
                    Self.write(mapping.valueExpression, to: &writer)
                }
            }
        }
    }
}

extension PropertyMapping {
    /// True if the mapping is written as an object with keys, not as its expression.
    fileprivate var isObject: Bool {
        userInfo?.isEmpty == false || openValue != nil || unmapped != nil || sorting != nil
    }
}
