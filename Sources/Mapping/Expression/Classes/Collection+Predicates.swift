import Foundation

/// Filtering and sorting of Foundation's collections by our predicates and sort descriptors.
extension NSArray {
    /// The elements for which a predicate holds, in order.
    public func filtered(using predicate: FormatPredicate) -> [Any] {
        filter { predicate.evaluate(with: $0) }
    }

    /// The elements in the order of descriptors, the first one first; equal ones keep their order.
    public func sortedArray(using sortDescriptors: [KeySortDescriptor]) -> [Any] {
        map { $0 }.sorted(using: sortDescriptors)
    }
}

extension NSMutableArray {
    /// Keeps the elements for which a predicate holds.
    public func filter(using predicate: FormatPredicate) { setArray(filtered(using: predicate)) }
    /// Sorts in place; equal elements keep their order.
    public func sort(using sortDescriptors: [KeySortDescriptor]) { setArray(sortedArray(using: sortDescriptors)) }
}

extension NSSet {
    /// The members for which a predicate holds.
    public func filtered(using predicate: FormatPredicate) -> Set<AnyHashable> {
        Set(allObjects.compactMap { predicate.evaluate(with: $0) ? $0 as? AnyHashable : nil })
    }

    /// The members in the order of descriptors, the first one first.
    public func sortedArray(using sortDescriptors: [KeySortDescriptor]) -> [Any] {
        allObjects.sorted(using: sortDescriptors)
    }
}

extension NSMutableSet {
    /// Keeps the members for which a predicate holds.
    public func filter(using predicate: FormatPredicate) {
        for object in allObjects where !predicate.evaluate(with: object) { remove(object) }
    }
}

extension NSOrderedSet {
    /// The members for which a predicate holds, in order.
    public func filtered(using predicate: FormatPredicate) -> NSOrderedSet {
        NSOrderedSet(array: array.filter { predicate.evaluate(with: $0) })
    }

    /// The members in the order of descriptors, the first one first; equal ones keep their order.
    public func sortedArray(using sortDescriptors: [KeySortDescriptor]) -> [Any] {
        array.sorted(using: sortDescriptors)
    }
}

extension Sequence {
    /// The elements in the order of the first descriptor, those it makes equal in that of the next, and so on; equal
    /// elements keep their order.
    public func sorted(using sortDescriptors: [KeySortDescriptor]) -> [Element] {
        sorted { left, right in
            for descriptor in sortDescriptors {
                switch descriptor.compare(left, to: right) {
                case .orderedAscending: return true
                case .orderedDescending: return false
                case .orderedSame: continue
                }
            }
            return false
        }
    }
}
