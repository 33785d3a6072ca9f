import Diagnostics
import ManagedModel

extension MappingModel {
    /// Reads a mapping model in Stagecoach's JSON form (format versions 1 and 2) and checks it against its two models.
    ///
    /// - Omitted parts are filled in. The name is `<source>To<destination>` (or the one name given). The type is custom with a
    ///   policy, add without a source, remove without a destination, else transform. A property is mapped as
    ///   ``AutomaticMapping`` maps it.
    /// - `null` is no expression. An expression or a `null` equal to the automatic one counts as automatic, so that a written
    ///   mapping model that lists everything means the same as the inferred one. The exception is an attribute that was
    ///   optional and is now required with a default: there an automatic expression replaces nil by the default, a listed one
    ///   never does, and ``json()`` omits the automatic one.
    /// - With `"unlisted": "untouched"`, unlisted properties have no expression instead of the automatic one.
    /// - A property may be listed with an object instead of its expression: `{"expression": "…", "userInfo": {…}}`. Without
    ///   `expression` it is mapped like an unlisted one.
    /// - With `convertedFrom` the mapping was written without its models, and is completed like the form that it names.
    /// - Stated version hashes (`sourceEntityVersionHash`, `destinationEntityVersionHash`, in hexadecimal digits or base64)
    ///   must be those of the models, as far as these are known.
    /// - ``MappingModel/rulesOfTheSource`` is `error` unless the text has `"rulesOfTheSource": "warn"`.
    /// - Attribute and relationship mappings are sorted by name, in code point order.
    ///
    /// - Parameters:
    ///   - json: the text, UTF-8.
    ///   - path: the file, for errors.
    ///   - earlier: the names of the entity mappings of mapping models that run before, which expressions may look up.
    /// - Throws: `mapping.json`, `mapping.duplicateKey`, `mapping.unknownKey`, `mapping.missingKey`, `mapping.valueType`,
    ///   `mapping.formatVersion`, `mapping.type`, `mapping.versionHash`, `mapping.unlistedProperty`, `mapping.expression`, and
    ///   the errors of ``validate(source:destination:)``; all 78, with path, line and column.
    /// - Complexity: O(n log n) in the text and in the properties of the mapped entities.
    package static func reading(
        json: [UInt8], path: String, source: ManagedObjectModel, destination: ManagedObjectModel,
        earlier: Set<String> = [], unmappable: UnmappableProperties = .refuse,
        misfits: MisfittingExpressions = .refused
    ) throws(MigrationError) -> MappingModel {
        let document = try MappingDocument(json, path: path)
        var reader = MappingModelReader(document: document, models: (source, destination), earlier: earlier)
        reader.leavesUnmappable = unmappable == .leave
        reader.misfits = misfits
        return try reader.read()
    }

    /// Reads JSON that was converted from another form without its models, again without them.
    ///
    /// - Throws: `mapping.modelsNeeded` (78) if an entity mapping omits parts that only the models determine; the errors of
    ///   ``reading(json:path:source:destination:earlier:)`` for the text.
    package static func reading(json: [UInt8], path: String) throws(MigrationError) -> MappingModel {
        var reader = MappingModelReader(document: try MappingDocument(json, path: path), models: nil, earlier: [])
        return try reader.read()
    }
}

/// One reading of a document: first all entity mappings with their listed parts, then the omitted parts, which depend on all of
/// them.
private struct MappingModelReader {
    /// The listed content of a property.
    private struct Listed {
        let key: TextPosition
        let place: TextPosition
        var expression: ValueExpression?
        /// Listed for its userInfo only.
        var isAutomatic = false
        /// The part that a converted mapping leaves open.
        var open: OpenValue?
        /// The reason why the property is left without a value.
        var unmappable: String?
        var userInfo: [AnyHashable: Any]?
    }
    private struct Draft {
        let mapping: EntityMapping
        let position: TextPosition
        /// True if unlisted properties are not touched.
        let leavesUnlisted: Bool
        var attributes: [String: Listed] = [:]
        var relationships: [String: Listed] = [:]
    }

    private let document: MappingDocument
    private let models: (source: ManagedObjectModel, destination: ManagedObjectModel)?
    /// The names of entity mappings of mapping models that run before.
    private let earlier: Set<String>
    private var drafts: [Draft] = []
    private var statements = MappingDocument.Statements()

