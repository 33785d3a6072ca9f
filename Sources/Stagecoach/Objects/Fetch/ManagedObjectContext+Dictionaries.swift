import Diagnostics
import Foundation
import ManagedModel

extension ManagedObjectContext {
    /// Returns dictionaries of values, without entries for nil. If distinct results are asked for, the limit counts
    /// distinct ones.
    func dictionaries<Result>(
        _ request: FetchRequest<Result>, _ engine: FetchEngine, _ query: FetchQuery
    ) throws -> [Any] {
        let columns = try fetchedColumns(request.propertiesToFetch, of: query.entity)
        if request.groups || columns.contains(where: { $0.fold != nil }) {
            let keys = try fetchedColumns(request.propertiesToGroupBy ?? [], of: query.entity)
            return try groups(columns, by: keys, engine, query)
        }
        var results: [Any] = []
        var seen: Set<NSDictionary> = []
        let isDistinct = request.returnsDistinctResults
        var passed = 0
        try engine.forEach(isDistinct ? query.unlimited : query) { object in
            let dictionary = NSDictionary(dictionary: try values(columns, object))
            guard isDistinct else {
                results.append(dictionary)
                return true
            }
            guard seen.insert(dictionary).inserted else { return true }
            passed += 1
            if passed > query.offset { results.append(dictionary) }
            return query.needed.map { passed < $0 } ?? true
        }
        return results
    }

    /// Returns a dictionary for each group of objects with equal values, in the order of the groups' first objects.
    ///
    /// Memory: the groups.
    private func groups(
        _ columns: [FetchedColumn], by keys: [FetchedColumn], _ engine: FetchEngine, _ query: FetchQuery
    ) throws -> [Any] {
        let (folded, plain) = (columns.filter { $0.fold != nil }, columns.filter { $0.fold == nil })
        let names = Set(keys.map(\.name))
        for column in plain + keys where column.fold != nil || !names.contains(column.name) {
            throw MigrationError(
                "fetch.unsupported", .data, "The fetch request groups, but not by \(column.name)",
                remedy: "Group by each value that is no count, sum, average, minimum or maximum",
                context: .init(entity: query.entity.definition.name, property: column.name))
        }
        let empty = folded.map { _ in ValueFold() }
        // Without keys all objects are one group, also if there are none.
        var places: [NSDictionary: Int] = keys.isEmpty ? [[:]: 0] : [:]
        var groups: [(values: [String: Any], folds: [ValueFold])] = keys.isEmpty ? [([:], empty)] : []
        try engine.forEach(query.unlimited) { object in
            let key = NSDictionary(dictionary: try values(keys, object))
            let place = places[key] ?? groups.count
            if place == groups.count {
                places[key] = place
                groups.append((try values(plain, object), empty))
            }
            for (index, column) in folded.enumerated() {
                try groups[place].folds[index].add(column.value(of: object), by: column.fold ?? "")
            }
            return true
        }
        return groups.dropFirst(query.offset).prefix(query.limit ?? .max).map { group in
            var values = group.values
            for (column, fold) in zip(folded, group.folds) { values[column.name] = fold.result(of: column.fold ?? "") }
            return NSDictionary(dictionary: values)
        }
    }

    private func values(_ columns: [FetchedColumn], _ object: ManagedObject) throws -> [String: Any] {
        var values: [String: Any] = [:]
        for column in columns { values[column.name] = try column.value(of: object) }
        return values
    }

    /// Returns the columns of properties, names or descriptions; nil: all attributes.
    private func fetchedColumns(_ properties: [Any]?, of entity: EntityDescription) throws -> [FetchedColumn] {
        guard let properties else { return entity.declaredAttributes.map { FetchedColumn(property: $0.name) } }
        return try properties.map { property in
            if let description = property as? ExpressionDescription, let expression = description.expression {
                return FetchedColumn(description, expression)
            }
            guard let name = FetchRequest<NSObject>.propertyName(property) else {
                throw MigrationError(
                    "fetch.unsupported", .data,
                    "A fetch request gives values of properties and expressions, not of a \(type(of: property))",
                    remedy: "Name properties in propertiesToFetch", context: .init(entity: entity.definition.name))
            }
            guard entity.hasProperty(named: name) else {
                throw MigrationError(
                    "fetch.unknownKey", .data, "The entity \(entity) has no property \(name)",
                    context: .init(entity: entity.definition.name, property: name))
            }
            return FetchedColumn(property: name)
        }
    }
}
