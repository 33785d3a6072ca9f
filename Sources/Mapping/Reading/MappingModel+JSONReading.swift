import Diagnostics
import ManagedModel

extension MappingModel {
    /// Reads a mapping model in the form of ``json()`` (format versions 1 and 2) and checks it against its two models.
    ///
    /// - Omitted parts are filled in: the name `<source>To<destination>` (or the one name given), the type as
    ///   ``EntityMapping/effectiveType`` derives it, and properties as ``AutomaticMapping`` maps them, or without an expression
    ///   with `"unlisted": "untouched"`.
    /// - An expression or a `null` equal to the automatic one counts as automatic, so that a written mapping model that lists
    ///   everything means the same as the inferred one. Only the expression of an attribute that was optional and is now
    ///   required with a default is different: listed, it never replaces nil by the default.
    /// - With `"unlisted": "infer"` for the mapping model itself, entities without an entity mapping have the one that
    ///   ``inferred(from:to:unmappable:mergesDuplicates:)`` gives them.
    /// - With `convertedFrom` the mapping is completed like the form that it names.
    /// - Stated version hashes, in hexadecimal digits or base64, must be those of the models, as far as these are known.
    /// - Attribute and relationship mappings are sorted by name, in code point order.
    ///
    /// - Parameters:
    ///   - json: the text, UTF-8.
    ///   - path: the file, for errors.
    ///   - previous: the entity mappings of mapping models that run before, which expressions may look up.
    /// - Throws: `mapping.json`, `mapping.duplicateKey`, `mapping.unknownKey`, `mapping.missingKey`, `mapping.valueType`,
    ///   `mapping.formatVersion`, `mapping.type`, `mapping.versionHash`, `mapping.unlistedProperty`, `mapping.expression`, and
    ///   the errors of ``validate(source:destination:)``; all 78, with path, line and column.
    /// - Complexity: O(n log n) in the text and in the properties of the mapped entities.
    package static func reading(
        json: [UInt8], path: String, source: ManagedObjectModel, destination: ManagedObjectModel,
        after previous: [EntityMapping] = [], unmappable: UnmappableProperties = .refuse,
        misfits: MisfittingExpressions = .refused
    ) throws(MigrationError) -> MappingModel {
        try reading(
            MappingDocument(json, path: path), source: source, destination: destination, after: previous,
            unmappable: unmappable, misfits: misfits)
    }

    static func reading(
        _ document: MappingDocument, source: ManagedObjectModel, destination: ManagedObjectModel,
        after previous: [EntityMapping], unmappable: UnmappableProperties, misfits: MisfittingExpressions
    ) throws(MigrationError) -> MappingModel {
        try MappingModelReader(
            document: document, models: (source, destination), previous: previous,
            unmappable: unmappable, misfits: misfits
        ).read()
    }

    /// Reads JSON that was converted from another form without its models, again without them.
    ///
    /// - Throws: `mapping.modelsNeeded` (78) if an entity mapping omits parts that only the models determine; the errors of
    ///   ``reading(json:path:source:destination:after:)`` for the text.
    package static func reading(json: [UInt8], path: String) throws(MigrationError) -> MappingModel {
        try MappingModelReader(document: MappingDocument(json, path: path)).read()
    }
}

/// One reading of a document: first all entity mappings with their listed parts, then the omitted parts, which depend on all of
/// them.
private struct MappingModelReader {
    let document: MappingDocument
    var models: (source: ManagedObjectModel, destination: ManagedObjectModel)?
    /// The entity mappings of mapping models that run before.
    var previous: [EntityMapping] = []
    /// The treatment of unlisted properties that cannot be mapped.
    var unmappable = UnmappableProperties.refuse
    /// The treatment of expressions, listed or not, that do not fit their properties.
    var misfits = MisfittingExpressions.refused

