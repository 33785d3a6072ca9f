import Foundation
import ManagedModel

/// The messages of Foundation's values, by the type of the receiver.
enum ExpressionMessages {
    enum ArgumentKind: String {
        case text = "a String"
        case number = "a number"
        case place = "a whole number"
        case date = "a Date"

        func admits(_ kind: ExpressionKind) -> Bool {
            switch self {
            case .text: kind.mayBeText
            case .number: kind.mayBeNumber
            case .place: kind.isAlwaysValue { $0 == .integer }
            case .date: kind.isAlwaysValue { $0 == .date }
            }
        }
    }

    /// Returns the arguments and the result of a message to values of a type, nil for any argument; nil if they do not know it.
    static func signature(
        _ selector: String, of type: ExpressionType
    ) -> (arguments: [ArgumentKind?], result: ExpressionKind)? {
        switch selector {
        case "self": return ([], .value(type))
        case "isEqual:", "isEqualTo:": return ([nil], .value(.boolean))
        default: break
        }
        switch type {
        case .text: return TextMessages.table.signature(selector)
        case .boolean, .integer, .float, .real, .decimal: return numbers.signature(selector)
        case .date: return dates.signature(selector)
        case .uri: return addresses.signature(selector)
        case .uuid: return selector == "UUIDString" ? ([], .value(.text)) : nil
        case .data: return selector == "length" ? ([], .value(.integer)) : nil
        case .null, .transformable, .reference: return nil
        }
    }

    /// Returns the selectors that values of a type respond to.
    static func selectors(of type: ExpressionType) -> [String] {
        switch type {
        case .text: TextMessages.table.selectors
        case .boolean, .integer, .float, .real, .decimal: numbers.selectors
        case .date: dates.selectors
        case .uri: addresses.selectors
        case .uuid: ["UUIDString"]
        case .data: ["length"]
        case .null, .transformable, .reference: []
        }
    }

    /// The selectors that a collection responds to.
    static let collectionSelectors = [
        "self", "isEqual:", "isEqualTo:", "count", "objectAtIndex:", "firstObject", "lastObject", "anyObject",
        "allObjects", "array", "set", "containsObject:", "indexOfObject:", "componentsJoinedByString:",
    ]

    /// Tells whether values of some type respond to a message.
    static func isMessage(_ selector: String) -> Bool {
        ["valueForKey:", "valueForKeyPath:", "UUIDString", "objectForKey:", "allValues"].contains(selector)
            || collectionSelectors.contains(selector) || TextMessages.table.signature(selector) != nil
            || numbers.signature(selector) != nil || dates.signature(selector) != nil
            || addresses.signature(selector) != nil
    }

    /// The messages of NSNumber and NSDecimalNumber.
    static let numbers = MessageTable<EvaluatedValue> { table in
        table.add("intValue", gives: .integer) { try $0.cast(to: "int32") }
        table.add(
            "integerValue", "longLongValue", "longValue", "shortValue", "unsignedIntegerValue", "unsignedIntValue",
            gives: .integer
        ) { try $0.cast(to: "integer") }
        table.add("doubleValue", gives: .real) { .real(try $0.finiteReal()) }
        table.add("floatValue", gives: .float) { .float(Float(try $0.finiteReal())) }
        table.add("boolValue", gives: .boolean) { .boolean($0.real != 0) }
        table.add("decimalValue", gives: .decimal) { try $0.cast(to: "NSDecimalNumber") }
        table.add("stringValue", "description", gives: .text) { try $0.cast(to: "NSString") }
        table.add("isEqualToNumber:", takes: [nil], gives: .boolean) { number, arguments, _ in
            .boolean(number == arguments[0])
        }
        table.add("compare:", takes: [.number], gives: .integer) { number, arguments, selector in
            if arguments[0].isNull { return .null }
            guard arguments[0].isNumber else { throw ExpressionEvaluator.misfit(selector, arguments[0]) }
            return .integer(Int64(ValueOrder.order(number, arguments[0]) ?? 0))
        }
        let signs: [(String, ArithmeticOperator)] = [
            ("decimalNumberByAdding:", .add), ("decimalNumberBySubtracting:", .subtract),
            ("decimalNumberByMultiplyingBy:", .multiply), ("decimalNumberByDividingBy:", .divide),
        ]
        for (selector, sign) in signs {
            table.add(selector, takes: [.number], gives: .real) { number, arguments, _ in
                try EvaluatedNumbers.apply(sign, number, arguments[0])
            }
        }
    }

