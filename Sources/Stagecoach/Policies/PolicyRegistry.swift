import Synchronization

/// Policies by the name that mapping models use, `Module.Class` or `Class`, and the functions that their expressions
/// call.
///
/// A mapping model's name is looked up unchanged first, then by its last component.
///
/// ```swift
/// final class UpperCase: EntityMigrationPolicy {
///     func shout(text: String?) -> String? { text?.uppercased() }
/// }
/// PolicyRegistry.shared.register(UpperCase.self) { functions in
///     // A value expression calls it by FUNCTION($entityPolicy, 'shoutWithText:', $source.name).
///     functions.add("shoutWithText:", UpperCase.shout)
/// }
/// ```
public final class PolicyRegistry: Sendable {
    /// The registry that managers use unless they are given another.
    public static let shared = PolicyRegistry()

    private struct Contents {
        var factories: [String: @Sendable () -> EntityMigrationPolicy] = [:]
        /// The functions by class; inherited ones are listed under the superclass.
        var functions: [ObjectIdentifier: RegisteredFunctions] = [:]
    }
    private let contents = Mutex(Contents())

    /// Creates an empty registry, for example for one manager.
    public init() {}

    /// Registers a factory under a name. A later registration replaces an earlier one.
    public func register(_ name: String, _ factory: @escaping @Sendable () -> EntityMigrationPolicy) {
        contents.withLock { $0.factories[name] = factory }
    }

    /// Registers a class under its own name, with and without its module's name.
    public func register(_ type: EntityMigrationPolicy.Type) { register(type, named: nil) { _ in } }

    /// Registers a class and the methods that value expressions call on `$entityPolicy`.
    ///
    /// - Parameters:
    ///   - type: the class.
    ///   - name: the name given to the class by `@objc(Name)` in Core Data; nil: the class's own name.
    ///   - functions: adds the methods, each by its selector.
    public func register(
        _ type: EntityMigrationPolicy.Type, named name: String? = nil, functions: (ExpressionFunctionTable) -> Void
    ) {
        let table = ExpressionFunctionTable()
        functions(table)
        let registered = RegisteredFunctions(bySelector: table.functions, problem: table.problem)
        let names = [String(reflecting: type), String(describing: type)] + (name.map { [$0] } ?? [])
        contents.withLock { contents in
            for name in names { contents.factories[name] = { type.init() } }
            if !registered.bySelector.isEmpty { contents.functions[ObjectIdentifier(type)] = registered }
        }
    }

    /// Registers a factory in the shared registry.
    public static func register(_ name: String, _ factory: @escaping @Sendable () -> EntityMigrationPolicy) {
        shared.register(name, factory)
    }

    /// Registers a class in the shared registry.
    public static func register(_ type: EntityMigrationPolicy.Type, named name: String? = nil) {
        shared.register(type, named: name) { _ in }
    }

    /// Registers a class and its functions in the shared registry.
    public static func register(
        _ type: EntityMigrationPolicy.Type, named name: String? = nil, functions: (ExpressionFunctionTable) -> Void
    ) {
        shared.register(type, named: name, functions: functions)
    }

    /// The registered names, sorted.
    public var names: [String] { contents.withLock { $0.factories.keys.sorted() } }

    /// Returns the registered policies: the class, its other names, and the selectors of its functions, by class. Makes a
    /// policy of each name, since a factory does not tell its class.
    package func registered(
        except known: Set<String>
    ) -> [(className: String, names: [String], selectors: [String])] {
        var found: [String: (names: [String], selectors: [String])] = [:]
        for name in names where !known.contains(name) {
            guard let policy = makePolicy(named: name) else { continue }
            let className = String(reflecting: type(of: policy))
            found[className, default: ([], policy.registeredFunctions.bySelector.keys.sorted())].names.append(name)
        }
        return found.sorted { $0.key < $1.key }.map { className, policy in
            (className, policy.names.filter { $0 != className }, policy.selectors)
        }
    }

    /// Returns a new policy with a name; nil if none is registered.
    package func makePolicy(named name: String) -> EntityMigrationPolicy? { makePolicy(named: name, in: nil) }

    /// Returns a new policy for an entity mapping; nil if none is registered under the name. A crash in its initialiser names it.
    func makePolicy(named name: String, in mapping: PlannedMapping?) -> EntityMigrationPolicy? {
        let last = name.split(separator: ".").last.map(String.init) ?? name
        let factory = contents.withLock { $0.factories[name] ?? $0.factories[last] }
        guard let factory else { return nil }
        let notes = UserCodeNotes()
        notes.begin(name, "init", in: mapping)
        defer { notes.end() }
        let policy = factory()
        policy.functions = functions(of: type(of: policy))
        return policy
    }

    /// Returns the functions of a class: its own, then those of its superclasses.
    func functions(of type: EntityMigrationPolicy.Type) -> RegisteredFunctions {
        var lineage: [ObjectIdentifier] = []
        var ancestor: AnyClass? = type
        while let known = ancestor {
            lineage.append(ObjectIdentifier(known))
            ancestor = _getSuperclass(known)
        }
        return contents.withLock { contents in
            var all = RegisteredFunctions()
            for type in lineage {
                guard let own = contents.functions[type] else { continue }
                all.bySelector.merge(own.bySelector) { nearer, _ in nearer }
                all.problem = all.problem ?? own.problem
            }
            return all
        }
    }
}
