import CoreDataStore
import Diagnostics
import Foundation
import ManagedModel
import Mapping

/// Says what a migration makes of one source object, and why. Nothing is migrated, and no policy is called.
///
/// Filters and expressions are evaluated for the object alone, and lookups for the objects that it names, each found by its
/// key. Whatever depends on other objects is named instead: numbered keys, links that other objects claim, uniqueness.
///
/// Memory: that of ``ObjectReader``, and the mapping models.
public final class ObjectExplainer {
    private let migration: ChainedMigration

    /// Creates the explanation of a chain.
    ///
    /// - Parameter migration: the chain as it would be run. Its destination is not looked at.
    public init(_ migration: ChainedMigration) { self.migration = migration }

    /// Explains an object.
    ///
    /// If the way to the destination version takes several migrations, because its steps cannot be composed into one, the first
    /// of them is explained. The others read stores in between, which do not exist yet.
    ///
    /// - Parameters:
    ///   - id: `Entity/p<key>`, or the URI of its object id.
    ///   - plan: the plan of the chain, whose losses give ``ObjectExplanation/unread``. If it is nil, that is empty.
    /// - Throws: `object.unknown`, `object.unknownEntity`, `object.otherStore` (66); the errors of the inputs, as a
    ///   migration throws them.
    /// - Complexity: O(mapping models), and O(log rows) for each object that the expressions read.
    public func explain(_ id: String, plan: ChainPlan? = nil) throws -> ObjectExplanation {
        let now = EvaluationScope(now: Date().timeIntervalSinceReferenceDate)
        return try EvaluationScope.$current.withValue(now) { try work(id, plan?.runs[0].plan.leftBehind) }
    }

    private func work(_ id: String, _ leftBehind: LeftBehind?) throws -> ObjectExplanation {
        let runs = migration.runs
        let (run, options) = (runs[0], try migration.optionsByRun(runs)[0])
        let reader = try ObjectReader(path: migration.sourcePath, model: run.source.model, options: options)
        _ = try MirroredSource.check(reader.store, options)
        let (entity, key) = try reader.place(of: id)
        let plan = try ExplainedPlan(run, options, source: reader.layout, explaining: entity)
        let manager = migration.migration(run, from: migration.sourcePath, to: "", options: options).manager
        for mapping in plan.mappings where !mapping.mapping.hasPolicy {
            try CalledSelectors.check(mapping, policy: nil, manager: manager)
        }
        let object = EvaluatedSource(
            entity: entity, table: reader.layout.schema.tableIndex(of: entity), key: key, objects: reader.objects)
        let mappings = try plan.mappings.filter { $0.reads(entity) }.map { mapping in
            try MappingExplanation(mapping, of: object, in: plan, reader, policies: migration.policies).work()
        }
        var notes = mappings.isEmpty ? Self.unread(entity, plan.mappings) : []
        let stored = try reader.object(entity, key)
        let missing = stored.relationships.flatMap(\.missing)
        if !missing.isEmpty {
            notes.append("The store has no row of \(missing.joined(separator: ", ")): a reference to it becomes nil")
        }
        if runs.count > 1 {
            let later = runs.dropFirst().map(\.label).joined(separator: ", ")
            notes.append(
                "This is the first of \(runs.count) migrations on the way (\(run.obstacle ?? "they do not compose")); "
                    + "the others read stores in between, which are not made here: \(later)")
        }
        try reader.close()
        let order: [ObjectExplanation.Outcome] = [
            .invalid, .rejected, .migrated, .shared, .undecided, .filtered, .removed,
        ]
        return ObjectExplanation(
            object: object.objectName, from: run.source.label, to: run.destination.label,
            outcome: order.first { outcome in mappings.contains { $0.outcome == outcome } } ?? .withoutMapping,
            mappings: mappings, unread: Self.unread(stored, entity, leftBehind), notes: notes)
    }

    /// Returns the values and links of an object that no entity mapping carries over. Those of an object that no mapping reads
    /// stay behind with it.
    private static func unread(
        _ object: StoredObject, _ entity: EntityDescription, _ leftBehind: LeftBehind?
    ) -> [ObjectExplanation.Unread] {
        let entities = Set(sequence(first: entity, next: \.superentity).map(\.definition.name))
        return (leftBehind?.lines ?? []).filter { entities.contains($0.entity) }.compactMap { line in
            guard let property = line.property, let value = object[property], !value.isNothing else { return nil }
            return ObjectExplanation.Unread(
                property: property, value: value, reason: line.reason, isMeant: line.isMeant == true,
                suggestions: line.suggestions ?? [])
        }
    }

    /// Says why no mapping reads an entity.
    private static func unread(_ entity: EntityDescription, _ mappings: [PlannedMapping]) -> [String] {
        let near = mappings.filter { $0.source.map(entity.isKindOf) ?? false }
        return near.map { mapping in
            "The entity mapping \(mapping.name) reads objects of \(mapping.source?.definition.name ?? "") itself, and not of its subentities"
        }
    }
}
