import Synchronization

/// Policies by the name that mapping models use: `Module.Class` or `Class`.
///
/// A mapping model's name is looked up as it stands first, then by its last component.
public final class PolicyRegistry: Sendable {
    /// The registry that managers use unless they are given another.
    public static let shared = PolicyRegistry()

    private let factories = Mutex<[String: @Sendable () -> EntityMigrationPolicy]>([:])

    public init() {}

    /// Registers a factory under a name; a later one replaces an earlier one.
    public func register(_ name: String, _ factory: @escaping @Sendable () -> EntityMigrationPolicy) {
        factories.withLock { $0[name] = factory }
    }

    /// Registers a class under its own name, with and without its module's.
    public func register(_ type: EntityMigrationPolicy.Type) {
        let full = String(reflecting: type)
        let short = String(describing: type)
        register(full) { type.init() }
        register(short) { type.init() }
    }

    /// Registered names, sorted.
    public var names: [String] { factories.withLock { $0.keys.sorted() } }

    /// A fresh policy of a name; nil where nobody registered one.
    func makePolicy(named name: String) -> EntityMigrationPolicy? {
        let last = name.split(separator: ".").last.map(String.init) ?? name
        let factory = factories.withLock { $0[name] ?? $0[last] }
        return factory?()
    }
}
