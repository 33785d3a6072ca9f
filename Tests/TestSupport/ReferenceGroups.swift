import Foundation
import Mapping

/// The groups of a mapping's source objects, and for each member the one that makes the group's object.
struct ReferenceGroups {
    /// The source objects that make an object, in order.
    private(set) var makers: [ReferenceObject] = []
    private var makerOf: [ObjectIdentifier: ReferenceObject] = [:]
    private var othersOf: [ObjectIdentifier: [ReferenceObject]] = [:]

    /// - Parameter objects: the source objects that pass the filter, ascending.
    init(
        _ objects: [ReferenceObject], _ grouping: ObjectGrouping, _ migrator: ReferenceMigrator
    ) throws(ReferenceFailure) {
        var members: [[ReferenceGroupValue]: [ReferenceObject]] = [:]
        for object in objects {
            if let values = try migrator.groupValues(of: object, grouping) {
                members[values, default: []].append(object)
            } else if grouping.merge != nil {
                makerOf[ObjectIdentifier(object)] = object
            }
        }
        for group in members.values {
            guard let maker = try Self.maker(of: group, grouping.merge?.keep ?? .first, migrator) else {
                continue
            }
            for object in group { makerOf[ObjectIdentifier(object)] = maker }
            othersOf[ObjectIdentifier(maker)] = group.filter { $0 !== maker }
        }
        makers = objects.filter { makerOf[ObjectIdentifier($0)] === $0 }
    }

    /// Returns the source object that makes an object's object; nil if it has none.
    func maker(of object: ReferenceObject) -> ReferenceObject? { makerOf[ObjectIdentifier(object)] }

    /// Returns the other source objects of a maker's group, ascending.
    func others(of maker: ReferenceObject) -> [ReferenceObject] {
        othersOf[ObjectIdentifier(maker)] ?? []
    }

    private static func maker(
        of group: [ReferenceObject], _ keep: MergeRule.Keep, _ migrator: ReferenceMigrator
    ) throws(ReferenceFailure) -> ReferenceObject? {
        let expression: GroupingExpression
        let isGreatest: Bool
        switch keep {
        case .first: return group.first
        case .last: return group.last
        case .greatest(let item): (expression, isGreatest) = (item, true)
        case .least(let item): (expression, isGreatest) = (item, false)
        }
        var best: (object: ReferenceObject, value: Double?)?
        for object in group {
            let evaluator = ReferenceEvaluator(migrator: migrator, source: object, destination: nil)
            let value: Double? =
                switch try evaluator.evaluate(expression.expression.node) {
                case .value(.integer(let number), _, _): Double(number)
                case .value(.real(let number), _, _): number
                default: nil
                }
            guard let known = best else {
                best = (object, value)
                continue
            }
            guard let value else { continue }
            if known.value.map({ isGreatest ? value > $0 : value < $0 }) ?? true {
                best = (object, value)
            }
        }
        return best?.object
    }
}

/// A value that is compared with those of other source objects.
enum ReferenceGroupValue: Hashable {
    case null
    /// The digits of a number: 1 and 1.0 are the same.
    case number(Decimal)
    /// A number that no Decimal holds.
    case large(Double)
    case data([UInt8])

    init(_ value: ReferenceValue, _ comparison: ComparisonOptions) {
        switch value {
        case .null: self = .null
        case .integer(let number): self = .number(Decimal(number))
        case .real(let number):
            let isWhole = number.rounded() == number && abs(number) < 1e18
            self = isWhole ? .number(Decimal(Int64(number))) : .large(number)
        case .text(let text):
            var options: String.CompareOptions = []
            if comparison.contains(.caseInsensitive) { options.insert(.caseInsensitive) }
            if comparison.contains(.diacriticInsensitive) { options.insert(.diacriticInsensitive) }
            let folded = options.isEmpty ? text : text.folding(options: options, locale: nil)
            // Swift's strings compare by canonical equivalence; these compare as bytes.
            self = .data(Array(folded.utf8))
        case .blob(let bytes): self = .data([0xFF] + bytes)
        }
    }
}

extension ReferenceMigrator {
    /// Returns the values by which a source object is grouped; nil if it is in no group, because of nil.
    func groupValues(
        of object: ReferenceObject, _ grouping: ObjectGrouping
    ) throws(ReferenceFailure) -> [ReferenceGroupValue]? {
        let evaluator = ReferenceEvaluator(migrator: self, source: object, destination: nil)
        var values: [ReferenceGroupValue] = []
        for item in grouping.expressions {
            switch try evaluator.evaluate(item.expression.node) {
            case .null: values.append(.null)
            case .value(let value, _, _): values.append(ReferenceGroupValue(value, grouping.comparison))
            case .objects, .values: throw .mismatch("several values of \(object)")
            }
        }
        if grouping.nilIsAValue { return values }
        let hasGroup = grouping.merge == nil ? values.contains { $0 != .null } : !values.contains(.null)
        return hasGroup ? values : nil
    }
}