    /// True if unlisted properties that cannot be mapped are left without an expression.
    var leavesUnmappable = false
    /// The treatment of expressions, listed or not, that do not fit their properties.
    var misfits = MisfittingExpressions.refused

    init(
        document: MappingDocument, models: (source: ManagedObjectModel, destination: ManagedObjectModel)?,
        earlier: Set<String>
    ) {
        self.earlier = earlier
        self.document = document
        self.models = models
    }

    mutating func read() throws(MigrationError) -> MappingModel {
        let members = try document.members(
            of: document.root, what: "the mapping model", known: MappingDocument.modelKeys)
        try checkVersion(members["formatVersion"])
        statements = try document.statements(members)
        guard let list = members["entityMappings"] else {
            throw document.failure(
                "mapping.missingKey", "The key \"entityMappings\" is missing", at: document.root.position)
        }
        guard case .array(let elements) = list.value.value else {
            throw document.wrongType(of: list.value, what: "\"entityMappings\"", expected: "an array")
        }
        for element in elements { drafts.append(try draft(element)) }
        return try fill()
    }

    private func checkVersion(_ member: JSONMember?) throws(MigrationError) {
        guard let member else {
            throw document.failure(
                "mapping.missingKey", "The key \"formatVersion\" is missing", at: document.root.position,
                remedy: "Write \"formatVersion\": \(MappingDocument.formatVersion)")
        }
        guard case .number(let text) = member.value.value else {
            throw document.wrongType(of: member.value, what: "\"formatVersion\"", expected: "a number")
        }
        guard (1...MappingDocument.formatVersion).contains(where: { text == "\($0)" }) else {
            throw document.failure(
                "mapping.formatVersion",
                "Format version \(text) is not known; this program reads versions 1 to \(MappingDocument.formatVersion)",
                at: member.value.position)
        }
    }

    // MARK: What is listed

    private func draft(_ node: JSONNode) throws(MigrationError) -> Draft {
        let members = try document.members(
            of: node, what: "an entity mapping", known: MappingDocument.entityMappingKeys)
        let mapping = EntityMapping()
        mapping.line = node.position.line
        mapping.column = node.position.column
        mapping.sourceEntityName = try document.string(members["sourceEntity"])
        mapping.destinationEntityName = try document.string(members["destinationEntity"])
        mapping.entityMigrationPolicyClassName = try document.string(members["migrationPolicy"])
        mapping.name = try document.string(members["name"]) ?? defaultName(mapping)
        if let name = mapping.name, name.isEmpty {
            throw document.failure(
                "mapping.missingKey", "The entity mapping has neither \"sourceEntity\" nor \"destinationEntity\"",
                at: node.position)
        }
        mapping.mappingType = try type(members["mappingType"], of: mapping)
        mapping.convertedFrom = try convertedFrom(members["convertedFrom"])
        if let models {
            try checkEntity(members["sourceEntity"], in: models.source, mapping, "source")
            try checkEntity(members["destinationEntity"], in: models.destination, mapping, "destination")
        } else if mapping.convertedFrom == nil {
            throw document.failure(
                "mapping.modelsNeeded", "The mapping model leaves out what follows from its two models",
                at: node.position, remedy: "Name the model versions with --from and --to",
                context: .init(entityMapping: mapping.name))
        }
        let context = MigrationError.Context(entityMapping: mapping.name)
        if let filter = members["sourceFilter"], let text = try document.string(filter) {
            guard mapping.sourceEntityName != nil else {
                throw document.failure(
                    "mapping.type", "A source filter needs a source entity", at: filter.keyPosition, context: context)
            }
            mapping.sourceFilterLine = filter.value.position.line
            mapping.sourceFilterColumn = filter.value.position.column
            do {
                mapping.sourceFilter = try SourcePredicate(format: text)
            } catch {
                throw document.failure(parsing: filter.value, error, context: context)
            }
        }
        if let member = members["sourceExpression"], let text = try document.string(member) {
            mapping.sourceExpressionLine = member.value.position.line
            mapping.sourceExpressionColumn = member.value.position.column
            do {
                mapping.sourceExpression = try ValueExpression(parsing: text)
            } catch {
                throw document.failure(parsing: member.value, error, context: context)
            }
        }
        mapping.userInfo = try userInfo(members["userInfo"])
        mapping.sourceEntityVersionHash = try document.hash(members["sourceEntityVersionHash"])
        mapping.destinationEntityVersionHash = try document.hash(members["destinationEntityVersionHash"])
        mapping.statesVersionHashes =
            mapping.sourceEntityVersionHash != nil || mapping.destinationEntityVersionHash != nil
        var draft = Draft(
            mapping: mapping, position: node.position, leavesUnlisted: try leavesUnlisted(members["unlisted"]))
        draft.attributes = try listed(members["attributes"], of: mapping)
        draft.relationships = try listed(members["relationships"], of: mapping)
        return draft
    }

