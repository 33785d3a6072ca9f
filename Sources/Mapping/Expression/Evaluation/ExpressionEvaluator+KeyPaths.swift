import Foundation

/// Key-value coding, as Core Data has it.
extension ExpressionEvaluator {
    /// The value at the end of a path; nil where a step is nil.
    ///
    /// A step through a set or ordered set gives the set of its members' values, without nil, as sets are; through an
    /// array their list, in which nil stands for nil; a step through a relationship's objects gives all that they lead to in one set. A
    /// collection operator takes all that follows it as its own path.
    func value(at path: ArraySlice<String>, from start: EvaluatedValue) throws -> EvaluatedValue {
        var current = start
        var rest = path
        while let name = rest.popFirst() {
            try step()
            // A message to nil is nil, an operator's too. SQL, which filters follow, has no members there.
            if current.isNull, !isFilter { return .null }
            if name.hasPrefix("@"), let operation = CollectionOperator(rawValue: String(name.dropFirst())) {
                if operation == .count {
                    current = .integer(try current.memberCount(of: "@count"))
                    continue
                }
                return try apply(operation, rest, to: current)
            }
            // Behind nil everything is nil but what an operator makes of no members.
            if current.isNull { continue }
            current = try value(forKey: name, of: current)
        }
        return current
    }

    func value(forKey key: String, of value: EvaluatedValue) throws -> EvaluatedValue {
        if key == "self" { return value }
        switch value {
        case .null: return .null
        case .collection(let collection):
            if key.hasPrefix("@") { throw Self.unknown(key, value) }
            try enter()
            defer { leave() }
            var values: [EvaluatedValue] = []
            var leadsOn = false
            for member in collection.members {
                try step()
                let value = try self.value(forKey: key, of: member)
                if collection.kind != .array, case .object(let object) = member, object is any ExpressionObject {
                    // Relationships lead on: objects that are reached in several ways count once, in one set without
                    // order, as in a compiled program.
                    if case .collection(let reached) = value {
                        for next in reached.members { values.append(next) }
                        leadsOn = true
                        continue
                    }
                    if case .object(let next) = value, next is any ExpressionObject { leadsOn = true }
                }
                if collection.kind == .array || !value.isNull { values.append(value) }
            }
            return .collection(try EvaluatedCollection(values, leadsOn ? .set : collection.kind))
        case .dictionary(let dictionary): return dictionary.value(forKey: key)
        case .object(let object): return try property(key, of: object)
        default:
            // KVC calls a method of the name, which these have.
            if !key.contains(":"), let value = try Self.message(key, to: value, []) { return value }
            throw Self.unknown(key, value)
        }
    }

    private func property(_ key: String, of object: Any) throws -> EvaluatedValue {
        if let object = object as? any ExpressionObject {
            return EvaluatedValue(try object.expressionValue(forKey: key))
        }
        if let functions = object as? any ExpressionFunctions, functions.knows(selector: key) {
            return EvaluatedValue(try functions.call(selector: key, arguments: []))
        }
        if let known = KnownObject(of: object) {
            guard let key = known.key(key) else { throw Self.unknown(key, .object(object)) }
            return EvaluatedValue(key.value(object))
        }
        // Other objects are read by their stored properties.
        var mirror: Mirror? = Mirror(reflecting: object)
        while let found = mirror {
            if let child = found.children.first(where: { $0.label == key }) { return EvaluatedValue(child.value) }
            mirror = found.superclassMirror
        }
        throw Self.unknown(key, .object(object))
    }

    private static func unknown(_ key: String, _ value: EvaluatedValue) -> ProgramFault {
        ProgramFault("value.key", "a value of type \(value.label) has no property '\(key)'")
    }

    // MARK: Collection operators

    private enum CollectionOperator: String {
        case count, sum, avg, min, max
        case distinctUnionOfObjects, unionOfObjects
        case distinctUnionOfArrays, unionOfArrays
        case distinctUnionOfSets, unionOfSets
    }

    private func apply(
        _ operation: CollectionOperator, _ path: ArraySlice<String>, to value: EvaluatedValue
    ) throws -> EvaluatedValue {
        let kind: EvaluatedCollection.Kind
        let members: [EvaluatedValue]
        switch value {
        case .null:
            members = []
            kind = .array
        case .collection(let collection):
            members = collection.members
            kind = collection.kind
        default: throw ProgramFault.type("@\(operation.rawValue) does not take a value of type \(value.label)")
        }
        if operation == .unionOfObjects || operation == .distinctUnionOfObjects,
            let next = path.firstIndex(where: { $0.hasPrefix("@") }), next > path.startIndex
        {
            // An operator behind a union of plain values is about all of them, as compiled programs have it.
            let plain = try members.map { try self.value(at: path[..<next], from: $0) }
            if !plain.contains(where: { if case .collection = $0 { true } else { false } }) {
                let all = try union(
                    plain, isDistinct: operation == .distinctUnionOfObjects,
                    kind == .set && operation == .distinctUnionOfObjects ? .set : .array)
                return try self.value(at: path[next...], from: all)
            }
        }
        var values: [EvaluatedValue] = []
        values.reserveCapacity(members.count)
        for member in members { values.append(try self.value(at: path, from: member)) }
        switch operation {
        case .count: return .integer(Int64(values.count))
        case .sum: return try CollectionFunction.sum(values, name: "@sum")
        // Key-value coding takes nil for zero here.
        case .avg: return try CollectionFunction.average(values.map { $0.isNull ? .integer(0) : $0 }, name: "@avg")
        case .min: return try CollectionFunction.extreme(values, isMaximum: false)
        case .max: return try CollectionFunction.extreme(values, isMaximum: true)
        case .unionOfObjects, .distinctUnionOfObjects:
            if value.isNull { return .null }
            return try union(values, isDistinct: operation == .distinctUnionOfObjects, kind == .set ? .set : .array)
        case .unionOfArrays, .distinctUnionOfArrays, .distinctUnionOfSets, .unionOfSets:
            if value.isNull { return .null }
            var all: [EvaluatedValue] = []
            for value in values where !value.isNull {
                // A path through several relationships is one set already.
                if case .object = value {
                    all.append(value)
                    continue
                }
                guard case .collection(let inner) = value else {
                    throw ProgramFault.type("@\(operation.rawValue) takes a collection of collections")
                }
                all += inner.members
                guard all.count <= EvaluatedCollection.maximumWeight else {
                    throw ProgramFault("expression.limit", "@\(operation.rawValue) has too many members")
                }
            }
            let isSet = operation == .distinctUnionOfSets || operation == .unionOfSets
            return try union(all, isDistinct: operation != .unionOfArrays, isSet ? .set : .array)
        }
    }

