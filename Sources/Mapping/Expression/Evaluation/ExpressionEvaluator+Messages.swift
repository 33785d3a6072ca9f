import Foundation

/// Evaluates `FUNCTION(target, 'selector:', …)`: functions of managers and policies, and the messages of Foundation's values
/// that mapping models use.
extension ExpressionEvaluator {
    /// The greatest length in bytes of a text made by an expression.
    static let maximumTextLength = 1 << 28

    func message(
        _ selector: String, to target: EvaluatedValue, _ nodes: [ExpressionNode]
    ) throws -> EvaluatedValue {
        let arguments = try nodes.map { try evaluate($0) }
        // The evaluator itself follows a path, also from the manager, because its properties lead to other objects.
        let isPath = selector == "valueForKey:" || selector == "valueForKeyPath:"
        if !isPath, case .object(let object) = target, let functions = object as? any ExpressionFunctions,
            functions.knows(selector: selector)
        {
            return EvaluatedValue(try functions.call(selector: selector, arguments: arguments.map(\.object)))
        }
        switch (selector, arguments.count) {
        case ("valueForKey:", 1):
            guard let key = try arguments[0].argumentText(selector) else { return .null }
            return try value(forKey: key, of: target).transformed()
        case ("valueForKeyPath:", 1):
            guard let path = try arguments[0].argumentText(selector) else { return .null }
            return try value(
                at: path.split(separator: ".", omittingEmptySubsequences: false).map(String.init)[...], from: target
            ).transformed()
        case ("self", 0): return target
        case ("isEqual:", 1), ("isEqualTo:", 1): return .boolean(!target.isNull && target == arguments[0])
        default: break
        }
        // A message to nil is nil.
        if target.isNull { return .null }
        if let value = try Self.message(selector, to: target, arguments) { return value }
        if case .object = target, arguments.isEmpty, !selector.contains(":") {
            return try value(forKey: selector, of: target).transformed()
        }
        throw ProgramFault.unsupported("a value of type \(target.label) has no selector '\(selector)'")
    }

    /// Evaluates a function of this program's own: a conversion, or a lookup that the manager performs.
    func conversion(_ selector: String, _ nodes: [ExpressionNode]) throws -> EvaluatedValue {
        if LookupSelector.ofForEach.contains(selector) {
            return try message(selector, to: evaluate(.variable("manager")), nodes)
        }
        guard let function = ConversionFunction.all[selector], function.arguments.count == nodes.count else {
            throw ProgramFault.unsupported("$\(ConversionFunction.variable) has no function '\(selector)'")
        }
        var values: [EvaluatedValue] = []
        for (node, wanted) in zip(nodes, function.arguments) {
            var value = try evaluate(node)
            if wanted == .decimal, value.isNumber { value = try value.cast(to: "NSDecimalNumber") }
            guard value.isNull || value.scalarType == wanted else { throw Self.misfit(selector, value) }
            values.append(value)
        }
        return try function(values)
    }

    /// Returns the answer to a message of a value that is not nil; nil if the message is unknown.
    static func message(
        _ selector: String, to target: EvaluatedValue, _ arguments: [EvaluatedValue]
    ) throws -> EvaluatedValue? {
        guard selector.utf8.count(where: { $0 == UInt8(ascii: ":") }) == arguments.count else { return nil }
        switch target {
        case .text(let text): return try TextMessages.table.answer(selector, text, arguments)
        case .boolean, .integer, .float, .real, .decimal:
            return try ExpressionMessages.numbers.answer(selector, target, arguments)
        case .date(let seconds): return try ExpressionMessages.dates.answer(selector, seconds, arguments)
        case .uuid(let uuid): return selector == "UUIDString" ? .text(uuid.uuidString) : nil
        case .url(let url): return try ExpressionMessages.addresses.answer(selector, url, arguments)
        case .data(let data): return selector == "length" ? .integer(Int64(data.count)) : nil
        case .collection(let collection): return try collectionAnswer(selector, collection, arguments)
        case .dictionary(let dictionary): return try dictionaryAnswer(selector, dictionary, arguments)
        case .null, .object: return nil
        }
    }

    private static func collectionAnswer(
        _ selector: String, _ collection: EvaluatedCollection, _ arguments: [EvaluatedValue]
    ) throws -> EvaluatedValue? {
        let value = EvaluatedValue.collection(collection)
        switch selector {
        case "count": return .integer(Int64(collection.count))
        case "objectAtIndex:": return try value.element(at: arguments[0])
        case "firstObject": return try value.ordered(for: selector).first ?? .null
        case "lastObject": return try value.ordered(for: selector).last ?? .null
        case "anyObject": return collection.members.first ?? .null
        case "allObjects", "array":
            return .collection(try EvaluatedCollection(collection.members, .array))
        case "set": return .collection(try EvaluatedCollection(collection.members, .set))
        case "containsObject:": return .boolean(collection.contains(arguments[0], TextFolding([])))
        case "indexOfObject:":
            return (try value.ordered(for: selector)).firstIndex(of: arguments[0]).map { .integer(Int64($0)) }
                ?? .integer(Int64.max)
        case "componentsJoinedByString:":
            guard let separator = try arguments[0].argumentText(selector) else { return .null }
            var parts: [String] = []
            for member in try value.ordered(for: selector) {
                guard case .text(let part) = try member.cast(to: "NSString") else { throw misfit(selector, member) }
                parts.append(part)
            }
            return .text(try TextMessages.joined(parts, separator))
        default: return nil
        }
    }

    private static func dictionaryAnswer(
        _ selector: String, _ dictionary: EvaluatedDictionary, _ arguments: [EvaluatedValue]
    ) throws -> EvaluatedValue? {
        switch selector {
        case "count": return .integer(Int64(dictionary.count))
        case "description": return .text("\(dictionary.object)")
        case "objectForKey:": return try EvaluatedValue.dictionary(dictionary).element(at: arguments[0])
        case "allValues": return .collection(try EvaluatedCollection(dictionary.values, .array))
        default: return nil
        }
    }

    static func misfit(_ selector: String, _ value: EvaluatedValue) -> ProgramFault {
        .type(
            "'\(selector)' does not take a value of type \(value.label)",
            remedy: value.isNumber ? "Values are not formatted silently: use CAST(…, 'NSString')" : nil)
    }
}

extension EvaluatedValue {
    /// Returns the text that a message takes as its argument; nil for nil.
    func argumentText(_ selector: String) throws(ProgramFault) -> String? {
        switch self {
        case .null: return nil
        case .text(let text): return text
        default: throw ExpressionEvaluator.misfit(selector, self)
        }
    }

    /// Returns the date that a message takes as its argument, in seconds since 2001.
    func argumentDate(_ selector: String) throws(ProgramFault) -> Double {
        guard case .date(let seconds) = self else { throw ExpressionEvaluator.misfit(selector, self) }
        return seconds
    }
}
