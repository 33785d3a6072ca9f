import SwiftTokens

/// A type of the sources, or the space outside of all types, with what can be named in it.
final class TypeScope {
    let name: String
    /// The declaration; nil for the outermost scope, and for a type of another module that the sources extend.
    let declaration: TypeDeclaration?
    /// The scope around it, which the tree holds; nil for the outermost.
    private(set) weak var outer: TypeScope?
    fileprivate(set) var extensions: [TypeDeclaration] = []
    /// The types in it, by name; several of one name if the sources are those of several targets.
    fileprivate(set) var types: [String: [TypeScope]] = [:]
    fileprivate(set) var aliases: [String: [(name: String, target: TypeSyntax, file: String)]] = [:]

    fileprivate init(_ name: String, _ declaration: TypeDeclaration?, in outer: TypeScope?) {
        (self.name, self.declaration, self.outer) = (name, declaration, outer)
    }

    /// The name with those of the types around it.
    var path: String {
        guard let outer, !outer.name.isEmpty else { return name }
        return "\(outer.path).\(name)"
    }

    var place: SourcePlace { declaration?.place ?? SourcePlace(file: "", line: 0) }

    /// True for a class that SwiftData keeps.
    var isModel: Bool {
        declaration?.kind == .class && declaration?.attributes.contains { $0.name == "Model" } == true
    }

    /// The declaration and the extensions.
    var parts: [TypeDeclaration] { (declaration.map { [$0] } ?? []) + extensions }

    /// Returns a static variable or constant of the type; of the outermost scope, any variable.
    func constant(_ name: String) -> VariableDeclaration? {
        parts.lazy.compactMap { part in
            part.variables.first { ($0.isStatic || self.outer == nil) && $0.name == name }
        }.first
    }

    /// All types in it, at any depth, by place.
    var allTypes: [TypeScope] {
        types.values.joined().flatMap { [$0] + $0.allTypes }.sorted {
            ($0.place.file, $0.place.line) < ($1.place.file, $1.place.line)
        }
    }
}

/// The types of all sources that are read together, extensions joined with what they extend.
struct SourceTree {
    let root = TypeScope("", nil, in: nil)

    /// - Complexity: O(declarations × depth of extensions of types that extensions declare).
    init(_ files: [TypeDeclaration]) {
        var pending: [TypeDeclaration] = []
        for file in files { Self.add(file, to: root, &pending) }
        root.extensions = files
        let resolver = TypeResolver(root: root)
        var count = Int.max
        // An extension may declare what another one extends.
        while pending.count < count {
            count = pending.count
            let extensions = pending
            pending = []
            for part in extensions {
                let targets = resolver.types(part.name, in: root, file: part.place.file)
                if targets.isEmpty { pending.append(part) }
                for target in targets { Self.extend(target, with: part, &pending) }
            }
        }
        // The rest extends types of other modules.
        while let part = pending.popLast() { Self.extend(foreign(part.name), with: part, &pending) }
    }

    private static func extend(
        _ scope: TypeScope, with part: TypeDeclaration, _ pending: inout [TypeDeclaration]
    ) {
        scope.extensions.append(part)
        add(part, to: scope, &pending)
    }

    private static func add(_ members: TypeDeclaration, to scope: TypeScope, _ pending: inout [TypeDeclaration]) {
        for alias in members.aliases { scope.aliases[alias.name, default: []].append(alias) }
        for type in members.types {
            if type.kind == .extension {
                if !type.name.isEmpty { pending.append(type) }
            } else if let name = type.name.first {
                let child = TypeScope(name, type, in: scope)
                scope.types[name, default: []].append(child)
                add(type, to: child, &pending)
            }
        }
    }

    /// Returns the scope of a type of another module.
    private func foreign(_ names: [String]) -> TypeScope {
        names.reduce(root) { scope, name in
            if let found = scope.types[name]?.first { return found }
            let child = TypeScope(name, nil, in: scope)
            scope.types[name] = [child]
            return child
        }
    }
}
