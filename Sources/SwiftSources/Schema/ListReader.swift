import SwiftTokens

/// Reads lists of static variables: `[A.self, B.self]`, lists joined by `+`, and references to other lists or entries.
struct ListReader {
    /// The number of references in a row that are followed.
    private static let greatestDepth = 32
    /// The number of references that are followed at all.
    private static let greatestCount = 100_000

    /// An entry, with the type and the file in which it is written.
    struct Entry {
        let tokens: ArraySlice<SwiftToken>
        let scope: TypeScope
        let file: String
    }

    private let resolver: TypeResolver
    private(set) var entries: [Entry] = []
    private var count = 0

    /// Reads the value of a static variable.
    init(_ name: String, of scope: TypeScope, _ resolver: TypeResolver) {
        self.resolver = resolver
        if let list = scope.constant(name) { read(list.value, in: scope, file: list.place.file, depth: 0) }
    }

    /// Reads an expression that stands outside of all types.
    init(_ tokens: ArraySlice<SwiftToken>, file: String, _ resolver: TypeResolver) {
        self.resolver = resolver
        read(tokens, in: resolver.root, file: file, depth: 0)
    }

    private mutating func read(_ tokens: ArraySlice<SwiftToken>, in scope: TypeScope, file: String, depth: Int) {
        for term in tokens.parts(at: "+") where !term.isEmpty {
            let content = term.first?.isMark("[") == true ? term.enclosed : []
            let behind = term.dropFirst(content.count + 2)
            if term.first?.isMark("[") == true, behind.first?.isWord("as") ?? true {
                for entry in content.parts(at: ",") { readEntry(entry, in: scope, file: file, depth) }
            } else {
                readEntry(term, in: scope, file: file, depth)
            }
        }
    }

    /// Reads `A.self`, a call, or the name of another list or entry.
    private mutating func readEntry(_ tokens: ArraySlice<SwiftToken>, in scope: TypeScope, file: String, _ depth: Int) {
        if let names = tokens.names, let name = names.last, name != "self", depth < Self.greatestDepth,
            count < Self.greatestCount,
            let (owner, list) = constant(name, of: Array(names.dropLast()), in: scope, file: file)
        {
            count += 1
            return read(list.value, in: owner, file: list.place.file, depth: depth + 1)
        }
        entries.append(Entry(tokens: tokens, scope: scope, file: file))
    }

    private func constant(
        _ name: String, of names: [String], in scope: TypeScope, file: String
    ) -> (TypeScope, VariableDeclaration)? {
        let owner = names.isEmpty ? scope : resolver.type(names, in: scope, file: file)
        if let owner, let found = owner.constant(name) { return (owner, found) }
        return names.isEmpty ? resolver.root.constant(name).map { (resolver.root, $0) } : nil
    }

    /// Returns the type of an entry `A.self`; nil for another one.
    func type(_ entry: Entry) -> TypeScope? { type(entry.tokens, in: entry.scope, file: entry.file) }

    /// Returns the type that `A.self` names; nil for another expression.
    func type(_ tokens: ArraySlice<SwiftToken>, in scope: TypeScope, file: String) -> TypeScope? {
        guard let names = tokens.names, names.last == "self" else { return nil }
        return resolver.type(Array(names.dropLast()), in: scope, file: file)
    }

    /// Returns an entry as text, with the places of what it names.
    func text(_ entry: Entry) -> String {
        let found = resolver.types(entry.tokens.names?.dropLast() ?? [], in: entry.scope, file: entry.file)
        let places = found.map(\.place.description).joined(separator: " and ")
        return entry.tokens.text + (found.isEmpty ? "" : " (\(places))")
    }
}
