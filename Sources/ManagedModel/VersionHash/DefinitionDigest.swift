import Archives

import struct Foundation.Data
import struct Foundation.Decimal
import struct Foundation.UUID

/// A digest of the whole content of a model, including default values, rules and labels, which version hashes do not cover.
///
/// It shows if a run resumes with the same models, and is not in any store, because Core Data has no such digest.
struct DefinitionDigest {
    /// The bytes to hash. Every value is preceded by its length or its number of parts, so that no two models give the same
    /// bytes.
    private var bytes: [UInt8] = []

    /// - Complexity: O(model).
    static func of(_ model: ModelDefinition) -> [UInt8] {
        var digest = DefinitionDigest()
        digest.add(model)
        return SHA256.hash(digest.bytes)
    }

    // MARK: - Parts

    private mutating func add(_ model: ModelDefinition) {
        add(each: model.entities) { $0.add($1) }
        add(each: model.versionIdentifiers) { $0.add($1) }
        add(each: model.configurations.sorted { $0.key < $1.key }) { digest, configuration in
            digest.add(configuration.key)
            digest.add(each: configuration.value) { $0.add($1) }
        }
        add(each: model.composites.sorted { $0.key < $1.key }) { digest, composite in
            digest.add(composite.key)
            digest.add(each: composite.value) { $0.add($1) }
        }
        add(each: model.fetchRequests) { $0.add($1) }
    }

    private mutating func add(_ entity: EntityDefinition) {
        add(entity.name)
        add(entity.managedObjectClassName)
        add(entity.superentityName)
        add(entity.isAbstract)
        add(entity.renamingIdentifier)
        add(entity.versionHashModifier)
        add(each: entity.attributes) { $0.add($1) }
        add(each: entity.relationships) { $0.add($1) }
        add(each: entity.fetchedProperties) { $0.add($1) }
        for lists in [entity.uniquenessConstraints, entity.compoundIndexes] {
            add(each: lists) { digest, names in digest.add(each: names) { $0.add($1) } }
        }
        add(each: entity.indexes) { $0.add($1) }
        add(entity.userInfo)
        add(entity.archived)
    }

    private mutating func add(_ attribute: AttributeDefinition) {
        add(attribute.name)
        add(attribute.type.rawValue)
        add(attribute.isOptional)
        add(attribute.isTransient)
        add(attribute.isIndexed)
        for value in [attribute.defaultValue, attribute.minimum, attribute.maximum] { add(value) }
        for length in [attribute.minimumLength, attribute.maximumLength] { add(length) }
        add(attribute.regularExpression)
        add(each: attribute.validationPredicates) { $0.add($1.format) }
        add(each: attribute.validationWarnings) { $0.add($1) }
        add(attribute.valueTransformerName)
        add(attribute.valueClassName)
        add(attribute.allowsExternalBinaryDataStorage)
        add(attribute.preservesValueInHistoryOnDeletion)
        add(attribute.derivationExpression)
        add(attribute.compositeName)
        add(attribute.renamingIdentifier)
        add(attribute.versionHashModifier)
        add(attribute.usesScalarValueType.map { $0 ? 1 : 0 })
        add(attribute.userInfo)
        add(attribute.archived)
    }

    private mutating func add(_ relationship: RelationshipDefinition) {
        add(relationship.name)
        add(relationship.destinationEntityName)
        add(relationship.inverseName)
        add(relationship.isOptional)
        add(relationship.isTransient)
        add(relationship.isToMany)
        add(relationship.isOrdered)
        add(relationship.minimumCount)
        add(relationship.maximumCount)
        add(relationship.deleteRule.rawValue)
        add(relationship.isIndexed)
        add(relationship.renamingIdentifier)
        add(relationship.versionHashModifier)
        add(relationship.userInfo)
        add(relationship.archived)
    }

    private mutating func add(_ property: FetchedPropertyDefinition) {
        add(property.name)
        add(property.isOptional)
        add(property.renamingIdentifier)
        add(property.versionHashModifier)
        add(each: property.fetchRequest.map { [$0] } ?? []) { $0.add($1) }
        add(property.userInfo)
        add(property.archived)
    }

    private mutating func add(_ request: FetchRequestDefinition) {
        add(request.name)
        add(request.entityName)
        add(request.predicate)
        for number in [request.fetchLimit, request.fetchBatchSize, request.resultType] { add(number) }
        add(request.returnsDistinctResults)
        add(request.archived)
    }

    private mutating func add(_ index: FetchIndexDefinition) {
        add(index.name)
        add(each: index.elements) { digest, element in
            digest.add(element.propertyName)
            digest.add(element.expression)
            digest.add(element.isRTree)
            digest.add(element.isAscending)
            digest.add(element.archived)
        }
        add(index.partialIndexPredicate)
        add(index.archived)
    }

    private mutating func add(_ archived: ArchivedParts) {
        for graphs in [archived.userInfo, archived.fields] {
            add(each: graphs.sorted { $0.key < $1.key }) { digest, entry in
                digest.add(entry.key)
                digest.add(entry.value)
            }
        }
        add(archived.flags)
        add(each: archived.defaultValue.map { [$0] } ?? []) { $0.add($1) }
    }

    private mutating func add(_ graph: ArchivedGraph) {
        let all = graph.digestBytes
        add(all.count)
        bytes += all
    }

    // MARK: - Values

    private mutating func add<Element>(
        each elements: [Element], _ body: (inout DefinitionDigest, Element) -> Void
    ) {
        add(elements.count)
        for element in elements { body(&self, element) }
    }

    private mutating func add(_ number: some FixedWidthInteger) {
        withUnsafeBytes(of: UInt64(truncatingIfNeeded: number).littleEndian) { bytes += $0 }
    }

    private mutating func add(_ number: Int?) {
        add(number == nil)
        add(number ?? 0)
    }

    private mutating func add(_ flag: Bool) { bytes.append(flag ? 1 : 0) }

    private mutating func add(_ text: String) {
        add(text.utf8.count)
        bytes += text.utf8
    }

    private mutating func add(_ text: String?) {
        add(text == nil)
        if let text { add(text) }
    }

    private mutating func add(_ userInfo: [String: String]) {
        add(each: userInfo.sorted { $0.key < $1.key }) { digest, entry in
            digest.add(entry.key)
            digest.add(entry.value)
        }
    }

    private mutating func add(_ value: AttributeValue?) {
        func kind(_ number: UInt8) { bytes.append(number) }
        switch value {
        case nil: kind(0)
        case .boolean(let flag):
            kind(1)
            add(flag)
        case .integer(let number):
            kind(2)
            add(number)
        case .double(let number):
            kind(3)
            add(number.bitPattern)
        case .decimal(let number):
            kind(4)
            add("\(number)")
        case .string(let text):
            kind(5)
            add(text)
        case .date(let seconds):
            kind(6)
            add(seconds.bitPattern)
        case .data(let data):
            kind(7)
            add(data.count)
            bytes += data
        case .uuid(let uuid):
            kind(8)
            withUnsafeBytes(of: uuid.uuid) { bytes += $0 }
        case .uri(let text):
            kind(9)
            add(text)
        }
    }
}

extension ManagedObjectModel {
    /// A digest of the whole model's content, including default values, rules and labels, which version hashes do not cover.
    ///
    /// - Complexity: O(model).
    package var definitionDigest: [UInt8] { DefinitionDigest.of(whole.definition) }
}
