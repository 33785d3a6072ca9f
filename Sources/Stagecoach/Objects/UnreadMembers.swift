import Diagnostics
import Foundation
import ManagedModel

/// What stands in a mutable view of a to-many relationship for members that are too many to be held: whoever reads it,
/// or puts it into a relationship, is told so.
final class UnreadMembers: ManagedObject {
    /// Members that a view holds at most, as objects: some 4 MB.
    static let most = 16_384

    static let failure = MigrationError(
        "object.tooManyMembers", .data,
        "A relationship with more than \(most) members cannot be read as a whole through a mutable set",
        remedy: "Read it with value(forKey:); members can be added, removed, counted and asked for")

    override func value(forKey key: String) -> Any? {
        context?.record(Self.failure)
        return nil
    }

    override func setValue(_ value: Any?, forKey key: String) { context?.record(Self.failure) }
}
