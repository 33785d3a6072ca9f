import Archives
import Diagnostics

extension ModelArchiveWriter {
    /// The bits of `_P`, Core Data's summary of a property.
    private enum PropertyBits {
        static let always: Int64 = 1
        static let optional: Int64 = 2
        static let readOnly: Int64 = 4
        static let transient: Int64 = 8
        static let withoutValidation: Int64 = 16 + 32
        static let withoutUserInfo: Int64 = 64
        static let withoutHashModifier: Int64 = 128
        static let indexedBySpotlight: Int64 = 256 + 2048
        static let ordered: Int64 = 1024
    }

    /// Writes all properties of an entity, with copies of the inherited ones.
    mutating func writeProperties(of entity: EntityDescription) throws(MigrationError) {
        for attribute in entity.declaredAttributes {
            guard let reference = properties[entity.index][attribute.name] else { continue }
            do {
                try write(attribute.definition, at: reference, entity: entities[entity.index])
            } catch { throw error.inside(.init(property: attribute.name)) }
        }
        for relationship in entity.relationships {
            guard let reference = properties[entity.index][relationship.name] else { continue }
            write(relationship, at: reference, entity: entities[entity.index])
        }
        for property in fetchedProperties(of: entity)
        where entity.attribute(named: property.name) == nil && entity.relationship(named: property.name) == nil {
            guard let reference = properties[entity.index][property.name] else { continue }
            try write(property, at: reference, entity: entities[entity.index])
        }
    }

    /// Returns the fields common to all properties, and `_P`.
    private mutating func propertyFields(
        _ definition: some NamedDefinition, entity: Reference, isOptional: Bool, isTransient: Bool,
        isReadOnly: Bool = false, isOrdered: Bool = false, isIndexed: Bool = false, isIndexedBySpotlight: Bool = false,
        hasValidation: Bool = false
    ) -> Fields {
        let name = builder.string(definition.name)
        var fields: Fields = [
            "NSPropertyName": name.field, "NSEntity": entity.field,
            "NSRenamingIdentifier": definition.renamingIdentifier.map { builder.string($0).field } ?? name.field,
        ]
        var bits = PropertyBits.always
        for (flag, key, bit) in [
            (isOptional, "NSIsOptional", PropertyBits.optional), (isReadOnly, "NSIsReadOnly", PropertyBits.readOnly),
            (isTransient, "NSIsTransient", PropertyBits.transient), (isOrdered, "NSIsOrdered", PropertyBits.ordered),
            (isIndexed, "NSIsIndexed", 0),
            (isIndexedBySpotlight, "NSIndexedBySpotlight", PropertyBits.indexedBySpotlight),
        ] where flag {
            fields[key] = .boolean(true)
            bits |= bit
        }
        if !hasValidation { bits |= PropertyBits.withoutValidation }
        if definition.userInfo.isEmpty, definition.archived.userInfo.isEmpty {
            bits |= PropertyBits.withoutUserInfo
        } else {
            fields["NSUserInfo"] = userInfo(definition.userInfo, definition.archived).field
        }
        if let versionHashModifier = definition.versionHashModifier {
            fields["NSVersionHashModifier"] = builder.string(versionHashModifier).field
        } else {
            bits |= PropertyBits.withoutHashModifier
        }
        fields["_P"] = .integer(bits)
        return fields
    }

    // MARK: Attributes

    private mutating func write(
        _ attribute: AttributeDefinition, at reference: Reference, entity: Reference, depth: Int = 0
    ) throws(MigrationError) {
        let validation = validation(of: attribute)
        let isDerived = attribute.derivationExpression != nil
        var fields = propertyFields(
            attribute, entity: entity, isOptional: attribute.isOptional, isTransient: attribute.isTransient,
            isReadOnly: isDerived, isIndexed: attribute.isIndexed,
            isIndexedBySpotlight: attribute.isIndexedBySpotlight, hasValidation: validation != nil)
        var flags = attribute.archived.flags
        if attribute.allowsExternalBinaryDataStorage {
            flags |= ModelArchiveReader.AttributeFlags.allowsExternalBinaryDataStorage
        }
        if attribute.preservesValueInHistoryOnDeletion {
            flags |= ModelArchiveReader.AttributeFlags.preservesValueInHistoryOnDeletion
        }
        let valueClass = attribute.valueClassName ?? attribute.type.defaultValueClassName
        fields["NSAttributeType"] = .integer(Int64(attribute.type.rawValue))
        fields["NSAttributeValueClassName"] = builder.string(valueClass).field
        let standard = attribute.defaultValue.map { value($0) } ?? attribute.archived.defaultValue.map { graph($0) }
        fields["NSDefaultValue"] = (standard ?? .null).field
        fields["NSValueTransformerName"] = builder.string(attribute.valueTransformerName).field
        fields["NSFlagsKey"] = .integer(flags)
        if let validation {
            fields["NSValidationPredicates"] = validation.predicates.field
            fields["NSValidationWarnings"] = validation.warnings.field
        }
        if isDerived { fields["NSFilteringPredicate"] = Reference.null.field }
        add(attribute.archived.fields, to: &fields)
        var className = ClassName("NSAttributeDescription", "NSPropertyDescription")
        if let expression = attribute.derivationExpression {
            let reference: Reference
            if let form = attribute.archived.form, form.text == expression {
                reference = graph(form.graph)
            } else {
                reference = expression.isEmpty ? .null : try derivation(expression)
            }
            fields["NSDerivationExpression"] = reference.field
            className = ClassName("NSDerivedAttributeDescription", "NSAttributeDescription", "NSPropertyDescription")
        } else if attribute.type == .composite {
            fields["NSCompositeElements"] = try compositeElements(attribute, entity: entity, depth: depth).field
            className = ClassName("NSCompositeAttributeDescription", "NSAttributeDescription", "NSPropertyDescription")
        }
        builder.fill(reference, className, fields)
    }