    private func userInfo(_ member: JSONMember?) throws(MigrationError) -> [AnyHashable: Any]? {
        guard let member else { return nil }
        guard case .object(let entries) = member.value.value else {
            throw document.wrongType(of: member.value, what: "\"userInfo\"", expected: "an object")
        }
        for entry in entries { try checkNumbers(entry.value) }
        return Dictionary(
            entries.map { (AnyHashable($0.key), UserInfoValue($0.value).any) }, uniquingKeysWith: { first, _ in first })
    }

    private func leavesUnlisted(_ member: JSONMember?) throws(MigrationError) -> Bool {
        guard let member, let word = try document.string(member) else { return false }
        switch word {
        case "automatic": return false
        case "untouched": return true
        default:
            throw document.failure(
                "mapping.valueType", "\"unlisted\" must be \"automatic\" or \"untouched\", not \"\(word)\"",
                at: member.value.position)
        }
    }

    private func convertedFrom(_ member: JSONMember?) throws(MigrationError) -> MappingForm? {
        guard let member, let word = try document.string(member) else { return nil }
        guard let form = MappingForm(rawValue: word), form != .json else {
            throw document.failure(
                "mapping.valueType", "\"convertedFrom\" must be \"cdm\" or \"xcmappingmodel\", not \"\(word)\"",
                at: member.value.position)
        }
        return form
    }

    private func defaultName(_ mapping: EntityMapping) -> String {
        [mapping.sourceEntityName, mapping.destinationEntityName].compactMap { $0 }.joined(separator: "To")
    }

    private func checkEntity(
        _ member: JSONMember?, in model: ManagedObjectModel, _ mapping: EntityMapping, _ side: String
    ) throws(MigrationError) {
        guard let member, case .string(let name) = member.value.value, model.entity(named: name) == nil else { return }
        throw document.failure(
            "mapping.unknownEntity", "The \(side) model has no entity \(name)", at: member.value.position,
            context: .init(entity: name, entityMapping: mapping.name))
    }

    private func type(_ member: JSONMember?, of mapping: EntityMapping) throws(MigrationError) -> EntityMappingType {
        guard let member, let text = try document.string(member) else {
            if mapping.hasPolicy { return .customEntityMappingType }
            if mapping.sourceEntityName == nil { return .addEntityMappingType }
            if mapping.destinationEntityName == nil { return .removeEntityMappingType }
            return .transformEntityMappingType
        }
        guard let type = EntityMappingType(jsonName: text) else {
            throw document.failure(
                "mapping.type", "Unknown mapping type \"\(text)\"", at: member.value.position,
                remedy: "The types are add, remove, copy, transform and custom",
                context: .init(entityMapping: mapping.name))
        }
        mapping.mappingType = type
        if let problem = mapping.typeProblem {
            throw document.failure(
                "mapping.type", problem, at: member.value.position, context: .init(entityMapping: mapping.name))
        }
        return type
    }

    /// Refuses numbers that no Double can hold, because they would change silently.
    private func checkNumbers(_ node: JSONNode) throws(MigrationError) {
        switch node.value {
        case .number(let text):
            guard Double(text)?.isFinite == true else {
                throw document.failure("mapping.valueType", "The number \(text) is too large", at: node.position)
            }
        case .array(let elements): for element in elements { try checkNumbers(element) }
        case .object(let members): for member in members { try checkNumbers(member.value) }
        case .null, .boolean, .string: return
        }
    }

