import Diagnostics
import Foundation

/// A collection inside an evaluation: one of Foundation's or Swift's, or one that the evaluation made.
///
/// Members are converted only when they are read.
final class EvaluatedCollection {
    enum Kind {
        case array
        case set
        case orderedSet
    }

    /// The greatest number of values, at any depth, in a collection made by an expression. Otherwise comparing nested lists of
    /// the same list would take exponential time.
    static let maximumWeight = 10_000_000

    let kind: Kind
    /// The number of values at any depth, as far as the evaluation made them.
    let weight: Int
    private let raw: Any?
    private(set) lazy var members: [EvaluatedValue] = Self.members(of: raw)

    /// Wraps a collection of Foundation's or Swift's.
    init(_ raw: Any, _ kind: Kind, count: Int) {
        self.raw = raw
        self.kind = kind
        weight = count
    }

    /// Makes a collection of values computed by an expression.
    ///
    /// - Throws: `expression.limit` above ``maximumWeight``.
    init(_ members: [EvaluatedValue], _ kind: Kind) throws(MigrationError) {
        var weight = members.count
        for member in members { if case .collection(let inner) = member { weight += inner.weight } }
        guard weight <= Self.maximumWeight else {
            throw MigrationError(
                "expression.limit", .data, "a list of an expression has more than \(Self.maximumWeight) values")
        }
        raw = nil
        self.kind = kind
        self.weight = weight
        self.members = kind == .array ? members : Self.distinct(members)
    }

    static func distinct(_ values: [EvaluatedValue]) -> [EvaluatedValue] {
        var seen: Set<EvaluatedValue> = []
        return values.filter { seen.insert($0).inserted }
    }

    private static func members(of raw: Any?) -> [EvaluatedValue] {
        switch raw {
        case let set as NSSet: set.allObjects.map { EvaluatedValue($0) }
        case let set as NSOrderedSet: set.array.map { EvaluatedValue($0) }
        case let array as NSArray: array.map { EvaluatedValue($0) }
        case let sequence as any AnyMembers: sequence.anyMembers.map { EvaluatedValue($0) }
        default: []
        }
    }

    var count: Int {
        switch raw {
        case let set as NSSet: set.count
        case let set as NSOrderedSet: set.count
        default: members.count
        }
    }

    /// The collection as policies see it: an array, NSSet or NSOrderedSet. Arrays have NSNull for nil; sets drop nil. An
    /// ordered set of collections becomes an array, because Foundation cannot hash them.
    var object: Any {
        if let raw { return raw }
        let isNested = members.contains { if case .collection = $0 { true } else { false } }
        if isNested, kind == .set { return EvaluatedSet(members.filter { $0.object != nil }) }
        if isNested { return members.map { $0.object ?? NSNull() } as [Any] }
        switch kind {
        case .array: return members.map { $0.object ?? NSNull() } as [Any]
        case .set: return NSSet(array: members.compactMap(\.object))
        case .orderedSet: return NSOrderedSet(array: members.compactMap(\.object))
        }
    }
}

/// A Swift collection whose members can be read without knowledge of its type.
protocol AnyMembers: Collection {
    static var kind: EvaluatedCollection.Kind { get }
}

extension AnyMembers {
    var anyMembers: [Any] { map { $0 as Any } }
    /// The collection inside an evaluation.
    var evaluated: EvaluatedCollection { EvaluatedCollection(self, Self.kind, count: count) }
}

extension Array: AnyMembers {
    static var kind: EvaluatedCollection.Kind { .array }
}

extension Set: AnyMembers {
    static var kind: EvaluatedCollection.Kind { .set }
}

/// A Swift dictionary of any key and value types.
protocol AnyDictionary {
    func anyValue(forKey key: AnyHashable) -> Any?
    var anyValues: [Any] { get }
}

extension Dictionary: AnyDictionary {
    func anyValue(forKey key: AnyHashable) -> Any? {
        (key.base as? Key).flatMap { self[$0] as Any? } ?? (key as? Key).flatMap { self[$0] as Any? }
    }
    var anyValues: [Any] { values.map { $0 as Any } }
}
