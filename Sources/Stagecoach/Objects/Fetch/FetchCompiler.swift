import CoreDataStore
import Diagnostics
import Foundation
import ManagedModel
import Mapping

/// Divides a fetch's predicate into conditions on cells and conditions on objects.
struct FetchCompiler {
    let entity: EntityDescription
    let side: any FetchSide
    private(set) var slots: FetchColumns
    /// The conditions for which keys can be looked up.
    private(set) var probes: [FetchProbe] = []
    private let predicate: SourcePredicate?
    /// Made on demand, because printing the predicate takes as long as looking an object up.
    private var context: MigrationError.Context {
        .init(entity: entity.definition.name, expression: predicate?.format)
    }

    init(entity: EntityDescription, side: any FetchSide, predicate: SourcePredicate?) {
        self.entity = entity
        self.side = side
        self.predicate = predicate
        slots = FetchColumns(entity: entity, schema: side.schema, isSource: side.isSource)
    }

    /// Compiles a whole predicate.
    ///
    /// - Throws: `fetch.unknownKey` (65) if a key path does not begin with a property of the entity, `value.type` if an
    ///   object belongs to the other side.
    mutating func compile(_ predicate: SourcePredicate) throws -> FetchCondition {
        try checkKeys(predicate.node)
        let condition = try compile(predicate.node, isNegated: false)
        try collectProbes(predicate.node)
        return condition
    }

    /// Takes over a whole predicate that needs no compiling.
    mutating func take(_ equality: FetchEquality) -> FetchCondition {
        takeSlot(of: equality.form.column.column)
        probes.append(equality.probe)
        return equality.condition
    }

    /// Returns the slot of a sort key's column; nil if only the object can give the value.
    mutating func slot(ofSortKey path: [String]) -> Int? { try? slots.slot(forKeyPath: path, level: 0).slot }

    /// Gives a column a slot, if it has none yet.
    fileprivate mutating func takeSlot(of column: SelectedColumn) { _ = slots.slot(of: column) }

    // MARK: - Conditions

    /// Compiles a part of a predicate.
    fileprivate mutating func compile(_ node: PredicateNode, isNegated: Bool) throws -> FetchCondition {
        if case .constant(let value) = node { return .constant(value != isNegated) }
        var node = node
        if case .comparison(let modifier, let left, .isIn, let right, let options) = node {
            node = .comparison(modifier: modifier, left, .isIn, FetchConstant.literal(right), options)
        }
        let predicate = SourcePredicate(node: isNegated ? .not(node) : node)
        if !predicate.looksIntoExternalData(of: entity, names: side.externalNames),
            let program = try? PredicateProgram(compiling: predicate, resolver: &slots, context: context)
        {
            return program.constant.map(FetchCondition.constant) ?? .program(program)
        }
        switch node {
        case .not(let inner): return try compile(inner, isNegated: !isNegated)
        case .and(let parts):
            let conditions = try parts.map { try compile($0, isNegated: isNegated) }
            return isNegated ? .any(conditions) : .all(conditions)
        case .or(let parts):
            let conditions = try parts.map { try compile($0, isNegated: isNegated) }
            return isNegated ? .all(conditions) : .any(conditions)
        case .comparison(let modifier, let left, let sign, let right, _):
            let special = try FetchComparison(modifier, left, sign, right).flatMap {
                try compile($0, isNegated: isNegated)
            }
            return special
                ?? .evaluated(predicate, known: FetchKeys.needed(modifier, left, sign, right, isNegated: isNegated))
        case .constant, .expression: return .evaluated(predicate, known: [])
        }
    }

