import Foundation
import Mapping

/// The order of a fetch's results.
struct FetchOrder {
    /// Where a sort key's value comes from.
    enum Origin {
        case slot(Int)
        /// Asked of the object.
        case keyPath(String)
    }

    struct Key {
        let origin: Origin
        let isAscending: Bool
        /// What the comparison of texts overlooks.
        let options: String.CompareOptions
    }

    /// Values that cells can be compared by.
    let keys: [Key]
    /// Descriptors that compare objects in a way of their own: then all of them are asked.
    let comparing: [KeySortDescriptor]
}
