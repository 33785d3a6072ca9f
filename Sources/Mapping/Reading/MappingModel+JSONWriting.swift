import Diagnostics

extension MappingModel {
    /// The mapping model in Stagecoach's JSON form (format version 1), for people and version control: two spaces a level,
    /// keys in a fixed order, properties by name, a line end at the end. Equal mapping models give equal texts.
    ///
    /// Every property is listed, with two exceptions, which reading restores: the automatic expression of an attribute
    /// that was optional and is now required with a default (see ``reading(json:path:source:destination:)``), and the
    /// properties of an entity mapping without source, as long as they have no expression.
    ///
    /// Version hashes and places are not written; they follow from the models and the text.
    ///
    /// - Throws: `mapping.notWritable` (78) for what the form has no place for: a source expression other than the usual
    ///   fetch of the source entity, a `userInfo` of a property, a `userInfo` value that is not JSON, a type that does
    ///   not fit, a missing name.
    /// - Complexity: O(n log n) in properties.
    public func json() throws(MigrationError) -> String {
        for mapping in entityMappings ?? [] { try mapping.checkWritable(path: path) }
        var writer = JSONWriter()
        writer.container("{", "}") { writer in
            writer.key("formatVersion")
            writer.literal("1")
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

extension EntityMapping {
    /// Finds what the JSON form cannot say.
    fileprivate func checkWritable(path: String?) throws(MigrationError) {
        func failure(_ message: String, property: String? = nil) -> MigrationError {
            MigrationError(
                "mapping.notWritable", .configuration, message,
                context: .init(path: path, line: line, property: property, entityMapping: name))
        }
        if (name ?? "").isEmpty { throw failure("An entity mapping without name cannot be written as JSON") }
        if let typeProblem { throw failure(typeProblem) }
        if case .other = sourceFetch {
            throw failure("The mapping's source expression cannot be written as JSON, which knows source filters only")
        }
        if let userInfo {
            guard let members = UserInfoValue.members(userInfo) else {
                throw failure("The mapping's userInfo has keys that are no strings, which JSON cannot hold")
            }
            if let type = UserInfoValue.object(members).foreignType {
                throw failure("The mapping's userInfo holds a value of type \(type), which JSON cannot hold")
            }
        }
        for mapping in (attributeMappings ?? []) + (relationshipMappings ?? []) {
            if (mapping.name ?? "").isEmpty { throw failure("A property mapping has no name") }
            if mapping.userInfo?.isEmpty == false {
                throw failure("The userInfo of a property mapping has no place in JSON", property: mapping.name)
            }
        }
    }

    fileprivate func write(to writer: inout JSONWriter) {
        writer.container("{", "}") { writer in
            func member(_ key: String, _ value: String?) {
                guard let value else { return }
                writer.key(key)
                writer.string(value)
            }
            member("name", name)
            member("mappingType", effectiveType.jsonName)
            member("sourceEntity", sourceEntityName)
            member("destinationEntity", destinationEntityName)
            if case .filtered(let filter) = sourceFetch { member("sourceFilter", filter) }
            if hasPolicy { member("migrationPolicy", entityMigrationPolicyClassName) }
            if let members = userInfo.flatMap(UserInfoValue.members), !members.isEmpty {
                writer.key("userInfo")
                UserInfoValue.object(members).write(to: &writer)
            }
            write("attributes", attributeMappings ?? [], to: &writer)
            write("relationships", relationshipMappings ?? [], to: &writer)
        }
    }

    private func write(_ key: String, _ mappings: [PropertyMapping], to writer: inout JSONWriter) {
        let listed = mappings.filter {
            !($0.isAutomatic && ($0.replacesNil || (sourceEntityName == nil && $0.valueExpression == nil)))
        }
        guard !listed.isEmpty else { return }
        writer.key(key)
        writer.container("{", "}") { writer in
            let sorted = listed.sorted {
                ($0.name ?? "").unicodeScalars.lexicographicallyPrecedes(($1.name ?? "").unicodeScalars)
            }
            for mapping in sorted {
                writer.key(mapping.name ?? "")
                if let expression = mapping.valueExpression {
                    writer.string(expression.format)
                } else {
                    writer.literal("null")
                }
            }
        }
    }
}