    func read() throws(MigrationError) -> MappingModel {
        let head = try document.head()
        let model = MappingModel()
        model.path = document.path
        model.rulesOfTheSource = head.rules
        model.rulesPlace = RulesPlace(path: document.path, line: head.rulesLine)
        (model.sourceVersionName, model.destinationVersionName) = (head.from, head.to)
        model.losses = head.losses.map(\.name)
        for loss in head.losses {
            guard let problem = models.flatMap({ LossName(loss.name).problem(in: $0.source) }) else { continue }
            throw document.failure(problem.code, problem.message, at: loss.place, remedy: problem.remedy)
        }
        var leavesUnlisted: [Bool] = []
        for node in head.entityMappings {
            let members = try document.members(
                of: node, what: "an entity mapping", known: MappingDocument.entityMappingKeys)
            model.entityMappings.append(try entityMapping(members, node.position))
            leavesUnlisted.append(
                try document.choice(members["unlisted"], ("automatic", false), ("untouched", true)) ?? false)
        }
        if let place = head.inference {
            try inferUnlisted(model, place)
            leavesUnlisted += Array(repeating: false, count: model.entityMappings.count - leavesUnlisted.count)
        }
        if let models { try fill(model, leavesUnlisted, models.source, models.destination) }
        return model
    }

    // MARK: The listed parts

    private func entityMapping(
        _ members: [String: JSONMember], _ place: TextPosition
    ) throws(MigrationError) -> EntityMapping {
        let mapping = EntityMapping()
        mapping.place = place
        mapping.sourceEntityName = try document.string(members["sourceEntity"])
        mapping.destinationEntityName = try document.string(members["destinationEntity"])
        mapping.entityMigrationPolicyClassName = try document.string(members["migrationPolicy"])
        mapping.name = try document.string(members["name"]) ?? mapping.defaultName
        if let name = mapping.name, name.isEmpty {
            throw document.failure(
                "mapping.missingKey", "The entity mapping has neither \"sourceEntity\" nor \"destinationEntity\"",
                at: place)
        }
        mapping.mappingType = try type(members["mappingType"], of: mapping)
        mapping.convertedFrom = try document.choice(
            members["convertedFrom"], ("cdm", MappingForm.compiled), ("xcmappingmodel", .xcode))
        let context = MigrationError.Context(entityMapping: mapping.name)
        if let models {
            try checkEntity(members["sourceEntity"], in: models.source, mapping, "source")
            try checkEntity(members["destinationEntity"], in: models.destination, mapping, "destination")
        } else if mapping.convertedFrom == nil {
            throw document.failure(
                "mapping.modelsNeeded", "The mapping model leaves out what follows from its two models", at: place,
                remedy: "Name the model versions with --from and --to", context: context)
        }
        if let member = members["sourceFilter"], let text = try document.string(member) {
            guard mapping.sourceEntityName != nil else {
                throw document.failure(
                    "mapping.type", "A source filter needs a source entity", at: member.keyPosition, context: context)
            }
            mapping.sourceFilterPlace = member.value.position
            mapping.sourceFilter = try document.parsed(
                member.value, text, context: context, SourcePredicate.init(format:))
        }
        if let member = members["sourceExpression"], let text = try document.string(member) {
            mapping.sourceExpressionPlace = member.value.position
            mapping.sourceExpression = try document.parsed(
                member.value, text, context: context, ValueExpression.init(parsing:))
        }
        let rules = GroupingReader(document: document, members: members, mapping: mapping)
        mapping.grouping = try rules.grouping()
        mapping.forEachPlace = members["forEach"]?.value.position
        mapping.forEach = try forEach(members["forEach"], of: mapping)
        mapping.matching = try rules.matching()
        mapping.userInfo = try userInfo(members["userInfo"])
        mapping.sourceEntityVersionHash = try document.hash(members["sourceEntityVersionHash"])
        mapping.destinationEntityVersionHash = try document.hash(members["destinationEntityVersionHash"])
        mapping.statesVersionHashes =
            mapping.sourceEntityVersionHash != nil || mapping.destinationEntityVersionHash != nil
        mapping.attributeMappings = try listed(members["attributes"], of: mapping)
        mapping.relationshipMappings = try listed(members["relationships"], of: mapping)
        return mapping
    }

    private func forEach(
        _ member: JSONMember?, of mapping: EntityMapping
    ) throws(MigrationError) -> ValueExpression? {
        guard let member, let text = try document.string(member) else { return nil }
        let context = MigrationError.Context(entityMapping: mapping.name)
        if let problem = mapping.forEachProblem {
            throw document.failure(
                "mapping.type", problem.message, at: member.keyPosition, remedy: problem.remedy, context: context)
        }
        return try document.parsed(member.value, text, context: context, ValueExpression.init(parsing:))
    }

