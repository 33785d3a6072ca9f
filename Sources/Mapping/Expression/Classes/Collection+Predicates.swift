import Foundation

/// Filters and sorts Foundation's collections with Stagecoach's predicates and sort descriptors.
extension NSArray {
    /// Returns the elements for which a predicate holds, in order.
    public func filtered(using predicate: FormatPredicate) -> [Any] {
        filter { predicate.evaluate(with: $0) }
    }

    /// Returns the elements sorted by the descriptors, the first one first. Equal elements keep their order.
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
    /// Returns the members for which a predicate holds.
    public func filtered(using predicate: FormatPredicate) -> Set<AnyHashable> {
        Set(allObjects.compactMap { predicate.evaluate(with: $0) ? $0 as? AnyHashable : nil })
    }

    /// Returns the members sorted by the descriptors, the first one first.
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
    /// Returns the members for which a predicate holds, in order.
    public func filtered(using predicate: FormatPredicate) -> NSOrderedSet {
        NSOrderedSet(array: array.filter { predicate.evaluate(with: $0) })
    }

    /// Returns the members sorted by the descriptors, the first one first. Equal members keep their order.
    public func sortedArray(using sortDescriptors: [KeySortDescriptor]) -> [Any] {
        array.sorted(using: sortDescriptors)
    }
}

extension NSMutableOrderedSet {
    /// Keeps the members for which a predicate holds.
    public func filter(using predicate: FormatPredicate) {
        removeObjects(in: array.filter { !predicate.evaluate(with: $0) })
    }

    /// Sorts in place; equal members keep their order.
    public func sort(using sortDescriptors: [KeySortDescriptor]) {
        let sorted = sortedArray(using: sortDescriptors)
        removeAllObjects()
        addObjects(from: sorted)
    }
}

extension Sequence {
    /// Returns the elements sorted by the first descriptor, ties by the next one, and so on. Equal elements keep their order.
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
