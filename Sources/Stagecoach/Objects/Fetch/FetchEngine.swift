import CoreDataStore
import Foundation
import ManagedModel
import Mapping
import Rows

/// Runs the fetches of one side. Candidates are looked up by key if the predicate allows it, else all rows of the
/// entity are read; each candidate is checked, then ordered or counted.
///
/// Memory: a batch, and the sorter's memory during a sort. The results themselves belong to the caller.
struct FetchEngine {
    let side: any FetchSide
    let run: MigrationRun

    /// Compiles a request.
    ///
    /// - Throws: `fetch.unknownKey`, `value.type` (65), and the stored error of a predicate that could not be read.
    func query(
        entity: EntityDescription, includesSubentities: Bool, predicate: SourcePredicate?,
        sort: [KeySortDescriptor], limit: Int, offset: Int
    ) throws -> FetchQuery {
        let (limit, offset) = (limit > 0 ? limit : nil, max(0, offset))
        let equality = predicate.flatMap {
            FetchEquality($0.node, of: entity, includesSubentities: includesSubentities, on: side)
        }
        if let equality, sort.isEmpty {
            return FetchQuery(
                entity: entity, rows: equality.form.rows, condition: equality.condition, probes: [equality.probe],
                order: nil, limit: limit, offset: offset)
        }
        var compiler = FetchCompiler(entity: entity, side: side, predicate: predicate)
        let condition = try equality.map { compiler.take($0) } ?? predicate.map { try compiler.compile($0) }
        let order = try order(sort, entity: entity, &compiler)
        return FetchQuery(
            entity: entity,
            rows: FetchRows(
                of: entity, includesSubentities: includesSubentities, columns: compiler.slots.columns, in: side.schema),
            condition: condition, probes: compiler.probes, order: order, limit: limit, offset: offset)
    }

    private func order(
        _ sort: [KeySortDescriptor], entity: EntityDescription, _ compiler: inout FetchCompiler
    ) throws -> FetchOrder? {
        guard !sort.isEmpty else { return nil }
        var keys: [FetchOrder.Key] = []
        for descriptor in sort {
            guard let path = descriptor.key, let options = FetchOrder.options(descriptor) else {
                return FetchOrder(keys: [], comparing: sort)
            }
            let components = path.split(separator: ".").map(String.init)
            if let slot = compiler.slot(ofSortKey: components) {
                keys.append(.init(origin: .slot(slot), isAscending: descriptor.ascending, options: options))
            } else {
                try compiler.checkKey(components.first ?? "")
                keys.append(.init(origin: .keyPath(path), isAscending: descriptor.ascending, options: options))
            }
        }
        return FetchOrder(keys: keys, comparing: [])
    }

    // MARK: - Running

    /// Returns the number of matches after offset and limit.
    ///
    /// - Complexity: O(1) without a predicate, once the rows have been counted.
    func count(_ query: FetchQuery) throws -> Int {
        var found = 0
        if query.condition == nil {
            for entity in query.rows.entities { found += try side.count(of: side.schema.model.entity(at: entity)) }
        } else {
            try matches(query) { _, _, _ in
                found += 1
                return query.needed.map { found < $0 } ?? true
            }
        }
        return min(max(0, found - query.offset), query.limit ?? .max)
    }

    /// Calls a closure with the matches in order, after offset and limit, until it returns false.
    func forEach(_ query: FetchQuery, _ body: (ManagedObject) throws -> Bool) throws {
        var passed = 0
        func pass(_ object: ManagedObject) throws -> Bool {
            passed += 1
            if passed > query.offset, try !body(object) { return false }
            return query.needed.map { passed < $0 } ?? true
        }
        guard let order = query.order else {
            return try matches(query) { batch, row, entity in
                try object(entity, query, batch.key(row)).map { try pass($0) } ?? true
            }
        }
        if !order.comparing.isEmpty {
            var objects: [ManagedObject] = []
            try matches(query) { batch, row, entity in
                if let object = object(entity, query, batch.key(row)) { objects.append(object) }
                return true
            }
            for object in objects.sorted(using: order.comparing) where try !pass(object) { return }
            return
        }
        let sorter = FetchSorter(order.keys, needed: query.needed, inputs: run.inputs)
        try matches(query) { batch, row, entity in
            let key = batch.key(row)
            try sorter.add(batch, row: row, entity: entity.index) { path in
                guard let object = object(entity, query, key) else { return nil }
                return try object.sortValue(forKeyPath: path)
            }
            return true
        }
        try sorter.visit { key, entity in
            try object(side.schema.model.entity(at: entity), query, key).map { try pass($0) } ?? true
        }
    }

    private func object(_ entity: EntityDescription, _ query: FetchQuery, _ key: Int64) -> ManagedObject? {
        side.object(entity: entity, table: query.rows.table, key: key)
    }

