import SwiftTokens

/// A version as the sources declare it: its classes and its identifier.
struct SchemaDeclaration {
    /// The name of the type that conforms to `VersionedSchema`; for sources without one, a name given to them.
    let name: String
    /// `1.0.0`; nil if the sources do not say it.
    let identifier: String?
    /// The classes in the order of the list, before those that relationships reach.
    let classes: [TypeScope]
    let place: SourcePlace
    /// The entries of the list that name no class; such a version cannot be read.
    var unknown: [String] = []
}

extension SchemaDeclaration {
    /// Reads the version that a type declares.
    init(_ scope: TypeScope, _ resolver: TypeResolver) {
        let list = ListReader("models", of: scope, resolver)
        let (classes, unknown) = Self.classes(of: list)
        self.init(
            name: scope.path, identifier: Self.identifier(of: scope), classes: classes, place: scope.place,
            unknown: unknown)
    }

    /// Reads the version of sources that declare none: the classes of the largest list that makes a schema or a container, if it
    /// has all others; else all classes.
    ///
    /// - Parameters:
    ///   - name: the name of the version.
    ///   - all: the tokens of each file.
    init(lone name: String, in all: [(file: String, tokens: [SwiftToken])], _ resolver: TypeResolver) {
        var lists: [[TypeScope]] = []
        for (file, tokens) in all {
            var index = 0
            while index < tokens.count {
                let content = Self.list(tokens, index)
                if let found = content.flatMap({ Self.classes(in: $0, file: file, resolver) }) { lists.append(found) }
                index = content?.endIndex ?? index + 1
            }
        }
        let classes = resolver.models
        let largest = lists.max { $0.count < $1.count } ?? classes
        let ids = Set(largest.map(ObjectIdentifier.init))
        let isWhole = lists.allSatisfy { ids.isSuperset(of: $0.map(ObjectIdentifier.init)) }
        let place = classes.first?.place ?? SourcePlace(file: "", line: 0)
        self.init(name: name, identifier: "1.0.0", classes: isWhole ? largest : classes, place: place)
    }

    /// Returns the classes of a list, each once, and the entries that name none.
    private static func classes(of list: ListReader) -> (classes: [TypeScope], unknown: [String]) {
        var classes: [TypeScope] = []
        var seen: Set<ObjectIdentifier> = []
        var unknown: [String] = []
        for entry in list.entries {
            guard let type = list.type(entry), type.isModel else {
                unknown.append(list.text(entry))
                continue
            }
            if seen.insert(ObjectIdentifier(type)).inserted { classes.append(type) }
        }
        return (classes, unknown)
    }

    /// Returns `1.0.0` for `Schema.Version(1, 0, 0)`, `.init(1, 0, 0)`, and a constant with one of these.
    private static func identifier(of scope: TypeScope) -> String? {
        guard let value = scope.constant("versionIdentifier")?.value else { return nil }
        let arguments = CallArgument.list(value.drop { !$0.isMark("(") }.enclosed)
        let numbers = arguments.compactMap { argument -> String? in
            if case .integer(let number)? = InitialValueReader.literal(argument.value) { "\(number)" } else { nil }
        }
        return numbers.count == 3 && arguments.count == 3 ? numbers.joined(separator: ".") : nil
    }

    /// Returns the arguments of `Schema([A.self])`, `ModelContainer(for: A.self)` or `.modelContainer(for: A.self)` at an index.
    private static func list(_ tokens: [SwiftToken], _ index: Int) -> ArraySlice<SwiftToken>? {
        let isSchema = tokens[index].isWord("Schema") && tokens.isMark(index + 2, "[")
        let isContainer = tokens[index].isWord("ModelContainer") || tokens[index].isWord("modelContainer")
        let isList = isSchema || isContainer && tokens.isWord(index + 2, "for")
        return isList && tokens.isMark(index + 1, "(") ? tokens[(index + 1)...].enclosed : nil
    }

    /// Returns the classes that arguments list; nil if there are none, or other entries.
    private static func classes(
        in arguments: ArraySlice<SwiftToken>, file: String, _ resolver: TypeResolver
    ) -> [TypeScope]? {
        var found: [TypeScope] = []
        for argument in CallArgument.list(arguments) where [nil, "for"].contains(argument.label) {
            let (classes, unknown) = classes(of: ListReader(argument.value, file: file, resolver))
            guard unknown.isEmpty else { return nil }
            found += classes
        }
        return found.isEmpty ? nil : found
    }
}
