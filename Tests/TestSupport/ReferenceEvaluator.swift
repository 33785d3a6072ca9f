import Foundation
import ManagedModel
import Mapping

/// The value of an expression of the reference.
enum ReferenceResult {
    case null
    /// A stored value and the type it came with; `isExternal` where it carries an external storage marker.
    case value(ReferenceValue, AttributeType, isExternal: Bool = false)
    case objects([ReferenceMember], ReferenceOrdering)
    /// The distinct values that a path over a to-many gives, without nil, ascending.
    case values([ReferenceValue], AttributeType)
}

/// The known order of a list of objects.
enum ReferenceOrdering {
    /// A set: no order.
    case none
    /// The members have the source's ordering keys, read from an ordered relationship of `$source` itself.
    case copied
    /// The list's own order.
    case list
}

/// A tiny evaluator of value expressions: constants, key paths over `$source` and `$destination`, arithmetic,
/// `stringByAppendingString:` and the two lookups. Everything else is ``ReferenceFailure/unsupported(_:)``.
struct ReferenceEvaluator {
    let migrator: ReferenceMigrator
    let source: ReferenceObject?
    let destination: ReferenceObject?
    /// The property that reads references, for the count of dangling ones; nil if they are not counted.
    ///
    /// Decision: the references that relationship mappings look up are counted, each mapping's on its own. Those in key paths
    /// of attributes are not: they would count the same references again.
    var place: String?
    /// True if comparisons follow SQL's logic for nil, and bare key paths begin at the source object.
    var isFilter = false
    /// True if Floats are taken as they are stored: a Float attribute is copied to another one with its bytes. Every other use
    /// reads a number of 32 bits.
    var copiesFloats = false
    /// The source objects that give the values of key paths that are nil for the source object.
    var others: [ReferenceObject] = []
    /// The key path by which the objects are ordered that a lookup is given; nil: they keep their order.
    var sorting: [String]?
    /// The place of the member that makes an object, for `$index`.
    var index: Int?
    /// The variables that SUBQUERY binds, and `$member`.
    var variables: [String: ReferenceObject] = [:]

    func evaluate(_ node: ExpressionNode) throws(ReferenceFailure) -> ReferenceResult {
        switch node {
        case .constant(let constant): return try self.constant(constant)
        case .variable("index"): return index.map { .value(.integer(Int64($0)), .integer64) } ?? .null
        case .variable(let name): return try object(name)
        case .keyPath(.variable("source")?, let components) where !others.isEmpty && isToOne(components):
            return try filled(components)
        case .keyPath(let target?, let components):
            if case .subquery = target { return try keyPath(evaluate(target), components, isCollection: true) }
            return try keyPath(evaluate(target), components)
        case .negation(let operand):
            return try arithmetic(.subtract, .value(.integer(0), .integer64), evaluate(operand))
        case .arithmetic(let operation, let left, let right):
            return try arithmetic(operation, evaluate(left), evaluate(right))
        case .function(let target?, let selector, let arguments): return try call(target, selector, arguments)
        case .evaluatedObject where isFilter: return try object("source")
        case .predicate(let predicate):
            return .value(.integer(try holds(predicate) == true ? 1 : 0), .boolean)
        case .keyPath(nil, let components) where isFilter: return try keyPath(object("source"), components)
        case .ternary(let condition, let then, let otherwise):
            return try holds(condition) == true ? evaluate(then) : evaluate(otherwise)
        case .subquery(let collection, let variable, let condition):
            // Members are asked; what refers to nothing is no member and is not counted.
            var inner = self
            inner.place = nil
            return try subquery(inner.evaluate(collection), variable, condition)
        case .function(nil, let selector, let arguments) where arguments.count == 1:
            return try fold(selector, evaluate(arguments[0]))
        default: throw .unsupported("expression \(node)")
        }
    }

    /// Returns the value of a key path from the source object, or of the first of the others for which it is not nil.
    ///
    /// Decision: a reference to a row that does not exist is not nil.
    private func filled(_ components: [String]) throws(ReferenceFailure) -> ReferenceResult {
        for object in [source].compactMap(\.self) + others {
            let value = try keyPath(.objects([ReferenceMember(object: object)], .none), components)
            if case .null = value, components.count > 1 || object.dangling[components[0]] == nil {
                continue
            }
            return value
        }
        return .null
    }

    /// Tells whether a key path from the source object goes through to-one relationships only.
    private func isToOne(_ components: [String]) -> Bool {
        var entity = source?.entity
        for name in components {
            guard let relationship = entity?.relationship(named: name) else { return !name.hasPrefix("@") }
            if relationship.isToMany { return false }
            entity = relationship.destination
        }
        return true
    }

