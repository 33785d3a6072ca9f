import ManagedModel

/// Pairs the properties of two versions of an entity: composite attributes as ``CounterpartMatching`` says, then the elements
/// of a pair of composites by the same rule, and so on inward.
enum CompositePairing {
    /// A property of the destination and where it comes from.
    struct Pair {
        /// Never a composite.
        let new: StoredProperty
        /// Nil where the property is new. A composite, or an attribute beside an element of a composite, where the two do not
        /// fit.
        let old: StoredProperty?
        /// The nearest composite around the element that may be nil as a whole, and its counterpart.
        let optional: (new: CompositeDescription, old: CompositeDescription)?
        /// The property that was matched as a whole: the composite around an element that has no counterpart of its own.
        let matched: String
        /// True if the property was matched as a part of a composite that has no counterpart of its kind.
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
            guard let counterpart else {
                return property.attributes.map {
                    Pair(new: $0, old: nil, optional: optional, matched: composite.path)
                }
            }
            guard case .composite(_, let before) = counterpart else {
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
    /// The expression of an element whose default must not make a value of a composite that is nil: of an element that is new
    /// in a composite that was there, and of one that is now required where it was optional.
    ///
    /// - Parameters:
    ///   - expression: copies the counterpart; nil for a new element.
    ///   - counterpart: the source attribute.
    /// - Returns: nil where nothing has to be filled in, or the default has no literal.
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

extension PredicateNode {
    fileprivate static func isNil(_ node: ExpressionNode) -> PredicateNode {
        .comparison(modifier: .direct, node, .equal, .constant(.null), [])
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
