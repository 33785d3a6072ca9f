import ManagedModel

/// Pairs the properties of two versions of an entity: first whole composite attributes, as ``CounterpartMatching`` does, then
/// by the same rule the elements of each pair of composites, and so on inward.
enum CompositePairing {
    /// A property of the destination and its counterpart in the source.
    struct Pair {
        /// The property of the destination; never a composite.
        let new: StoredProperty
        /// The counterpart; nil if the property is new. In two cases the counterpart cannot be mapped to the property. Either it is
        /// a composite, which the property never is. Or the property is inside a composite that was matched with an attribute or a
        /// relationship; then this is that attribute or relationship.
        let old: StoredProperty?
        /// The nearest composite around the element that may be nil as a whole, and its counterpart; nil if there is none.
        let optional: (new: CompositeDescription, old: CompositeDescription)?
        /// The name of the property that was matched: the property itself, or the composite around it if that has no composite
        /// as its counterpart.
        let matched: String
        /// True if the composite around the property was matched, instead of the property itself.
        var isPart: Bool { matched != new.name }
    }

    static func pairs(
        _ new: [StoredProperty], _ old: [StoredProperty],
        optional: (new: CompositeDescription, old: CompositeDescription)? = nil
    ) -> [Pair] {
        let counterparts = CounterpartMatching.match(
            destinations: new.map(\.renamable), sources: old.map(\.renamable))
        return zip(new, counterparts).flatMap { property, index -> [Pair] in
            let counterpart = index.map { old[$0] }
            guard case .composite(_, let composite) = property else {
                return [Pair(new: property, old: counterpart, optional: optional, matched: property.name)]
            }
            guard let counterpart, case .composite(_, let before) = counterpart else {
                return property.attributes.map {
                    Pair(new: $0, old: counterpart, optional: optional, matched: composite.path)
                }
            }
            return pairs(
                property.elements, counterpart.elements,
                optional: composite.definition.isOptional ? (composite, before) : optional)
        }
    }
}

extension CompositePairing.Pair {
    /// Returns the expression of an element whose default must not turn a nil composite into a value: of a new element in an
    /// existing composite, or of an element that was optional and is required now.
    ///
    /// - Parameters:
    ///   - expression: copies the counterpart; nil for a new element.
    ///   - counterpart: the source attribute.
    /// - Returns: nil if nothing has to be filled in, or the default has no literal.
    func filling(_ expression: ValueExpression?, from counterpart: StoredProperty? = nil) -> ValueExpression? {
        guard let optional, case .attribute(let attribute) = new, !optional.old.attributes.isEmpty,
            let standard = attribute.definition.defaultValue.flatMap(ExpressionConstant.init(literal:))
        else { return nil }
        let filled: ExpressionNode
        if let expression {
            guard case .attribute(let before)? = counterpart, before.definition.isOptional,
                attribute.requiringComposite != nil, before.requiringComposite == nil
            else { return nil }
            filled = .ternary(.isNil(expression.node), .constant(standard), expression.node)
        } else {
            filled = .constant(standard)
        }
        let isNil = optional.old.attributes.map { PredicateNode.isNil(.source($0)) }
        return ValueExpression(
            node: .ternary(isNil.count == 1 ? isNil[0] : .and(isNil), .constant(.null), filled))
    }
}

extension ExpressionConstant {
    /// The literal of a default; nil for a type that no literal writes.
    fileprivate init?(literal value: AttributeValue) {
        switch value {
        case .boolean(let flag): self = .boolean(flag)
        case .integer(let number): self = .integer(number)
        case .double(let number): self = .double(number)
        case .decimal(let number): self = .decimal(number)
        case .string(let text): self = .string(text)
        case .date(let seconds): self = .date(seconds)
        case .data(let bytes): self = .data(bytes)
        case .uuid, .uri: return nil
        }
    }
}