    private func constant(_ constant: ExpressionConstant) throws(ReferenceFailure) -> ReferenceResult {
        switch constant {
        case .null: return .null
        case .boolean(let value): return .value(.integer(value ? 1 : 0), .boolean)
        case .integer(let value): return .value(.integer(value), .integer64)
        case .double(let value): return .value(.real(value), .double)
        case .decimal(let value): return .value(.real(ReferenceConversion.nearest(value)), .decimal)
        case .string(let value): return .value(.text(value), .string)
        case .date(let value): return .value(ReferenceValue.real(value).stored(inColumnOfType: "TIMESTAMP"), .date)
        case .data(let value): return .value(.blob(Array(value)), .binaryData)
        }
    }

    private func object(_ name: String) throws(ReferenceFailure) -> ReferenceResult {
        let object: ReferenceObject?
        switch name {
        case "source": object = source
        case "destination": object = destination
        case _ where variables[name] != nil: object = variables[name]
        default: throw .unsupported("$\(name)")
        }
        return object.map { .objects([ReferenceMember(object: $0)], .none) } ?? .null
    }

    func keyPath(
        _ start: ReferenceResult, _ components: [String], isCollection: Bool = false
    ) throws(ReferenceFailure) -> ReferenceResult {
        var current = start
        var isCollection = isCollection
        var components = components
        if case .objects(let members, _) = start, let entity = members.first?.object.entity {
            components = entity.joiningElements(in: components)
        }
        for (position, name) in components.enumerated() {
            if name.hasPrefix("@") { return try apply(name, components[(position + 1)...], to: current) }
            // Nil stays nil, also through a collection operator; in a filter that operator takes it as no members.
            if case .null = current { continue }
            guard case .objects(let members, _) = current else { throw .unsupported("key path \(components)") }
            if isCollection {
                current = try step(members, name)
                continue
            }
            guard let object = members.first?.object else { return .null }
            if let attribute = object.entity.attribute(named: name) {
                guard position == components.count - 1 else { throw .unsupported("key path \(components)") }
                let value =
                    copiesFloats ? object[name] : ReferenceConversion.reading(object[name], attribute.attributeType)
                let isExternal = attribute.definition.allowsExternalBinaryDataStorage
                current = value == .null ? .null : .value(value, attribute.attributeType, isExternal: isExternal)
            } else if let relationship = object.entity.relationship(named: name) {
                if let place, position == components.count - 1 {
                    migrator.noteDangling(object, name, for: source, at: place)
                }
                if relationship.isToMany {
                    isCollection = true
                    let isDirect = position == 0 && object === source
                    let ordering: ReferenceOrdering = relationship.isOrdered ? (isDirect ? .copied : .list) : .none
                    current = .objects(object.toMany[name] ?? [], ordering)
                } else {
                    current = object.toOne[name].map { .objects([ReferenceMember(object: $0)], .none) } ?? .null
                }
            } else {
                throw .unsupported("\(object.entity) has no \(name)")
            }
        }
        return current
    }

    // MARK: Arithmetic

    /// Integer by integer stays integer, a Decimal operand makes the result Decimal, all else is Double.
    func arithmetic(
        _ operation: ArithmeticOperator, _ left: ReferenceResult, _ right: ReferenceResult
    ) throws(ReferenceFailure) -> ReferenceResult {
        if case .null = left { return .null }
        if case .null = right { return .null }
        if case .value(_, .date, _) = left { throw .unsupported("arithmetic with dates") }
        if case .value(_, .date, _) = right { throw .unsupported("arithmetic with dates") }
        if operation == .add, case .value(.text(let first), .string, _) = left,
            case .value(.text(let second), .string, _) = right
        {
            return .value(.text(first + second), .string)
        }
        guard case .value(let first, let firstType, _) = left, case .value(let second, let secondType, _) = right,
            firstType.isNumeric, secondType.isNumeric
        else { throw .mismatch("arithmetic \(operation.rawValue) on what is no number") }
        func isInteger(_ type: AttributeType) -> Bool {
            type == .integer16 || type == .integer32 || type == .integer64 || type == .boolean
        }
        if isInteger(firstType), isInteger(secondType), let one = first.integer, let other = second.integer {
            return .value(.integer(try integer(operation, one, other)), .integer64)
        }
        let one = ReferenceConversion.double(first)
        let other = ReferenceConversion.double(second)
        if operation == .divide || operation == .modulus, other == 0 { throw .divisionByZero("\(one) by zero") }
        if firstType == .decimal || secondType == .decimal {
            let result = try decimal(operation, Self.decimal(first), Self.decimal(second))
            let number = ReferenceConversion.nearest(result)
            return .value(ReferenceValue.real(number).stored(inColumnOfType: "DECIMAL"), .decimal)
        }
        switch operation {
        case .add: return .value(.real(one + other), .double)
        case .subtract: return .value(.real(one - other), .double)
        case .multiply: return .value(.real(one * other), .double)
        case .divide: return .value(.real(one / other), .double)
        case .modulus: return .value(.real(one.truncatingRemainder(dividingBy: other)), .double)
        case .power: return .value(.real(pow(one, other)), .double)
        }
    }