    private mutating func compile(_ comparison: FetchComparison, isNegated: Bool) throws -> FetchCondition? {
        let isOpposite = isNegated != comparison.isUnequal
        if comparison.path.isEmpty {
            guard comparison.modifier == .direct,
                let keys = try keys(comparison.constants, table: side.schema.tableIndex(of: entity))
            else { return nil }
            return .isObject(among: Set(keys), isNegated: isOpposite)
        }
        if let (column, table) = slots.column(ofRelationship: comparison.path) {
            guard comparison.modifier != .all, let slot = slots.slot(of: column) else { return nil }
            if comparison.isNull { return .isNull(slot: slot, isNegated: isOpposite) }
            guard let keys = try keys(comparison.constants, table: table) else { return nil }
            return .reference(slot: slot, among: Set(keys), isNegated: isOpposite)
        }
        guard comparison.path.count == 1, let relationship = entity.relationship(named: comparison.path[0]),
            let (store, links) = try side.links(of: relationship)
        else { return nil }
        if comparison.isNull {
            return relationship.isToMany ? nil : .isUnlinked(store, links, isNegated: isOpposite)
        }
        let table = side.schema.tableIndex(of: relationship.destination)
        guard let keys = try keys(comparison.constants, table: table) else { return nil }
        if relationship.isToMany {
            guard comparison.isMembership, !isOpposite else { return nil }
            return .hasMember(store, links, among: Set(keys))
        }
        guard comparison.modifier != .all else { return nil }
        return .partner(store, links, among: Set(keys), isNegated: isOpposite)
    }

    /// Returns the keys of the given objects; nil if anything else is given. Objects of other tables are left out,
    /// because they never match.
    private func keys(_ constants: [FetchConstant], table: Int) throws -> [Int64]? {
        var keys: [Int64] = []
        for constant in constants {
            guard case .object(let id) = constant else {
                if case .null = constant, constants.count > 1 { continue }
                return nil
            }
            guard side.contains(id) else {
                throw MigrationError("value.type", .data, "\(id) is an object of another context", context: context)
            }
            if id.place.table == table { keys.append(id.place.key) }
        }
        return keys
    }

    // MARK: - Probes

    private mutating func collectProbes(_ node: PredicateNode) throws {
        switch node {
        case .and(let parts): for part in parts { try collectProbes(part) }
        case .comparison(let modifier, let left, let sign, let right, let options):
            guard let comparison = FetchComparison(modifier, left, sign, right), !comparison.isUnequal,
                !comparison.isNull, let probe = try probe(comparison, options)
            else { return }
            probes.append(probe)
        default: return
        }
    }

    private mutating func probe(_ comparison: FetchComparison, _ options: ComparisonOptions) throws -> FetchProbe? {
        if comparison.path.isEmpty {
            guard comparison.modifier == .direct else { return nil }
            return try keys(comparison.constants, table: side.schema.tableIndex(of: entity)).map { .keys($0) }
        }
        guard comparison.modifier == .direct || comparison.modifier == .any else { return nil }
        let own = side.schema.tableIndex(of: entity)
        if let (column, table) = slots.column(ofRelationship: comparison.path) {
            guard let keys = try keys(comparison.constants, table: table), let slot = slots.slot(of: column) else {
                return nil
            }
            return .values(
                FetchColumn(table: own, column: column, options: 0), slot: slot, keys.map(ColumnValue.integer))
        }
        if let (column, attribute) = slots.column(ofAttribute: comparison.path) {
            guard FetchHash.isIndexable(attribute, options) else { return nil }
            var values: [ColumnValue] = []
            for constant in comparison.constants {
                guard case .scalar(let value) = constant, let stored = FetchHash.columnValue(value, storedIn: attribute)
                else { return nil }
                values.append(stored)
            }
            guard let slot = slots.slot(of: column) else { return nil }
            return .values(FetchColumn(table: own, column: column, options: options.rawValue), slot: slot, values)
        }
        guard let relationship = entity.relationship(named: comparison.path[0]) else { return nil }
        guard comparison.isMembership || !relationship.isToMany else { return nil }
        return try probe(over: relationship, comparison, options)
    }

