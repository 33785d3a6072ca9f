import ManagedModel
import Mapping

/// The numbering of one destination table's keys.
struct ReferenceNumbering {
    let isKept: Bool
    /// The highest key given so far, or to be stepped over.
    var maximum: Int64
}

extension ReferenceMigrator {
    /// Decides for each destination root entity whether keys are kept, and from where new ones are numbered.
    ///
    /// Decision: forced `kept` is refused wherever `auto` would not keep. A mapping without source entity says nothing
    /// about keys unless it names a policy class. Roots that no mapping with a source makes objects of are sequential.
    func decideKeys() throws(ReferenceFailure) {
        for root in destinationModel.entities where root.superentity == nil {
            let table = destination.schema.tableIndex(of: root)
            let into = mappings.filter {
                $0.destinationEntityName.flatMap { destinationModel.entity(named: $0) }?.root == root
            }
            let sources = into.compactMap { $0.sourceEntityName.flatMap { source.model.entity(named: $0) } }
            let canKeep =
                !sources.isEmpty && Set(sources.map(\.root.index)).count == 1
                && Set(sources.map(\.index)).count == sources.count
                && !into.contains { $0.runsAsPolicy || $0.grouping != nil && $0.grouping?.merge == nil }
                && destination.tables[table].isEmpty && !takenRoots.contains(root.definition.name)
            if keys == .kept, !sources.isEmpty, !canKeep { throw .keysCannotBeKept(root.definition.name) }
            let isKept = canKeep && keys != .sequential
            if !sources.isEmpty { report.keysKept[root.definition.name] = isKept }
            let highest: Int64
            if isKept, let first = sources.first {
                let rows = sourceObjects[source.schema.tableIndex(of: first)]
                highest = max(source.maximum(of: first), rows.last?.key ?? 0, destination.maximum(of: root))
            } else {
                highest = max(destination.maximum(of: root), destination.tables[table].keys.max() ?? 0)
            }
            numbering[root.index] = ReferenceNumbering(isKept: isKept, maximum: highest)
        }
    }

    /// Reserves the keys of a mapping without policy: those of the source objects, or the next ones.
    func reserveKeys(for objects: [ReferenceObject], _ mapping: EntityMapping) {
        guard let root = mapping.destinationEntityName.flatMap({ destinationModel.entity(named: $0) })?.root.index,
            var numbers = numbering[root]
        else { return }
        var reserved: [ObjectIdentifier: Int64] = [:]
        for object in objects {
            if !numbers.isKept { numbers.maximum += 1 }
            reserved[ObjectIdentifier(object)] = numbers.isKept ? object.key : numbers.maximum
        }
        numbering[root] = numbers
        reservedKeys = reserved
    }

    /// Tells whether the current mapping reserved a key for a source object.
    func hasKey(_ object: ReferenceObject) -> Bool { reservedKeys?[ObjectIdentifier(object)] != nil }
}
