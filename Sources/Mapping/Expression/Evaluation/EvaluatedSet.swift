import Foundation

/// A set of collections as policies see it. Foundation's own set would compare its members, which ends the process if two sets
/// hold arrays, because a Swift array is not hashable there.
///
/// Memory: its members.
final class EvaluatedSet: NSSet {
    private let values: Set<EvaluatedValue>

    /// - Parameter values: without nil.
    init(_ values: [EvaluatedValue]) {
        self.values = Set(values)
        // Foundation's storage stays empty.
        super.init(objects: nil, count: 0)
    }

    required init?(coder: NSCoder) { nil }

    override var count: Int { values.count }
    override func member(_ object: Any) -> Any? { values.contains(EvaluatedValue(object)) ? object : nil }
    override func contains(_ object: Any) -> Bool { member(object) != nil }
    override var allObjects: [Any] { values.compactMap(\.object) }
    override func objectEnumerator() -> NSEnumerator { NSArray(array: allObjects).objectEnumerator() }
    override var hash: Int { values.count }
    override func isEqual(_ value: Any?) -> Bool {
        guard let other = value as? NSSet, other.count == count else { return false }
        return other.allObjects.allSatisfy { values.contains(EvaluatedValue($0)) }
    }
    override func copy(with zone: NSZone? = nil) -> Any { self }
    override func mutableCopy(with zone: NSZone? = nil) -> Any { NSMutableSet(array: allObjects) }
}