    private func listed(
        _ member: JSONMember?, of mapping: EntityMapping
    ) throws(MigrationError) -> [String: Listed] {
        guard let member else { return [:] }
        guard case .object(let entries) = member.value.value else {
            throw document.wrongType(of: member.value, what: "\"\(member.key)\"", expected: "an object")
        }
        let isRelationship = member.key == "relationships"
        var listed: [String: Listed] = [:]
        for entry in entries {
            let context = MigrationError.Context(property: entry.key, entityMapping: mapping.name)
            // A converted mapping is completed like its form, with the tolerance of that form.
            if let models, mapping.convertedFrom == nil,
                let problem = mapping.problem(
                    ofProperty: entry.key, isRelationship: isRelationship, destination: models.destination)
            {
                throw document.failure(problem.code, problem.message, at: entry.keyPosition, context: context)
            }
            do throws(MigrationError) {
                listed[entry.key] = try property(entry, of: mapping, isRelationship: isRelationship)
            } catch {
                throw error.inside(context)
            }
        }
        return listed
    }

    /// Reads a property: its expression, `null`, or an object with the expression and a `userInfo`.
    private func property(
        _ entry: JSONMember, of mapping: EntityMapping, isRelationship: Bool
    ) throws(MigrationError) -> Listed {
        guard case .object = entry.value.value else {
            return Listed(
                key: entry.keyPosition, place: entry.value.position,
                expression: try expression(entry.value, key: entry.key))
        }
        let members = try document.members(of: entry.value, what: "a property", known: MappingDocument.propertyKeys)
        let userInfo = try userInfo(members["userInfo"])
        let lookup = (keyPath: members["keyPath"], mapping: members["entityMapping"])
        if let member = lookup.keyPath ?? lookup.mapping,
            mapping.convertedFrom != .xcode || members["expression"] != nil || !isRelationship
        {
            throw document.failure(
                "mapping.unknownKey", "\"\(member.key)\" is for relationships of a mapping converted from Xcode's",
                at: member.keyPosition, remedy: "Write \"expression\"")
        }
        let unmappable = try document.string(members["unmappable"])
        if let member = members["unmappable"], let expression = members["expression"] {
            guard case .null = expression.value.value else {
                throw document.failure(
                    "mapping.valueType", "A property with an expression is not unmappable", at: member.keyPosition,
                    remedy: "Leave one of the two out")
            }
        }
        if let unmappable {
            var listed = Listed(
                key: entry.keyPosition, place: entry.value.position, expression: nil, userInfo: userInfo)
            listed.unmappable = unmappable
            return listed
        }
        guard let expression = members["expression"] else {
            var listed = Listed(
                key: entry.keyPosition, place: entry.value.position, expression: nil, isAutomatic: true,
                userInfo: userInfo)
            guard mapping.convertedFrom != nil else { return listed }
            listed.open = .automatic
            if lookup.keyPath != nil || lookup.mapping != nil {
                let keyPath = try lookup.keyPath.map { member throws(MigrationError) in
                    try self.expression(member.value, key: member.key)
                }
                listed.open = .lookup(keyPath: keyPath ?? nil, mapping: try document.string(lookup.mapping))
            }
            return listed
        }
        return Listed(
            key: entry.keyPosition, place: expression.value.position,
            expression: try self.expression(expression.value, key: "expression"), userInfo: userInfo)
    }

    private func expression(_ node: JSONNode, key: String) throws(MigrationError) -> ValueExpression? {
        switch node.value {
        case .null: return nil
        case .string(let text):
            do {
                return try ValueExpression(parsing: text)
            } catch {
                throw document.failure(parsing: node, error, context: .init())
            }
        default:
            throw document.wrongType(
                of: node, what: "\"\(key)\"", expected: "a string with an expression, or null")
        }
    }

    // MARK: What is left out

