import Diagnostics
import Foundation

/// An order of objects by a property: Core Data's NSSortDescriptor.
///
/// nil comes before every value, as in Core Data. Values that have no order between them are a failure, which is recorded with
/// the running migration; they then count as equal.
open class KeySortDescriptor: NSObject, @unchecked Sendable {
    /// Compares two values, neither of which is nil.
    public typealias Comparator = (Any, Any) -> ComparisonResult

    /// The key path; nil compares the objects themselves.
    public let key: String?
    /// True for ascending order.
    public let ascending: Bool
    /// The comparison's selector, as Core Data spells it; nil is `compare:`.
    package let selectorName: String?
    private let comparatorClosure: Comparator?
    private let reader: ((Any) -> Any?)?

    private init(
        _ key: String?, ascending: Bool, selectorName: String? = nil, comparator: Comparator? = nil,
        reader: ((Any) -> Any?)? = nil
    ) {
        self.key = key
        self.ascending = ascending
        self.selectorName = selectorName
        comparatorClosure = comparator
        self.reader = reader
    }

    /// Makes a descriptor by the values of a key path, or by the objects themselves if the key is nil.
    public convenience init(key: String?, ascending: Bool) { self.init(key, ascending: ascending) }

    /// - Parameter selector: `compare:`, `caseInsensitiveCompare:`, `localizedCompare:`,
    ///   `localizedCaseInsensitiveCompare:` or `localizedStandardCompare:`; nil is `compare:`.
    public convenience init(key: String?, ascending: Bool, selector: String?) {
        self.init(key, ascending: ascending, selectorName: selector)
    }

    /// Makes a descriptor by the values of a key path, which a comparator orders.
    public convenience init(key: String?, ascending: Bool, comparator: @escaping Comparator) {
        self.init(key, ascending: ascending, comparator: comparator)
    }

    /// Makes a descriptor by a Swift key path.
    public convenience init<Root, Value>(keyPath: KeyPath<Root, Value>, ascending: Bool) {
        self.init(nil, ascending: ascending, reader: { ($0 as? Root).map { $0[keyPath: keyPath] } })
    }

    /// True if a key and a known comparison define the order, so that it can be established without calling the descriptor.
    package final var isPlain: Bool { comparatorClosure == nil && reader == nil }

    /// Returns the order of two objects.
    open func compare(_ object1: Any, to object2: Any) -> ComparisonResult {
        let result = EvaluationScope.recording(ComparisonResult.orderedSame) {
            try ordered(value(of: object1), value(of: object2))
        }
        return ascending ? result : ComparisonResult(rawValue: -result.rawValue) ?? result
    }

    /// A descriptor for the reverse order.
    open var reversedSortDescriptor: Any {
        KeySortDescriptor(
            key, ascending: !ascending, selectorName: selectorName, comparator: comparatorClosure, reader: reader)
    }

    private func value(of object: Any) throws -> Any? {
        if let reader { return reader(object) }
        guard let key, key != "self", key != "SELF" else { return object }
        return try ExpressionEvaluator(object: object, variables: [:]).value(ofKeyPath: key)
    }

    private func ordered(_ left: Any?, _ right: Any?) throws -> ComparisonResult {
        if let comparatorClosure {
            switch (left, right) {
            case (let left?, let right?): return comparatorClosure(left, right)
            case (nil, nil): return .orderedSame
            case (nil, _): return .orderedAscending
            case (_, nil): return .orderedDescending
            }
        }
        do throws(ProgramFault) {
            return try ValueOrder.sorted(EvaluatedValue(left), EvaluatedValue(right), by: selectorName)
        } catch {
            throw error.described(.data, in: .init(expression: description))
        }
    }

    open override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? KeySortDescriptor else { return false }
        return self === other
            || (isPlain && other.isPlain && key == other.key && ascending == other.ascending
                && selectorName == other.selectorName)
    }
    open override var hash: Int { (key ?? "").hashValue }
    open override var description: String {
        "(\(key ?? "self"), \(ascending ? "ascending" : "descending"), \(selectorName ?? "compare:"))"
    }
    open override func copy() -> Any { self }
}
