import Diagnostics
import ManagedModel
import PersistentStore

/// The decision about the source's persistent history.
///
/// Changes name objects by entity number and key. They are carried over, with the destination's entity numbers, if every
/// migrated object keeps its key. Changes of entities that are not migrated are dropped. An update names the changed properties
/// by their positions among all properties of the entity, so this is left out if the entity's properties differ.
struct HistoryPlan {
    /// The history to carry over; nil for none.
    let copy: HistoryCopy?
    /// A sentence for the report; nil if the source keeps no history.
    let note: String?

    /// - Parameter keys: the kind of keys that the objects of each root entity got.
    init(
        _ prepared: Migration.Prepared, keys: [String: String], options: MigrationOptions, isAppended: Bool
    ) throws(MigrationError) {
        let count = try HistoryCopy.transactions(of: prepared.source)
        func dropped(_ reason: String?) -> String? {
            guard count > 0 else { return nil }
            let transactions = count == 1 ? "one transaction" : "\(count) transactions"
            return "The source's persistent history, \(transactions), was not carried over"
                + (reason.map { ": " + $0 } ?? "")
        }
        let renumbered = keys.filter { $0.value != KeyMode.kept.rawValue }.keys.sorted()
        let refusal: String? =
            if options.history == .drop {
                ""
            } else if isAppended {
                "the destination has its own"
            } else if prepared.turns.count > 1 {
                "several mapping models ran"
            } else if !renumbered.isEmpty {
                "objects of \(renumbered.joined(separator: ", ")) have new keys"
            } else {
                nil
            }
        if let refusal {
            copy = nil
            note = dropped(refusal.isEmpty ? nil : refusal)
            return
        }
        var targets: [Int: HistoryCopy.Target] = [:]
        for mapping in prepared.mappings {
            guard let source = mapping.source, let destination = mapping.destination else { continue }
            targets[prepared.layout.fileNumber(ofEntity: source.index)] = .init(
                number: prepared.schema.number(of: destination),
                keepsColumns: Self.properties(source) == Self.properties(destination))
        }
        copy = HistoryCopy(of: prepared.source, targets: targets)
        note = nil
    }

    private static func properties(_ entity: EntityDescription) -> [String] {
        (entity.attributes.map(\.name) + entity.relationships.map(\.name)).sorted()
    }
}