    private func fill() throws(MigrationError) -> MappingModel {
        let model = MappingModel()
        model.path = document.path
        model.rulesOfTheSource = statements.rules
        model.rulesPlace = RulesPlace(path: document.path, line: statements.rulesLine)
        (model.sourceVersionName, model.destinationVersionName) = (statements.from, statements.to)
        model.entityMappings = drafts.map(\.mapping)
        guard let models else {
            for draft in drafts {
                draft.mapping.attributeMappings = open(draft.attributes)
                draft.mapping.relationshipMappings = open(draft.relationships)
            }
            return model
        }
        let automatic = AutomaticMapping(
            entityMappings: model.entityMappings, source: models.source, destination: models.destination)
        // A property that inference left because nothing migrates its relationship's destination gets its source from here.
        let inferred = AutomaticMapping(
            entityMappings: model.entityMappings, source: models.source, destination: models.destination,
            requiresTarget: true)
        let hashes = (old: EntityHashes(models.source), new: EntityHashes(models.destination))
        for draft in drafts {
            let mapping = draft.mapping
            let origin = mapping.sourceEntityName.flatMap { models.source.entity(named: $0) }
            let target = mapping.destinationEntityName.flatMap { models.destination.entity(named: $0) }
            try mapping.checkHashes(
                source: origin.flatMap { hashes.old[$0] }, target.flatMap { hashes.new[$0] }, document.path)
            mapping.attributeMappings = []
            mapping.relationshipMappings = []
            guard let target else { continue }
            let listed = Self.expandingComposites(draft.attributes, source: origin, destination: target)
            if let form = mapping.convertedFrom {
                mapping.convertedFrom = nil
                if form == .xcode { mapping.dropStraySourceExpression(models.source) }
                try PropertyCompletion(mapping: mapping, automatic: automatic, path: document.path).complete(
                    contents(listed, isRelationship: false)
                        + contents(draft.relationships, isRelationship: true),
                    source: origin, destination: target, matchesAutomatic: form == .compiled)
                continue
            }
            let properties = automatic.properties(from: origin, to: target)
            mapping.attributeMappings = try mappings(
                properties.filter { !$0.isRelationship }, listed: listed, draft)
            mapping.relationshipMappings = try mappings(
                properties.filter(\.isRelationship), listed: draft.relationships, draft)
            if mapping.lacksSources { mapping.takeSources(of: inferred.properties(from: origin, to: target)) }
        }
        try model.validate(source: models.source, destination: models.destination, earlier: earlier, misfits: misfits)
        return model
    }

    /// Replaces the entries of composite attributes as a whole by entries of their elements.
    private static func expandingComposites(
        _ listed: [String: Listed], source: EntityDescription?, destination: EntityDescription
    ) -> [String: Listed] {
        var expanded = listed.filter { destination.composite(named: $0.key) == nil }
        for (attribute, composite) in destination.elements(ofListed: Set(listed.keys)) {
            guard var entry = listed[composite] else { continue }
            entry.expression = entry.expression?.element(attribute, of: composite, source: source)
            expanded[attribute] = entry
        }
        return expanded
    }

    /// The entries of a converted mapping, as its form would list them.
    private func contents(_ listed: [String: Listed], isRelationship: Bool) -> [PropertyCompletion.Listed] {
        listed.sorted { $0.key.unicodeScalars.lexicographicallyPrecedes($1.key.unicodeScalars) }.map { name, entry in
            let content: XcodeMapping.Content =
                switch entry.open {
                case .automatic: .automatic
                case .lookup(let keyPath, let mapping): .lookup(keyPath: keyPath, mapping: mapping)
                case nil: entry.expression.map { .expression($0) } ?? .unset
                }
            return .init(
                name: name, isRelationship: isRelationship, content: content, userInfo: entry.userInfo,
                place: entry.place)
        }
    }

    /// Returns the listed properties of a converted mapping literally.
    private func open(_ listed: [String: Listed]) -> [PropertyMapping] {
        listed.sorted { $0.key.unicodeScalars.lexicographicallyPrecedes($1.key.unicodeScalars) }.map { name, entry in
            let mapping = PropertyMapping(name: name, valueExpression: entry.expression)
            mapping.openValue = entry.open
            mapping.unmapped = entry.unmappable.map { UnmappedProperty(source: nil, reason: $0) }
            mapping.userInfo = entry.userInfo
            mapping.line = entry.place.line
            mapping.column = entry.place.column
            return mapping
        }
    }

