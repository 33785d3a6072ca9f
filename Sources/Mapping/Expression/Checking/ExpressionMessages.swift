import ManagedModel

/// The messages of Foundation's values and the kinds of their results, by the type of the receiver.
enum ExpressionMessages {
    /// The arguments and the result of a message.
    struct Signature {
        /// The required kind of each argument; nil for any.
        var arguments: [ArgumentKind?]
        var result: ExpressionKind
    }

    enum ArgumentKind: String {
        case text = "a String"
        case number = "a number"
        case place = "a number, a whole one,"
        case date = "a Date"

        func admits(_ kind: ExpressionKind) -> Bool {
            switch self {
            case .text: kind.mayBeText
            case .number: kind.mayBeNumber
            case .place: kind.isAlways { if case .value(.integer) = $0 { true } else { false } }
            case .date: kind.isAlways { if case .value(.date) = $0 { true } else { false } }
            }
        }
    }

    /// Returns the signature of a selector for values of a type; nil if they do not know it.
    static func signature(_ selector: String, of type: ExpressionType) -> Signature? {
        switch selector {
        case "self": return Signature(arguments: [], result: .value(type))
        case "isEqual:", "isEqualTo:": return Signature(arguments: [nil], result: .value(.boolean))
        default: break
        }
        switch type {
        case .text: return texts[selector]
        case .boolean, .integer, .float, .real, .decimal: return numbers[selector]
        case .date: return dates[selector]
        case .uri: return addresses.contains(selector) ? Signature(arguments: [], result: .value(.text)) : nil
        case .uuid: return selector == "UUIDString" ? Signature(arguments: [], result: .value(.text)) : nil
        case .data: return selector == "length" ? Signature(arguments: [], result: .value(.integer)) : nil
        case .null, .transformable, .reference: return nil
        }
    }

    /// Tells whether a key path may continue after a value of an attribute's type, as in key-value coding: with a message
    /// without arguments, or into the object in a transformable attribute.
    static func answers(_ type: AttributeType, to name: String) -> Bool {
        guard let type = ExpressionType(type) else { return false }
        return type == .transformable || signature(name, of: type)?.arguments.isEmpty == true
    }

    /// Tells whether a collection responds to a selector.
    static func isCollectionMessage(_ selector: String) -> Bool {
        [
            "self", "isEqual:", "isEqualTo:", "count", "objectAtIndex:", "firstObject", "lastObject", "anyObject",
            "allObjects", "array", "set", "containsObject:", "indexOfObject:", "componentsJoinedByString:",
        ].contains(selector)
    }

    /// Tells whether values of some type respond to a message.
    static func isMessage(_ selector: String) -> Bool {
        ["valueForKey:", "valueForKeyPath:", "UUIDString", "objectForKey:", "allValues"].contains(selector)
            || isCollectionMessage(selector) || addresses.contains(selector)
            || [texts, numbers, dates].contains { $0[selector] != nil }
    }

    private static let texts = table([
        (["length", "intValue", "integerValue", "longLongValue"], [], .value(.integer)),
        (["caseInsensitiveCompare:", "compare:"], [.text], .value(.integer)),
        (["characterAtIndex:"], [.place], .value(.integer)),
        (["doubleValue"], [], .value(.real)), (["floatValue"], [], .value(.float)),
        (["boolValue"], [], .value(.boolean)),
        (["hasPrefix:", "hasSuffix:", "containsString:", "isEqualToString:"], [.text], .value(.boolean)),
        (
            [
                "uppercaseString", "localizedUppercaseString", "lowercaseString", "localizedLowercaseString",
                "capitalizedString", "localizedCapitalizedString", "description", "copy", "mutableCopy",
                "lastPathComponent", "pathExtension", "stringByDeletingPathExtension",
                "stringByDeletingLastPathComponent", "decomposedStringWithCanonicalMapping",
                "precomposedStringWithCanonicalMapping", "stringByRemovingPercentEncoding",
            ], [], .value(.text)
        ),
        (
            ["stringByAppendingString:", "stringByAppendingPathComponent:", "stringByAppendingPathExtension:"], [.text],
            .value(.text)
        ),
        (["substringFromIndex:", "substringToIndex:"], [.place], .value(.text)),
        (["stringByReplacingOccurrencesOfString:withString:"], [.text, .text], .value(.text)),
        (["stringByTrimmingCharactersInSet:"], [nil], .value(.text)),
        (["componentsSeparatedByString:"], [.text], .collection(.value(.text), isOrdered: true)),
    ])

    private static let numbers = table([
        (
            [
                "intValue", "integerValue", "longLongValue", "longValue", "shortValue", "unsignedIntegerValue",
                "unsignedIntValue",
            ], [], .value(.integer)
        ),
        (["doubleValue"], [], .value(.real)), (["floatValue"], [], .value(.float)),
        (["boolValue"], [], .value(.boolean)),
        (["decimalValue"], [], .value(.decimal)), (["stringValue", "description"], [], .value(.text)),
        (["isEqualToNumber:"], [nil], .value(.boolean)), (["compare:"], [.number], .value(.integer)),
        (
            [
                "decimalNumberByAdding:", "decimalNumberBySubtracting:", "decimalNumberByMultiplyingBy:",
                "decimalNumberByDividingBy:",
            ], [.number], .value(.real)
        ),
    ])

    private static let dates = table([
        (
            ["timeIntervalSinceReferenceDate", "timeIntervalSince1970", "timeIntervalSinceNow"], [], .value(.real)
        ),
        (["dateByAddingTimeInterval:", "addTimeInterval:"], [.number], .value(.date)),
        (["timeIntervalSinceDate:"], [.date], .value(.real)), (["isEqualToDate:"], [nil], .value(.boolean)),
        (["earlierDate:", "laterDate:"], [.date], .value(.date)), (["description"], [], .value(.text)),
    ])

    private static let addresses: Set<String> = [
        "absoluteString", "description", "path", "host", "scheme", "query", "fragment", "lastPathComponent",
        "pathExtension",
    ]

    private static func table(_ rows: [([String], [ArgumentKind?], ExpressionKind)]) -> [String: Signature] {
        var signatures: [String: Signature] = [:]
        for (names, arguments, result) in rows {
            for name in names { signatures[name] = Signature(arguments: arguments, result: result) }
        }
        return signatures
    }
}

extension AttributeType {
    /// Tells whether a key path may continue after a value of this type. Only objects can then evaluate it.
    package func answers(to name: String) -> Bool { ExpressionMessages.answers(self, to: name) }
}
