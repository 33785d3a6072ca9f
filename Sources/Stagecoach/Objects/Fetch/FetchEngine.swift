import Diagnostics
import Foundation
import ManagedModel
import Mapping
import PersistentStore
import Rows

/// Runs the fetches of one side: candidates by key where the predicate allows it, else all rows of the entity; each is
/// checked, ordered, counted.
///
/// Memory: a batch, the sorter's while it sorts; the results themselves are the caller's.
struct FetchEngine {
    let side: any FetchSide
    let session: MigrationSession

    /// What a request asks for, taken apart.
    ///
    /// - Throws: `fetch.unknownKey`, `value.type` (65), and what a predicate that could not be read has kept.
    func query(
        entity: EntityDescription, includesSubentities: Bool, predicate: SourcePredicate?,
        sort: [KeySortDescriptor], limit: Int, offset: Int
    ) throws -> FetchQuery {
        var compiler = FetchCompiler(entity: entity, side: side, predicate: predicate)
        let condition = try predicate.map { try compiler.compile($0) }
        let order = try order(sort, entity: entity, &compiler)
        let entities = includesSubentities ? entity.withDescendants : [entity]
        return FetchQuery(
            entity: entity,
            rows: FetchRows(
                table: side.schema.tableIndex(of: entity), entities: entities.map(\.index),
                columns: compiler.slots.columns),
            condition: condition, probes: compiler.probes, order: order, limit: limit > 0 ? limit : nil,
            offset: max(0, offset))
    }

    private func order(
        _ sort: [KeySortDescriptor], entity: EntityDescription, _ compiler: inout FetchCompiler
    ) throws -> FetchOrder? {
        guard !sort.isEmpty else { return nil }
        var keys: [FetchOrder.Key] = []
        for descriptor in sort {
            guard let path = descriptor.key, let options = FetchSortOptions(descriptor)?.options else {
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

    /// The number of matches, offset and limit applied.
    ///
    /// - Complexity: O(1) without a predicate once the rows have been counted.
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

    /// Shows the matches in order, offset and limit applied, until the closure returns false.
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
            for object in FetchSortOptions.sorted(objects, by: order.comparing) where try !pass(object) { return }
            return
        }
        let sorter = FetchSorter(order.keys, needed: query.needed, session: session)
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

    /// Shows every row that satisfies the condition, ascending by key.
    private func matches(
        _ query: FetchQuery, _ body: (borrowing RowBatch, Int, EntityDescription) throws -> Bool
    ) throws {
        let check: (borrowing RowBatch, Int, EntityDescription) throws -> Bool = { batch, row, entity in
            if let condition = query.condition {
                guard try holds(condition, batch, row, entity, table: query.rows.table) else { return true }
            }
            return try body(batch, row, entity)
        }
        if case .constant(false)? = query.condition { return }
        if let keys = try candidates(query.probes) {
            try side.probe(query.rows, keys: keys, check)
        } else {
            try side.scan(query.rows, check)
        }
    }

    /// The keys that alone can match, ascending; nil where all rows have to be read.
    private func candidates(_ probes: [FetchProbe]) throws -> [Int64]? {
        var best: [Int64]?
        for probe in probes {
            guard case .keys(let keys) = probe else { continue }
            if best.map({ keys.count < $0.count }) ?? true { best = keys }
        }
        if let best { return Set(best).sorted() }
        for case .partners(let store, let links, let ends) in probes {
            var owners: Set<Int64> = []
            for end in ends {
                for view in try store.partners(of: end, side: links.other) { owners.insert(view.partner.key) }
            }
            return owners.sorted()
        }
        for case .values(let column, let values) in probes {
            if let keys = try side.keys(in: column, holding: values) { return keys }
        }
        return nil
    }

    // MARK: - Conditions

    private func holds(
        _ condition: FetchCondition, _ batch: borrowing RowBatch, _ row: Int, _ entity: EntityDescription, table: Int
    ) throws -> Bool {
        switch condition {
        case .constant(let value): return value
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