    /// Calls a closure with every row that fulfils the condition, ascending by key.
    private func matches(_ query: FetchQuery, _ body: FetchedRow) throws {
        let check: FetchedRow = { batch, row, entity in
            if let condition = query.condition {
                guard try holds(condition, batch, row, entity, table: query.rows.table) else { return true }
            }
            return try body(batch, row, entity)
        }
        if case .constant(false)? = query.condition { return }
        switch try candidates(query.probes) {
        case .all: try side.scan(query.rows, check)
        case .keys(let keys): try side.probe(query.rows, keys: keys, check)
        case .value(let index, let slot, let hash): try probe(query, index, slot: slot, hash: hash, check)
        }
    }

    /// The rows among which matches are searched.
    private enum Candidates {
        case all
        case keys([Int64])
        /// Rows whose column has the hash, page by page.
        case value(EqualityIndex, slot: Int, hash: UInt64)
    }

    private func candidates(_ probes: [FetchProbe]) throws -> Candidates {
        var best: [Int64]?
        for probe in probes {
            guard case .keys(let keys) = probe else { continue }
            if best.map({ keys.count < $0.count }) ?? true { best = keys }
        }
        if let best { return .keys(Set(best).sorted()) }
        for case .partners(let store, let links, let ends) in probes {
            var owners: Set<Int64> = []
            for end in ends {
                for view in try store.partners(of: end, side: links.other) { owners.insert(view.partner.key) }
            }
            return .keys(owners.sorted())
        }
        for case .values(let column, let slot, let values) in probes {
            guard let index = try side.index(of: column) else { continue }
            guard values.count == 1 else { return .keys(try index.keys(holding: values)) }
            return .value(index, slot: slot, hash: index.hash(of: values[0]))
        }
        return .all
    }

    /// Calls a closure with the rows that an index gives for one value, until it returns false.
    ///
    /// Leading entries whose rows have changed are skipped from then on.
    private func probe(
        _ query: FetchQuery, _ index: EqualityIndex, slot: Int, hash: UInt64, _ body: FetchedRow
    ) throws {
        // Rows of other entities are not read here, so with such rows it is unknown which leading entries are outdated.
        var isLeading = query.rows.entities.count == side.schema.tables[query.rows.table].entities.count
        var next: Int64? = index.start(of: hash)
        var most = 16
        while let from = next {
            let page = try index.page(of: hash, from: from, most: most)
            var wantsMore = true
            try side.probe(query.rows, keys: page.keys) { batch, row, entity in
                if isLeading, index.has(batch[row, slot], hash, in: batch) {
                    isLeading = false
                    index.noteStart(batch.key(row), of: hash)
                }
                wantsMore = try body(batch, row, entity)
                return wantsMore
            }
            if isLeading, wantsMore, let last = page.keys.last, last < .max { index.noteStart(last + 1, of: hash) }
            guard wantsMore else { return }
            next = page.next
            most = min(512, most * 4)
        }
    }

    // MARK: - Conditions

    private func holds(
        _ condition: FetchCondition, _ batch: borrowing RowBatch, _ row: Int, _ entity: EntityDescription, table: Int
    ) throws -> Bool {
        switch condition {
        case .constant(let value): return value
        case .holds(let value, let slot, let later):
            if value.isStored(in: batch[row, slot], of: batch) { return true }
            return try holds(try later.condition(), batch, row, entity, table: table)
        case .program(let program): return try program.evaluate(batch, row: row)
        case .isObject(let keys, let isNegated): return keys.contains(batch.key(row)) != isNegated
        case .reference(let slot, let keys, let isNegated):
            let cell = batch[row, slot]
            return cell.kind == .integer && keys.contains(cell.integerValue) != isNegated
        case .isNull(let slot, let isNegated): return batch[row, slot].isNull != isNegated
        case .partner(let store, let side, let keys, let isNegated):
            guard let partner = try store.partners(of: batch.key(row), side: side).first?.partner.key else {
                return false
            }
            return keys.contains(partner) != isNegated
        case .isUnlinked(let store, let side, let isNegated):
            return try store.partners(of: batch.key(row), side: side).isEmpty != isNegated
        case .hasMember(let store, let side, let keys):
            return try store.partners(of: batch.key(row), side: side).contains { keys.contains($0.partner.key) }
        case .evaluated(let predicate, let known):
            guard let object = side.object(entity: entity, table: table, key: batch.key(row)) else { return false }
            for path in known where try object.sortValue(forKeyPath: path) == nil { return false }
            return try predicate.evaluate(with: object, variables: [:])
        case .all(let parts):
            for part in parts where try !holds(part, batch, row, entity, table: table) { return false }
            return true
        case .any(let parts):
            for part in parts where try holds(part, batch, row, entity, table: table) { return true }
            return false
        }
    }
}
