import Diagnostics
import ManagedModel
import Mapping
import PersistentStore
import SpillStorage

/// Failures of expressions that are to give the source objects of an entity mapping.
enum SourceExpressionFailure {
    static func noObjects(_ reason: String) -> MigrationError {
        MigrationError(
            "mapping.sourceExpression", .configuration, "The source expression gives no source objects: \(reason)",
            remedy: "Give a FETCH of source objects, a collection of them, or a source filter instead")
    }
}

/// The source objects that an expression gives, in its order: those of a FETCH with subentities, sort and limit, or of
/// any other expression. A set has ascending order; an object counts once.
///
/// Memory: the keys of a FETCH, 24 bytes an object, go to a log with the session's share for sorts; the objects of other
/// expressions are held while the log is written.
struct FetchedSources {
    let session: MigrationSession
    let runtime: StagedRuntime
    let mapping: PlannedMapping

    /// Evaluates the expression, once, when the mapping's stage 1 begins.
    ///
    /// - Throws: `mapping.sourceExpression` (78) where it gives no objects, or those of another context or entity;
    ///   what fetches and evaluations throw.
    func evaluate(_ expression: ValueExpression, _ variables: [String: Any?]) throws -> SourcePlaces {
        let places = SourcePlaces(session: session, runtime: runtime, mapping: mapping)
        do {
            try collect(expression, variables, places)
            try runtime.failures.rethrow()
        } catch let error as MigrationError {
            var context = mapping.context
            context.expression = expression.format
            throw error.inside(context)
        }
        try places.account()
        return places
    }

    private func collect(
        _ expression: ValueExpression, _ variables: [String: Any?], _ places: SourcePlaces
    ) throws {
        if case .fetch(let request, let context, countOnly: false) = expression.node {
            let request = try ValueExpression(node: request).evaluate(with: nil, variables: variables)
            let context = try ValueExpression(node: context).evaluate(with: nil, variables: variables)
            if let context = context as? ManagedObjectContext {
                let isRead = try context.forEachObject(of: request) { object in
                    try places.append(object)
                    return true
                }
                if isRead { return }
            }
        }
        let value = try expression.evaluate(with: nil, variables: variables)
        guard let value else { throw SourceExpressionFailure.noObjects("it gives nil") }
        let members = (value as? ManagedObject).map { [$0 as Any] } ?? ParameterValue.members(value)
        guard let objects = members as? [ManagedObject] else {
            throw SourceExpressionFailure.noObjects("it gives a value of type \(type(of: value))")
        }
        let isOrdered = !(value is NSSet)
        var seen: Set<Int64> = []
        for object in isOrdered ? objects : objects.sorted(by: { $0.place.key < $1.place.key })
        where seen.insert(object.place.key).inserted {
            try places.append(object)
        }
    }
}

/// Places of source objects in an order of their own, on disk above the memory that they may use.
final class SourcePlaces {
    private let session: MigrationSession
    private let runtime: StagedRuntime
    private let mapping: PlannedMapping
    private let log: RecordLog
    private(set) var count = 0
    /// Those of the mapping's source entity itself.
    private(set) var own = 0
    private var others: [Int: Int] = [:]

    init(session: MigrationSession, runtime: StagedRuntime, mapping: PlannedMapping) {
        self.session = session
        self.runtime = runtime
        self.mapping = mapping
        log = RecordLog(
            directory: session.work, name: "sources", width: 3, indexWords: 1, memory: session.budget.sorts / 8)
    }

    /// Adds an object behind the others.
    ///
    /// - Throws: `mapping.sourceExpression` for an object of the destination or of an entity that is no subentity of the
    ///   mapping's source entity; `spill.…`.
    func append(_ object: ManagedObject) throws(MigrationError) {
        guard object.context === runtime.sourceContext, mapping.reads(object.entity) else {
            var failure = SourceExpressionFailure.noObjects(
                "\(object.objectID) is no object of the source entity \(mapping.source?.definition.name ?? "")")
            failure.context.objectID = object.objectID.description
            throw failure
        }
        try log.append(UInt64(count), UInt64(object.entity.index), UInt64(bitPattern: object.place.key))
        count += 1
        if object.entity == mapping.source { own += 1 } else { others[object.entity.index, default: 0] += 1 }
    }

    /// Takes objects of subentities that no mapping reads out of the count of objects without mapping.
    func account() throws(MigrationError) {
        let model = session.layout.schema.model
        for (entity, found) in others {
            let name = model.entity(at: entity).definition.name
            guard let without = session.counts.withoutMapping[name] else { continue }
            session.counts.withoutMapping[name] = without > found ? without - found : nil
        }
    }

    /// Shows the places in order, a window of their rows open at a time.
    ///
    /// - Parameter slots: those of the window, all own columns first.
    func forEachBatch(_ slots: SourceSlots, _ body: ([ObjectPlace]) throws -> Void) throws {
        guard let table = mapping.sourceTable else { return }
        let folds = try SourceFolds(session: session, slots: slots, isScan: false)
        let model = session.layout.schema.model
        let capacity = session.rowCapacity(slots: slots.columns.count)
        let cursor = try log.scan()
        var places: [ObjectPlace] = []
        places.reserveCapacity(capacity)
        let sources = runtime.sources
        func read(_ keys: [Int64]) throws(MigrationError) {
            sources.window.removeAll()
            _ = try session.source.rows(
                ofKeys: keys, table: table, columns: slots.columns, in: session.layout, streamed: slots.streamed,
                into: &sources.window)
            try folds.fill(&sources.window)
        }
        var isAtEnd = false
        while true {
            while !isAtEnd, places.count < capacity {
                guard let record = try cursor.nextThree() else {
                    isAtEnd = true
                    break
                }
                places.append(
                    sources.place(
                        entity: model.entity(at: Int(record.1)), table: table, key: Int64(bitPattern: record.2)))
            }
            guard let first = places.first else { return }
            try read(places.map(\.key).sorted())
            // What did not fit beside large values comes with the next window.
            var fitting = places.prefix { sources.rowInWindow(table: table, key: $0.key) != nil }.count
            if fitting == 0 {
                try read([first.key])
                fitting = 1
            }
            try body(Array(places[..<fitting]))
            places.removeFirst(fitting)
        }
    }
}

extension RecordCursor {
    /// The next record of three words; nil at the end.
    fileprivate func nextThree() throws(MigrationError) -> (UInt64, UInt64, UInt64)? {
        var found = false
        var failure: MigrationError?
        let record = withUnsafeTemporaryAllocation(of: UInt64.self, capacity: 3) { words -> (UInt64, UInt64, UInt64) in
            words.initialize(repeating: 0)
            guard let first = words.baseAddress else { return (0, 0, 0) }
            do throws(MigrationError) { found = try next(into: first) } catch { failure = error }
            return (words[0], words[1], words[2])
        }
        if let failure { throw failure }
        return found ? record : nil
    }
}
