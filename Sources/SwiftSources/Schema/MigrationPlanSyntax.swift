import SwiftTokens

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
struct MigrationPlanSyntax {
    let name: String
    let place: SourcePlace
    private(set) var schemas: [TypeScope] = []
    private(set) var stages: [SourceStage] = []
    /// Entries that cannot be read.
    private(set) var unknown: [String] = []

    init(_ scope: TypeScope, _ resolver: TypeResolver) {
        (name, place) = (scope.path, scope.place)
        let list = ListReader("schemas", of: scope, resolver)
        for entry in list.entries {
            if let type = list.type(entry) { schemas.append(type) } else { unknown.append(entry.tokens.text) }
        }
        let all = ListReader("stages", of: scope, resolver)
        for entry in all.entries {
            if let stage = Self.stage(entry, all) { stages.append(stage) } else { unknown.append(entry.tokens.text) }
        }
    }

    /// Reads `.lightweight(fromVersion:toVersion:)` and `.custom(…)`.
    private static func stage(_ entry: ListReader.Entry, _ list: ListReader) -> SourceStage? {
        let head = entry.tokens.prefix { !$0.isMark("(") }
        guard let kind = head.last, kind.isWord("lightweight") || kind.isWord("custom") else { return nil }
        let content = entry.tokens.dropFirst(head.count).enclosed
        let arguments = CallArgument.list(content)
        func version(_ label: String) -> String? {
            guard let value = arguments.first(where: { $0.label == label })?.value else { return nil }
            return list.type(value, in: entry.scope, file: entry.file)?.path
        }
        guard let from = version("fromVersion"), let to = version("toVersion") else { return nil }
        let closures =
            arguments.filter { ["willMigrate", "didMigrate"].contains($0.label) }.map(\.value)
            + [entry.tokens[content.endIndex...].dropFirst()]
        let code = closures.filter { !$0.isEmpty && !($0.count == 1 && $0.first?.isWord("nil") == true) }
        let words = code.flatMap { tokens in
            zip(tokens, tokens.dropFirst()).filter { $0.isMark(".") && $1.kind == .word }.map(\.1.text)
        }
        return SourceStage(
            from: from, to: to, isCustom: kind.isWord("custom") && !code.isEmpty,
            place: SourcePlace(file: entry.file, line: kind.line), words: Set(words))
    }
}