    private func integer(
        _ operation: ArithmeticOperator, _ one: Int64, _ other: Int64
    ) throws(ReferenceFailure) -> Int64 {
        let result: (partialValue: Int64, overflow: Bool)
        switch operation {
        case .add: result = one.addingReportingOverflow(other)
        case .subtract: result = one.subtractingReportingOverflow(other)
        case .multiply: result = one.multipliedReportingOverflow(by: other)
        case .divide, .modulus:
            guard other != 0 else { throw .divisionByZero("\(one) by zero") }
            result =
                operation == .divide
                ? one.dividedReportingOverflow(by: other) : one.remainderReportingOverflow(dividingBy: other)
        case .power: throw .unsupported("integer power")
        }
        guard !result.overflow else { throw .outOfRange("\(one) \(operation.rawValue) \(other)") }
        return result.partialValue
    }

    private func decimal(
        _ operation: ArithmeticOperator, _ one: Decimal, _ other: Decimal
    ) throws(ReferenceFailure) -> Decimal {
        switch operation {
        case .add: return one + other
        case .subtract: return one - other
        case .multiply: return one * other
        case .divide: return one / other
        default: throw .unsupported("Decimal \(operation.rawValue)")
        }
    }

    /// A number's shortest text as a Decimal: 0.1 is one tenth.
    private static func decimal(_ value: ReferenceValue) -> Decimal {
        switch value {
        case .integer(let number): Decimal(number)
        case .real(let number): Decimal(string: "\(number)") ?? .nan
        default: .nan
        }
    }

    // MARK: Functions

    private func call(
        _ target: ExpressionNode, _ selector: String, _ arguments: [ExpressionNode]
    ) throws(ReferenceFailure) -> ReferenceResult {
        switch (target, selector, arguments.count) {
        case (_, "stringByAppendingString:", 1):
            // nil, or nil appended, gives nil.
            let texts = try [evaluate(target), evaluate(arguments[0])]
            var result = ""
            for text in texts {
                if case .null = text { return .null }
                guard case .value(.text(let part), .string, _) = text else { throw .mismatch(selector) }
                result += part
            }
            return .value(.text(result), .string)
        case (.variable("manager"), "destinationInstancesForEntityMappingNamed:sourceInstances:", 2),
            (.variable("manager"), "destinationInstancesForEntityMappingName:sourceInstances:", 2):
            guard case .constant(.string(let name)) = arguments[0] else { throw .unsupported("computed mapping name") }
            let index = try migrator.mappingIndex(named: name)
            return try lookup(arguments[1]) { source in migrator.pairs(of: source).filter { $0.mapping == index } }
        case (.variable("manager"), "destinationInstancesForSourceRelationshipNamed:sourceInstances:", 2):
            return try lookup(arguments[1]) { source in
                migrator.pairs(of: source).enumerated()
                    .sorted { ($0.element.mapping, $0.offset) < ($1.element.mapping, $1.offset) }
                    .map(\.element)
            }
        case (.variable("stagecoach"), "objectsOfEntityMapping:source:", 2):
            return try objects(ofMapping: arguments[0], source: arguments[1])
        case (.variable("stagecoach"), "objectsOfEntityMapping:member:", 2):
            return try objects(ofMapping: arguments[0], member: arguments[1])
        case (.variable("stagecoach"), "objectsOfEntityMapping:source:member:", 3):
            return try objects(ofMapping: arguments[0], source: arguments[1], member: arguments[2])
        default: throw .unsupported("function \(selector)")
        }
    }

    /// The destination objects of the argument's objects, in their order, without duplicates. nil or an empty set gives
    /// an empty set. The destinations of one source share its ordering key.
    private func lookup(
        _ argument: ExpressionNode, _ find: (ReferenceObject) -> [(mapping: Int, destination: ReferenceObject)]
    ) throws(ReferenceFailure) -> ReferenceResult {
        guard case .objects(var sources, var ordering) = try evaluate(argument) else { return .objects([], .none) }
        if let sorting {
            sources = try sorted(sources, by: sorting)
            ordering = .list
        }
        var seen: Set<ObjectIdentifier> = []
        var members: [ReferenceMember] = []
        for source in sources {
            for pair in find(source.object) where seen.insert(ObjectIdentifier(pair.destination)).inserted {
                members.append(
                    ReferenceMember(object: pair.destination, order: source.order, mapping: pair.mapping))
            }
        }
        return .objects(members, ordering)
    }

    /// Returns objects by ascending values of a key path: nil first, equal values by key.
    private func sorted(
        _ members: [ReferenceMember], by path: [String]
    ) throws(ReferenceFailure) -> [ReferenceMember] {
        var inner = self
        inner.place = nil
        var found: [(value: Double?, member: ReferenceMember)] = []
        for member in members {
            guard case .value(let value, _, _) = try inner.keyPath(.objects([member], .none), path) else {
                found.append((nil, member))
                continue
            }
            found.append((ReferenceConversion.double(value), member))
        }
        return found.sorted { left, right in
            guard left.value != right.value else { return left.member.object.key < right.member.object.key }
            guard let first = left.value, let second = right.value else { return left.value == nil }
            return first < second
        }.map(\.member)
    }
}
