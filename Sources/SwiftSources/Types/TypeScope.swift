/// A type of the sources, or the space outside of all types, with what can be named in it.
final class TypeScope {
    let name: String
    /// The declaration; nil for the outermost scope, and for a type of another module that the sources extend.
    let declaration: TypeDeclaration?
    /// The scope around it, which the tree holds; nil for the outermost.
    private(set) weak var outer: TypeScope?
    /// The extensions of the type.
    fileprivate(set) var extensions: [TypeDeclaration] = []
    /// The types in it, by name; several of one name if the sources are those of several targets.
    fileprivate(set) var types: [String: [TypeScope]] = [:]
    fileprivate(set) var aliases: [String: [AliasDeclaration]] = [:]

    fileprivate init(_ name: String, _ declaration: TypeDeclaration?, in outer: TypeScope?) {
        (self.name, self.declaration, self.outer) = (name, declaration, outer)
    }

    /// The name with those of the types around it.
    var path: String {
        guard let outer, !outer.name.isEmpty else { return name }
        return "\(outer.path).\(name)"
    }

    /// The place of the declaration.
    var place: SourcePlace { declaration?.place ?? SourcePlace(file: "", line: 0) }

    /// True for a class that SwiftData keeps.
    var isModel: Bool { declaration?.kind == .class && declaration?.has(attribute: "Model") == true }

    /// The declaration and the extensions.
    var parts: [TypeDeclaration] { (declaration.map { [$0] } ?? []) + extensions }

    /// Returns a static variable or constant of the type.
    func constant(_ name: String) -> VariableDeclaration? {
        for part in parts {
            if let found = part.variables.first(where: { $0.isStatic && $0.name == name }) { return found }
        }
        return nil
    }

    func conforms(to protocolName: String) -> Bool { parts.contains { $0.inherits(protocolName) } }

    /// All types in it, at any depth, by place.
    var allTypes: [TypeScope] {
        types.values.joined().flatMap { [$0] + $0.allTypes }.sorted {
            ($0.place.file, $0.place.line) < ($1.place.file, $1.place.line)
        }
    }
}

/// The types of all sources that are read together, extensions joined with what they extend.
struct SourceTree {
    let root: TypeScope
    /// The declarations of the files outside of all types.
    let files: [TypeDeclaration]

    /// - Complexity: O(declarations × depth of extensions of types that extensions declare).
    init(_ files: [TypeDeclaration]) {
        root = TypeScope("", nil, in: nil)
        self.files = files
        var pending: [TypeDeclaration] = []
        for file in files { Self.add(file, to: root, &pending) }
        root.extensions = files
        var isBlind = false
        while !pending.isEmpty {
            let count = pending.count
            let extensions = pending
            pending = []
            for part in extensions {
                let targets = Self.targets(of: part, in: root, createsMissing: isBlind)
                if targets.isEmpty { pending.append(part) }
                for target in targets {
                    target.extensions.append(part)
                    Self.add(part, to: target, &pending)
                }
            }
            // The rest extends types of other modules.
            isBlind = pending.count == count
        }
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

    /// Returns the types that an extension extends: those in its own file if there are several of the name.
    private static func targets(
        of part: TypeDeclaration, in root: TypeScope, createsMissing: Bool
    ) -> [TypeScope] {
        var scopes = [root]
        for (depth, name) in part.name.enumerated() {
            var found = scopes.flatMap { Self.members(named: name, in: $0, root, steps: 0) }
            // A module's name in front says nothing.
            if found.isEmpty, depth == 0, part.name.count > 1, !createsMissing { continue }
            if found.isEmpty, createsMissing {
                found = scopes.map { scope in
                    let child = TypeScope(name, nil, in: scope)
                    scope.types[name, default: []].append(child)
                    return child
                }
            }
            scopes = found
        }
        if scopes.contains(where: { $0 === root }) { return [] }
        let near = scopes.filter { $0.place.file == part.place.file }
        return near.isEmpty ? scopes : near
    }

    private static func members(
        named name: String, in scope: TypeScope, _ root: TypeScope, steps: Int
    ) -> [TypeScope] {
        if let types = scope.types[name] { return types }
        guard steps < 16, case .named(let names, _)? = scope.aliases[name]?.first?.target else { return [] }
        // An alias of a type that can be named from outside.
        return names.reduce([root]) { found, name in
            found.flatMap { members(named: name, in: $0, root, steps: steps + 1) }
        }
    }
}
