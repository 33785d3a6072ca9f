import CoreDataStore
import SpillStorage

/// The load of one join table as a unit of a walk.
struct JoinTableLoad {
    let modelRun: ModelRun
    let destination: DestinationStore
    let joinTable: Int

    /// Writes the links and builds the indexes.
    ///
    /// - Parameter load: writes the links to the writer, from a position on, and returns their number. It calls its last
    ///   argument with the number of links at most, just before it writes the first.
    func run(
        _ walk: inout UnitWalk,
        _ load: (any TableWriter, LoadPosition?, @escaping (Int) throws -> Void) throws -> Int
    ) throws {
        let name = modelRun.inputs.destinationSchema.joinTables[joinTable].name
        modelRun.services.begin(.load, [name])
        if walk.beginsAfterKill { try destination.checkEmpty(name) }
        let writer = try destination.joinWriter(joinTable, resumingFrom: walk.fill)
        let count: Int
        if let position = walk.position, position.isDone {
            walk.restoreState()
            try walk.recordBeginning()
            count = position.links
        } else {
            var entered = walk
            count = try load(writer, walk.position) { [destination, joinTable] links in
                if entered.position == nil {
                    try destination.prepareRows(joinTable: joinTable, expecting: links)
                } else {
                    entered.restoreState()
                }
                try entered.recordBeginning()
            }
            walk = entered
        }
        walk.recordEnd(of: .init(isDone: true, links: count))
        try writer.finish()
        modelRun.tally.linksWritten[joinTable] += count
        modelRun.services.begin(.indexes, [name])
        try destination.createIndexes(joinTable: joinTable)
        try walk.finishUnit()
    }
}