    private mutating func compositeElements(
        _ attribute: AttributeDefinition, entity: Reference, depth: Int
    ) throws(MigrationError) -> Reference {
        guard depth < CompositeChecks.greatestDepth, let name = attribute.compositeName,
            let elements = model.definition.composites[name]
        else {
            throw MigrationError(
                "archive.composite", .configuration,
                "The attribute's composite is missing from the model, or nested too deeply")
        }
        let references = try elements.map { element throws(MigrationError) in
            let reference = builder.reserve()
            try write(element, at: reference, entity: entity, depth: depth + 1)
            return reference
        }
        return builder.array(references, isMutable: true)
    }

    /// Writes a default or a bound.
    mutating func value(_ value: AttributeValue) -> Reference {
        switch value {
        // Xcode compiles Boolean defaults to 0 and 1 (691 of 742 in real archives; models made in code have Booleans).
        case .boolean(let flag): builder.integer(flag ? 1 : 0)
        case .integer(let integer): builder.integer(integer)
        case .double(let real): builder.real(real)
        case .string(let text): builder.string(text)
        case .date(let seconds): builder.date(seconds)
        case .data(let data): builder.data(Array(data))
        case .uuid(let uuid): builder.uuid(uuid)
        case .uri(let text): builder.url(text)
        case .decimal(let decimal): builder.decimal(decimal)
        }
    }

    // MARK: Relationships and fetched properties

    private mutating func write(_ relationship: RelationshipDescription, at reference: Reference, entity: Reference) {
        let definition = relationship.definition
        let destination = relationship.destination
        var fields = propertyFields(
            definition, entity: entity, isOptional: definition.isOptional, isTransient: definition.isTransient,
            isOrdered: definition.isOrdered, isIndexed: definition.isIndexed,
            isIndexedBySpotlight: definition.isIndexedBySpotlight)
        let inverse = definition.inverseName.flatMap { properties[destination.index][$0] }
        fields["NSDestinationEntity"] = entities[destination.index].field
        fields["_NSDestinationEntityName"] = builder.string(destination.definition.name).field
        fields["NSInverseRelationship"] = (inverse ?? .null).field
        fields["_NSInverseRelationshipName"] = builder.string(definition.inverseName).field
        fields["NSMinCount"] = .integer(Int64(definition.minimumCount))
        // In the archive only the maximum count identifies a to-one relationship.
        fields["NSMaxCount"] = .integer(definition.isToMany ? Int64(definition.maximumCount) : 1)
        fields["NSDeleteRule"] = .integer(Int64(definition.deleteRule.rawValue))
        add(definition.archived.fields, to: &fields)
        builder.fill(reference, ClassName("NSRelationshipDescription", "NSPropertyDescription"), fields)
    }

    private mutating func write(
        _ property: FetchedPropertyDefinition, at reference: Reference, entity: Reference
    ) throws(MigrationError) {
        var fields = propertyFields(
            property, entity: entity, isOptional: property.isOptional, isTransient: true, isReadOnly: true)
        add(property.archived.fields, to: &fields)
        if let request = property.fetchRequest {
            fields["NSFetchRequest"] = try fetchRequest(request).field
            fields["_NSFetchRequestEntityName"] = builder.string(request.entityName).field
        }
        builder.fill(reference, ClassName("NSFetchedPropertyDescription", "NSPropertyDescription"), fields)
    }

    /// Writes a fetch request, without its predicate if the text is no predicate.
    mutating func fetchRequest(_ request: FetchRequestDefinition) throws(MigrationError) -> Reference {
        guard let entity = model.entity(named: request.entityName) else {
            throw MigrationError(
                "model.unknownEntity", .configuration,
                "The fetch request \(request.name) is of the entity \(request.entityName), which does not exist")
        }
        var fields = Fields(uniqueKeysWithValues: FetchRequestFields.absent.map { ($0, Reference.null.field) })
        for zero in FetchRequestFields.zero { fields[zero] = .integer(0) }
        fields["NSFetchLimit"] = .integer(Int64(request.fetchLimit))
        fields["NSBatchSize"] = .integer(Int64(request.fetchBatchSize))
        fields["NSResultType"] = .integer(Int64(request.resultType))
        fields["NSPredicate"] = (predicate(request.predicate, request.archived.form) ?? .null).field
        fields["NSEntity"] = entities[entity.index].field
        fields["NSHasFetchRequestFlags"] = .boolean(true)
        fields["NSFetchRequestFlags"] = .integer(FetchRequestFields.flags(of: request))
        for (key, option) in request.archived.fields.sorted(by: { $0.key < $1.key }) {
            // Numbers are stored in the request itself.
            fields[key] = option.plainValue ?? graph(option).field
        }
        return builder.object(ClassName("NSFetchRequest", "NSPersistentStoreRequest"), fields)
    }
}
