/// A version as the sources declare it: its classes and its identifier.
struct SchemaDeclaration {
    /// The name of the type that conforms to `VersionedSchema`; for sources without one, a name given to them.
    let name: String
    /// `1.0.0`; nil if the sources do not say it.
    let identifier: String?
    /// The classes in the order of the list, before those that relationships reach.
    let classes: [TypeScope]
    let place: SourcePlace
    /// The entries of the list that name no class, with their places; such a version cannot be read.
    let unknown: [String]
}

/// Reads the versions that sources declare.
struct SchemaReader {
    /// The number of references to other lists in a row that are followed.
    private static let greatestDepth = 32

    let resolver: TypeResolver
    private var tree: SourceTree { resolver.tree }

    init(_ tree: SourceTree) { resolver = TypeResolver(tree: tree) }

    /// The types that conform to `VersionedSchema`, by place.
    var schemas: [SchemaDeclaration] {
        tree.root.allTypes.filter { $0.conforms(to: "VersionedSchema") }.map(schema)
    }

    /// Returns the version that a type declares.
    func schema(_ scope: TypeScope) -> SchemaDeclaration {
        var list = ListReader(resolver: resolver)
        if let models = scope.constant("models") { list.read(models, in: scope, depth: 0) }
        return SchemaDeclaration(
            name: scope.path, identifier: identifier(of: scope), classes: list.classes, place: scope.place,
            unknown: list.unknown)
    }

    /// Returns `1.0.0` for `Schema.Version(1, 0, 0)`, `.init(1, 0, 0)`, and a constant with one of these.
    private func identifier(of scope: TypeScope) -> String? {
        guard let variable = scope.constant("versionIdentifier") else { return nil }
        let tokens = variable.initial.isEmpty ? variable.body : variable.initial
        guard let open = tokens.firstIndex(where: { $0.isMark("(") }) else { return nil }
        let arguments = CallArgument.list(tokens[(open + 1)...].prefix { !$0.isMark(")") })
        let numbers = arguments.map { argument -> String? in
            if case .integer(let number)? = InitialValueReader.literal(argument.value) { "\(number)" } else { nil }
        }
        return numbers.count == 3 ? numbers.compactMap { $0 }.joined(separator: ".") : nil
    }

    /// Returns the version of sources that declare none: the classes of the largest list that makes a schema or a container, if it
    /// has all others; else all classes.
    ///
    /// - Parameters:
    ///   - name: the name of the version.
    ///   - all: the token of each file.
    func lone(named name: String, in all: [(file: String, tokens: [SwiftToken])]) -> SchemaDeclaration {
        let classes = tree.root.allTypes.filter(\.isModel)
        var lists: [[TypeScope]] = []
        for source in all {
            let tokens = TokenTree(source.tokens)
            for index in source.tokens.indices {
                guard let open = Self.list(tokens, index) else { continue }
                var reader = ListReader(resolver: resolver)
                let content = tokens[open + 1..<max(open + 1, tokens.closing(open))]
                for part in content.parts(at: ",") {
                    guard let argument = CallArgument.list(part).first, [nil, "for"].contains(argument.label) else {
                        continue
                    }
                    reader.read(argument.value, in: tree.root, file: source.file, depth: 0)
                }
                if !reader.classes.isEmpty, reader.unknown.isEmpty { lists.append(reader.classes) }
            }
        }
        let largest = lists.max { $0.count < $1.count } ?? classes
        let ids = Set(largest.map(ObjectIdentifier.init))
        let isWhole = lists.allSatisfy { ids.isSuperset(of: $0.map(ObjectIdentifier.init)) }
        return SchemaDeclaration(
            name: name, identifier: "1.0.0", classes: isWhole ? largest : classes,
            place: classes.first?.place ?? SourcePlace(file: "", line: 0), unknown: [])
    }

    /// Returns the parenthesis behind `Schema(`, `ModelContainer(for:` or `.modelContainer(for:`.
    private static func list(_ tokens: TokenTree, _ index: Int) -> Int? {
        guard let token = tokens[index], tokens.isMark(index + 1, "("), tokens.closing(index + 1) > index + 1 else {
            return nil
        }
        if token.isWord("Schema") { return tokens.isMark(index + 2, "[") ? index + 1 : nil }
        let isContainer = token.isWord("ModelContainer") || token.isWord("modelContainer")
        return isContainer && tokens.isWord(index + 2, "for") ? index + 1 : nil
    }

    /// Reads a list of classes: `[A.self, B.self]`, lists joined by `+`, and references to other lists.
    struct ListReader {
        let resolver: TypeResolver
        private(set) var classes: [TypeScope] = []
        private(set) var unknown: [String] = []

        init(resolver: TypeResolver) { self.resolver = resolver }

        mutating func read(_ variable: VariableDeclaration, in scope: TypeScope, depth: Int) {
            var tokens = variable.initial.isEmpty ? variable.body : variable.initial
            if tokens.first?.isWord("get") == true { tokens = tokens.dropFirst(2).dropLast() }
            if tokens.first?.isWord("return") == true { tokens = tokens.dropFirst() }
            read(tokens, in: scope, file: variable.place.file, depth: depth)
        }

        mutating func read(_ tokens: ArraySlice<SwiftToken>, in scope: TypeScope, file: String, depth: Int) {
            guard depth < SchemaReader.greatestDepth else { return unknown.append(tokens.text) }
            for term in tokens.parts(at: "+") where !term.isEmpty {
                if term.first?.isMark("[") == true {
                    let end = term.lastIndex { $0.isMark("]") } ?? term.endIndex
                    for entry in term[(term.startIndex + 1)..<max(end, term.startIndex + 1)].parts(at: ",") {
                        readEntry(entry, in: scope, file: file, depth)
                    }
                } else {
                    readEntry(term, in: scope, file: file, depth)
                }
            }
        }

        /// Reads `A.self`, or the name of a list.
        private mutating func readEntry(
            _ tokens: ArraySlice<SwiftToken>, in scope: TypeScope, file: String, _ depth: Int
        ) {
            var names = tokens.filter { $0.kind == .word }.map(\.text)
            guard let last = names.popLast(), names.count * 2 + 1 == tokens.count else {
                if !tokens.isEmpty { unknown.append(tokens.text) }
                return
            }
            let owner = names == ["Self"] ? scope : resolver.type(names, in: scope, file: file)
            if last == "self" {
                guard let owner, owner.isModel else { return unknown.append(tokens.text) }
                if !classes.contains(where: { $0 === owner }) { classes.append(owner) }
                return
            }
            if let owner = names.isEmpty ? scope : owner, let list = owner.constant(last) {
                return read(list, in: owner, depth: depth + 1)
            }
            let global = resolver.tree.files.lazy.compactMap { $0.variables.first { $0.name == last } }.first
            guard names.isEmpty, let global else { return unknown.append(tokens.text) }
            read(global, in: resolver.tree.root, depth: depth + 1)
        }
    }
}
