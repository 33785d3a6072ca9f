import Foundation

/// An observation, which lasts as long as code keeps it: Foundation's class of this name, which Linux does not have.
public final class NSKeyValueObservation: NSObject {
    fileprivate var changed: ((MigrationManager) -> Void)?

    fileprivate init(_ changed: @escaping (MigrationManager) -> Void) { self.changed = changed }

    /// Makes an observation of nothing.
    public override init() {}

    /// Ends the observation.
    public func invalidate() { changed = nil }
}

/// The values and calls that an observer asks for, as on Apple's systems.
public struct NSKeyValueObservingOptions: OptionSet, Sendable {
    public let rawValue: UInt
    public init(rawValue: UInt) { self.rawValue = rawValue }

    /// The new value.
    public static let new = NSKeyValueObservingOptions(rawValue: 1)
    /// The value before; it is not known here.
    public static let old = NSKeyValueObservingOptions(rawValue: 2)
    /// A call at once.
    public static let initial = NSKeyValueObservingOptions(rawValue: 4)
    /// A call before each change; there is none here.
    public static let prior = NSKeyValueObservingOptions(rawValue: 8)
}

/// A change that an observer is told of.
public struct NSKeyValueObservedChange<Value> {
    /// The value now, if the observer asked for it.
    public let newValue: Value?
    /// Nil: the value before is not kept.
    public let oldValue: Value?
    /// False.
    public let isPrior: Bool
}

struct WeakObservation {
    weak var observation: NSKeyValueObservation?
}

extension MigrationManager {
    /// Calls a closure each time another thousandth of a run is done, on the thread that migrates, as
    /// ``migrationProgressHandler``. Linux has no key-value observing: this is for `observe(\.migrationProgress)`, and another
    /// property is told of at the same moments.
    ///
    /// - Parameters:
    ///   - keyPath: the property whose value the closure may get.
    ///   - options: `new` to get the value, `initial` for a first call at once.
    ///   - changeHandler: called with the manager and the change.
    /// - Returns: the observation, which ends when it is released.
    public func observe<Value>(
        _ keyPath: KeyPath<MigrationManager, Value>, options: NSKeyValueObservingOptions = [],
        changeHandler: @escaping (MigrationManager, NSKeyValueObservedChange<Value>) -> Void
    ) -> NSKeyValueObservation {
        let observation = NSKeyValueObservation { manager in
            let value = options.contains(.new) ? manager[keyPath: keyPath] : nil
            changeHandler(manager, NSKeyValueObservedChange(newValue: value, oldValue: nil, isPrior: false))
        }
        observers.removeAll { $0.observation == nil }
        observers.append(WeakObservation(observation: observation))
        if options.contains(.initial) { observation.changed?(self) }
        return observation
    }

    /// A closure that passes a run's progress to the handler and the observers; nil if there are neither.
    var progressFollower: ((Float) -> Void)? {
        let handler = migrationProgressHandler
        guard !observers.isEmpty else { return handler }
        return { [unowned self] share in
            handler?(share)
            for observer in observers { observer.observation.map { $0.changed?(self) } }
        }
    }
}