    private func userInfo(_ member: JSONMember?) throws(MigrationError) -> [AnyHashable: Any]? {
        guard let member else { return nil }
        let entries = try document.object(member)
        for entry in entries { try checkNumbers(entry.value) }
        return Dictionary(
            entries.map { (AnyHashable($0.key), UserInfoValue($0.value).any) }, uniquingKeysWith: { first, _ in first })
    }

    private func checkEntity(
        _ member: JSONMember?, in model: ManagedObjectModel, _ mapping: EntityMapping, _ side: String
    ) throws(MigrationError) {
        guard let member, case .string(let name) = member.value.value, model.entity(named: name) == nil else { return }
        throw document.failure(
            "mapping.unknownEntity", "The \(side) model has no entity \(name)", at: member.value.position,
            remedy: EditDistance.remedy(for: name, among: model.entities.map(\.definition.name)),
            context: .init(entity: name, entityMapping: mapping.name))
    }

    private func type(_ member: JSONMember?, of mapping: EntityMapping) throws(MigrationError) -> EntityMappingType {
        guard let member, let text = try document.string(member) else { return mapping.effectiveType }
        let context = MigrationError.Context(entityMapping: mapping.name)
        guard let type = EntityMappingType(jsonName: text) else {
            throw document.failure(
                "mapping.type", "Unknown mapping type \"\(text)\"", at: member.value.position,
                remedy: EditDistance.question(text, among: ["add", "remove", "copy", "transform", "custom"])
                    ?? "The types are add, remove, copy, transform and custom", context: context)
        }
        mapping.mappingType = type
        if let problem = mapping.typeProblem {
            throw document.failure("mapping.type", problem, at: member.value.position, context: context)
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
    ) throws(MigrationError) -> [PropertyMapping] {
        let isRelationship = member?.key == "relationships"
        var listed: [PropertyMapping] = []
        for entry in try document.object(member) {
            let context = MigrationError.Context(property: entry.key, entityMapping: mapping.name)
            if let models, drops(entry, of: mapping, isRelationship: isRelationship) {
                mapping.droppedProperties.insert(entry.key)
                let problem = mapping.problem(
                    ofProperty: entry.key, isRelationship: isRelationship, destination: models.destination)
                if problem != nil {
                    if isRelationship {
                        mapping.sourceOnlyRelationships.insert(entry.key)
                    } else {
                        mapping.sourceOnlyAttributes.insert(entry.key)
                    }
                    continue
                }
            }
            // A converted mapping is completed like its form, with the tolerance of that form.
            if let models, mapping.convertedFrom == nil,
                let problem = mapping.problem(
                    ofProperty: entry.key, isRelationship: isRelationship, destination: models.destination)
            {
                throw document.failure(
                    problem.code, problem.message, at: entry.keyPosition, remedy: problem.remedy, context: context)
            }
            do throws(MigrationError) {
                listed.append(try property(entry, of: mapping, isRelationship: isRelationship))
            } catch {
                throw error.inside(context)
            }
        }
        return listed.sortedByName
    }

    /// Tells whether an entry is the `null` of a source property, which need not exist in the destination.
    private func drops(_ entry: JSONMember, of mapping: EntityMapping, isRelationship: Bool) -> Bool {
        guard mapping.convertedFrom == nil,
            let source = mapping.sourceEntityName.flatMap({ models?.source.entity(named: $0) })
        else { return false }
        var value = entry.value.value
        if case .object(let members) = value {
            guard !members.contains(where: { $0.key == "unmappable" || $0.key == "why" }),
                let expression = members.first(where: { $0.key == "expression" })
            else { return false }
            value = expression.value.value
        }
        guard case .null = value else { return false }
        if isRelationship { return source.relationship(named: entry.key) != nil }
        return source.attribute(named: entry.key) != nil || source.composite(named: entry.key) != nil
    }

    /// Reads a property: its expression, `null`, or an object with the expression and a `userInfo`. Without an expression, the
    /// object leaves the value open.
    private func property(
        _ entry: JSONMember, of mapping: EntityMapping, isRelationship: Bool
    ) throws(MigrationError) -> PropertyMapping {
        let property = PropertyMapping(name: entry.key, valueExpression: nil)
        property.place = entry.value.position
        guard case .object = entry.value.value else {
            property.valueExpression = try expression(entry.value, key: entry.key)
            return property
        }
        let members = try document.members(of: entry.value, what: "a property", known: MappingDocument.propertyKeys)
        property.userInfo = try userInfo(members["userInfo"])
        property.sorting = try sorting(members["orderBy"], of: mapping, isRelationship: isRelationship)
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
        let why = try document.string(members["why"])
        if let member = members["why"], unmappable != nil || members["expression"] == nil {
            throw document.failure(
                "mapping.valueType", "\"why\" says what is to be decided of a property, beside \"expression\": null",
                at: member.keyPosition, remedy: "Leave it out")
        }
        if let unmappable {
            property.unmapped = UnmappedProperty(source: nil, reason: unmappable)
        } else if let why, members["expression"]?.value.isNull == true {
            property.place = members["expression"]?.value.position
            property.unmapped = UnmappedProperty(source: nil, reason: why, question: why)
        } else if let expression = members["expression"] {
            property.place = expression.value.position
            property.valueExpression = try self.expression(expression.value, key: "expression")
        } else if lookup.keyPath != nil || lookup.mapping != nil {
            var keyPath: ValueExpression?
            if let member = lookup.keyPath { keyPath = try expression(member.value, key: member.key) }
            property.openValue = .lookup(keyPath: keyPath, mapping: try document.string(lookup.mapping))
        } else {
            property.openValue = .automatic
        }
        return property
    }

    /// Reads `orderBy`.
    private func sorting(
        _ member: JSONMember?, of mapping: EntityMapping, isRelationship: Bool
    ) throws(MigrationError) -> MemberSorting? {
        guard let member, let keyPath = try document.string(member) else { return nil }
        guard isRelationship else {
            throw document.failure(
                "mapping.unknownKey", "\"orderBy\" orders the members of a relationship, and this is an attribute",
                at: member.keyPosition, remedy: "Leave it out")
        }
        guard mapping.convertedFrom == nil else {
            throw document.failure(
                "mapping.unknownKey", "\"orderBy\" is not for a mapping that was converted without its models",
                at: member.keyPosition, remedy: "Convert the mapping model with --from and --to, then write \"orderBy\""
            )
        }
        return MemberSorting(keyPath: keyPath, at: member.value.position)
    }

    private func expression(_ node: JSONNode, key: String) throws(MigrationError) -> ValueExpression? {
        switch node.value {
        case .null: return nil
        case .string(let text): return try document.parsed(node, text, ValueExpression.init(parsing:))
        default:
            throw document.wrongType(
                of: node, what: "\"\(key)\"", expected: "a string with an expression, or null")
        }
    }

    // MARK: The omitted parts

    /// Adds the entity mappings that inference makes for entities without one.
    private func inferUnlisted(_ model: MappingModel, _ place: TextPosition) throws(MigrationError) {
        guard let models else {
            throw document.failure(
                "mapping.modelsNeeded", "The mapping model leaves out what follows from its two models", at: place,
                remedy: "Name the model versions with --from and --to")
        }
        let listed = model.entityMappings ?? []
        let entities = InferredEntities(models.source, models.destination)
        let inferred = entities.mappings(beside: listed)
        for mapping in inferred { mapping.place = place }
        var problems = InferenceProblems()
        entities.checkHierarchies(inferred, &problems)
        if let error = problems.error { throw error.inside(.init(path: document.path)) }
        model.entityMappings = listed + inferred
    }

    private func fill(
        _ model: MappingModel, _ leavesUnlisted: [Bool], _ source: ManagedObjectModel, _ destination: ManagedObjectModel
    ) throws(MigrationError) {
        let completion = MappingCompletion(model, source, destination)
        // A property that inference left because nothing migrates its relationship's destination gets its source from here.
        let inferred = AutomaticMapping(
            entityMappings: model.entityMappings, source: source, destination: destination, requiresTarget: true)
        for (mapping, leavesUnlisted) in zip(model.entityMappings, leavesUnlisted) {
            let (origin, target) = try completion.entities(of: mapping)
            guard let target else {
                mapping.convertedFrom = nil
                (mapping.attributeMappings, mapping.relationshipMappings) = ([], [])
                continue
            }
            if let form = mapping.convertedFrom {
                if form == .xcode { mapping.dropStraySourceExpression(source) }
                try completion.complete(mapping)
                continue
            }
            let properties = completion.automatic.properties(from: origin, to: target)
            let attributes = (mapping.attributeMappings ?? []).expandingComposites(source: origin, destination: target)
            mapping.attributeMappings = try mappings(
                properties.filter { !$0.isRelationship }, listed: attributes, mapping, leavesUnlisted)
            mapping.relationshipMappings = try mappings(
                properties.filter(\.isRelationship), listed: mapping.relationshipMappings ?? [], mapping, leavesUnlisted
            )
            if mapping.lacksSources { mapping.takeSources(of: inferred.properties(from: origin, to: target)) }
        }
        try model.validate(source: source, destination: destination, after: previous, misfits: misfits)
    }

    private func mappings(
        _ properties: [AutomaticMapping.Property], listed: [PropertyMapping], _ mapping: EntityMapping,
        _ leavesUnlisted: Bool
    ) throws(MigrationError) -> [PropertyMapping] {
        var mappings: [PropertyMapping] = []
        var remaining = Dictionary(listed.map { ($0.name ?? "", $0) }, uniquingKeysWith: { first, _ in first })
        for property in properties {
            let entry = remaining.removeValue(forKey: property.name)
            if let entry, entry.openValue == nil {
                entry.isAutomatic = property.isReproduced(by: entry.valueExpression)
                if let known = entry.unmapped {
                    var unmapped = property.unmapped ?? known
                    unmapped.question = known.question
                    unmapped.source = unmapped.source ?? property.problem?.source
                    entry.unmapped = unmapped
                }
                // The null of a renamed property leaves the values of its counterpart behind.
                if entry.valueExpression == nil, entry.unmapped == nil,
                    case .mapped(_, let counterpart) = property.outcome
                {
                    mapping.droppedProperties.insert(counterpart)
                }
                mappings.append(entry)
            } else if leavesUnlisted, entry == nil {
                mappings.append(
                    PropertyMapping(
                        name: property.name, valueExpression: nil, isAutomatic: property.isReproduced(by: nil)))
            } else {
                mappings.append(try unlisted(property, mapping))
                mappings.last?.userInfo = entry?.userInfo
                mappings.last?.sorting = entry?.sorting
            }
        }
        // Properties that are not stored (transient ones) are never automatic.
        for entry in remaining.values { entry.openValue = nil }
        return (mappings + remaining.values).sortedByName
    }

    /// Returns the mapping of a property that is not listed. One that does not fit has the expression that Core Data's compiler
    /// fills in, and is refused if that is evaluated.
    private func unlisted(
        _ property: AutomaticMapping.Property, _ mapping: EntityMapping
    ) throws(MigrationError) -> PropertyMapping {
        guard let (reason, origin) = property.problem, unmappable != .leave else { return property.propertyMapping() }
        if unmappable == .convert, let converted = property.convertingMapping { return converted }
        let refusal = document.failure(
            "mapping.unlistedProperty",
            "A property that is not listed cannot be mapped: " + reason.reason(of: property.name, from: origin),
            at: mapping.place ?? .start,
            remedy: (property.convertingLine(of: mapping.destinationEntityName ?? "").map { "List it, \($0.text), " }
                ?? "List it with an expression, ")
                + "or leave it alone with \"\(property.name)\": null or --unmappable leave",
            context: .init(
                entity: mapping.destinationEntityName, property: property.name, entityMapping: mapping.name))
        guard !misfits.isEvaluated(mapping), misfits != .refusedWhereUnlisted else { throw refusal }
        let unfitting = PropertyMapping(name: property.name, valueExpression: property.compiledExpression)
        unfitting.refusal = refusal
        return unfitting
    }
}

extension EntityMapping {
    /// True if a property was left with a reason and without a known source property.
    fileprivate var lacksSources: Bool {
        propertyMappings.contains { $0.unmapped != nil && $0.unmapped?.source == nil }
    }

    /// Sets the source property of properties that were left with a reason, as inference finds it for that reason.
    fileprivate func takeSources(of properties: [AutomaticMapping.Property]) {
        for mapping in propertyMappings {
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
        case .mapped(let expression, _): !replacesNil && shortage == nil && listed == expression
        case .new: listed == nil
        case .incompatible: false
        }
    }
}

extension JSONNode {
    /// True for `null`.
    fileprivate var isNull: Bool { if case .null = value { true } else { false } }
}
