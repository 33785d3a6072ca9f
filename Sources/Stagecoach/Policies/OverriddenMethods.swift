/// The methods of the second and third stage that a policy's class overrides.
///
/// A method that no class overrides runs no user code, so nobody can observe the order in which its work is done.
/// Overrides are found in a class's table of methods: an entry that equals the base class's is not overridden. The
/// positions of the entries are found once, with probe classes that override one method each. If that does not lead to
/// exactly one entry for each method, every class counts as overriding every method.
struct OverriddenMethods: OptionSet, Sendable {
    let rawValue: Int

    static let createRelationships = OverriddenMethods(rawValue: 1)
    static let endRelationshipCreation = OverriddenMethods(rawValue: 2)
    static let performCustomValidation = OverriddenMethods(rawValue: 4)
    static let end = OverriddenMethods(rawValue: 8)
    static let all: OverriddenMethods = [
        .createRelationships, .endRelationshipCreation, .performCustomValidation, .end,
    ]

    init(rawValue: Int) { self.rawValue = rawValue }

    /// Finds the methods that a policy overrides.
    ///
    /// - Parameter policy: a policy of any class.
    /// - Complexity: O(1); the first call compares a few hundred words.
    init(of policy: EntityMigrationPolicy) {
        self = OverriddenMethods(of: type(of: policy))
    }

    init(of policy: EntityMigrationPolicy.Type) {
        guard let entries = Self.entries else {
            self = .all
            return
        }
        self = OverriddenMethods(rawValue: entries.overridden(in: policy))
    }

    /// Returns the names of the methods that a policy overrides, in the order in which they are called.
    static func names(of policy: EntityMigrationPolicy.Type) -> [String] {
        let own = OverriddenMethods(of: policy)
        let creating = creatingEntries?.overridden(in: policy) ?? 7
        let first = [(1, "begin"), (2, "createDestinationInstances"), (4, "endInstanceCreation")]
        let second: [(OverriddenMethods, String)] = [
            (createRelationships, "createRelationships"), (endRelationshipCreation, "endRelationshipCreation"),
            (performCustomValidation, "performCustomValidation"), (end, "end"),
        ]
        return first.filter { creating & $0.0 != 0 }.map(\.1) + second.filter { own.contains($0.0) }.map(\.1)
    }

    /// The methods of the first stage.
    private static let creatingEntries = MethodEntries(
        of: EntityMigrationPolicy.self, plain: PlainPolicy.self,
        probes: [(1, BeginningProbe.self), (2, CreatingProbe.self), (4, CreatedProbe.self)])

    private static let entries = MethodEntries(
        of: EntityMigrationPolicy.self, plain: PlainPolicy.self,
        probes: [
            (createRelationships.rawValue, RelationProbe.self), (endRelationshipCreation.rawValue, RelatedProbe.self),
            (performCustomValidation.rawValue, ValidatingProbe.self), (end.rawValue, EndingProbe.self),
        ])
}

extension EntityMigrationPolicy {
    /// True if the policy's class sees for which objects the default method relates.
    var overridesRelationshipCreation: Bool { OverriddenMethods(of: self).contains(.createRelationships) }
}

extension MigrationManager {
    /// The calls that the manager's class overrides.
    ///
    /// - Complexity: O(1); the first call compares a few hundred words.
    var observedCalls: ObservedCalls {
        if type(of: self) == MigrationManager.self { return [] }
        return ObservedCalls(rawValue: Self.entries?.overridden(in: type(of: self)) ?? 3)
    }

    private static let entries = MethodEntries(
        of: MigrationManager.self, plain: PlainManager.self,
        probes: [
            (ObservedCalls.associations.rawValue, AssociatingProbe.self),
            (ObservedCalls.lookups.rawValue, LookupProbe.self),
        ])
}

/// The words of a class in memory: a header, then a table of methods that begins with the base class's.
private struct ClassWords {
    private let start: UnsafeRawPointer
    /// The number of words from the class's address on.
    let count: Int

