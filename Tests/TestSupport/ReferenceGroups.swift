import Foundation
import Mapping

/// The objects that a grouped mapping has made, by the values that they share.
struct ReferenceGroups {
    private var made: [[ReferenceGroupValue]: ReferenceObject] = [:]

    /// Returns the object that shares a source object's values; nil if there is none yet.
    func object(for values: [ReferenceGroupValue]) -> ReferenceObject? { made[values] }

    mutating func note(_ object: ReferenceObject, for values: [ReferenceGroupValue]) { made[values] = object }
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
    /// Returns the values by which a source object is grouped; nil if it is in no group, because they are all nil.
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
        return grouping.nilIsAValue || values.contains { $0 != .null } ? values : nil
    }
}
