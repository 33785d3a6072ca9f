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
        let resolver = TypeResolver(root: tree.root)
        let types = tree.root.allTypes
        guard types.contains(where: \.isModel) else {
            throw MigrationError(
                "swift.noModels", .configuration, "The Swift sources declare no class with @Model",
                remedy: "Name the folder that has them", context: .init(path: tokens.first?.file))
        }
        let plans = types.filter { resolver.conforms($0, to: "SchemaMigrationPlan") }.map {
            MigrationPlanSyntax($0, resolver)
        }
        .filter { !$0.schemas.isEmpty }
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

    private static func versions(
        of schemas: [SchemaDeclaration], _ resolver: TypeResolver, _ known: [KnownHashes]
    ) -> [SourceModelVersion] {
        let builders = schemas.map { schema in
            Result { () throws(MigrationError) in try SchemaBuilder(schema, resolver, known: known) }
        }
        // What a hash decided in one version holds for the same declarations in another.
        var decided: [String: InversePairs.Key?] = [:]
        for case .success(let builder) in builders { decided.merge(builder.decided) { first, _ in first } }
        return zip(schemas, builders).map { schema, result in
            switch result {
            case .success(var builder):
                builder.decide(by: decided)
                return builder.version()
            case .failure(let error):
                return SourceModelVersion(
                    name: schema.name, identifier: schema.identifier, place: schema.place, model: .failure(error))
            }
        }
    }
}