    init(_ type: AnyClass) {
        // The layout is a part of Swift's stable ABI: the size of all words is 32 bytes after the class's address, and
        // the number of bytes before the address is 4 bytes further.
        start = unsafeBitCast(type, to: UnsafeRawPointer.self)
        let size = Int(start.load(fromByteOffset: 32, as: UInt32.self))
        let before = Int(start.load(fromByteOffset: 36, as: UInt32.self))
        let bytes = size - before
        count = bytes > 0 && bytes < 1 << 16 ? bytes / 8 : 0
    }

    subscript(word: Int) -> UInt { start.load(fromByteOffset: word * 8, as: UInt.self) }
}

/// The positions of some methods in a class's table of methods.
private struct MethodEntries: Sendable {
    private let words: [(method: Int, word: Int, entry: UInt)]

    /// - Parameters:
    ///   - base: the class whose methods may be overridden.
    ///   - plain: a subclass that overrides none.
    ///   - probes: a bit for each method, with a subclass that overrides it alone.
    /// - Returns: nil if the probes do not lead to exactly one entry for each method.
    init?(of base: AnyClass, plain: AnyClass, probes: [(Int, AnyClass)]) {
        let base = ClassWords(base)
        let plain = ClassWords(plain)
        guard base.count > 0, plain.count >= base.count else { return nil }
        // Words that differ in every subclass: its header and its initialiser.
        let own = Set((0..<base.count).filter { base[$0] != plain[$0] })
        var words: [(Int, Int, UInt)] = []
        for entry in probes {
            let (method, probe) = (entry.0, ClassWords(entry.1))
            guard probe.count >= base.count else { return nil }
            let differing = (0..<base.count).filter { !own.contains($0) && base[$0] != probe[$0] }
            guard differing.count == 1 else { return nil }
            words.append((method, differing[0], base[differing[0]]))
        }
        guard Set(words.map(\.1)).count == probes.count else { return nil }
        self.words = words
    }

    /// Returns the bits of the methods that a class overrides.
    func overridden(in type: AnyClass) -> Int {
        let own = ClassWords(type)
        return words.reduce(0) { own[$1.word] == $1.entry ? $0 : $0 | $1.method }
    }
}

private final class PlainPolicy: EntityMigrationPolicy {}

private final class BeginningProbe: EntityMigrationPolicy {
    override func begin(_ mapping: EntityMapping, with manager: MigrationManager) throws {}
}

private final class CreatingProbe: EntityMigrationPolicy {
    override func createDestinationInstances(
        forSource sInstance: ManagedObject, in mapping: EntityMapping, manager: MigrationManager
    ) throws {}
}

private final class CreatedProbe: EntityMigrationPolicy {
    override func endInstanceCreation(forMapping mapping: EntityMapping, manager: MigrationManager) throws {}
}

private final class RelationProbe: EntityMigrationPolicy {
    override func createRelationships(
        forDestination dInstance: ManagedObject, in mapping: EntityMapping, manager: MigrationManager
    ) throws {}
}

private final class RelatedProbe: EntityMigrationPolicy {
    override func endRelationshipCreation(forMapping mapping: EntityMapping, manager: MigrationManager) throws {}
}

private final class ValidatingProbe: EntityMigrationPolicy {
    override func performCustomValidation(forMapping mapping: EntityMapping, manager: MigrationManager) throws {}
}

private final class EndingProbe: EntityMigrationPolicy {
    override func end(_ mapping: EntityMapping, manager: MigrationManager) throws {}
}

private final class PlainManager: MigrationManager {}

private final class AssociatingProbe: MigrationManager {
    override func associate(
        sourceInstance: ManagedObject, withDestinationInstance destinationInstance: ManagedObject,
        for entityMapping: EntityMapping
    ) {}
}

private final class LookupProbe: MigrationManager {
    override func destinationInstances(
        forEntityMappingName mappingName: String, sourceInstances: [ManagedObject]?
    ) -> [ManagedObject] { [] }
}
