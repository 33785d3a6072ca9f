import Foundation
import ManagedModel
import Mapping

/// Collections and predicates of the reference: object by object, value by value.
extension ReferenceEvaluator {
    /// One step of a key path from each member: a set, so each object or value once, and no nil.
    func step(_ members: [ReferenceMember], _ name: String) throws(ReferenceFailure) -> ReferenceResult {
        var objects: [ReferenceMember] = []
        var values: [ReferenceValue] = []
        var type = AttributeType.undefined
        for member in members {
            if let attribute = member.object.entity.attribute(named: name) {
                type = attribute.attributeType
                let value = ReferenceConversion.reading(member.object[name], type)
                if !value.isNull, !values.contains(value) { values.append(value) }
            } else {
                for object in member.object.related(name) where !objects.contains(where: { $0.object === object }) {
                    objects.append(ReferenceMember(object: object))
                }
            }
        }
        if type != .undefined { return .values(values.sorted(by: Self.ascends), type) }
        return .objects(objects.sorted { $0.object.key < $1.object.key }, .none)
    }

    private static func ascends(_ left: ReferenceValue, _ right: ReferenceValue) -> Bool {
        switch (left, right) {
        case (.text(let first), .text(let second)): first.utf8.lexicographicallyPrecedes(second.utf8)
        default: ReferenceConversion.double(left) < ReferenceConversion.double(right)
        }
    }

    func subquery(
        _ collection: ReferenceResult, _ variable: String, _ condition: PredicateNode
    ) throws(ReferenceFailure) -> ReferenceResult {
        if case .null = collection, !isFilter { return .null }
        guard case .objects(let members, let ordering) = collection else { return .objects([], .none) }
        var found: [ReferenceMember] = []
        for member in members {
            var inner = self
            inner.variables[variable] = member.object
            if try inner.holds(condition) == true { found.append(member) }
        }
        if case .none = ordering { return .objects(found, .none) }
        return .objects(found, .list)
    }

    // MARK: Folds

    /// A collection operator with the path behind it.
    func apply(
        _ sign: String, _ path: ArraySlice<String>, to collection: ReferenceResult
    ) throws(ReferenceFailure) -> ReferenceResult {
        if case .null = collection, !isFilter { return .null }
        if sign == "@count" { return try fold("count:", collection) }
        guard path != ["self"], case .objects(let members, _) = collection else {
            return try fold(sign.replacingOccurrences(of: "@", with: "") + ":", collection)
        }
        var results: [ReferenceResult] = []
        for member in members.sorted(by: { $0.object.key < $1.object.key }) {
            results.append(try keyPath(.objects([member], .none), Array(path)))
        }
        return try fold(sign, results)
    }

    /// `count:`, `sum:` … of what a path gives.
    func fold(_ selector: String, _ collection: ReferenceResult) throws(ReferenceFailure) -> ReferenceResult {
        // Nil is no collection; in SQL, whose logic filters have, it has no members.
        if case .null = collection, !isFilter { return .null }
        switch (selector, collection) {
        case ("count:", .objects(let members, _)): return .value(.integer(Int64(members.count)), .integer64)
        case ("count:", .values(let values, _)): return .value(.integer(Int64(values.count)), .integer64)
        case ("count:", .null): return .value(.integer(0), .integer64)
        case (_, .values(let values, let type)): return try fold(selector, values.map { .value($0, type) })
        case (_, .null): return try fold(selector, [])
        // Nothing, whatever it would be.
        case (_, .objects(let members, _)) where members.isEmpty: return try fold(selector, [])
        default: throw .unsupported("\(selector) of objects")
        }
    }

    private func fold(_ sign: String, _ results: [ReferenceResult]) throws(ReferenceFailure) -> ReferenceResult {
        let values = results.filter { if case .null = $0 { false } else { true } }
        func sum() throws(ReferenceFailure) -> ReferenceResult {
            var total: ReferenceResult?
            for value in values {
                guard let before = total else {
                    total = value
                    continue
                }
                total = try arithmetic(.add, before, value)
                if case .value(.real(let number), .double, _)? = total, !number.isFinite { throw .outOfRange(sign) }
            }
            guard case .value(let value, let type, _)? = total else { return .value(.integer(0), .integer64) }
            // The sum of one small integer is an integer of full size, too.
            return .value(value, type.isReferenceInteger ? .integer64 : type)
        }
        switch sign {
        case "@sum", "sum:": return try sum()
        case "@avg", "avg:", "average:":
            let count = sign == "@avg" ? results.count : values.count
            guard count > 0, case .value(let total, let type, _) = try sum() else { return .value(.real(0), .double) }
            if type == .decimal {
                return try arithmetic(
                    .divide, .value(total, .decimal), .value(.integer(Int64(count)), .integer64))
            }
            return .value(.real(ReferenceConversion.double(total) / Double(count)), .double)
        case "@min", "min:", "@max", "max:":
            var best: ReferenceResult = .null
            for case .value(let value, let type, _) in values {
                guard case .value(let known, _, _) = best else {
                    best = .value(value, type)
                    continue
                }
                let isLess = ReferenceConversion.double(value) < ReferenceConversion.double(known)
                if sign.contains("min") ? isLess : !isLess && value != known { best = .value(value, type) }
            }
            return best
        default: throw .unsupported(sign)
        }
    }

