import Foundation
import Mapping

/// The comparison of texts by a plain sort descriptor, for comparing values without calling the descriptor.
struct FetchSortOptions {
    let options: String.CompareOptions

    /// Reads a descriptor; nil if it has an order of its own, by a closure or a locale.
    init?(_ descriptor: KeySortDescriptor) {
        guard descriptor.isPlain, let key = descriptor.key, key.lowercased() != "self" else { return nil }
        switch descriptor.selectorName {
        case nil, "compare:": options = []
        case "caseInsensitiveCompare:", "localizedCaseInsensitiveCompare:": options = .caseInsensitive
        default: return nil
        }
    }

    /// Sorts objects by descriptors of any kind; equal objects keep their order.
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
