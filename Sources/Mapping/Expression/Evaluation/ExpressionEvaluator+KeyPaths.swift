import Foundation

/// Key-value coding with the rules of Core Data.
extension ExpressionEvaluator {
    /// Returns the value at the end of a path; nil if a step is nil.
    ///
    /// A step through a set or ordered set gives the set of its members' values, without nil. A step through an array gives the
    /// list of values, with nil kept. A step through a relationship of objects gives one set of all objects reached. A
    /// collection operator takes the rest of the path as its own. A transformable attribute at the end is not transformed.
    func value(at path: ArraySlice<String>, from start: EvaluatedValue) throws -> EvaluatedValue {
        var current = start
        var rest = path
        while let name = rest.popFirst() {
            try step()
            current = try current.transformed()
            // A message to nil is nil, also with an operator. Filters follow SQL, where nil has no members.
            if current.isNull, !isFilter { return .null }
            if name.hasPrefix("@"), let operation = CollectionOperator(rawValue: String(name.dropFirst())) {
                if operation == .count {
                    current = .integer(try current.memberCount(of: "@count"))
                    continue
                }
                return try apply(operation, rest, to: current)
            }
            // Every step from nil is nil, except an operator, which has a value for no members.
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
                let value = try self.value(forKey: key, of: member).transformed()
                if collection.kind != .array, case .object(let object) = member, object is any ExpressionObject {
                    // Relationships are united: an object reached in several ways counts once, in one unordered set, as in a
                    // compiled program.
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
            // KVC calls a method with the key's name, which these values have.
            if !key.contains(":"), let value = try Self.message(key, to: value, []) { return value }
            throw Self.unknown(key, value)
        }
    }

    private func property(_ key: String, of object: Any) throws -> EvaluatedValue {
        if let object = object as? any ExpressionObject {
            if let scalar = try object.expressionScalar(forKey: key) { return EvaluatedValue(scalar) }
            return EvaluatedValue(try object.expressionValue(forKey: key))
        }
        if let functions = object as? any ExpressionFunctions, functions.knows(selector: key) {
            return EvaluatedValue(try functions.call(selector: key, arguments: []))
        }
        if let keys = KnownObject.keys(of: object) {
            guard let key = keys[key] else { throw Self.unknown(key, .object(object)) }
            return EvaluatedValue(key.value(object))
        }
        // Other objects are read through their stored properties.
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
            // An operator after a union of plain values applies to all of them, as in compiled programs.
            let plain = try members.map { try self.value(at: path[..<next], from: $0).transformed() }
            if !plain.contains(where: { if case .collection = $0 { true } else { false } }) {
                let all = try union(
                    plain, isDistinct: operation == .distinctUnionOfObjects,
                    kind == .set && operation == .distinctUnionOfObjects ? .set : .array)
                return try self.value(at: path[next...], from: all)
            }
        }
        let values = try members.map { try self.value(at: path, from: $0).transformed() }
        switch operation {
        case .count: return .integer(Int64(values.count))
        case .sum: return try CollectionFunction.sum(values, name: "@sum")
        // Key-value coding counts nil as zero here.
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
                // A path through several relationships is already one set.
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

/// Functions on the values of a collection.
enum CollectionFunction {
    /// Returns the sum, without nil; 0 if there are no values.
    static func sum(_ values: [EvaluatedValue], name: String) throws(ProgramFault) -> EvaluatedValue {
        var sum = EvaluatedValue.integer(0)
        for value in values where !value.isNull {
            guard value.isNumber else { throw .type("'\(name)' does not take a value of type \(value.label)") }
            sum = try EvaluatedNumbers.apply(.add, sum, value)
        }
        return sum
    }

    /// Returns the mean, without nil, as a floating-point number or Decimal; 0 if there are no values.
    static func average(_ values: [EvaluatedValue], name: String) throws(ProgramFault) -> EvaluatedValue {
        let values = values.filter { !$0.isNull }
        guard !values.isEmpty else { return .real(0) }
        let sum = try sum(values, name: name)
        let count = Int64(values.count)
        if case .decimal = sum { return try EvaluatedNumbers.apply(.divide, sum, .integer(count)) }
        return try EvaluatedNumbers.apply(.divide, sum, .real(Double(count)))
    }

    /// Returns the least or greatest value, without nil; nil if there are no values. Numbers of several types give their common
    /// type: a Float beside others becomes a 64-bit number.
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
        return hasDecimal ? .decimal(found.exact) : found
    }

    /// Returns the middle value in order, or the mean of the two middle values; nil if there are no values.
    static func median(_ values: [EvaluatedValue]) throws(ProgramFault) -> EvaluatedValue {
        let sorted = try sorted(values, name: "median")
        guard !sorted.isEmpty else { return .null }
        let middle = sorted.count / 2
        if sorted.count % 2 == 1 { return sorted[middle] }
        return try average([sorted[middle - 1], sorted[middle]], name: "median")
    }

    /// Returns the most frequent values, in order.
    static func mode(_ values: [EvaluatedValue]) throws -> EvaluatedValue {
        var counts: [EvaluatedValue: Int] = [:]
        for value in values where !value.isNull { counts[value, default: 0] += 1 }
        let most = counts.values.max() ?? 0
        let modes = counts.filter { $0.value == most }.map(\.key)
        return .collection(try EvaluatedCollection(try sorted(modes, name: "mode"), .array))
    }

    /// Returns the standard deviation, without nil; nil if there are no values.
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
