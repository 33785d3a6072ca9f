import ManagedModel
import SwiftTokens

/// A type after names were looked up.
indirect enum ResolvedType {
    /// A type of Swift or Foundation that is stored as one value, with its name.
    case primitive(AttributeType, String)
    case model(TypeScope)
    case structure(TypeScope)
    case enumeration(TypeScope)
    /// SwiftUI's `Color.Resolved`, whose four numbers are public.
    case color
    case optional(ResolvedType)
    case array(ResolvedType)
    case set(ResolvedType)
    case dictionary(ResolvedType, ResolvedType)
    /// A type that the sources do not show, with the reason.
    case unknown(String)

    var unwrapped: ResolvedType { if case .optional(let inner) = self { inner.unwrapped } else { self } }
    var isOptional: Bool { if case .optional = self { true } else { false } }
}

/// Looks up the types of the sources, from the place of use outward.
struct TypeResolver {
    /// The number of aliases in a row that are followed.
    private static let greatestDepth = 32
    private static let modules: Set<String> = ["Swift", "Foundation", "SwiftUI", "CoreGraphics", "SwiftData"]

    let root: TypeScope
    /// The classes that are not meant: another one of the same name is.
    var excluded: Set<ObjectIdentifier> = []

    var values: InitialValueReader { InitialValueReader(resolver: self) }

    /// The classes with `@Model`.
    var models: [TypeScope] { root.allTypes.filter { $0.isModel && !excluded.contains(ObjectIdentifier($0)) } }