    /// The messages of NSDate, to seconds since 2001.
    static let dates = MessageTable<Double> { table in
        table.add("timeIntervalSinceReferenceDate", gives: .real) { .real($0) }
        table.add("timeIntervalSince1970", gives: .real) { .real($0 + Date.timeIntervalBetween1970AndReferenceDate) }
        table.add("timeIntervalSinceNow", gives: .real) { .real($0 - EvaluationScope.time) }
        table.add("dateByAddingTimeInterval:", "addTimeInterval:", takes: [.number], gives: .date) {
            seconds, arguments, _ in try EvaluatedNumbers.apply(.add, .date(seconds), arguments[0])
        }
        table.add("timeIntervalSinceDate:", takes: [.date], gives: .real) { seconds, arguments, selector in
            arguments[0].isNull ? .null : .real(seconds - (try arguments[0].argumentDate(selector)))
        }
        table.add("isEqualToDate:", takes: [nil], gives: .boolean) { seconds, arguments, _ in
            .boolean(.date(seconds) == arguments[0])
        }
        table.add("earlierDate:", takes: [.date], gives: .date) { seconds, arguments, selector in
            .date(min(seconds, try arguments[0].argumentDate(selector)))
        }
        table.add("laterDate:", takes: [.date], gives: .date) { seconds, arguments, selector in
            .date(max(seconds, try arguments[0].argumentDate(selector)))
        }
        table.add("description", gives: .text) { .text(Date(timeIntervalSinceReferenceDate: $0).description) }
    }

    /// The messages of NSURL.
    static let addresses = MessageTable<URL> { table in
        table.add("absoluteString", "description", gives: .text) { .text($0.absoluteString) }
        table.add("path", gives: .text) { .text($0.path) }
        table.add("host", gives: .text) { EvaluatedValue($0.host) }
        table.add("scheme", gives: .text) { EvaluatedValue($0.scheme) }
        table.add("query", gives: .text) { EvaluatedValue($0.query) }
        table.add("fragment", gives: .text) { EvaluatedValue($0.fragment) }
        table.add("lastPathComponent", gives: .text) { .text($0.lastPathComponent) }
        table.add("pathExtension", gives: .text) { .text($0.pathExtension) }
    }
}

/// The messages to values of one type: what each takes and gives, and the answer.
struct MessageTable<Receiver>: Sendable {
    typealias Answer = @Sendable (Receiver, _ arguments: [EvaluatedValue], _ selector: String) throws -> EvaluatedValue

    private var messages:
        [String: (arguments: [ExpressionMessages.ArgumentKind?], result: ExpressionKind, answer: Answer)] =
            [:]

    init(_ fill: (inout MessageTable) -> Void) { fill(&self) }

    /// Adds messages with arguments; those that give a list give values of the type.
    mutating func add(
        _ selectors: String..., takes arguments: [ExpressionMessages.ArgumentKind?], gives type: ExpressionType,
        isList: Bool = false, _ answer: @escaping Answer
    ) {
        let result = isList ? ExpressionKind.collection(.value(type), isOrdered: true) : .value(type)
        for selector in selectors { messages[selector] = (arguments, result, answer) }
    }

    /// Adds messages without arguments.
    mutating func add(
        _ selectors: String..., gives type: ExpressionType,
        _ answer: @escaping @Sendable (Receiver) throws -> EvaluatedValue
    ) {
        for selector in selectors { messages[selector] = ([], .value(type), { value, _, _ in try answer(value) }) }
    }

    /// The selectors of the messages.
    var selectors: [String] { Array(messages.keys) }

    func signature(
        _ selector: String
    ) -> (arguments: [ExpressionMessages.ArgumentKind?], result: ExpressionKind)? {
        messages[selector].map { ($0.arguments, $0.result) }
    }

    /// Returns the answer of a value; nil if the message is unknown.
    func answer(_ selector: String, _ value: Receiver, _ arguments: [EvaluatedValue]) throws -> EvaluatedValue? {
        try messages[selector]?.answer(value, arguments, selector)
    }
}

extension AttributeType {
    /// Tells whether a key path may continue after a value of this type, as in key-value coding: with a message without
    /// arguments, or into the object in a transformable attribute. Only objects can then evaluate it.
    package func answers(to name: String) -> Bool {
        guard let type = ExpressionType(self) else { return false }
        return type == .transformable || ExpressionMessages.signature(name, of: type)?.arguments.isEmpty == true
    }
}
