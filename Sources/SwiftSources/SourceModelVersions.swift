import ManagedModel

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
        return all.first { $0.name == name } ?? all.first { $0.name.hasSuffix("." + name) }
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

    /// Finds the version that a store is nearest to: the one with the most equal entities and the fewest others, of several the
    /// last.
    ///
    /// - Parameter distance: counts other differences, which decide between versions that are as near.
    /// - Returns: the version and the entities that differ; nil if no version has an entity of the store's names.
    package func nearest(
        to hashes: [String: [UInt8]], distance: (ManagedObjectModel) -> Int = { _ in 0 }
    ) -> (version: SourceModelVersion, differing: [String])? {
        var best: (rank: (Int, Int, Int), version: SourceModelVersion, differing: [String])?
        for version in versions + others {
            guard case .success(let model) = version.model else { continue }
            let own = VersionHash.entityHashes(of: model)
            let names = Set(own.keys).union(hashes.keys)
            let differing = names.filter { own[$0]?.bytes != hashes[$0] }.sorted()
            guard names.count < own.count + hashes.count else { continue }
            let rank = (names.count - differing.count, -differing.count, -distance(model))
            if best.map({ rank >= $0.rank }) ?? true { best = (rank, version, differing) }
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
        _ schemas: [SchemaDeclaration], _ versions: [SourceModelVersion], _ plan: MigrationPlanSyntax?
    ) -> [String] {
        var warnings = (plan?.unknown ?? []).map { "\(plan?.name ?? "") has an entry that cannot be read: \($0)" }
        let hashes = versions.map { version in
            (try? version.model.get()).map { VersionHash.entityHashes(of: $0) }
        }
        for (index, schema) in schemas.enumerated() {
            let (name, place) = (schema.name, schema.place)
            if index > 0, precedes(schema.identifier, schemas[index - 1].identifier) {
                warnings.append(
                    "\(name) comes after \(schemas[index - 1].name), but its identifier is lower (\(place))")
            }
            for later in schemas.indices.dropFirst(index + 1)
            where hashes[index] != nil && hashes[index] == hashes[later] {
                let both = "\(name) and \(schemas[later].name) have equal version hashes"
                warnings.append("\(both): SwiftData stops with Duplicate version checksums")
            }
            let newest = index < schemas.count - 1 ? schemas[schemas.count - 1].classes : []
            let live = schema.classes.filter { type in
                type.outer?.name.isEmpty == true && newest.contains { $0 === type }
            }
            if !live.isEmpty {
                let names = live.map(\.name).joined(separator: ", ")
                warnings.append("\(name) lists live classes, which change with the newest version: \(names) (\(place))")
            }
        }
        return warnings
    }
}