    private func union(
        _ values: [EvaluatedValue], isDistinct: Bool, _ kind: EvaluatedCollection.Kind
    ) throws -> EvaluatedValue {
        let values = values.filter { !$0.isNull }
        return .collection(
            try EvaluatedCollection(isDistinct ? EvaluatedCollection.distinct(values) : values, kind))
    }
}

/// Functions of the values of a collection.
enum CollectionFunction {
    /// The sum without nil; 0 for none.
    static func sum(_ values: [EvaluatedValue], name: String) throws(ProgramFault) -> EvaluatedValue {
        var sum = EvaluatedValue.integer(0)
        for value in values where !value.isNull {
            guard value.isNumber else { throw .type("'\(name)' does not take a value of type \(value.label)") }
            sum = try EvaluatedNumbers.apply(.add, sum, value)
        }
        return sum
    }

    /// The mean without nil, a floating number or Decimal; 0 for none.
    static func average(_ values: [EvaluatedValue], name: String) throws(ProgramFault) -> EvaluatedValue {
        let values = values.filter { !$0.isNull }
        guard !values.isEmpty else { return .real(0) }
        let sum = try sum(values, name: name)
        let count = Int64(values.count)
        if case .decimal = sum { return try EvaluatedNumbers.apply(.divide, sum, .integer(count)) }
        return try EvaluatedNumbers.apply(.divide, sum, .real(Double(count)))
    }

    /// The smallest or largest without nil; nil for none. Numbers of several types give their common one: a Float among
    /// others is a floating number of 64 bits.
    static func extreme(_ values: [EvaluatedValue], isMaximum: Bool) throws(ProgramFault) -> EvaluatedValue {
        var found = EvaluatedValue.null
        var (hasReal, hasFloat, hasDecimal, hasWhole) = (false, false, false, false)
        for value in values where !value.isNull {
            switch value {
            case .real: hasReal = true
            case .float: hasFloat = true
            case .decimal: hasDecimal = true
            default: hasWhole = true
            }
            if found.isNull {
                found = value
            } else if let order = try ValueOrder.order(value, found, TextFolding([])), order == (isMaximum ? 1 : -1) {
                found = value
            }
        }
        guard found.isNumber else { return found }
        if hasFloat, !hasReal, !hasDecimal, !hasWhole { return found }
        if hasReal || hasFloat { return .real(try found.finiteReal()) }
        return hasDecimal ? .decimal(found.exact.value) : found
    }

    /// The middle value in order, or the mean of the two middle ones; nil for none.
    static func median(_ values: [EvaluatedValue]) throws(ProgramFault) -> EvaluatedValue {
        let sorted = try sorted(values, name: "median")
        guard !sorted.isEmpty else { return .null }
        let middle = sorted.count / 2
        if sorted.count % 2 == 1 { return sorted[middle] }
        return try average([sorted[middle - 1], sorted[middle]], name: "median")
    }

    /// The values that are there most often, in order.
    static func mode(_ values: [EvaluatedValue]) throws -> EvaluatedValue {
        var counts: [EvaluatedValue: Int] = [:]
        for value in values where !value.isNull { counts[value, default: 0] += 1 }
        let most = counts.values.max() ?? 0
        let modes = counts.filter { $0.value == most }.map(\.key)
        return .collection(try EvaluatedCollection(try sorted(modes, name: "mode"), .array))
    }

    /// The standard deviation of all values; nil for none.
    static func deviation(_ values: [EvaluatedValue]) throws(ProgramFault) -> EvaluatedValue {
        let values = values.filter { !$0.isNull }
        guard !values.isEmpty else { return .null }
        let mean = try average(values, name: "stddev").real ?? 0
        var squares = 0.0
        for value in values {
            let distance = (value.real ?? 0) - mean
            squares += distance * distance
        }
        return .real((squares / Double(values.count)).squareRoot())
    }

    private static func sorted(_ values: [EvaluatedValue], name: String) throws(ProgramFault) -> [EvaluatedValue] {
        for value in values where !value.isNumber && !value.isNull {
            throw .type("'\(name)' does not take a value of type \(value.label)")
        }
        return values.filter { !$0.isNull }.sorted { ValueOrder.order($0, $1) == -1 }
    }
}
