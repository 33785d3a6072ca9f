import Diagnostics
import Mapping

/// Numbers of which a conversion cut something off, by destination attribute.
///
/// A conversion is that of an expression's value into the attribute's type, and every CAST. A number that `floor:`, `trunc:` or
/// `ceiling:` has made whole loses nothing any more.
public struct ValuesCut: Sendable, Codable, Equatable {
    /// The part of a number that was cut off.
    public enum Part: String, Sendable, Codable {
        /// The fraction of a number that became an integer or a Boolean.
        case fraction
        /// Digits that the type does not hold.
        case digits
    }

    /// An object whose number was cut.
    public struct Value: Sendable, Codable, Equatable {
        /// The source object, `Entity/p<key>`.
        public var object: String
        /// The number before it was cut.
        public var value: String
    }

    /// The destination attribute, `Entity.attribute`, where it is declared.
    public var attribute: String
    /// The part that was cut off.
    public var part: Part
    /// The number of values.
    public var values: Int
    /// The first objects, at most three.
    public var objects: [Value]
    /// True if the loss is declared: ``MigrationOptions/allowedLosses``, or `losses` in the mapping model, name an attribute from
    /// which the values are computed.
    public var isMeant: Bool?
    /// True if the run was told that data may stay behind. Then there is no warning. Nil otherwise.
    public var isAllowed: Bool?

    /// The greatest number of objects that a line keeps in ``objects``.
    static let mostObjects = 3

    /// True if something is lost that nobody meant to lose.
    public var isLoss: Bool { isMeant != true && isAllowed != true }

    /// The line as a sentence without a full stop: `Product.cents: the fraction of 2 values was cut off (Product/p1: 12.75, …)`.
    public var sentence: String {
        let what =
            part == .fraction
            ? "the fraction of \(values.counted("value")) was" : "digits of \(values.counted("value")) were"
        let first = objects.map { "\($0.object): \($0.value)" }.joined(separator: ", ")
        return "\(attribute): \(what) cut off"
            + (first.isEmpty ? "" : " (\(first)\(values > objects.count ? ", …" : ""))")
    }
}

extension Sequence<ValuesCut> {
    /// The number of values that lost something that nobody meant to lose.
    package var lost: Int { reduce(0) { $0 + ($1.isLoss ? $1.values : 0) } }

    /// The lines by attribute; nil if there are none.
    var inOrder: [ValuesCut]? {
        let lines = sorted { ($0.attribute, $0.part.rawValue) < ($1.attribute, $1.part.rawValue) }
        return lines.isEmpty ? nil : lines
    }
}

extension MigrationReport {
    /// The number of values that lost something that nobody meant to lose.
    package var lostParts: Int { (valuesCut ?? []).lost }
}

extension ValuesCut.Part {
    /// Returns the part of a number; nil if nothing was cut off.
    init?(_ cut: NumberCut) {
        switch cut {
        case .none: return nil
        case .fraction: self = .fraction
        case .digits: self = .digits
        }
    }
}
