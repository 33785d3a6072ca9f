import CoreDataStore
import Diagnostics
import ManagedModel

/// The decision about the source's persistent history.
///
/// Changes name objects by entity number and key. They are carried over, with the destination's entity numbers, if every
/// migrated object keeps its key. Changes of entities that are not migrated are left out. The set of properties that an update
/// changed is stored as places among the entity's properties, so it is left out if these differ. A copy without history still
/// has its empty tables, because programs recognise the kind of store by them.
struct HistoryPlan {
    /// The copying of the rows, or of the empty tables alone; nil for an existing store, which has its own history.
    let copy: HistoryCopy?
    /// A sentence for the report about what became of the history. Nil if the source keeps none, or if the history was carried over
    /// because the options ask for it.
    let note: String?

    /// - Parameters:
    ///   - mappings: the entity mappings of all mapping models.
    ///   - models: the number of mapping models.
    ///   - isMirrored: true if CloudKit mirrors the source.
    ///   - keys: the kind of keys that the objects of each root entity got.
    init(
        source: SourceStore, layout: StoreLayout, schema: StoreSchema, mappings: [PlannedMapping], models: Int,
        isMirrored: Bool, keys: [String: String], options: MigrationOptions, isAppended: Bool
    ) throws(MigrationError) {
        let count = try HistoryCopy.transactions(of: source)
        let transactions = count == 1 ? "one transaction" : count.counted("transaction")
        var targets: [Int: HistoryCopy.Target] = [:]
        var moved: Set<String> = []
        for mapping in mappings {
            guard let from = mapping.source, let destination = mapping.destination else { continue }
            let (old, new) = (layout.fileNumber(ofEntity: from.index), schema.number(of: destination))
            targets[old] = .init(number: new, keepsColumns: Self.properties(from) == Self.properties(destination))
            if old != new { moved.insert(destination.definition.name) }
        }
        let refusal = Self.refusal(
            models: models, isMirrored: isMirrored,
            renumbered: keys.filter { $0.value != KeyMode.kept.rawValue }.keys.sorted(),
            moved: moved.sorted(), options: options, isAppended: isAppended)
        if let refusal {
            copy = isAppended ? nil : HistoryCopy(of: source, targets: nil)
            note =
                count == 0
                ? nil
                : "The source's persistent history, \(transactions), was not carried over"
                    + (refusal.isEmpty ? "" : ": " + refusal)
        } else {
            copy = HistoryCopy(of: source, targets: targets)
            note =
                count == 0 || options.history == .keep
                ? nil
                : "The source's persistent history, \(transactions), was carried over, as keys and entity numbers are kept "
                    + "(--history drop leaves it behind)"
        }
    }

    /// Returns the reason why the history stays behind; empty if that was asked for, nil if it is carried over.
    private static func refusal(
        models: Int, isMirrored: Bool, renumbered: [String], moved: [String], options: MigrationOptions,
        isAppended: Bool
    ) -> String? {
        if options.history == .drop || options.cloudKit == .drop && isMirrored { return "" }
        if isAppended { return "the destination has its own" }
        if models > 1 { return "several mapping models ran" }
        if !renumbered.isEmpty { return "objects of \(renumbered.joined(separator: ", ")) have new keys" }
        guard options.history == .auto, !moved.isEmpty else { return nil }
        let names = moved.prefix(5).joined(separator: ", ") + (moved.count > 5 ? " and \(moved.count - 5) more" : "")
        return "entities have other numbers (\(names)); --history keep carries it over under those"
    }

    private static func properties(_ entity: EntityDescription) -> [String] {
        (entity.attributes.map(\.name) + entity.relationships.map(\.name)).sorted()
    }
}
