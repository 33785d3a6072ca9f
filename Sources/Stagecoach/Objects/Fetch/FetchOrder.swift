import Foundation
import Mapping

/// The order of a fetch's results.
struct FetchOrder {
    /// The origin of a sort key's value.
    enum Origin {
        case slot(Int)
        /// A value read from the object.
        case keyPath(String)
    }

    struct Key {
        let origin: Origin
        let isAscending: Bool
        /// The differences that comparisons of texts ignore.
        let options: String.CompareOptions
    }

    /// The sort keys; their values can be compared as cells.
    let keys: [Key]
    /// Descriptors with comparisons of their own. If there are any, all descriptors compare objects.
    let comparing: [KeySortDescriptor]

    /// Returns the differences of texts that a plain descriptor ignores, so that values can be compared without calling
    /// it; nil if it has an order of its own, by a closure or a locale.
    static func options(_ descriptor: KeySortDescriptor) -> String.CompareOptions? {
        guard descriptor.isPlain, let key = descriptor.key, key.lowercased() != "self" else { return nil }
        switch descriptor.selectorName {
        case nil, "compare:": return []
        case "caseInsensitiveCompare:", "localizedCaseInsensitiveCompare:": return .caseInsensitive
        default: return nil
        }
    }
}
