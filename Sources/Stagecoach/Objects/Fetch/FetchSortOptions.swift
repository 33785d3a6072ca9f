import Foundation
import Mapping

/// How texts are compared by a sort descriptor that values can be compared for, without asking it.
struct FetchSortOptions {
    let options: String.CompareOptions

    /// Nil where the descriptor has an order of its own: a closure, a locale's.
    init?(_ descriptor: KeySortDescriptor) {
        guard descriptor.isPlain, let key = descriptor.key, key.lowercased() != "self" else { return nil }
        switch descriptor.selectorName {
        case nil, "compare:": options = []
        case "caseInsensitiveCompare:", "localizedCaseInsensitiveCompare:": options = .caseInsensitive
        default: return nil
        }
    }

    /// Objects by descriptors of any kind; equal ones keep their order.
    static func sorted(_ objects: [ManagedObject], by descriptors: [KeySortDescriptor]) -> [ManagedObject] {
        objects.enumerated().sorted { left, right in
            for descriptor in descriptors {
                switch descriptor.compare(left.element, to: right.element) {
                case .orderedAscending: return true
                case .orderedDescending: return false
                case .orderedSame: continue
                }
            }
            return left.offset < right.offset
        }.map(\.element)
    }
}
