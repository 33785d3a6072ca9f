import CoreDataStore
import Diagnostics
import Foundation
import ManagedModel
import Mapping

/// Works out the objects and keys that the destination should hold: reads, filters and numbers the source's objects.
struct ExpectedObjects {
    let plan: VerificationPlan
    let objects: VerifiedObjects
    let storage: VerificationStorage
    let manager: LookupStub
    let findings: VerificationFindings
    /// The source objects listed in a reject file, by the entity mapping's name.
    let rejects: VerificationRejects
    /// Called with the number of rows of each batch.
    let noteRead: (Int) throws -> Void

    /// The counts of an entity mapping.
    struct Counts {
        var objects = 0
        var filtered = 0
        var rejected = 0
        var made = 0
        /// Those that share the object of another one.
        var shared = 0
    }

    /// Fills the storage.
    ///
    /// - Parameter isCounting: true to only count the objects that each table gets: nothing is written, and keys begin
    ///   at 1.
    /// - Returns: the counts by mapping, and the number of keys given by destination table.
    func work(isCounting: Bool) throws -> (counts: [Counts], given: [Int64], made: [Int64]) {
        let tables = plan.destination.schema.tables.count
        var counts = Array(repeating: Counts(), count: plan.mappings.count)
        var given = Array(repeating: Int64(0), count: tables)
        var made = given
        for model in 0..<plan.modelCount {
            let own = plan.own(model)
            manager.model = model
            var next = plan.highest
            var kept = Array(repeating: false, count: tables)
            for table in 0..<tables {
                let into = own.filter { plan.destinationTable($0) == table }
                if let blocked = into.first(where: { $0.obstacle != nil }), plan.obstacles[table] == nil {
                    plan.obstacles[table] = "entity mapping \(blocked.name): \(blocked.obstacle ?? "")"
                }
                kept[table] = plan.keepsKeys(table: table, model: model)
                if kept[table] { plan.isKept[table] = true }
                if plan.hasPolicies(model), !kept[table] { plan.isUncertain[table] = true }
            }
            var touched = Array(repeating: false, count: tables)
            for mapping in own {
                guard let table = plan.destinationTable(mapping) else { continue }
                if !isCounting { storage.begin(mapping, isKept: kept[table]) }
                let keys = isCounting ? nil : storage.keys[mapping.index]
                var count = Counts()
                defer { counts[mapping.index] = count }
                var highest = next[table]
                try eachMaker(mapping, keys, &count) { key in
                    guard plan.obstacles[table] == nil else { return nil }
                    given[table] += 1
                    highest = kept[table] ? max(highest, key) : highest + 1
                    return kept[table] ? key : highest
                }
                try keys?.seal(end: mapping.forEach == nil ? nil : highest + 1)
                next[table] = highest
                if count.made + count.rejected > 0 { touched[table] = true }
                made[table] += Int64(count.made)
                if kept[table], let from = plan.sourceTable(mapping) {
                    next[table] = max(next[table], plan.source.tables[from].maximumKey)
                }
            }
            plan.highest = next
            for table in 0..<tables where touched[table] { plan.hasRows[table] = true }
            // The numbering of a later mapping model depends on whether a policy left rows in the table.
            if plan.hasPolicies(model), model + 1 < plan.modelCount {
                for table in 0..<tables where !plan.hasRows[table] && plan.obstacles[table] == nil {
                    plan.obstacles[table] = "a policy of a previous mapping model may have made objects"
                }
            }
        }
        return (counts, given, made)
    }

    /// Adds the keys of a mapping's objects, and counts its source objects.
    ///
    /// - Parameter give: returns the destination key for a source object that makes an object, by ascending key; nil if the
    ///   table cannot be worked out.
    private func eachMaker(
        _ mapping: VerifiedMapping, _ keys: ExpectedKeys?, _ count: inout Counts,
        _ give: (Int64) -> Int64?
    ) throws {
        guard let entity = mapping.source, let table = plan.sourceTable(mapping) else { return }
        let rejected = rejects.keys(ofMapping: mapping.name)
        func make(_ key: Int64) throws {
            guard let destination = give(key) else { return }
            guard !rejected.contains(key) else {
                count.rejected += 1
                return
            }
            count.made += 1
            try keys?.append(source: key, destination: destination)
        }
        let object = EvaluatedSource(entity: entity, table: table, key: 0, objects: objects)
        let variables: [String: Any?] = ["manager": manager, "entityMapping": mapping.mapping]
        if mapping.obstacle == nil, let forEach = mapping.forEach {
            guard rejected.isEmpty else {
                return block(mapping, "objects of entity mapping \(mapping.name) were rejected, by member")
            }
            return try eachMember(of: forEach, mapping, object, variables, &count) { isFirst in
                guard let destination = give(object.key) else { return false }
                if isFirst { try keys?.append(source: object.key, destination: destination) }
                return true
            }
        }
        guard mapping.obstacle == nil, let grouping = mapping.grouping else {
            return try each(mapping, of: object, variables) { _, passes in
                count.objects += 1
                guard passes else {
                    count.filtered += 1
                    return
                }
                try make(object.key)
            }
        }
        let groups = ExpectedGroups(grouping, of: object, plan, variables, storage)
        var scratch: [UInt8] = []
        try each(mapping, of: object, variables) { rows, passes in
            count.objects += 1
            if try !passes || !groups.add(object.key, rows, scratch: &scratch) { count.filtered += 1 }
        }
        let shared = storage.sharedObjects()
        try groups.finish { key, maker in
            guard key != maker else { return try make(key) }
            count.shared += 1
            try shared.add(key, sharingWith: maker)
        }
        try shared.finish()
        keys?.shared = shared
    }

