import CoreDataStore
import Diagnostics
import Foundation

/// What the notes of a report tell of a run, and the notes themselves.
struct RunNotes {
    let counts: MigrationCounts
    let tables: [PlannedTable]
    let schema: StoreSchema
    let options: MigrationOptions
    let source: SourceStore
    let foreign: ForeignTables
    /// The store that was appended to; nil if the run made one.
    let existing: ExistingStore?
    /// Some of the files of external data that are missing.
    let missing: [ExternalFiles.Missing]
    /// A sentence on persistent history, and one on mirroring; nil if there is nothing to say.
    let history: String?
    let mirroring: String?
    let repairs: [MigrationPlan.Repair]
    let corrected: [CorrectedBookkeeping]
    let unmapped: [MigrationPlan.Unmapped]
    /// Sentences on the layout of the destination.
    let layout: [String]
    /// The entities whose version hash is known to Core Data only.
    let unknownHashes: [String]
    let links: [LinksNotMade]
    let orders: [OrdersNotKept]
    let cuts: [ValuesCut]

    /// The notes for the user, a sentence each without a full stop.
    var sentences: [String] {
        var notes = repairs.map(\.sentence) + unmapped.map(\.sentence)
        notes += corrected.flatMap(\.sentences)
        notes += renumbered
        for (entity, count) in counts.withoutMapping.sorted(by: { $0.key < $1.key }) {
            notes.append(
                "\(count.counted("object")) of \(entity) \(count == 1 ? "has" : "have") no entity mapping and "
                    + (count == 1 ? "was" : "were") + " not migrated")
        }
        if let refusal = source.pagesRefusal {
            notes.append("The source was read through SQLite, not by its pages: \(refusal)")
        }
        for (reason, tables) in Dictionary(grouping: source.pageFallbacks, by: \.value).sorted(by: { $0.key < $1.key })
        {
            let names = tables.map(\.key).sorted().joined(separator: ", ")
            notes.append("\(names) \(tables.count == 1 ? "was" : "were") read through SQLite, not by pages: \(reason)")
        }
        if let mirroring { notes.append(mirroring) }
        if !foreign.names.isEmpty {
            let further = foreign.furtherCount > 0 ? " and \(foreign.furtherCount.grouped) more" : ""
            notes.append(
                "Tables that are no part of the source model are left behind: "
                    + zip(foreign.names, foreign.rows).map { name, rows in
                        name + (rows.map { " (\($0.counted("row")))" } ?? "")
                    }.joined(separator: ", ") + further)
        }
        if counts.strays > 0 {
            notes.append(
                counts.strays.counted("source row is", "source rows are")
                    + " of no entity of the source model and \(counts.strays == 1 ? "was" : "were") not migrated")
        }
        notes += (counts.nilReferences ?? []).map(\.sentence) + (counts.furtherObjects ?? []).map(\.sentence)
        notes += (counts.oneSidedLinks ?? []).map(\.sentence)
        notes += LinkLosses.notes(links, orders, beside: counts.nilReferences) + cuts.map(\.sentence)
        if let changedSources { notes.append(changedSources) }
        if counts.missingExternalFiles > 0 {
            let named = missing.map { "\($0.entity)/p\($0.key).\($0.attribute): \($0.file)" }
            notes.append(
                counts.missingExternalFiles.counted("file", "files") + " of external binary data "
                    + (counts.missingExternalFiles == 1 ? "does" : "do")
                    + " not exist beside the source; the references "
                    + (counts.missingExternalFiles == 1 ? "to it" : "to them") + " were kept ("
                    + named.joined(separator: ", ")
                    + (counts.missingExternalFiles > named.count ? ", …)" : ")"))
        }
        if let existing, existing.historyTransactions > 0 {
            notes.append("The destination's persistent history does not tell of the objects that were added")
        }
        notes += layout
        if let history { notes.append(history) }
        if !unknownHashes.isEmpty {
            notes.append(
                "The version hashes of \(unknownHashes.joined(separator: ", ")) are known to Core Data only and were left out: "
                    + "it takes the store for one of another version")
        }
        for (rule, count) in counts.warnings.sorted(by: { $0.key < $1.key }) {
            notes.append(
                count.counted("object breaks a rule that it", "objects break a rule that they")
                    + " broke in the source already: \(rule)")
        }
        return notes
    }

    /// The note on source objects that policies changed or deleted; nil if there are none.
    private var changedSources: String? {
        let changes = [(counts.changedSources, "changed"), (counts.deletedSources, "deleted")].compactMap {
            count, verb in count.map { "\(verb) \($0.counted("source object"))" }
        }
        guard !changes.isEmpty else { return nil }
        return "Policies \(changes.joined(separator: " and ")), beside the source, which was not written"
    }

    /// The note on objects that get keys of their own.
    private var renumbered: [String] {
        let renumbered = Set(tables.filter { $0.keys == .sequential && !$0.mappings.isEmpty }.map(\.table)).sorted()
        if renumbered.isEmpty { return [] }
        let objects = renumbered.map { schema.model.entity(at: schema.tables[$0].root).definition.name }
        let subject = "Objects of \(objects.joined(separator: ", ")) have"
        if existing != nil {
            return [
                subject
                    + " keys after those of the destination: stored object URIs of the source do not point to them"
            ]
        }
        let uuid = options.newUUID ? "" : " although the store's UUID is kept (--new-uuid gives a fresh one)"
        return [subject + " new keys: stored object URIs point elsewhere" + uuid]
    }
}