    private static let primitives: [String: AttributeType] = [
        "Bool": .boolean, "String": .string, "Int": .integer64, "Int64": .integer64, "UInt64": .integer64,
        "Int32": .integer32, "UInt32": .integer32, "Int16": .integer16, "UInt16": .integer16, "UInt8": .integer16,
        "Double": .double, "TimeInterval": .double, "Decimal": .decimal, "Float": .float, "Date": .date,
        "Data": .binaryData, "UUID": .uuid, "URL": .uri, "Int8": .integer16, "UInt": .integer64, "CGFloat": .double,
    ]
    /// The types that no known store has, in a property of its own.
    static let unseen: Set<String> = ["Float", "URL", "Int8", "UInt", "CGFloat"]

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
        case .dictionary(let key, let value): return .dictionary(inner(key), inner(value))
        case .other(let text): return .unknown("the type \(text) is none that SwiftData keeps")
        case .named(let names, let arguments):
            switch lookUp(names, in: scope, file: file, depth: depth) {
            case .types(let found)? where found.count > 1:
                let places = found.map(\.place.description).joined(separator: " and ")
                return .unknown("there are several types \(names.joined(separator: ".")): \(places)")
            case .types(let found)?: return kind(of: found[0], names, arguments)
            case .alias(let target, let outer)?: return resolve(target, in: outer, file: file, depth: depth + 1)
            case nil: return system(names, arguments)
            }
        }
    }

    private func kind(of scope: TypeScope, _ names: [String], _ arguments: [TypeSyntax]) -> ResolvedType {
        // The sources extend a type of another module.
        guard let kind = scope.declaration?.kind else { return system(names, arguments) }
        guard arguments.isEmpty, scope.declaration?.isGeneric == false else {
            return .unknown("the type \(scope.path) is generic")
        }
        switch kind {
        case .class where scope.isModel: return .model(scope)
        case .struct: return .structure(scope)
        case .enum: return .enumeration(scope)
        default: return .unknown("the type \(scope.path) is a \(kind.rawValue) without @Model")
        }
    }

    private func system(_ names: [String], _ arguments: [TypeSyntax]) -> ResolvedType {
        let bare = names.count > 1 && Self.modules.contains(names[0]) ? Array(names.dropFirst()) : names
        if bare == ["Color", "Resolved"] { return .color }
        if bare.count == 1, arguments.isEmpty, let known = Self.primitives[bare[0]] {
            return .primitive(known, bare[0] == "TimeInterval" ? "Double" : bare[0])
        }
        return .unknown("the type \(names.joined(separator: ".")) is not declared in the sources")
    }

    /// The meaning of a name: an alias, or types, of which there should be one.
    private enum Meaning {
        case types([TypeScope])
        case alias(TypeSyntax, TypeScope)
    }

    /// Looks up a name with its enclosing names, from a scope outward.
    private func lookUp(_ names: [String], in scope: TypeScope, file: String, depth: Int = 0) -> Meaning? {
        guard let first = names.first, depth < Self.greatestDepth else { return nil }
        if first == "Self" { return follow(.types([scope]), names.dropFirst(), file, depth) }
        for around in sequence(first: scope, next: \.outer) {
            guard let found = member(first, of: [around], file) else { continue }
            return follow(found, names.dropFirst(), file, depth)
        }
        // The name of a module in front.
        guard names.count > 1, let found = member(names[1], of: [root], file) else { return nil }
        return follow(found, names.dropFirst(2), file, depth)
    }

    /// Returns the type that a name means; nil if it means none, or several.
    func type(_ names: [String], in scope: TypeScope, file: String) -> TypeScope? {
        let found = types(names, in: scope, file: file)
        return found.count == 1 ? found[0] : nil
    }

    /// Returns the types that a name means.
    func types(_ names: [String], in scope: TypeScope, file: String, steps: Int = 0) -> [TypeScope] {
        switch lookUp(names, in: scope, file: file) {
        case .types(let found)?: return found
        case .alias(.named(let target, _), let outer)? where steps < Self.greatestDepth:
            return types(target, in: outer, file: file, steps: steps + 1)
        default: return []
        }
    }

    private func member(_ name: String, of scopes: [TypeScope], _ file: String) -> Meaning? {
        let visible = scopes.flatMap { $0.types[name, default: []] }.filter {
            ($0.declaration?.isPrivate != true || $0.place.file == file) && !excluded.contains(ObjectIdentifier($0))
        }
        let near = visible.filter { $0.place.file == file }
        let types = near.isEmpty ? visible : near
        let aliases = scopes.flatMap { scope in scope.aliases[name, default: []].map { (alias: $0, scope: scope) } }
        // An extension of what an alias means does not hide the alias.
        if let found = aliases.first(where: { $0.alias.file == file }) ?? aliases.first,
            types.allSatisfy({ $0.declaration == nil })
        {
            return .alias(found.alias.target, found.scope)
        }
        return types.isEmpty ? nil : .types(types)
    }

    private func follow(_ found: Meaning, _ rest: ArraySlice<String>, _ file: String, _ depth: Int) -> Meaning? {
        guard let next = rest.first else { return found }
        switch found {
        case .types(let scopes):
            return member(next, of: scopes, file).flatMap { follow($0, rest.dropFirst(), file, depth) }
        case .alias(.named(let names, _), let outer):
            return lookUp(names + rest, in: outer, file: file, depth: depth + 1)
        case .alias: return nil
        }
    }

    /// Tells whether a type conforms to a protocol of another module, or to a protocol of the sources that inherits from it.
    func conforms(_ type: TypeScope, to name: String) -> Bool {
        var pending = [type]
        var seen: Set<ObjectIdentifier> = []
        while let next = pending.popLast() {
            guard seen.insert(ObjectIdentifier(next)).inserted else { continue }
            for part in next.parts {
                for case .named(let names, _) in part.inherited {
                    if names.last == name { return true }
                    let found = types(names, in: next.outer ?? next, file: part.place.file)
                    pending += found.filter { $0.declaration?.kind == .protocol }
                }
            }
        }
        return false
    }

    /// Returns the raw type of an enumeration: the one among the types behind the colon that is no protocol; nil if there is
    /// none.
    func rawType(of scope: TypeScope) -> AttributeType? {
        for type in scope.declaration?.inherited ?? [] {
            let found = resolve(type, in: scope.outer ?? scope, file: scope.place.file)
            if case .primitive(let raw, _) = found { return raw }
        }
        return nil
    }
}
