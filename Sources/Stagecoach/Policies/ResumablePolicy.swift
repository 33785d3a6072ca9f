import Foundation

/// A migration policy whose state survives a killed run.
///
/// A run saves its position about twice a second. A policy whose class has no stored properties needs nothing more. A
/// policy that stores something, such as a counter or a cache of objects that it made, saves and restores it here.
/// Otherwise a killed run begins its mapping model again.
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
    /// Returns the policy's state between two calls of its methods. Managed objects must be stored by their keys.
    func checkpoint() throws -> Data

    /// Restores the state of another object of the class. Called instead of ``EntityMigrationPolicy/begin(_:with:)``.
    func restore(from checkpoint: Data) throws
}
