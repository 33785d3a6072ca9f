import Diagnostics
import Foundation
import ManagedModel
import Mapping

extension ManagedObjectContext {
    /// Returns the objects that a request selects, or the other results that it asks for.
    ///
    /// The destination's context shows the objects of an existing store and of previous mapping models, and unsaved
    /// inserts, changes and deletions at once. Memory: the results; a batch while they are read. Complexity: O(rows of
    /// the entity) the first time. If the same equality is asked again (`key == value`, `relationship == object`, IN of
    /// values, alone or in a conjunction), it is looked up in a temporary index on disk; SELF and object ids are looked
    /// up by key.
    ///
    /// - Throws: `fetch.noEntity`, `object.unknownEntity`, `fetch.unknownKey`, `fetch.unsupported`, `value.type` (65),
    ///   the error of a predicate that could not be read, `manager.idle` when the migration is over.
    public func fetch<Result>(_ request: FetchRequest<Result>) throws -> [Result] {
        try results(of: request).map { value in
            guard let result = value as? Result else {
                throw MigrationError(
                    "fetch.unsupported", .data, "A request for \(Result.self) gives objects of type \(type(of: value))",
                    remedy: "Set the request's resultType, or use another type of request")
            }
            return result
        }
    }

    /// Returns the number of objects that ``fetch(_:)`` would give.
    ///
    /// - Throws: as ``fetch(_:)``.
    /// - Complexity: O(1) without a predicate, once the rows have been counted.
    public func count<Result>(for request: FetchRequest<Result>) throws -> Int {
        if request.groups { return try fetch(request).count }
        let (engine, query) = try query(of: request)
        return try engine.count(query)
    }

    /// Figures on the rows that fetches of this context have read.
    package var fetchStatistics: FetchStatistics {
        var statistics = backing?.statistics ?? FetchStatistics()
        statistics.indexEntries = backing?.indexes.entriesRead ?? 0
        return statistics
    }

    /// The costs of link changes, for the destination's context.
    package var linkStatistics: LinkStatistics {
        (backing as? DestinationObjects)?.links.statistics ?? LinkStatistics()
    }

    /// The number of queries that read a relationship for many objects of a batch at once; for tests.
    package var groupedReads: Int { (backing as? SourceObjects)?.relations.groupedReads ?? 0 }

    /// Returns the entity of the model with a name.
    ///
    /// - Throws: `object.unknownEntity` (65), `manager.idle`.
    func entity(named name: String) throws -> EntityDescription { try openBacking().entity(named: name) }

    func openBacking() throws(MigrationError) -> any Backing {
        guard let backing = target.backing else { throw Self.idle }
        return backing
    }

    /// Compiles a request, for the engine of this side.
    func query<Result>(of request: FetchRequest<Result>) throws -> (FetchEngine, FetchQuery) {
        let backing = try openBacking()
        guard let name = request.entityName else {
            throw MigrationError("fetch.noEntity", .data, "The fetch request has no entity")
        }
        if let failure = request.predicate?.failure { throw failure }
        let entity = try backing.entity(named: name)
        if request.groups && request.resultType != .dictionaryResultType || request.havingPredicate != nil {
            throw MigrationError(
                "fetch.unsupported", .data, "A fetch request groups dictionaries only, and all of them",
                remedy: "Fetch the values and group them in the policy", context: .init(entity: name))
        }
        let engine = backing.fetchEngine
        let query = try engine.query(
            entity: entity, includesSubentities: request.includesSubentities,
            predicate: request.predicate.map { SourcePredicate(node: $0.part) }, sort: request.sortDescriptors ?? [],
            limit: request.fetchLimit, offset: request.fetchOffset)
        return (engine, query)
    }

    private func results<Result>(of request: FetchRequest<Result>) throws -> [Any] {
        let (engine, query) = try query(of: request)
        var results: [Any] = []
        switch request.resultType {
        case .countResultType: return [NSNumber(value: try engine.count(query))]
        case .dictionaryResultType: return try dictionaries(request, engine, query)
        case let type:
            try engine.forEach(query) { object in
                results.append(type == .managedObjectIDResultType ? object.objectID : object)
                return true
            }
            return results
        }
    }
}

extension ManagedObjectContext: ExpressionFetching {
    package func fetchForExpression(request: Any?, countOnly: Bool) throws -> Any? {
        func results<Result>(_ request: FetchRequest<Result>) throws -> Any? {
            guard !countOnly else { return NSNumber(value: try count(for: request)) }
            if let most = EvaluationScope.current.mostFetched {
                let found = try count(for: request)
                guard found <= most else { throw SourceExpressionFailure.tooMany(found, most: most) }
            }
            return try fetch(request)
        }
        switch request {
        case let request as FetchRequest<any FetchRequestResult>: return try results(request)
        case let request as FetchRequest<ManagedObject>: return try results(request)
        case let request as FetchRequest<NSDictionary>: return try results(request)
        case let request as FetchRequest<NSNumber>: return try results(request)
        case let request as FetchRequest<ManagedObjectID>: return try results(request)
        default:
            throw MigrationError("fetch.unsupported", .data, "FETCH was given no fetch request")
        }
    }

    /// Calls a closure with the objects of a request one after the other, in the order of ``fetch(_:)``, without
    /// holding them all. Returns false if the request does not ask for objects.
    func forEachObject(of request: Any?, _ body: (ManagedObject) throws -> Bool) throws -> Bool {
        func visit<Result>(_ request: FetchRequest<Result>) throws -> Bool {
            guard request.resultType == .managedObjectResultType else { return false }
            let (engine, query) = try query(of: request)
            try engine.forEach(query, body)
            return true
        }
        switch request {
        case let request as FetchRequest<any FetchRequestResult>: return try visit(request)
        case let request as FetchRequest<ManagedObject>: return try visit(request)
        default: return false
        }
    }
}