    // MARK: Predicates

    /// Tells whether a predicate holds. Returns nil for unknown, which only filters know.
    func holds(_ node: PredicateNode) throws(ReferenceFailure) -> Bool? {
        switch node {
        case .constant(let value): return value
        case .not(let inner): return try holds(inner).map { !$0 }
        case .and(let parts):
            var isUnknown = false
            for part in parts {
                guard let value = try holds(part) else {
                    isUnknown = true
                    continue
                }
                if !value { return false }
            }
            return isUnknown ? nil : true
        case .or(let parts):
            var isUnknown = false
            for part in parts {
                guard let value = try holds(part) else {
                    isUnknown = true
                    continue
                }
                if value { return true }
            }
            return isUnknown ? nil : false
        case .expression(let inner):
            guard case .value(let value, .boolean, _) = try evaluate(inner) else { return isFilter ? nil : false }
            return value == .integer(1)
        case .comparison(.direct, let left, .isIn, let right, _):
            let value = try evaluate(left)
            if case .null = value { return isFilter ? nil : false }
            return try members(evaluate(right)).contains { Self.order(value, $0) == 0 }
        case .comparison(.direct, let left, let sign, let right, _):
            return try compare(evaluate(left), sign, evaluate(right), isNilTest: right == .constant(.null))
        case .comparison(let modifier, let left, let sign, let right, _):
            let other = try evaluate(right)
            // In a filter nil asks which rows have no value; a set of values holds none.
            var value = try members(evaluate(left))
            if isFilter, right == .constant(.null), let rows = try rows(left) { value = rows }
            var holding = 0
            for member in value {
                if try compare(member, sign, other, isNilTest: right == .constant(.null)) == true { holding += 1 }
            }
            switch modifier {
            case .all: return holding == value.count
            case .none: return holding == 0
            default: return holding > 0
            }
        }
    }

    /// Returns the results to which each row of a path's last to-many relationship leads; nil for a path that is no such one.
    private func rows(_ node: ExpressionNode) throws(ReferenceFailure) -> [ReferenceResult]? {
        guard case .keyPath(let target, let path) = node, !path.contains(where: { $0.hasPrefix("@") }) else {
            return nil
        }
        let start = try evaluate(target ?? .evaluatedObject)
        guard case .objects(let owners, _) = start, let first = owners.first else { return [] }
        let length: Int
        if case .subquery? = target {
            length = 0
        } else {
            length = CollectionPath.length(of: path, from: first.object.entity) ?? 0
        }
        let found = length == 0 ? start : try keyPath(start, Array(path[..<length]))
        guard case .objects(let members, _) = found else { return [] }
        var rows: [ReferenceResult] = []
        for member in members { rows.append(try keyPath(.objects([member], .none), Array(path[length...]))) }
        return rows
    }

    private func members(_ collection: ReferenceResult) throws(ReferenceFailure) -> [ReferenceResult] {
        switch collection {
        case .null: return []
        case .objects(let members, _): return members.map { .objects([$0], .none) }
        case .values(let values, let type): return values.map { .value($0, type) }
        case .value: throw .unsupported("a value as a collection")
        }
    }

    private func compare(
        _ left: ReferenceResult, _ sign: ComparisonOperator, _ right: ReferenceResult, isNilTest: Bool
    ) throws(ReferenceFailure) -> Bool? {
        func isNil(_ result: ReferenceResult) -> Bool {
            switch result {
            case .null: true
            case .objects(let members, _): members.isEmpty
            default: false
            }
        }
        if isNil(left) || isNil(right) {
            if isFilter, !isNilTest { return nil }
            let isSame = isNil(left) && isNil(right)
            return sign == .equal ? isSame : sign == .notEqual ? !isSame : false
        }
        guard let order = Self.order(left, right) else { throw .mismatch("comparison \(sign.rawValue)") }
        switch sign {
        case .lessThan: return order < 0
        case .lessThanOrEqual: return order <= 0
        case .greaterThan: return order > 0
        case .greaterThanOrEqual: return order >= 0
        case .equal: return order == 0
        case .notEqual: return order != 0
        default: throw .unsupported("comparison \(sign.rawValue)")
        }
    }

    /// -1, 0 or 1; nil for what cannot be compared.
    private static func order(_ left: ReferenceResult, _ right: ReferenceResult) -> Int? {
        switch (left, right) {
        case (.objects(let first, _), .objects(let second, _)): return first[0].object === second[0].object ? 0 : 1
        case (.value(.text(let first), _, _), .value(.text(let second), _, _)):
            if first.utf8.elementsEqual(second.utf8) { return 0 }
            return first.utf8.lexicographicallyPrecedes(second.utf8) ? -1 : 1
        case (.value(let first, _, _), .value(let second, _, _)):
            if let one = first.integer, let other = second.integer { return one < other ? -1 : one == other ? 0 : 1 }
            let (one, other) = (ReferenceConversion.double(first), ReferenceConversion.double(second))
            return one < other ? -1 : one == other ? 0 : 1
        default: return nil
        }
    }
}

extension AttributeType {
    fileprivate var isReferenceInteger: Bool {
        [.integer16, .integer32, .integer64, .boolean].contains(self)
    }
}
