import Diagnostics

/// The selectors of `FUNCTION(value, 'selector:', …)` that values answer, and the check of them before anything runs.
package enum MessageSelectors {
    /// Of texts, numbers, dates, URLs, collections and dictionaries, and of every object.
    static let known: Set<String> = [
        "substringFromIndex:", "substringToIndex:", "characterAtIndex:", "stringByTrimmingCharactersInSet:", "isEqual:",
        "isEqualTo:", "stringByAppendingString:", "stringByReplacingOccurrencesOfString:withString:",
        "componentsSeparatedByString:", "hasPrefix:", "hasSuffix:", "containsString:", "isEqualToString:", "compare:",
        "caseInsensitiveCompare:", "stringByAppendingPathComponent:", "stringByAppendingPathExtension:",
        "decimalNumberByAdding:",
        "decimalNumberBySubtracting:", "decimalNumberByMultiplyingBy:", "decimalNumberByDividingBy:",
        "isEqualToNumber:", "dateByAddingTimeInterval:", "addTimeInterval:", "timeIntervalSinceDate:",
        "isEqualToDate:", "earlierDate:", "laterDate:", "objectAtIndex:", "containsObject:", "indexOfObject:",
        "componentsJoinedByString:", "objectForKey:", "valueForKey:", "valueForKeyPath:",
    ]

    /// The first call of a selector with arguments that no value answers, in reading order; nil where there is none.
    /// Calls on `$manager` and `$entityPolicy` are the business of whoever knows their functions.
    ///
    /// - Complexity: O(nodes).
    package static func firstUnknown(in expression: ValueExpression) -> String? {
        var pending: [SyntaxNode] = [.expression(expression.node)]
        while let next = pending.popLast() {
            if case .expression(.function(let target?, let selector, _)) = next, selector.contains(":"),
                target != .variable("manager"), target != .variable("entityPolicy"), !known.contains(selector)
            {
                return selector
            }
            pending.append(contentsOf: next.children.reversed())
        }
        return nil
    }
}
