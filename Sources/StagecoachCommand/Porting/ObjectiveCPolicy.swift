/// A method of an Objective-C class.
struct ObjectiveCMethod {
    /// A message in a method's body.
    struct Message: Equatable {
        /// The receiver: a name, or the selector of the message whose result it is.
        let receiver: String
        let selector: String
    }

    let selector: String
    /// The result's type as it is written: `NSString*`.
    let result: String
    /// The name and the type of each parameter.
    let parameters: [(name: String, type: String)]
    let line: Int
    /// The messages of the body, in the order in which they are sent.
    let messages: [Message]

    /// The policy's method that Core Data calls by this selector; nil if it is another one.
    var policyMethod: PolicyMethod? { PolicyMethod.all.first { selector == $0.selector + "error:" } }
}

/// An Objective-C policy. No rule can port its code; a skeleton in Swift shows what there is to write.
struct ObjectiveCPolicy: Encodable {
    let className: String
    /// The superclass, if it is an Objective-C policy, too.
    let superclass: String?
    let file: String
    let line: Int
    let methods: [ObjectiveCMethod]
    /// The selectors of the superclasses' methods.
    let inherited: Set<String>
    /// The selectors that expressions of mapping models call; nil if no mapping model is known.
    let called: Set<String>?

    private enum Key: CodingKey { case className, file, line, methods, selectors, skeleton }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(className, forKey: .className)
        try container.encode(file, forKey: .file)
        try container.encode(line, forKey: .line)
        try container.encode(overridden.map(\.method.name), forKey: .methods)
        try container.encode(functions.map(\.selector), forKey: .selectors)
        try container.encode(skeleton, forKey: .skeleton)
    }

    /// The overridden methods, in the order in which Core Data calls them.
    var overridden: [(method: PolicyMethod, source: ObjectiveCMethod)] {
        PolicyMethod.all.compactMap { method in
            methods.first { $0.policyMethod?.name == method.name }.map { (method, $0) }
        }
    }

    /// The methods that expressions call; without mapping models those that they can call: with a result, and not the
    /// framework's.
    var functions: [ObjectiveCMethod] {
        methods.filter { method in
            if let called { return called.contains(method.selector) }
            return method.policyMethod == nil && method.result != "void" && !method.selector.hasPrefix("init")
        }
    }

    var registration: PolicyRegistration {
        PolicyRegistration(
            className: className, file: file, line: line,
            functions: functions.map { function in
                let labels = Self.labels(function.selector)
                let list = "(_:" + labels.dropFirst().map { $0 + ":" }.joined() + ")"
                return .init(
                    selector: function.selector,
                    method: "\(className).\(Self.escaped(labels[0]))\(function.parameters.isEmpty ? "" : list)",
                    line: function.line)
            })
    }

    // MARK: - Skeleton

    /// The class in Swift: its methods in the order of their calls, with the messages that each sends, and the functions of
    /// expressions. Each ends the process until it is written.
    var skeleton: String {
        var methods: [String] = []
        for (place, (method, source)) in overridden.enumerated() {
            methods.append(
                written(
                    source, as: method.name, "/// \(place + 1). Called \(method.call).",
                    "override \(method.declaration)", method))
        }
        for function in functions {
            let list = zip(Self.labels(function.selector), function.parameters).enumerated().map { place, pair in
                let label = place == 0 || pair.0.isEmpty ? "_" : pair.0
                return
                    "\(label == pair.1.name ? "" : label + " ")\(Self.escaped(pair.1.name)): \(Self.swiftType(pair.1.type))"
            }
            let name = Self.labels(function.selector)[0]
            methods.append(
                written(
                    function, as: name,
                    "/// `FUNCTION($entityPolicy, '\(function.selector)'\(function.parameters.isEmpty ? "" : ", …"))`",
                    "\(inherited.contains(function.selector) ? "override " : "")func \(Self.escaped(name))(\(list.joined(separator: ", "))) -> \(Self.swiftType(function.result))"
                ))
        }
        return "import Stagecoach\n\n/// \(className) of \(file), to be written in Swift.\n"
            + "class \(className): \(superclass ?? "NSEntityMigrationPolicy") {\n" + methods.joined(separator: "\n")
            + "}\n"
    }

    /// Returns a method of the skeleton: its comment and head, the messages that it sends, and the end of the process.
    private func written(
        _ source: ObjectiveCMethod, as name: String, _ comment: String, _ head: String, _ method: PolicyMethod? = nil
    ) -> String {
        let lines = [comment, head + " {"] + Self.body(source, method: method)
        return (lines + ["    fatalError(\"\(className).\(name) is not written yet\")", "}"])
            .map { "    \($0)\n" }.joined()
    }

    /// Returns the messages of a method as comments, and the call of the superclass's method as code.
    private static func body(_ source: ObjectiveCMethod, method: PolicyMethod?) -> [String] {
        source.messages.map { message in
            if let method, message.receiver == "super", message.selector == source.selector {
                return "    " + method.superCall
            }
            return "    // [\(message.receiver) \(message.selector)]"
        }
    }

    /// Returns a name in backticks if it is a word of Swift.
    private static func escaped(_ name: String) -> String { PortTable.has(name, in: "keywords") ? "`\(name)`" : name }

    private static func labels(_ selector: String) -> [String] {
        let parts = selector.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
        return selector.hasSuffix(":") ? parts.dropLast() : parts
    }

    /// Types of Objective-C and what they are in Swift; any other is `Any?`.
    private static let swiftTypes = [
        "NSString*": "String?", "NSNumber*": "NSNumber?", "NSDecimalNumber*": "NSNumber?",
        "NSDate*": "Date?", "NSData*": "Data?", "NSUUID*": "UUID?", "NSURL*": "URL?",
        "NSManagedObject*": "NSManagedObject?", "NSSet*": "NSSet?",
        "NSMigrationManager*": "NSMigrationManager", "NSEntityMapping*": "NSEntityMapping", "BOOL": "Bool",
        "bool": "Bool", "NSInteger": "Int", "NSUInteger": "Int", "int": "Int", "long": "Int",
        "int16_t": "Int", "int32_t": "Int", "int64_t": "Int", "double": "Double", "float": "Double",
        "CGFloat": "Double", "NSTimeInterval": "Double",
    ]

    private static func swiftType(_ type: String) -> String {
        let name = type.replacing("nullable", with: "").replacing("nonnull", with: "")
        return swiftTypes[name] ?? "Any?"
    }
}