    /// Returns a probe that looks up the objects at the end of a relationship, then the objects that refer to them.
    private func probe(
        over relationship: RelationshipDescription, _ comparison: FetchComparison, _ options: ComparisonOptions
    ) throws -> FetchProbe? {
        let rest = Array(comparison.path.dropFirst())
        let table = side.schema.tableIndex(of: relationship.destination)
        let ends: [Int64]
        if rest.isEmpty {
            guard let keys = try keys(comparison.constants, table: table) else { return nil }
            ends = keys
        } else {
            // Only an attribute of the member can be looked up; a longer path is evaluated.
            var compiler = FetchCompiler(entity: relationship.destination, side: side, predicate: nil)
            var inner = comparison
            (inner.modifier, inner.path) = (.direct, rest)
            guard rest.count == 1, relationship.destination.attribute(named: rest[0]) != nil,
                case .values(let column, _, let values)? = try compiler.probe(inner, options),
                let index = try side.index(of: column)
            else { return nil }
            ends = try index.keys(holding: values)
        }
        if let (store, links) = try side.links(of: relationship) { return .partners(store, links, ends) }
        guard let inverse = relationship.inverseRelationship, inverse.inverseRelationship == relationship else {
            return nil
        }
        var owners: Set<Int64> = []
        for key in ends {
            guard let end = side.object(entity: relationship.destination, table: table, key: key) else { continue }
            switch end.value(forKey: inverse.name) {
            case let one as ManagedObject: owners.insert(one.place.key)
            case let many as NSSet: for case let one as ManagedObject in many { owners.insert(one.place.key) }
            case let many as NSOrderedSet: for case let one as ManagedObject in many { owners.insert(one.place.key) }
            default: continue
            }
        }
        return .keys(Array(owners))
    }

    // MARK: - Keys

    /// Refuses unknown keys before any row is read, so that a wrong key is an error even if there are no rows.
    private func checkKeys(_ node: PredicateNode) throws(MigrationError) {
        for key in FetchKeys.first(in: node) { try checkKey(key) }
    }

    /// Checks a key. Throws `fetch.unknownKey` (65) if the entity has no such property.
    func checkKey(_ key: String) throws(MigrationError) {
        guard entity.hasProperty(named: key) || ManagedObject.extraKeys.contains(key) else {
            throw MigrationError(
                "fetch.unknownKey", .data, "The entity \(entity) has no property \(key)", context: context)
        }
    }
}

extension FetchSide {
    /// Returns the links of a relationship, for a fetch that reads them; nil on the source's side, where links are in the rows.
    func links(
        of relationship: RelationshipDescription
    ) throws(MigrationError) -> (store: LinkStore, side: LinkStore.Side)? {
        guard let stores = (self as? DestinationObjects)?.links, let found = stores.store(of: relationship) else {
            return nil
        }
        try stores.use(found.store)
        return found
    }
}

/// A condition that is compiled when it is first asked for.
final class LaterCondition {
    private let node: PredicateNode
    private let entity: EntityDescription
    private let side: any FetchSide
    private let column: SelectedColumn
    private var made: FetchCondition?

    /// Keeps a comparison of an entity's attribute with a value, to be compiled by ``condition()``.
    ///
    /// - Parameters:
    ///   - node: the comparison.
    ///   - column: the attribute's column.
    init(_ node: PredicateNode, of column: SelectedColumn, _ entity: EntityDescription, _ side: any FetchSide) {
        self.node = node
        self.entity = entity
        self.side = side
        self.column = column
    }

    /// Returns the condition. It reads the column from the slot that the column has in every fetch by it.
    func condition() throws -> FetchCondition {
        if let made { return made }
        var compiler = FetchCompiler(entity: entity, side: side, predicate: SourcePredicate(node: node))
        compiler.takeSlot(of: column)
        let condition = try compiler.compile(node, isNegated: false)
        made = condition
        return condition
    }
}
