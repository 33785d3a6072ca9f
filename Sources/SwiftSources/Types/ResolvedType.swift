import ManagedModel

/// A type after names were looked up.
indirect enum ResolvedType {
    /// A type of Swift or Foundation that is stored as one value.
    case primitive(AttributeType)
    /// A class with `@Model`.
    case model(TypeScope)
    case structure(TypeScope)
    case enumeration(TypeScope)
    /// SwiftUI's `Color.Resolved`, whose four numbers are public.
    case color
    case optional(ResolvedType)
    case array(ResolvedType)
    case set(ResolvedType)
    case dictionary
    /// A type that the sources do not show, with the reason.
    case unknown(String)

    /// The type without optionals around it.
    var unwrapped: ResolvedType { if case .optional(let inner) = self { inner.unwrapped } else { self } }
    var isOptional: Bool { if case .optional = self { true } else { false } }
}

/// Looks up the types of the sources, from the place of use outward.
struct TypeResolver {
    /// The number of aliases in a row that are followed.
    private static let greatestDepth = 32
    private static let modules: Set<String> = ["Swift", "Foundation", "SwiftUI", "CoreGraphics", "SwiftData"]

    let tree: SourceTree

    /// The types of Swift and Foundation, by name. The second value is false for a type that no known store has.
    private static let primitives: [String: (type: AttributeType, isSeen: Bool)] = [
        "Bool": (.boolean, true), "String": (.string, true), "Int": (.integer64, true), "Int64": (.integer64, true),
        "UInt64": (.integer64, true), "Int32": (.integer32, true), "UInt32": (.integer32, true),
        "Int16": (.integer16, true), "UInt16": (.integer16, true), "UInt8": (.integer16, true),
        "Double": (.double, true), "TimeInterval": (.double, true), "Decimal": (.decimal, true),
        "Float": (.float, false), "Date": (.date, true), "Data": (.binaryData, true), "UUID": (.uuid, true),
        "URL": (.uri, false), "Int8": (.integer16, false), "UInt": (.integer64, false), "CGFloat": (.double, false),
    ]

    /// Tells whether a known store has the type, in a property of its own.
    static func isSeen(_ type: TypeSyntax) -> Bool {
        guard case .named(let names, _) = type.unwrapped, let name = names.last else { return true }
        return primitives[name]?.isSeen ?? true
    }

    /// Resolves a type.
    ///
    /// - Parameters:
    ///   - scope: the type in which it is written.
    ///   - file: the file in which it is written, which decides between two types of one name.
    func resolve(_ type: TypeSyntax, in scope: TypeScope, file: String, depth: Int = 0) -> ResolvedType {
        guard depth < Self.greatestDepth else { return .unknown("the type \(type.text) is an alias of itself") }
        func inner(_ type: TypeSyntax) -> ResolvedType { resolve(type, in: scope, file: file, depth: depth + 1) }
        switch type {
        case .optional(let wrapped): return .optional(inner(wrapped))
        case .array(let element): return .array(inner(element))
        case .set(let element): return .set(inner(element))
        case .dictionary: return .dictionary
        case .other(let text): return .unknown("the type \(text) is none that SwiftData keeps")
        case .named(let names, let arguments):
            switch lookUp(names, in: scope, file: file, depth: depth) {
            case .type(let found)? where arguments.isEmpty: return kind(of: found)
            case .type(let found)?: return .unknown("the type \(found.path) is generic")
            case .alias(let target, let outer)?: return resolve(target, in: outer, file: file, depth: depth + 1)
            case .several(let found)?:
                let places = found.map(\.place.description).joined(separator: " and ")
                return .unknown("there are several types \(names.joined(separator: ".")): \(places)")
            case nil: return system(names, arguments)
            }
        }
    }

    private func kind(of scope: TypeScope) -> ResolvedType {
        switch scope.declaration?.kind {
        case .class? where scope.isModel: return .model(scope)
        case .struct?: return .structure(scope)
        case .enum?: return .enumeration(scope)
        case .class?, .actor?, .protocol?:
            return .unknown("the type \(scope.path) is a \(scope.declaration?.kind.rawValue ?? "type") without @Model")
        default: return .unknown("the type \(scope.path) is of another module, whose source is not given")
        }
    }

    private func system(_ names: [String], _ arguments: [TypeSyntax]) -> ResolvedType {
        let bare = names.count > 1 && Self.modules.contains(names[0]) ? Array(names.dropFirst()) : names
        if bare == ["Color", "Resolved"] { return .color }
        if bare.count == 1, arguments.isEmpty, let known = Self.primitives[bare[0]] { return .primitive(known.type) }
        return .unknown("the type \(names.joined(separator: ".")) is not declared in the sources")
    }

    /// The meaning of a name.
    enum Meaning {
        case type(TypeScope)
        case alias(TypeSyntax, TypeScope)
        /// Several types of one name, of which none is in the file.
        case several([TypeScope])
    }

    /// Looks up a name with its enclosing names, from a scope outward.
    func lookUp(_ names: [String], in scope: TypeScope, file: String, depth: Int = 0) -> Meaning? {
        guard let first = names.first, depth < Self.greatestDepth else { return nil }
        var current: TypeScope? = scope
        while let around = current {
            if let found = member(first, of: around, file) {
                return follow(found, Array(names.dropFirst()), file, depth)
            }
            current = around.outer
        }
        // The name of a module in front.
        guard names.count > 1, let found = member(names[1], of: tree.root, file) else { return nil }
        return follow(found, Array(names.dropFirst(2)), file, depth)
    }

    /// Returns the type that a name means; nil if it means none, or several.
    func type(_ names: [String], in scope: TypeScope, file: String, steps: Int = 0) -> TypeScope? {
        switch lookUp(names, in: scope, file: file) {
        case .type(let found)?: return found
        case .alias(.named(let target, _), let outer)? where steps < Self.greatestDepth:
            return type(target, in: outer, file: file, steps: steps + 1)
        default: return nil
        }
    }

    private func member(_ name: String, of scope: TypeScope, _ file: String) -> Meaning? {
        let visible = scope.types[name, default: []].filter {
            $0.declaration?.isPrivate != true || $0.place.file == file
        }
        let near = visible.filter { $0.place.file == file }
        if let found = near.count == 1 ? near.first : visible.first, near.count == 1 || visible.count == 1 {
            return .type(found)
        }
        if !visible.isEmpty { return .several(visible) }
        let aliases = scope.aliases[name, default: []]
        let alias = aliases.first { $0.place.file == file } ?? aliases.first
        return alias.map { .alias($0.target, scope) }
    }

    private func follow(_ found: Meaning, _ rest: [String], _ file: String, _ depth: Int) -> Meaning? {
        guard let next = rest.first else { return found }
        switch found {
        case .type(let scope):
            return member(next, of: scope, file).flatMap { follow($0, Array(rest.dropFirst()), file, depth) }
        case .alias(.named(let names, _), let outer):
            return lookUp(names + rest, in: outer, file: file, depth: depth + 1)
        case .alias, .several: return found
        }
    }
}
