import Diagnostics
import Foundation

/// A placeholder in a mutable view of a to-many relationship with too many members to hold. Reading it, or putting it
/// into a relationship, is an error.
final class UnreadMembers: ManagedObject {
    /// The largest number of members that a view holds as objects: about 4 MB.
    static let most = 16_384

    static let failure = MigrationError(
        "object.tooManyMembers", .data,
        "A relationship with more than \(most.counted("member")) cannot be read as a whole through a mutable set",
        remedy: "Read it with value(forKey:); members can be added, removed, counted and asked for")

    override func value(forKey key: String) -> Any? {
        context?.record(Self.failure)
        return nil
    }

    override func setValue(_ value: Any?, forKey key: String) { context?.record(Self.failure) }
}
