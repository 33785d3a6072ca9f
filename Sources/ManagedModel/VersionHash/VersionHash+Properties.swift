/// Hashes of single properties, which enter their entity's hash.
extension VersionHash {
    /// The hash of an attribute: H( base ‖ type ‖ 01 for external storage ‖ 01 for preserving after deletion ).
    ///
    /// - Returns: Unknown for a derived or composite attribute, and for an object ID: no file shows how Core Data
    ///   hashes them.
    package static func hash(of attribute: AttributeDefinition) -> EntityVersionHash {
        if attribute.derivationExpression != nil {
            return .unknown(reason: "is derived, and how Core Data hashes derived attributes is not known")
        }
        if attribute.type == .composite {
            return .unknown(reason: "is composite, and how Core Data hashes composite attributes is not known")
        }
        if attribute.type == .objectID {
            return .unknown(reason: "is an object ID, and how Core Data hashes object IDs is not known")
        }
        var function = SHA256()
        function.update(
            base(
                attribute.name, isOptional: attribute.isOptional, isTransient: attribute.isTransient,
                modifier: attribute.versionHashModifier))
        function.update(littleEndian(attribute.type.rawValue))
        if attribute.allowsExternalBinaryDataStorage { function.update([1]) }
        if attribute.preservesValueInHistoryOnDeletion { function.update([1]) }
        return .known(function.finalize())
    }

    /// The hash of a relationship: H( base ‖ destination ‖ inverse ‖ greatest count ‖ least count ‖ 01 00 where
    /// ordered ). The inverse's name is left out where the relationship is its own inverse.
    package static func hash(of relationship: RelationshipDescription) -> EntityVersionHash {
        let definition = relationship.definition
        let isOwnInverse = relationship.inverseRelationship == relationship
        return .known(hash(of: definition, inverseName: isOwnInverse ? nil : definition.inverseName))
    }

    private static func hash(of definition: RelationshipDefinition, inverseName: String?) -> [UInt8] {
        var function = SHA256()
        function.update(
            base(
                definition.name, isOptional: definition.isOptional, isTransient: definition.isTransient,
                modifier: definition.versionHashModifier))
        function.update(definition.destinationEntityName)
        function.update(inverseName ?? "")
        function.update(littleEndian(UInt32(truncatingIfNeeded: definition.maximumCount)))
        function.update(littleEndian(UInt32(truncatingIfNeeded: definition.minimumCount)))
        if definition.isOrdered { function.update([1, 0]) }
        return function.finalize()
    }

    /// H( name ‖ flags ‖ 00 ‖ modifier ); flags: optional 1, transient 2.
    private static func base(_ name: String, isOptional: Bool, isTransient: Bool, modifier: String?) -> [UInt8] {
        var function = SHA256()
        function.update(name)
        function.update([(isOptional ? 1 : 0) | (isTransient ? 2 : 0), 0])
        function.update(modifier ?? "")
        return function.finalize()
    }

    private static func littleEndian(_ value: UInt32) -> [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: value >> UInt32($0 * 8)) }
    }
}
