import Foundation

/// A migration policy with state of its own that a run which was killed goes on with.
///
/// A run writes down where it is about twice a second. A policy whose class stores nothing needs nothing for that. One
/// that stores something, a counter or a cache of what it has made, says here what; otherwise a run that is killed begins
/// its mapping model again.
///
/// ```swift
/// final class NumberingPolicy: EntityMigrationPolicy, ResumablePolicy {
///     private var next = 1
///
///     func checkpoint() throws -> Data { Data(String(next).utf8) }
///     func restore(from checkpoint: Data) throws { next = Int(String(decoding: checkpoint, as: UTF8.self)) ?? 1 }
/// }
/// ```
public protocol ResumablePolicy: EntityMigrationPolicy {
    /// What the policy holds, between two calls of its methods. It must hold managed objects by their keys.
    func checkpoint() throws -> Data

    /// Takes over what another object of the class held, in the place of ``EntityMigrationPolicy/begin(_:with:)``.
    func restore(from checkpoint: Data) throws
}
