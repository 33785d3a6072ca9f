/// Computes the hashes of single properties, which enter their entity's hash.
extension VersionHash {
    /// Returns the hash of an attribute: H( base ‖ type ‖ 01 for external storage ‖ 01 for preserving after deletion ).
    ///
    /// The hash of a derived attribute covers only the text of its expression, that of a composite attribute only its elements'
    /// hashes by name. Neither its own name nor its flags enter (SampleModel2 and eleven composites of five SwiftData stores).
    ///
    /// - Parameters:
    ///   - composites: the composites of the model, by name.
    ///   - isFlat: true if the elements of composites in composites are hashed as one list, as SwiftData's are.
    /// - Returns: unknown for a derivation in a form that no file shows, for composites in composites of a model that is not
    ///   SwiftData's, for a hash modifier on either, and for an object ID.
    package static func hash(
        of attribute: AttributeDefinition, composites: [String: [AttributeDefinition]] = [:], isFlat: Bool = false
    ) -> EntityVersionHash {
        if let expression = attribute.derivationExpression {
            guard attribute.versionHashModifier?.isEmpty ?? true, let text = derivationText(expression) else {
                return .unknown(
                    reason: "is derived by \(expression), and how Core Data hashes that derivation is not known")
            }
            return .known(SHA256.hash(Array(text.utf8)))
        }
        if attribute.type == .composite { return hash(ofComposite: attribute, composites, isFlat) }
        if attribute.type == .objectID {
            return .unknown(reason: "is an object ID, and how Core Data hashes object IDs is not known")
        }
        var bytes = base(of: attribute, isOptional: attribute.isOptional, isTransient: attribute.isTransient)
        bytes += littleEndian(attribute.type.rawValue)
        if attribute.allowsExternalBinaryDataStorage { bytes.append(1) }
        if attribute.preservesValueInHistoryOnDeletion { bytes.append(1) }
        return .known(SHA256.hash(bytes))
    }

    private static func hash(
        ofComposite attribute: AttributeDefinition, _ composites: [String: [AttributeDefinition]], _ isFlat: Bool
    ) -> EntityVersionHash {
        let declared = attribute.compositeName.flatMap { composites[$0] }
        guard let elements = isFlat ? declared.map({ leaves(of: $0, composites) }) : declared,
            attribute.versionHashModifier?.isEmpty ?? true, !elements.contains(where: { $0.type == .composite })
        else {
            return .unknown(reason: "is composite, of a kind that Core Data hashes in a way that is not known")
        }
        var bytes: [UInt8] = []
        for element in elements.sorted(by: { ModelResolution.precedes($0.name, $1.name) }) {
            switch hash(of: element) {
            case .known(let hash): bytes += hash
            case .unknown(let reason): return .unknown(reason: "has the element \(element.name), which \(reason)")
            }
        }
        return .known(SHA256.hash(bytes))
    }

    /// Returns the elements with those of composites in them in their places. Composites of a checked model do not hold
    /// themselves.
    private static func leaves(
        of elements: [AttributeDefinition], _ composites: [String: [AttributeDefinition]]
    ) -> [AttributeDefinition] {
        elements.flatMap { element in
            guard element.type == .composite, let name = element.compositeName, let inner = composites[name] else {
                return [element]
            }
            return leaves(of: inner, composites)
        }
    }

    /// Returns the text of a derivation that enters its hash: a count as the function in archives, `count:(pages)`;
    /// `canonical:(name)`, `now()` and key paths unchanged; nil for a form that no file shows.
    private static func derivationText(_ expression: String) -> String? {
        let text = expression.filter { !$0.isWhitespace }
        func isKeyPath(_ text: some StringProtocol) -> Bool {
            !text.isEmpty && text.allSatisfy { $0.isLetter || $0.isNumber || $0 == "_" || $0 == "." }
        }
        if text == "now()" || isKeyPath(text) { return text }
        if text.hasSuffix(".@count"), isKeyPath(text.dropLast(7)) { return "count:(\(text.dropLast(7)))" }
        for name in ["count:(", "canonical:("] where text.hasPrefix(name) && text.hasSuffix(")") {
            if isKeyPath(text.dropFirst(name.count).dropLast()) { return text }
        }
        return nil
    }

    /// Returns the hash of a relationship: H( base ‖ destination ‖ inverse ‖ maximum count ‖ minimum count ‖ 01 00 if ordered
    /// ). The inverse's name is left out if the relationship is its own inverse.
    package static func hash(of relationship: RelationshipDescription) -> EntityVersionHash {
        let definition = relationship.definition
        let isOwnInverse = relationship.inverseRelationship == relationship
        var bytes = base(of: definition, isOptional: definition.isOptional, isTransient: definition.isTransient)
        bytes += definition.destinationEntityName.utf8
        bytes += (isOwnInverse ? "" : definition.inverseName ?? "").utf8
        bytes += littleEndian(UInt32(truncatingIfNeeded: definition.maximumCount))
        bytes += littleEndian(UInt32(truncatingIfNeeded: definition.minimumCount))
        if definition.isOrdered { bytes += [1, 0] }
        return .known(SHA256.hash(bytes))
    }

    /// Returns H( name ‖ flags ‖ 00 ‖ modifier ); flags: optional 1, transient 2.
    private static func base(of definition: some NamedDefinition, isOptional: Bool, isTransient: Bool) -> [UInt8] {
        let flags: [UInt8] = [(isOptional ? 1 : 0) | (isTransient ? 2 : 0), 0]
        return SHA256.hash(definition.name.utf8 + flags + (definition.versionHashModifier ?? "").utf8)
    }

    private static func littleEndian(_ value: UInt32) -> [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: value >> UInt32($0 * 8)) }
    }
}
