import CoreDataStore
import Diagnostics
import ManagedModel
import Mapping
import SpillStorage

/// The source objects that an expression gives, in its order. The expression is a FETCH with subentities, sort and limit, or
/// any other expression. A set is shown in ascending key order; an object counts once.
///
/// The objects of a FETCH are shown one by one, also if it is nested in TERNARY, SUBQUERY, UNION, INTERSECT and MINUS. Memory:
/// 24 bytes per object, which go to a log with a share of the memory for sorts; the sides of set operations are sorted in that
/// memory. The result of any other form is held while the log is written, and its size is bounded.
struct FetchedSources {
    let modelRun: ModelRun
    let runtime: PolicyRuntime
    let mapping: PlannedMapping

    /// Evaluates the expression once, when the mapping's stage 1 begins.
    ///
    /// - Throws: `mapping.sourceExpression` (78) if it gives no objects, objects of another context or entity, or too many at
    ///   once; the errors of fetches and evaluations.
    func evaluate(_ expression: ValueExpression, _ variables: [String: Any?]) throws -> SourcePlaces {
        let places = SourcePlaces(modelRun: modelRun, runtime: runtime, mapping: mapping)
        do {
            var scope = EvaluationScope.current
            scope.mostFetched = most
            try EvaluationScope.$current.withValue(scope) {
                try forEachObject(of: expression.node, variables) { try places.append($0) }
            }
            try runtime.endUserCode()
        } catch let error as MigrationError {
            var context = mapping.context
            context.expression = expression.format
            throw error.inside(context)
        }
        try places.account()
        return places
    }

    /// The maximum number of objects that a form other than these may give. Each takes about 300 bytes.
    private var most: Int { max(10_000, modelRun.inputs.budget.sorts / 300) }

    private func value(_ node: ExpressionNode, _ variables: [String: Any?]) throws -> Any? {
        try ValueExpression(node: node).evaluate(with: nil, variables: variables)
    }

    /// Shows the objects that an expression gives, in its order and without duplicates; the objects of a set ascend by key.
    private func forEachObject(
        of node: ExpressionNode, _ variables: [String: Any?], _ body: (ManagedObject) throws -> Void
    ) throws {
        switch node {
        case .fetch(let request, let context, countOnly: false):
            let request = try value(request, variables)
            if let context = try value(context, variables) as? ManagedObjectContext {
                let isRead = try context.forEachObject(of: request) { object in
                    try body(object)
                    return true
                }
                if isRead { return }
            }
        case .ternary(let condition, let yes, let no):
            let holds = try value(.ternary(condition, .constant(.integer(1)), .constant(.integer(0))), variables)
            return try forEachObject(of: (holds as? NSNumber)?.intValue == 1 ? yes : no, variables, body)
        case .subquery(let collection, let variable, let condition) where collection.holdsFetch:
            let predicate = SourcePredicate(node: condition)
            return try forEachObject(of: collection, variables) { object in
                var inner = variables
                inner[variable] = object
                if try predicate.evaluate(with: nil, variables: inner) { try body(object) }
            }
        case .cast(let collection, "NSSet") where collection.holdsFetch:
            return try combine(.union, sorted(collection, variables), modelRun.services.sorter(width: 2).finish(), body)
        case .setOperation(let sign, let left, let right) where left.holdsFetch:
            return try combine(sign, sorted(left, variables), sorted(right, variables), body)
        default: break
        }
        try forEachObject(in: try value(node, variables), body)
    }

    /// Shows the objects in a value that was evaluated as a whole.
    private func forEachObject(in value: Any?, _ body: (ManagedObject) throws -> Void) throws {
        guard let value else { throw SourceExpressionFailure.noObjects("it gives nil") }
        let members = (value as? ManagedObject).map { [$0 as Any] } ?? ParameterValue.members(value)
        guard let objects = members as? [ManagedObject] else {
            throw SourceExpressionFailure.noObjects("it gives a value of type \(type(of: value))")
        }
        let isOrdered = !(value is NSSet)
        var seen: Set<Int64> = []
        for object in isOrdered ? objects : objects.sorted(by: { $0.place.key < $1.place.key })
        where seen.insert(object.place.key).inserted {
            try body(object)
        }
    }

    // MARK: - Set operations

    /// Returns the objects of one side as keys and entities in ascending order.
    private func sorted(_ node: ExpressionNode, _ variables: [String: Any?]) throws -> SortedRecords {
        let sorter = modelRun.services.sorter(width: 2)
        try forEachObject(of: node, variables) { object in
            guard object.context === runtime.sourceContext else {
                throw SourceExpressionFailure.noObjects("\(object.objectID.shortName) is no object of the source")
            }
            try sorter.append(SortKey.encode(object.place.key), UInt64(object.entity.index))
        }
        return try sorter.finish()
    }

