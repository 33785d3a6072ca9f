import CoreDataStore
import Diagnostics
import Foundation
import ManagedModel
import Mapping

/// Works out the objects and keys that the destination should hold: reads the source, filters it and numbers the
/// objects.
struct ExpectedObjects {
    let plan: VerificationPlan
    let objects: VerifiedObjects
    let ledger: VerificationLedger
    let manager: LookupStub
    let findings: VerificationFindings
    /// The source objects listed in a reject file, by the entity mapping's name.
    let rejects: VerificationRejects
    let checkCancelled: () throws -> Void

    /// The counts of an entity mapping.
    struct Counts {
        var objects = 0
        var filtered = 0
        var rejected = 0
        var made = 0
    }

    /// Fills the ledger.
    ///
    /// - Parameter isCounting: true to only count the objects that each table gets: nothing is written, and keys begin
    ///   at 1.
    /// - Returns: the counts by mapping, and the number of keys given by destination table.
    func work(isCounting: Bool) throws -> (counts: [Counts], given: [Int64], made: [Int64]) {
        let tables = plan.destination.schema.tables.count
        var counts = Array(repeating: Counts(), count: plan.mappings.count)
        var given = Array(repeating: Int64(0), count: tables)
        var made = given
        if !isCounting {
            for table in 0..<tables {
                try ledger.execute("CREATE TABLE t\(table)(d INTEGER PRIMARY KEY, m INTEGER, s INTEGER)")
            }
        }
        for turn in 0..<plan.turns {
            let own = plan.own(turn)
            manager.turn = turn
            var next = plan.highest
            var kept = Array(repeating: false, count: tables)
            for table in 0..<tables {
                let into = own.filter { plan.destinationTable($0) == table }
                if let blocked = into.first(where: { $0.obstacle != nil }), plan.obstacles[table] == nil {
                    plan.obstacles[table] = "entity mapping \(blocked.name): \(blocked.obstacle ?? "")"
                }
                kept[table] = plan.keepsKeys(table: table, turn: turn)
                if kept[table] { plan.isKept[table] = true }
                if plan.hasPolicies(turn), !kept[table] { plan.isUncertain[table] = true }
            }
            var touched = Array(repeating: false, count: tables)
            for mapping in own {
                if !isCounting {
                    try ledger.execute("CREATE TABLE m\(mapping.index)(s INTEGER PRIMARY KEY, d INTEGER)")
                }
                guard let table = plan.destinationTable(mapping) else { continue }
                try each(mapping) { key, passes, isRejected in
                    counts[mapping.index].objects += 1
                    guard passes else {
                        counts[mapping.index].filtered += 1
                        return
                    }
                    guard plan.obstacles[table] == nil else { return }
                    touched[table] = true
                    given[table] += 1
                    let number: Int64
                    if kept[table] {
                        number = key
                        next[table] = max(next[table], key)
                    } else {
                        next[table] += 1
                        number = next[table]
                    }
                    guard !isRejected else {
                        counts[mapping.index].rejected += 1
                        return
                    }
                    counts[mapping.index].made += 1
                    made[table] += 1
                    guard !isCounting else { return }
                    try ledger.run("INSERT INTO m\(mapping.index) VALUES(?1,?2)", key, number)
                    try ledger.run(
                        "INSERT OR REPLACE INTO t\(table) VALUES(?1,?2,?3)", number, Int64(mapping.index), key)
                }
                if kept[table], let from = plan.sourceTable(mapping) {
                    next[table] = max(next[table], plan.source.tables[from].maximumKey)
                }
            }
            plan.highest = next
            for table in 0..<tables where touched[table] { plan.hasRows[table] = true }
            // The numbering of a later mapping model depends on whether a policy left rows in the table.
            if plan.hasPolicies(turn), turn + 1 < plan.turns {
                for table in 0..<tables where !plan.hasRows[table] && plan.obstacles[table] == nil {
                    plan.obstacles[table] = "a policy of a previous mapping model may have made objects"
                }
            }
        }
        return (counts, given, made)
    }

    /// Calls a closure with the source objects of a mapping, by ascending key.
    private func each(_ mapping: VerifiedMapping, _ body: (Int64, Bool, Bool) throws -> Void) throws {
        guard let entity = mapping.source, let table = plan.sourceTable(mapping) else { return }
        let found = plan.source.tables[table]
        let statement = try objects.source.query(
            "SELECT Z_PK, \(SQLName.quoted(found.columns[EntityTable.entityColumn])) FROM \(SQLName.quoted(found.name)) ORDER BY Z_PK"
        )
        var count = 0
        while try statement.step() {
            count += 1
            if count % 4096 == 0 { try checkCancelled() }
            let number = Int(truncatingIfNeeded: statement.integer(1))
            guard plan.source.entity(inTable: table, forFileNumber: number) == entity.index else { continue }
            let key = statement.integer(0)
            var passes = true
            if let filter = mapping.filter, mapping.obstacle == nil {
                let object = EvaluatedSource(entity: entity, table: table, key: key, objects: objects)
                manager.enter(mapping)
                do {
                    passes =
                        try filter.filterTruth(
                            of: object, variables: ["manager": manager, "entityMapping": mapping.mapping])
                        == true
                } catch let error as MigrationError where error.category == .io {
                    throw error
                } catch {
                    findings.skip(mapping.name, "its filter: \(VerificationObstacle.reason(of: error))")
                    if let destination = plan.destinationTable(mapping), plan.obstacles[destination] == nil {
                        plan.obstacles[destination] = "the filter of entity mapping \(mapping.name) cannot be evaluated"
                    }
                    return
                }
            }
            try body(key, passes, rejects.contains(mapping: mapping.name, source: key))
        }
    }
}

/// The source objects listed in a reject file.
///
/// Memory: a set of keys for each entity mapping; about 16 bytes for each rejected object.
struct VerificationRejects {
    private var keys: [String: Set<Int64>] = [:]
    /// The number of lines for objects without a source.
    private(set) var others = 0
    private(set) var count = 0

    init() {}

    /// Reads a file line by line.
    ///
    /// - Parameter skipping: the number of lines at its beginning that belong to previous steps of a chain.
    ///
    /// - Throws: `output.io` (74), `rejects.line` (65) for a line that is not one of a reject file.
    init(path: String, skipping: Int = 0) throws(MigrationError) {
        guard let file = fopen(path, "re") else {
            throw MigrationError(
                "rejects.notFound", .noInput, "The reject file cannot be read: \(String(cString: strerror(errno)))",
                context: .init(path: path))
        }
        defer { fclose(file) }
        var line: UnsafeMutablePointer<CChar>?
        var capacity = 0
        defer { free(line) }
        var number = 0
        while true {
            let length = getline(&line, &capacity, file)
            guard length > 0, let line else { break }
            number += 1
            guard number > skipping else { continue }
            let data = Data(bytes: line, count: length)
            guard let reject = try? JSONDecoder().decode(RejectedObject.self, from: data) else {
                throw MigrationError(
                    "rejects.line", .data, "The reject file has a line that is none of migrate's",
                    context: .init(path: path, line: number))
            }
            count += 1
            guard let id = reject.sourceID, let mapping = reject.mapping,
                let place = id.range(of: "/p", options: .backwards), let key = Int64(id[place.upperBound...])
            else {
                others += 1
                continue
            }
            keys[mapping, default: []].insert(key)
        }
    }

    func contains(mapping: String, source: Int64) -> Bool {
        keys.isEmpty ? false : keys[mapping]?.contains(source) ?? false
    }
}