    /// Calls a closure for each member of the collections that the source objects of a mapping with `forEach` give.
    ///
    /// - Parameter make: gets true for a source object's first member; returns true if an object is made.
    private func eachMember(
        of forEach: ValueExpression, _ mapping: VerifiedMapping, _ object: EvaluatedSource, _ variables: [String: Any?],
        _ count: inout Counts, _ make: (Bool) throws -> Bool
    ) throws {
        var variables = variables
        variables["source"] = object
        let evaluation = ExpressionEvaluation(of: forEach, with: object, variables: variables)
        try each(mapping, of: object, variables) { _, passes in
            count.objects += 1
            var isFirst = true
            for _ in passes ? try evaluation.members() : [] {
                if try make(isFirst) { count.made += 1 }
                isFirst = false
            }
            if isFirst { count.filtered += 1 }
        }
    }

    /// Notes that the objects of a mapping's destination table cannot be worked out.
    private func block(_ mapping: VerifiedMapping, _ reason: String) {
        guard let table = plan.destinationTable(mapping), plan.obstacles[table] == nil else { return }
        plan.obstacles[table] = reason
    }

    /// Calls a closure with the source objects of a mapping, by ascending key, and whether they pass its filter. What cannot be
    /// evaluated ends the walk, and the destination table is not worked out.
    private func each(
        _ mapping: VerifiedMapping, of object: EvaluatedSource, _ variables: [String: Any?],
        _ body: (SequentialRows, Bool) throws -> Void
    ) throws {
        let filter = mapping.obstacle == nil ? mapping.filter : nil
        let forEach: String? = mapping.forEach == nil ? nil : "forEach"
        let key = mapping.obstacle == nil ? mapping.grouping?.keyName ?? forEach : nil
        let rows = try SequentialRows(
            objects.source, plan.source, table: object.table, columns: filter == nil && key == nil ? [] : nil,
            entities: [object.entity.index], noteRead: noteRead)
        if filter != nil || key != nil { objects.pass = (object.table, rows) }
        defer { objects.pass = nil }
        /// Runs a closure; false if it fails to evaluate.
        func evaluate(_ what: String, _ closure: () throws -> Void) throws -> Bool {
            do { try closure() } catch let error as MigrationError where error.category == .io {
                throw error
            } catch {
                findings.skip(mapping.name, "its \(what): \(VerificationObstacle.reason(of: error))")
                block(mapping, "the \(what) of entity mapping \(mapping.name) cannot be evaluated")
                return false
            }
            return true
        }
        manager.enter(mapping)
        while try rows.advance() {
            object.key = rows.key
            var passes = true
            if let filter {
                let isKnown = try evaluate("filter") {
                    passes = try filter.filterTruth(of: object, variables: variables) == true
                }
                guard isKnown else { return }
            }
            guard let key else {
                try body(rows, passes)
                continue
            }
            guard try evaluate("\"\(key)\"", { try body(rows, passes) }) else { return }
        }
    }
}

/// The source objects listed in a reject file.
///
/// Memory: a set of keys for each entity mapping; about 16 bytes for each rejected object.
struct VerificationRejects {
    private var keys: [String: Set<Int64>] = [:]
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
        var number = 0
        while let line = FileBytes.line(of: file) {
            number += 1
            guard number > skipping else { continue }
            guard let reject = try? JSONDecoder().decode(RejectedObject.self, from: Data(line)) else {
                throw MigrationError(
                    "rejects.line", .data, "The reject file has a line that is none of migrate's",
                    context: .init(path: path, line: number))
            }
            count += 1
            guard let id = reject.sourceID, let mapping = reject.mapping,
                let place = id.range(of: "/p", options: .backwards), let key = Int64(id[place.upperBound...])
            else { continue }
            keys[mapping, default: []].insert(key)
        }
    }

    /// The keys of an entity mapping's rejected source objects.
    func keys(ofMapping mapping: String) -> Set<Int64> { keys[mapping] ?? [] }
}
