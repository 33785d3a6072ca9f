import Diagnostics

/// The functions and messages that an evaluation knows. They serve to find unknown ones before any row is read.
package enum ExpressionSelectors {
    /// Tells whether a built-in function takes the given number of arguments.
    package static func isBuiltIn(_ selector: String, arguments: Int) -> Bool {
        let name = String(selector.prefix { $0 != ":" })
        if ExpressionEvaluator.isListFunction(name) {
            return selector == name + String(repeating: ":", count: arguments)
        }
        return builtIns.contains(selector) && selector.count(where: { $0 == ":" }) == arguments
    }

    private static let builtIns: Set<String> = [
        "abs:", "ceiling:", "floor:", "trunc:", "sqrt:", "ln:", "log:", "exp:", "negate:", "add:to:", "from:subtract:",
        "multiply:by:", "divide:by:", "modulus:by:", "raise:toPower:", "bitwiseAnd:with:", "bitwiseOr:with:",
        "bitwiseXor:with:", "leftshift:by:", "rightshift:by:", "onesComplement:", "now", "random", "random:",
        "randomn:", "uppercase:", "lowercase:", "canonical:", "length:", "noindex:", "first:", "last:", "size:",
        "distinct:",
        "objectFrom:withIndex:", "castObject:toType:",
    ]

    /// Tells whether values of some type respond to a message.
    package static func isMessage(_ selector: String) -> Bool { messages.contains(selector) }

    private static let messages: Set<String> = [
        // Everything.
        "valueForKey:", "valueForKeyPath:", "self", "isEqual:", "isEqualTo:", "description",
        // NSString.
        "stringByAppendingString:", "stringByReplacingOccurrencesOfString:withString:", "componentsSeparatedByString:",
        "hasPrefix:", "hasSuffix:", "containsString:", "isEqualToString:", "caseInsensitiveCompare:", "compare:",
        "stringByAppendingPathComponent:", "stringByAppendingPathExtension:", "substringFromIndex:",
        "substringToIndex:", "characterAtIndex:", "stringByTrimmingCharactersInSet:", "length", "uppercaseString",
        "localizedUppercaseString", "lowercaseString", "localizedLowercaseString", "capitalizedString",
        "localizedCapitalizedString", "copy", "mutableCopy", "intValue", "integerValue", "longLongValue",
        "doubleValue", "floatValue", "boolValue", "lastPathComponent", "pathExtension", "stringByDeletingPathExtension",
        "stringByDeletingLastPathComponent", "decomposedStringWithCanonicalMapping",
        "precomposedStringWithCanonicalMapping", "stringByRemovingPercentEncoding",
        // NSNumber and NSDecimalNumber.
        "longValue", "shortValue", "unsignedIntegerValue", "unsignedIntValue", "decimalValue", "stringValue",
        "isEqualToNumber:", "decimalNumberByAdding:", "decimalNumberBySubtracting:", "decimalNumberByMultiplyingBy:",
        "decimalNumberByDividingBy:",
        // NSDate, NSUUID, NSURL.
        "timeIntervalSinceReferenceDate", "timeIntervalSince1970", "timeIntervalSinceNow", "dateByAddingTimeInterval:",
        "addTimeInterval:", "timeIntervalSinceDate:", "isEqualToDate:", "earlierDate:", "laterDate:", "UUIDString",
        "absoluteString", "path", "host", "scheme", "query", "fragment",
        // Collections.
        "count", "objectAtIndex:", "firstObject", "lastObject", "anyObject", "allObjects", "array", "set",
        "containsObject:", "indexOfObject:", "componentsJoinedByString:", "objectForKey:", "allValues",
    ]
}

extension ValueExpression {
    /// Finds unknown functions and selectors, so that they are errors when a mapping model is loaded.
    ///
    /// - Parameters:
    ///   - knows: tells whether a variable's object (`manager`, `entityPolicy` …) has a selector. It is asked only for
    ///     selectors called on a variable itself, and before the messages of values.
    ///   - isProperty: tells whether a selector without arguments is the name of a property.
    /// - Throws: `expression.syntax` for a text that could not be parsed, `expression.unsupported`, `expression.type` for a
    ///   wrong number of arguments.
    /// - Complexity: O(nodes).
    package func checkCalls(
        knows: (_ variable: String, _ selector: String) -> Bool, isProperty: (String) -> Bool = { _ in false }
    ) throws(MigrationError) {
        try SyntaxNode.expression(node).checkCalls(text: format, knows: knows, isProperty: isProperty)
    }
}

extension SyntaxNode {
    fileprivate func checkCalls(
        text: String, knows: (String, String) -> Bool, isProperty: (String) -> Bool
    ) throws(MigrationError) {
        var waiting = [self]
        while let node = waiting.popLast() {
            waiting += node.children
            guard case .expression(let expression) = node else { continue }
            if case .opaque(let constant) = expression, let error = constant.failure { throw error }
            guard case .function(let target, let selector, let arguments) = expression else { continue }
            let fault: ProgramFault?
            switch target {
            case nil:
                fault =
                    ExpressionSelectors.isBuiltIn(selector, arguments: arguments.count)
                    ? nil : .unsupported("the function '\(selector)' with \(arguments.count) arguments is unknown")
            case .variable(let name)? where name != "source" && name != "destination" && knows(name, selector):
                fault = nil
            default:
                let isKnown =
                    ExpressionSelectors.isMessage(selector) || (arguments.isEmpty && isProperty(selector))
                fault =
                    isKnown ? nil : .unsupported("the selector '\(selector)' is unknown", remedy: Self.remedy(target))
                if isKnown, selector.count(where: { $0 == ":" }) != arguments.count {
                    throw ProgramFault.type("'\(selector)' does not take \(arguments.count) arguments")
                        .described(.configuration, in: .init(expression: ExpressionLexer.excerpt(text)))
                }
            }
            if let fault {
                throw fault.described(.configuration, in: .init(expression: ExpressionLexer.excerpt(text)))
            }
        }
    }

    private static func remedy(_ target: ExpressionNode?) -> String? {
        switch target {
        case .variable("entityPolicy"): "Register the selector with the migration policy"
        case .variable("manager"): "Register the selector with the migration manager"
        default: nil
        }
    }
}