    private func mappings(
        _ properties: [AutomaticMapping.Property], listed: [String: Listed], _ draft: Draft
    ) throws(MigrationError) -> [PropertyMapping] {
        var mappings: [PropertyMapping] = []
        var remaining = listed
        for property in properties {
            let entry = remaining.removeValue(forKey: property.name)
            guard let entry, !entry.isAutomatic else {
                if draft.leavesUnlisted, entry == nil {
                    mappings.append(
                        PropertyMapping(
                            name: property.name, valueExpression: nil, isAutomatic: property.isReproduced(by: nil)))
                    continue
                }
                if case .incompatible(let reason, let origin) = property.outcome, !leavesUnmappable {
                    let reason = reason.reason(of: property.name, from: origin)
                    let refusal = refusal(ofUnlisted: property, reason, draft)
                    guard !misfits.isEvaluated(draft.mapping), misfits == .noted || misfits == .refused else {
                        throw refusal
                    }
                    mappings.append(unfitting(property, entry, refusal))
                    continue
                }
                mappings.append(property.propertyMapping())
                mappings.last?.userInfo = entry?.userInfo
                continue
            }
            mappings.append(mapping(property.name, entry, automatic: property))
        }
        // Properties that are not stored (transient ones) are never automatic.
        for (name, entry) in remaining { mappings.append(mapping(name, entry, automatic: nil)) }
        return mappings.sorted {
            ($0.name ?? "").unicodeScalars.lexicographicallyPrecedes(($1.name ?? "").unicodeScalars)
        }
    }

    private func refusal(
        ofUnlisted property: AutomaticMapping.Property, _ reason: String, _ draft: Draft
    ) -> MigrationError {
        document.failure(
            "mapping.unlistedProperty", "A property that is not listed cannot be mapped: " + reason,
            at: draft.position,
            remedy: (property.convertingLine.map { "List it, \($0), " } ?? "List it with an expression, ")
                + "or leave it alone with \"\(property.name)\": null or --unmappable leave",
            context: .init(
                entity: draft.mapping.destinationEntityName, property: property.name,
                entityMapping: draft.mapping.name))
    }

    /// Returns an unlisted property that does not fit, with the expression that Core Data's compiler fills in. The property is
    /// refused if it is evaluated.
    private func unfitting(
        _ property: AutomaticMapping.Property, _ entry: Listed?, _ refusal: MigrationError
    ) -> PropertyMapping {
        let mapping = PropertyMapping(name: property.name, valueExpression: property.compiledExpression)
        mapping.refusal = refusal
        mapping.userInfo = entry?.userInfo
        return mapping
    }

    private func mapping(
        _ name: String, _ entry: Listed, automatic: AutomaticMapping.Property?
    ) -> PropertyMapping {
        let mapping = PropertyMapping(
            name: name, valueExpression: entry.expression,
            isAutomatic: automatic.map { $0.isReproduced(by: entry.expression) } ?? false)
        if let reason = entry.unmappable {
            mapping.unmapped = automatic?.unmapped ?? UnmappedProperty(source: nil, reason: reason)
        }
        mapping.userInfo = entry.userInfo
        mapping.line = entry.place.line
        mapping.column = entry.place.column
        return mapping
    }
}

extension EntityMapping {
    /// True if a property was left with a reason and without a known source property.
    fileprivate var lacksSources: Bool {
        ((attributeMappings ?? []) + (relationshipMappings ?? [])).contains {
            $0.unmapped != nil && $0.unmapped?.source == nil
        }
    }

    /// Sets the source property of properties that were left with a reason, as inference finds it for that reason.
    fileprivate func takeSources(of properties: [AutomaticMapping.Property]) {
        for mapping in (attributeMappings ?? []) + (relationshipMappings ?? []) {
            guard let reason = mapping.unmapped?.reason, mapping.unmapped?.source == nil else { continue }
            let seen = properties.first { $0.name == mapping.name }?.unmapped
            if seen?.reason == reason { mapping.unmapped = seen }
        }
    }
}

extension AutomaticMapping.Property {
    /// Tells whether listing an expression has the same effect as omitting the property.
    func isReproduced(by listed: ValueExpression?) -> Bool {
        switch outcome {
        case .mapped(let expression, _): !replacesNil && listed == expression
        case .new: listed == nil
        case .incompatible: false
        }
    }
}