    private func combine(
        _ sign: SetOperator, _ left: SortedRecords, _ right: SortedRecords, _ body: (ManagedObject) throws -> Void
    ) throws {
        let model = modelRun.inputs.layout.schema.model
        func show(_ key: UInt64, _ entity: UInt64) throws {
            let entity = model.entity(at: Int(entity))
            let table = modelRun.inputs.layout.schema.tableIndex(of: entity)
            let place = ObjectPlace(entity: entity, key: SortKey.decode(key), table: table)
            try body(runtime.sourceContext.object(at: place))
        }
        try withRecords(2) { one, other in
            var hasOne = try left.next(into: one)
            var hasOther = try right.next(into: other)
            // The objects of a side need not be distinct, so a key may occur again.
            func pass(_ key: UInt64, _ entity: UInt64) throws {
                while hasOne, one[0] == key, one[1] == entity { hasOne = try left.next(into: one) }
                while hasOther, other[0] == key, other[1] == entity { hasOther = try right.next(into: other) }
            }
            while hasOne || hasOther {
                let isLeft = hasOne && (!hasOther || (one[0], one[1]) <= (other[0], other[1]))
                let isRight = hasOther && (!hasOne || (other[0], other[1]) <= (one[0], one[1]))
                let (key, entity) = isLeft ? (one[0], one[1]) : (other[0], other[1])
                switch sign {
                case .union: try show(key, entity)
                case .intersection: if isLeft, isRight { try show(key, entity) }
                case .difference: if isLeft, !isRight { try show(key, entity) }
                }
                try pass(key, entity)
            }
        }
    }
}

extension ExpressionNode {
    /// True if the expression gives the objects of a FETCH.
    fileprivate var holdsFetch: Bool {
        switch self {
        case .fetch(_, _, let countOnly): !countOnly
        case .ternary(_, let yes, let no): yes.holdsFetch || no.holdsFetch
        case .subquery(let collection, _, _), .cast(let collection, "NSSet"): collection.holdsFetch
        case .setOperation(_, let left, _): left.holdsFetch
        default: false
        }
    }
}

/// The places of source objects in a given order, on disk above their share of memory.
final class SourcePlaces {
    private let modelRun: ModelRun
    private let runtime: PolicyRuntime
    private let mapping: PlannedMapping
    private let log: RecordLog
    private(set) var count = 0
    /// The number of objects of the mapping's source entity itself, without subentities.
    private(set) var own = 0
    private var others: [Int: Int] = [:]

    init(modelRun: ModelRun, runtime: PolicyRuntime, mapping: PlannedMapping) {
        self.modelRun = modelRun
        self.runtime = runtime
        self.mapping = mapping
        log = RecordLog(
            directory: modelRun.inputs.work, name: "sources", width: 3, indexWords: 1,
            memory: RecordMemory(bytes: modelRun.inputs.budget.sorts / 8))
    }

    /// Appends an object.
    ///
    /// - Throws: `mapping.sourceExpression` for an object of the destination, or of an entity that is no subentity of the
    ///   mapping's source entity; `spill.…`.
    func append(_ object: ManagedObject) throws(MigrationError) {
        guard object.context === runtime.sourceContext, mapping.reads(object.entity) else {
            var failure = SourceExpressionFailure.noObjects(
                "\(object.objectID.shortName) is no object of the source entity \(mapping.source?.definition.name ?? "")"
            )
            failure.context.objectID = object.objectID.shortName
            throw failure
        }
        try log.append(UInt64(count), UInt64(object.entity.index), UInt64(bitPattern: object.place.key))
        count += 1
        if object.entity == mapping.source { own += 1 } else { others[object.entity.index, default: 0] += 1 }
    }

    /// Subtracts the objects of subentities without a mapping of their own from the count of objects without a mapping.
    func account() throws(MigrationError) {
        let model = modelRun.inputs.layout.schema.model
        for (entity, found) in others {
            let name = model.entity(at: entity).definition.name
            guard let without = modelRun.tally.counts.withoutMapping[name] else { continue }
            modelRun.tally.counts.withoutMapping[name] = without > found ? without - found : nil
        }
    }

    /// Shows the places in order, with a window of their rows open at a time.
    ///
    /// - Parameter slots: the slots of the window, beginning with all own columns.
    func forEachBatch(_ slots: SourceColumns, _ body: ([ObjectPlace]) throws -> Void) throws {
        guard let table = mapping.sourceTable else { return }
        let folds = try SourceFolds(run: modelRun.run, slots: slots, isScan: false)
        let model = modelRun.inputs.layout.schema.model
        let capacity = modelRun.inputs.rowCapacity(slots: slots.columns.count)
        let cursor = try log.scan()
        var places: [ObjectPlace] = []
        places.reserveCapacity(capacity)
        let sources = runtime.sources
        func read(_ keys: [Int64]) throws(MigrationError) {
            sources.window.removeAll()
            _ = try modelRun.inputs.source.rows(
                ofKeys: keys, table: table, columns: slots.columns, in: modelRun.inputs.layout,
                streamed: slots.streamed,
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
                    ObjectPlace(
                        entity: model.entity(at: Int(record.1)), key: Int64(bitPattern: record.2), table: table))
            }
            guard let first = places.first else { return }
            try read(places.map(\.key).sorted())
            // Rows that did not fit beside large values come with the next window.
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
    /// Returns the next record of three words. Returns nil at the end.
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
