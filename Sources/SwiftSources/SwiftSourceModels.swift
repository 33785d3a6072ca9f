import Diagnostics
import ManagedModel

/// The models that Swift sources declare.
///
///     files  ->  tokens  ->  declarations  ->  types  ->  versions  ->  entities  ->  hashes
///                Tokens/     Declarations/     Types/     Schema/       Models/       KnownHashes
///
/// No compiler is asked: declarations say what SwiftData needs. A hash says afterwards if the reading is right
/// (``EntityStanding``).
///
/// Memory: the tokens of all files, some 100 bytes each.
package struct SwiftSourceModels {
    private let tree: SourceTree
    private let tokens: [(file: String, tokens: [SwiftToken])]
    private let name: String

    /// Reads files.
    ///
    /// - Parameter name: the name of the version if the sources declare none.
    /// - Throws: the errors of reading them.
    /// - Complexity: O(bytes).
    package init(_ files: SourceFiles, name: String) throws(MigrationError) {
        self.init(
            try files.paths.map { path throws(MigrationError) in (path, try SourceFiles.text(of: path)) }, name: name)
    }

    /// Reads texts, each with the path of its file.
    package init(_ texts: [(file: String, text: String)], name: String) {
        tokens = texts.map { ($0.file, ActiveTokens.of(SwiftLexer.tokens(of: $0.text))) }
        tree = SourceTree(tokens.map { DeclarationParser.read($0.tokens, file: $0.file) })
        self.name = name
    }

    /// True if the sources declare a class with `@Model`.
    package var hasModels: Bool { tree.root.allTypes.contains(where: \.isModel) }

    /// Derives the versions.
    ///
    /// - Parameter known: the hashes by which entities are checked, and open pairs of relationships decided.
    /// - Returns: the versions, the oldest first.
    /// - Throws: `swift.noModels` (78) if there is no class with `@Model`, `swift.plan` (78) if there are several plans.
    /// - Complexity: O(classes of all versions).
    package func versions(known: [KnownHashes] = []) throws(MigrationError) -> SourceModelVersions {
        guard hasModels else {
            throw MigrationError(
                "swift.noModels", .configuration, "The Swift sources declare no class with @Model",
                remedy: "Name the folder that has them", context: .init(path: tokens.first?.file))
        }
        let reader = SchemaReader(tree)
        let plans = MigrationPlanReader(resolver: reader.resolver).plans.filter { !$0.schemas.isEmpty }
        guard plans.count < 2 else {
            let places = plans.map { "\($0.name) (\($0.place))" }.joined(separator: " and ")
            throw MigrationError(
                "swift.plan", .configuration, "There are several migration plans: \(places)",
                remedy: "Name the files or folders of one of them", context: .init(path: plans[1].place.file))
        }
        let plan = plans.first
        let all = reader.schemas
        var schemas =
            plan?.schemas.map(reader.schema)
            ?? all.sorted {
                SchemaOrder.precedes($0.identifier, $1.identifier)
            }
        if schemas.isEmpty { schemas = [reader.lone(named: name, in: tokens)] }
        let others = all.filter { schema in !schemas.contains { $0.name == schema.name } }
        var builders: [Result<SchemaBuilder, MigrationError>] = (schemas + others).map { schema in
            Result { () throws(MigrationError) in
                var builder = try SchemaBuilder(schema, reader.resolver, known: known)
                try builder.decideByHashes()
                return builder
            }
        }
        // What a hash decided in one version holds for the same declarations in another.
        var decided: [String: InversePairs.Key?] = [:]
        for case .success(let builder) in builders { decided.merge(builder.decided) { first, _ in first } }
        builders = builders.map { result in
            result.map { builder in
                var builder = builder
                builder.decide(by: decided)
                return builder
            }
        }
        let versions = zip(schemas + others, builders).map { schema, builder in
            switch builder {
            case .success(let builder): builder.version()
            case .failure(let error):
                SourceModelVersion(
                    name: schema.name, identifier: schema.identifier, place: schema.place, model: .failure(error))
            }
        }
        return SourceModelVersions(
            versions: Array(versions.prefix(schemas.count)), others: Array(versions.dropFirst(schemas.count)),
            stages: plan?.stages ?? [], warnings: SchemaOrder.warnings(schemas, versions, plan))
    }
}

