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

    fileprivate mutating func add(number: Int?) { add(number == nil, number ?? 0) }

    fileprivate mutating func add(value: AttributeValue?) {
        switch value {
        case nil: bytes.append(0)
        case .boolean(let flag): add(kind: 1, flag)
        case .integer(let number): add(kind: 2, number)
        case .double(let number): add(kind: 3, number.bitPattern)
        case .decimal(let number): add(kind: 4, "\(number)")
        case .string(let text): add(kind: 5, text)
        case .date(let seconds): add(kind: 6, seconds.bitPattern)
        case .data(let data):
            add(kind: 7, data.count)
            bytes += data
        case .uuid(let uuid):
            bytes.append(8)
            withUnsafeBytes(of: uuid.uuid) { bytes += $0 }
        case .uri(let text): add(kind: 9, text)
        }
    }

    private mutating func add(kind: UInt8, _ content: some DigestPart) {
        bytes.append(kind)
        add(content)
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
    fileprivate func add(to digest: inout DefinitionDigest) {
        digest.add(utf8.count)
        digest.bytes += utf8
    }
}

extension Optional: DigestPart where Wrapped == String {
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

extension ModelDefinition: DigestPart {
    fileprivate func add(to digest: inout DefinitionDigest) {
        digest.add(entities, versionIdentifiers, configurations, composites, fetchRequests)
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
        digest.add(name, type.rawValue, isOptional, isTransient, isIndexed)
        for value in [defaultValue, minimum, maximum] { digest.add(value: value) }
        for length in [minimumLength, maximumLength] { digest.add(number: length) }
        digest.add(
            regularExpression, validationPredicates.map(\.format), validationWarnings, valueTransformerName,
            valueClassName, allowsExternalBinaryDataStorage, preservesValueInHistoryOnDeletion, derivationExpression,
            compositeName, renamingIdentifier, versionHashModifier)
        digest.add(number: usesScalarValueType.map { $0 ? 1 : 0 })
        digest.add(userInfo, archived)
    }
}

extension RelationshipDefinition: DigestPart {
    fileprivate func add(to digest: inout DefinitionDigest) {
        digest.add(
            name, destinationEntityName, inverseName, isOptional, isTransient, isToMany, isOrdered, minimumCount,
            maximumCount, deleteRule.rawValue, isIndexed, renamingIdentifier, versionHashModifier, userInfo, archived)
    }
}

extension FetchedPropertyDefinition: DigestPart {
    fileprivate func add(to digest: inout DefinitionDigest) {
        digest.add(
            name, isOptional, renamingIdentifier, versionHashModifier, fetchRequest.map { [$0] } ?? [], userInfo,
            archived)
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
        digest.add(userInfo, fields, flags, defaultValue.map { [$0] } ?? [])
    }
}

extension ArchivedGraph: DigestPart {
    fileprivate func add(to digest: inout DefinitionDigest) {
        let all = digestBytes
        digest.add(all.count)
        digest.bytes += all
    }
}

extension ManagedObjectModel {
    /// A digest of the whole model's content, including default values, rules and labels, which version hashes do not cover.
    ///
    /// - Complexity: O(model).
    package var definitionDigest: [UInt8] { DefinitionDigest.of(whole.definition) }
}
