import Diagnostics
import ManagedModel

/// Checks of key paths, step by step through the models.
extension ExpressionCheck {
    /// Returns the kind of the value at the end of a path.
    func follow(_ path: ArraySlice<String>, from start: ExpressionKind) throws(ProgramFault) -> ExpressionKind {
        var current = start
        var rest = path
        var attribute: String?
        while let name = rest.popFirst() {
            if name == "self", !current.hasProperty("self") { continue }
            switch current {
            case .unknown: return .unknown
            case .service(let object, let way):
                current = try property(name, of: object, way)
                attribute = nil
            case .dictionary(let value):
                current = name == "@count" ? .value(.integer) : value
                attribute = nil
            case .composite(let composite, let entity):
                current = name == "@count" ? .value(.integer) : try element(name, of: composite, entity)
                attribute = nil
            case .null: return .null
            case .either(let first, let second):
                return .either(
                    try follow([name] + rest, from: first), try follow([name] + rest, from: second))
            case .collection(let element, let isOrdered):
                if name.hasPrefix("@") { return try apply(name, rest, to: element) }
                let next = try follow([name], from: element)
                current = .collection(next.element, isOrdered: isOrdered && !next.isCollection)
            case .value(.transformable): return .unknown
            case .object, .value:
                if name.hasPrefix("@") {
                    try mistyped("\(name) takes a collection, not \(current.label)", at: name)
                    return .unknown
                }
                if case .object(let side, let entity) = current {
                    current = try property(name, side, entity)
                    attribute = name
                    continue
                }
                guard case .value(let type) = current else { continue }
                // Key-value coding calls a method with the key's name.
                guard let signature = ExpressionMessages.signature(name, of: type), signature.arguments.isEmpty else {
                    let subject = attribute.map { "\($0) is an attribute" } ?? "this is a value"
                    throw ProgramFault(
                        "mapping.unknownKeyPath", "\(subject) of type \(type.label) and has no property '\(name)'",
                        at: name)
                }
                current = signature.result
                attribute = nil
            }
        }
        return current
    }

    /// Returns the kind of the value that a key of an object other than a managed object gives.
    private func property(
        _ name: String, of object: KnownObject, _ way: String
    ) throws(ProgramFault) -> ExpressionKind {
        if let key = object.key(name) { return key.kind }
        if object.isOpen { return .unknown }
        throw ProgramFault(
            "mapping.unknownKeyPath", "\(way) has no property \(name)", at: ".\(name)",
            remedy: EditDistance.remedy(for: name, among: object.keyNames))
    }

    /// An element of a composite attribute.
    private func element(
        _ name: String, of composite: CompositeDescription, _ entity: EntityDescription
    ) throws(ProgramFault) -> ExpressionKind {
        let path = "\(composite.path).\(name)"
        if let attribute = entity.attribute(named: path) {
            return ExpressionType(attribute.attributeType).map(ExpressionKind.value) ?? .unknown
        }
        if let inner = entity.composite(named: path) { return .composite(inner, entity) }
        throw ProgramFault(
            "mapping.unknownKeyPath", "The composite \(entity).\(composite.path) has no element \(name)", at: name,
            remedy: EditDistance.remedy(for: name, among: composite.elements.map(\.name)))
    }

    private func property(
        _ name: String, _ side: ExpressionKind.Side, _ entity: EntityDescription?
    ) throws(ProgramFault) -> ExpressionKind {
        guard let entity else { return .unknown }
        if let attribute = entity.attribute(named: name) {
            return ExpressionType(attribute.attributeType).map(ExpressionKind.value) ?? .unknown
        }
        if let composite = entity.composite(named: name) { return .composite(composite, entity) }
        if let relationship = entity.relationship(named: name) {
            let object = ExpressionKind.object(side, relationship.destination)
            return relationship.isToMany ? .collection(object, isOrdered: relationship.isOrdered) : object
        }
        if let kind = KnownObject.objectKeys[name] { return kind }
        // Objects of subentities have their own attributes too.
        let isBelow = entity.withDescendants.contains { $0.hasProperty(named: name) }
        if isBelow || entity.definition.fetchedProperties.contains(where: { $0.name == name }) { return .unknown }
        throw ProgramFault(
            "mapping.unknownKeyPath", "The \(side.rawValue) entity \(entity) has no property \(name)", at: name,
            remedy: EditDistance.remedy(for: name, among: entity.declaredPropertyNames))
    }

    /// Checks a collection operator. The rest of the path belongs to the operator.
    private func apply(
        _ sign: String, _ rest: ArraySlice<String>, to element: ExpressionKind
    ) throws(ProgramFault) -> ExpressionKind {
        let hasMore = rest.contains { $0.hasPrefix("@") }
        switch sign {
        case "@count":
            if let next = rest.first {
                try mistyped("nothing can follow @count in a key path", at: next)
            }
            return .value(.integer)
        case "@sum", "@avg", "@min", "@max":
            let operand = hasMore ? .unknown : try follow(rest, from: element).element
            if case .object = operand {
                try mistyped(
                    "objects have no \(sign)", at: sign,
                    remedy: "Name an attribute of theirs behind it: \(sign).<attribute>")
                return .unknown
            }
            if sign == "@min" || sign == "@max" { return operand }
            if !operand.mayBeNumber { try mistyped("\(sign) does not take \(operand.label)", at: sign) }
            return .value(.real)
        case "@unionOfObjects", "@distinctUnionOfObjects", "@unionOfArrays", "@distinctUnionOfArrays",
            "@unionOfSets", "@distinctUnionOfSets":
            if hasMore { return .unknown }
            let isSet = sign.hasSuffix("Sets")
            return .collection(try follow(rest, from: element).element, isOrdered: !isSet)
        default:
            throw ProgramFault(
                "expression.type", "the collection operator \(sign) is unknown", at: sign,
                remedy:
                    "The operators are @count, @sum, @avg, @min, @max, @unionOfObjects, @distinctUnionOfObjects, @unionOfArrays, @distinctUnionOfArrays, @unionOfSets and @distinctUnionOfSets"
            )
        }
    }
}
