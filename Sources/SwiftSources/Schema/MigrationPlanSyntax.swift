/// A stage of a `SchemaMigrationPlan`.
package struct SourceStage: Sendable {
    /// The names of the versions.
    package let from: String
    package let to: String
    /// True if it runs code of the app, which no reader of sources can run.
    package let isCustom: Bool
    package let place: SourcePlace
    /// The names behind a point in its closures, which may be properties.
    package let words: Set<String>

    /// The stage with its place, for messages.
    package var label: String { "the custom stage from \(from) to \(to) (\(place))" }
}

/// A `SchemaMigrationPlan`: its versions in order, and its stages.
struct MigrationPlanDeclaration {
    let name: String
    let place: SourcePlace
    /// The types of the versions.
    let schemas: [TypeScope]
    let stages: [SourceStage]
    /// Entries that cannot be read.
    let unknown: [String]
}

/// Reads the migration plans of sources.
struct MigrationPlanReader {
    let resolver: TypeResolver

    /// All plans, by place.
    var plans: [MigrationPlanDeclaration] {
        resolver.tree.root.allTypes.filter { $0.conforms(to: "SchemaMigrationPlan") }.map(plan)
    }

    private func plan(_ scope: TypeScope) -> MigrationPlanDeclaration {
        var schemas: [TypeScope] = []
        var unknown: [String] = []
        for entry in entries(of: "schemas", in: scope) {
            let names = entry.filter { $0.kind == .word && $0.text != "self" }.map(\.text)
            if let found = resolver.type(names, in: scope, file: scope.place.file) {
                schemas.append(found)
            } else {
                unknown.append(entry.text)
            }
        }
        let stages = entries(of: "stages", in: scope).compactMap { entry in
            let stage = stage(entry, in: scope, file: scope.place.file)
            if stage == nil { unknown.append(entry.text) }
            return stage
        }
        return MigrationPlanDeclaration(
            name: scope.path, place: scope.place, schemas: schemas, stages: stages, unknown: unknown)
    }

    /// Returns the elements of an array that a static variable has.
    private func entries(of name: String, in scope: TypeScope) -> [ArraySlice<SwiftToken>] {
        guard let variable = scope.constant(name) else { return [] }
        let tokens = variable.initial.isEmpty ? variable.body : variable.initial
        guard let open = tokens.firstIndex(where: { $0.isMark("[") }) else { return [] }
        var depth = 0
        let content = tokens[open...].prefix { token in
            depth += token.bracket
            return depth > 0
        }
        return content.dropFirst().parts(at: ",")
    }

    /// Reads `.lightweight(fromVersion:toVersion:)`, `.custom(…)`, or a static constant with one of these.
    private func stage(
        _ tokens: ArraySlice<SwiftToken>, in scope: TypeScope, file: String, depth: Int = 0
    ) -> SourceStage? {
        guard let open = tokens.firstIndex(where: { $0.isMark("(") }) else {
            let names = tokens.filter { $0.kind == .word }.map(\.text)
            guard depth < 4, let name = names.last else { return nil }
            let owner =
                names.count == 1 || names[0] == "Self"
                ? scope : resolver.type(Array(names.dropLast()), in: scope, file: file)
            guard let owner, let constant = owner.constant(name) else { return nil }
            let value = constant.initial.isEmpty ? constant.body : constant.initial
            return stage(value, in: owner, file: constant.place.file, depth: depth + 1)
        }
        let kind = tokens[..<open].last { $0.kind == .word }
        guard let kind, ["lightweight", "custom"].contains(kind.text) else { return nil }
        var depth = 0
        let content = tokens[open...].prefix { token in
            depth += token.bracket
            return depth > 0
        }
        let arguments = CallArgument.list(content.dropFirst())
        func version(_ label: String) -> String? {
            guard let value = arguments.first(where: { $0.label == label })?.value else { return nil }
            let names = value.filter { $0.kind == .word && $0.text != "self" }.map(\.text)
            return resolver.type(names, in: scope, file: file)?.path
        }
        guard let from = version("fromVersion"), let to = version("toVersion") else { return nil }
        let closures =
            arguments.filter { ["willMigrate", "didMigrate"].contains($0.label) }.map(\.value)
            + [tokens[content.endIndex...].dropFirst()]
        let code = closures.filter { !$0.isEmpty && !($0.count == 1 && $0.first?.isWord("nil") == true) }
        return SourceStage(
            from: from, to: to, isCustom: kind.isWord("custom") && !code.isEmpty,
            place: SourcePlace(file: file, line: kind.line), words: Set(code.flatMap(Self.members)))
    }

    private static func members(_ tokens: ArraySlice<SwiftToken>) -> [String] {
        tokens.indices.dropFirst().filter { tokens[$0].kind == .word && tokens[$0 - 1].isMark(".") }.map {
            tokens[$0].text
        }
    }
}
