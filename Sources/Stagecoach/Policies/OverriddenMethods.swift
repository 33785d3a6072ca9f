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
        guard let entries = MethodEntries.known else {
            self = .all
            return
        }
        let base = ClassWords(EntityMigrationPolicy.self)
        let own = ClassWords(policy)
        var found: OverriddenMethods = []
        for (method, word) in entries.words where base[word] != own[word] { found.insert(method) }
        self = found
    }
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

/// The positions of the four methods in the table of methods.
private struct MethodEntries: Sendable {
    let words: [(method: OverriddenMethods, word: Int)]

    static let known: MethodEntries? = find()

    private static func find() -> MethodEntries? {
        let base = ClassWords(EntityMigrationPolicy.self)
        let plain = ClassWords(PlainPolicy.self)
        guard base.count > 0, plain.count >= base.count else { return nil }
        // Words that differ in every subclass: its header and its initialiser.
        let own = Set((0..<base.count).filter { base[$0] != plain[$0] })
        let probes: [(OverriddenMethods, EntityMigrationPolicy.Type)] = [
            (.createRelationships, RelatingProbe.self), (.endRelationshipCreation, RelatedProbe.self),
            (.performCustomValidation, ValidatingProbe.self), (.end, EndingProbe.self),
        ]
        var words: [(OverriddenMethods, Int)] = []
        for (method, type) in probes {
            let probe = ClassWords(type)
            guard probe.count >= base.count else { return nil }
            let differing = (0..<base.count).filter { !own.contains($0) && base[$0] != probe[$0] }
            guard differing.count == 1 else { return nil }
            words.append((method, differing[0]))
        }
        guard Set(words.map(\.1)).count == probes.count else { return nil }
        return MethodEntries(words: words)
    }
}

private final class PlainPolicy: EntityMigrationPolicy {}

private final class RelatingProbe: EntityMigrationPolicy {
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