/// The versions that sources declare, and the stages between them.
package struct SourceModelVersions: Sendable {
    /// The versions of the migration plan in its order; without a plan all versions by their identifiers.
    package let versions: [SourceModelVersion]
    /// The versions that the plan does not list.
    package let others: [SourceModelVersion]
    package let stages: [SourceStage]
    /// Facts about the plan that its author should know, a sentence each.
    package let warnings: [String]

    /// Returns a version by its name or its identifier; one that the plan lists comes first.
    package func version(named name: String) -> SourceModelVersion? {
        let all = versions + others
        return all.first { $0.name == name } ?? all.first {
            $0.name.split(separator: ".").last.map(String.init) == name
        }
            ?? all.first { $0.identifier == name }
    }

    /// Returns the fewest stages that lead from one version to another; nil if none do.
    package func stages(from source: String, to destination: String) -> [SourceStage]? {
        var ways: [String: [SourceStage]] = [source: []]
        var ends = [source]
        while !ends.isEmpty, ways[destination] == nil {
            var next: [String] = []
            for stage in stages where ends.contains(stage.from) && ways[stage.to] == nil {
                ways[stage.to] = (ways[stage.from] ?? []) + [stage]
                next.append(stage.to)
            }
            ends = next
        }
        return ways[destination]
    }

    /// Describes how near a store is to the versions: the version with the most equal entities, and the entities that differ.
    ///
    /// - Parameter hashes: the version hashes of the store.
    /// - Returns: nil if no version has an entity of the store.
    package func nearest(to hashes: [String: [UInt8]]) -> (version: SourceModelVersion, differing: [String])? {
        var best: (version: SourceModelVersion, differing: [String], equal: Int)?
        for version in versions + others {
            guard case .success(let model) = version.model else { continue }
            let own = VersionHash.entityHashes(of: model)
            let equal = own.count { hashes[$0.key] != nil && hashes[$0.key] == $0.value.bytes }
            let names = Set(own.keys).union(hashes.keys).filter { own[$0]?.bytes != hashes[$0] }.sorted()
            if equal >= best?.equal ?? 1 { best = (version, names, equal) }
        }
        return best.map { ($0.version, $0.differing) }
    }
}

/// The order of versions, and what is strange about a plan.
enum SchemaOrder {
    /// Compares identifiers number by number; one that is not known comes first.
    static func precedes(_ first: String?, _ second: String?) -> Bool {
        func numbers(_ identifier: String?) -> [Int] { (identifier ?? "").split(separator: ".").compactMap { Int($0) } }
        return numbers(first).lexicographicallyPrecedes(numbers(second))
    }

    /// Returns a sentence for each oddity: equal hashes, live classes in old versions, an order that identifiers contradict.
    static func warnings(
        _ schemas: [SchemaDeclaration], _ versions: [SourceModelVersion], _ plan: MigrationPlanDeclaration?
    ) -> [String] {
        var warnings = (plan?.unknown ?? []).map { "\(plan?.name ?? "") has an entry that cannot be read: \($0)" }
        let hashes = versions.map { version -> [String: EntityVersionHash]? in
            if case .success(let model) = version.model { VersionHash.entityHashes(of: model) } else { nil }
        }
        for (index, schema) in schemas.enumerated() {
            if index > 0, precedes(schema.identifier, schemas[index - 1].identifier) {
                warnings.append(
                    "\(schema.name) comes after \(schemas[index - 1].name), but its identifier is lower (\(schema.place))"
                )
            }
            for later in schemas.indices.dropFirst(index + 1)
            where hashes[index] != nil && hashes[index] == hashes[later] {
                warnings.append(
                    "\(schema.name) and \(schemas[later].name) have equal version hashes: SwiftData stops with Duplicate version checksums"
                )
            }
            guard index < schemas.count - 1, let newest = schemas.last else { continue }
            let live = schema.classes.filter { scope in
                scope.outer?.name.isEmpty == true && newest.classes.contains { $0 === scope }
            }
            if !live.isEmpty {
                warnings.append(
                    "\(schema.name) lists live classes, which change with the newest version: \(live.map(\.name).joined(separator: ", ")) (\(schema.place))"
                )
            }
        }
        return warnings
    }
}
