import Diagnostics
import ManagedModel
import SwiftTokens

/// The models that Swift sources declare.
///
///     files  ->  tokens  ->  declarations  ->  types  ->  versions  ->  entities  ->  hashes
///             SwiftTokens    Declarations/     Types/     Schema/       Models/       KnownHashes
///
/// No compiler is asked: declarations say what SwiftData needs. A hash says afterwards if the reading is right
/// (``EntityStanding``).
///
/// Memory: the tokens of all files, some 100 bytes each.
package struct SwiftSourceModels {
    private let tree: SourceTree
    private let tokens: [(file: String, tokens: [SwiftToken])]
    private let name: String

    /// Reads texts, each with the path of its file.
    ///
    /// - Parameter name: the name of the version if the sources declare none.
    /// - Complexity: O(bytes).
    package init(_ texts: [(file: String, text: String)], name: String) {
        tokens = texts.map { ($0.file, ActiveTokens.of(SwiftLexer.tokens(of: $0.text))) }
        tree = SourceTree(tokens.map { DeclarationParser.read($0.tokens, file: $0.file) })
        self.name = name
    }

    package var hasModels: Bool { tree.root.allTypes.contains(where: \.isModel) }

    /// Derives the versions.
    ///
    /// - Parameter known: the hashes by which entities are checked, and open pairs of relationships decided.
    /// - Returns: the versions, the oldest first.
    /// - Throws: `swift.noModels` (78) if there is no class with `@Model`, `swift.plan` (78) if there are several plans.
    /// - Complexity: O(classes of all versions).
    package func versions(known: [KnownHashes] = []) throws(MigrationError) -> SourceModelVersions {
        let resolver = resolver(known)
        let types = tree.root.allTypes
        guard types.contains(where: \.isModel) else {
            throw MigrationError(
                "swift.noModels", .configuration, "The Swift sources declare no class with @Model",
                remedy: "Name the folder that has them", context: .init(path: tokens.first?.file))
        }
        let planTypes = types.filter { resolver.conforms($0, to: "SchemaMigrationPlan") }
        let plans = planTypes.map { MigrationPlanSyntax($0, resolver) }.filter { !$0.schemas.isEmpty }
        guard plans.count < 2 else {
            let places = plans.map { "\($0.name) (\($0.place))" }.joined(separator: " and ")
            throw plans[1].place.refusal(
                "swift.plan", "There are several migration plans: \(places)",
                remedy: "Name the files or folders of one of them")
        }
        let all = types.filter { $0.declaration?.kind != .protocol && resolver.conforms($0, to: "VersionedSchema") }
            .map { SchemaDeclaration($0, resolver) }
        var schemas =
            plans.first?.schemas.map { SchemaDeclaration($0, resolver) }
            ?? all.sorted { SchemaOrder.precedes($0.identifier, $1.identifier) }
        if schemas.isEmpty { schemas = [SchemaDeclaration(lone: name, in: tokens, resolver)] }
        let others = all.filter { schema in !schemas.contains { $0.name == schema.name } }
        let versions = Self.versions(of: schemas + others, resolver, known)
        return SourceModelVersions(
            versions: Array(versions.prefix(schemas.count)), others: Array(versions.dropFirst(schemas.count)),
            stages: plans.first?.stages ?? [], warnings: SchemaOrder.warnings(schemas, versions, plans.first))
    }

    /// Returns a resolver that knows one of several classes of a name, if known hashes decide which.
    private func resolver(_ known: [KnownHashes]) -> TypeResolver {
        var resolver = TypeResolver(root: tree.root)
        let twins = Dictionary(grouping: resolver.models, by: \.path).values.filter { classes in
            classes.count > 1 && known.contains { !$0.hashes(of: classes[0].name).isEmpty }
        }
        let choices: [[TypeScope]] = twins.reduce([[]]) { choices, classes in
            choices.count > 64 ? [] : choices.flatMap { choice in classes.map { choice + [$0] } }
        }
        for choice in choices where !choice.isEmpty {
            resolver.excluded = Set(twins.joined().map(ObjectIdentifier.init))
                .subtracting(choice.map(ObjectIdentifier.init))
            let schema = SchemaDeclaration(name: name, identifier: nil, classes: choice, place: tree.root.place)
            let standings = SchemaBuilder(schema, resolver, known: known).version().standings
            if choice.allSatisfy({ ![nil, .unchecked].contains(standings[$0.name]) }) { return resolver }
        }
        return TypeResolver(root: tree.root)
    }

    private static func versions(
        of schemas: [SchemaDeclaration], _ resolver: TypeResolver, _ known: [KnownHashes]
    ) -> [SourceModelVersion] {
        let builders = schemas.map { SchemaBuilder($0, resolver, known: known) }
        // What a hash decided in one version holds for the same declarations in another.
        let decided = builders.reduce(into: [:]) { $0.merge($1.decided) { first, _ in first } }
        return builders.map { builder in
            var builder = builder
            builder.decide(by: decided)
            return builder.version()
        }
    }
}
