import CoreDataStore
import Diagnostics

/// The links of a ``RelatingByKeys``, resolved for the rows of one load.
final class KeyedLinks: ModelStage {
    let stage: StageInputs
    private let relating: RelatingByKeys
    private var pending: PendingLinks

    /// - Complexity: one scan for each relationship whose references are only counted.
    init(stage: StageInputs, relating: RelatingByKeys) throws {
        self.stage = stage
        self.relating = relating
        pending = PendingLinks(relating.links.columns)
        // No user code runs later, so references that find nothing now stay nil. Those of links in the stores are noted.
        if checkpoints?.resumed == nil, relating.isWhole { modelRun.beginReferences(mayBeSet: false) }
        modelRun.services.concurrentSorts = max(
            6 + relating.links.columns.count, relating.isWhole ? 0 : modelRun.services.concurrentSorts)
        let stream = modelRun.links(by: relating.keys)
        for (mapping, planned) in relating.links.counted {
            try stream.forEach(mapping, planned, countsMissing: true) { _ in }
        }
    }

    /// Returns the patches that set the foreign keys of a table's rows. Must be called once per table.
    ///
    /// - Parameters:
    ///   - isClosed: tells whether all rows of a table were written. Links of such tables alone are left out.
    func patches(of table: Int, isClosed: (Int) -> Bool) throws -> [any RowPatches] {
        let resolution = DeclaredLinkSort(stream: modelRun.links(by: relating.keys), mappings: relating.mappings)
        var patches: [any RowPatches] = try pending.patches(of: table, by: resolution, isClosed: isClosed)
        guard !isClosed(table) else { return [] }
        let own = relating.mappings.filter { $0.destinationTable == table && relating.links.direct[$0.index] != nil }
        for mapping in own {
            guard let keys = relating.keys.byMapping[mapping.index], keys.index.count > 0,
                let entity = mapping.source
            else { continue }
            patches.append(
                ReferencePatches(
                    run: modelRun.run, mapping: mapping, of: entity, direct: relating.links.direct[mapping.index] ?? [],
                    own: keys, keys: relating.keys, missing: modelRun.missing,
                    sharing: keys.mode == .kept ? own.count : 1))
        }
        return patches
    }

    /// Returns the rows of a join table.
    ///
    /// - Parameter prepare: called with the number of records, just before the first is written.
    func joinLinks(_ join: Int, prepare: @escaping (Int) throws -> Void) -> JoinLinks {
        JoinLinks(stage: stage, mappings: relating.mappings, keys: relating.keys, joinTable: join, prepare: prepare)
    }
}
