import Archives

/// A digest of the whole content of a model, including default values, rules and labels, which version hashes do not cover.
///
/// It shows if a run resumes with the same models, and is not in any store, because Core Data has no such digest.
struct DefinitionDigest {
    /// The bytes to hash. Every value is preceded by its length or its number of parts, so that no two models give the same
    /// bytes.
    fileprivate var bytes: [UInt8] = []

    /// - Complexity: O(model).
    static func of(_ model: ModelDefinition) -> [UInt8] {
        var digest = DefinitionDigest()
        digest.add(model)
        return SHA256.hash(digest.bytes)
    }

    fileprivate mutating func add<each Part: DigestPart>(_ parts: repeat each Part) {
        repeat (each parts).add(to: &self)
    }

    fileprivate mutating func add(_ content: some Collection<UInt8>) {
        add(content.count)
        bytes += content
    }
}

/// A part of a model that enters the digest.
private protocol DigestPart {
    func add(to digest: inout DefinitionDigest)
}

extension Bool: DigestPart {
    fileprivate func add(to digest: inout DefinitionDigest) { digest.bytes.append(self ? 1 : 0) }
}

extension FixedWidthInteger {
    fileprivate func add(to digest: inout DefinitionDigest) {
        withUnsafeBytes(of: UInt64(truncatingIfNeeded: self).littleEndian) { digest.bytes += $0 }
    }
}

extension Int: DigestPart {}
extension Int64: DigestPart {}
extension UInt32: DigestPart {}
extension UInt64: DigestPart {}

extension String: DigestPart {
    fileprivate func add(to digest: inout DefinitionDigest) { digest.add(utf8) }
}

extension Optional: DigestPart where Wrapped: DigestPart {
    fileprivate func add(to digest: inout DefinitionDigest) {
        digest.add(self == nil)
        if let self { digest.add(self) }
    }
}

extension Array: DigestPart where Element: DigestPart {
    fileprivate func add(to digest: inout DefinitionDigest) {
        digest.add(count)
        for element in self { digest.add(element) }
    }
}

extension Dictionary: DigestPart where Key == String, Value: DigestPart {
    fileprivate func add(to digest: inout DefinitionDigest) {
        digest.add(count)
        for (key, value) in sorted(by: { $0.key < $1.key }) { digest.add(key, value) }
    }
}

extension AttributeValue: DigestPart {
    fileprivate func add(to digest: inout DefinitionDigest) {
        switch self {
        case .boolean(let flag): digest.add(1, flag)
        case .integer(let number): digest.add(2, number)
        case .double(let number): digest.add(3, number.bitPattern)
        case .decimal(let number): digest.add(4, "\(number)")
        case .string(let text): digest.add(5, text)
        case .date(let seconds): digest.add(6, seconds.bitPattern)
        case .data(let data):
            digest.add(7)
            digest.add(data)
        case .uuid(let uuid): digest.add(8, uuid.uuidString)
        case .uri(let text): digest.add(9, text)
        }
    }
}

extension ModelDefinition: DigestPart {
    fileprivate func add(to digest: inout DefinitionDigest) {
        digest.add(
            entities, versionIdentifiers, configurations, composites, fetchRequests, hashesCompositesFlat)
    }
}

extension EntityDefinition: DigestPart {
    fileprivate func add(to digest: inout DefinitionDigest) {
        digest.add(
            name, managedObjectClassName, superentityName, isAbstract, renamingIdentifier, versionHashModifier,
            attributes, relationships, fetchedProperties, uniquenessConstraints, compoundIndexes, indexes, userInfo,
            archived)
    }
}

extension AttributeDefinition: DigestPart {
    fileprivate func add(to digest: inout DefinitionDigest) {
        digest.add(
            name, type.rawValue, isOptional, isTransient, isIndexed, defaultValue, minimum, maximum, minimumLength,
            maximumLength, regularExpression, validationPredicates.map(\.format), validationWarnings)
        digest.add(
            valueTransformerName, valueClassName, allowsExternalBinaryDataStorage, preservesValueInHistoryOnDeletion,
            derivationExpression, compositeName, renamingIdentifier, versionHashModifier, usesScalarValueType, userInfo,
            archived)
        digest.add(allowsCloudEncryption, isIndexedBySpotlight, isStoredInExternalRecord)
    }
}

extension RelationshipDefinition: DigestPart {
    fileprivate func add(to digest: inout DefinitionDigest) {
        digest.add(
            name, destinationEntityName, inverseName, isOptional, isTransient, isToMany, isOrdered, minimumCount,
            maximumCount, deleteRule.rawValue, isIndexed, renamingIdentifier, versionHashModifier, userInfo, archived)
        digest.add(isIndexedBySpotlight, isStoredInExternalRecord)
    }
}

extension FetchedPropertyDefinition: DigestPart {
    fileprivate func add(to digest: inout DefinitionDigest) {
        digest.add(
            name, isOptional, renamingIdentifier, versionHashModifier, fetchRequest, userInfo, archived)
    }
}

extension FetchRequestDefinition: DigestPart {
    fileprivate func add(to digest: inout DefinitionDigest) {
        digest.add(
            name, entityName, predicate, fetchLimit, fetchBatchSize, resultType, returnsDistinctResults, archived)
    }
}

extension FetchIndexDefinition: DigestPart {
    fileprivate func add(to digest: inout DefinitionDigest) {
        digest.add(name, elements, partialIndexPredicate, archived)
    }
}

extension FetchIndexElement: DigestPart {
    fileprivate func add(to digest: inout DefinitionDigest) {
        digest.add(propertyName, expression, isRTree, isAscending, archived)
    }
}

extension ArchivedParts: DigestPart {
    fileprivate func add(to digest: inout DefinitionDigest) {
        digest.add(userInfo, fields, flags, defaultValue)
    }
}

extension ArchivedGraph: DigestPart {
    fileprivate func add(to digest: inout DefinitionDigest) { digest.add(digestBytes) }
}

extension ManagedObjectModel {
    /// A digest of the whole model's content, including default values, rules and labels, which version hashes do not cover.
    ///
    /// - Complexity: O(model) for the first call.
    package var definitionDigest: [UInt8] {
        if let known = whole.computed.withLock({ $0.definitionDigest }) { return known }
        let digest = DefinitionDigest.of(whole.definition)
        whole.computed.withLock { $0.definitionDigest = digest }
        return digest
    }
}
