import Mapping
import Testing

@testable import Stagecoach

@Suite("Overridden methods of policies")
struct OverriddenMethodsTests {
    @Test("The base class and one that takes over creation override nothing of the later stages")
    func none() {
        #expect(OverriddenMethods(of: EntityMigrationPolicy()).isEmpty)
        #expect(OverriddenMethods(of: Creating()).isEmpty)
        #expect(OverriddenMethods(of: Keeping()).isEmpty)
        #expect(OverriddenMethods(of: Generic<Int>()).isEmpty)
    }

    @Test("Each method is told from the others")
    func each() {
        #expect(OverriddenMethods(of: Relating()) == .createRelationships)
        #expect(OverriddenMethods(of: Related()) == .endRelationshipCreation)
        #expect(OverriddenMethods(of: Validating()) == .performCustomValidation)
        #expect(OverriddenMethods(of: Ending()) == .end)
    }

    @Test("Overrides in a superclass count, at any depth and in generic classes")
    func inherited() {
        #expect(OverriddenMethods(of: Deep()) == [.createRelationships, .end])
        #expect(OverriddenMethods(of: GenericRelating<String>()) == .createRelationships)
    }
}

private class Creating: EntityMigrationPolicy {
    override func begin(_ mapping: EntityMapping, with manager: MigrationManager) throws {}
    override func createDestinationInstances(
        forSource sInstance: ManagedObject, in mapping: EntityMapping, manager: MigrationManager
    ) throws {}
    override func endInstanceCreation(forMapping mapping: EntityMapping, manager: MigrationManager) throws {}
}

/// Has stored properties and methods of its own, some of them overridden again.
private class Keeping: Creating {
    var kept: [Int] = []
    func count() -> Int { kept.count }
}

private class Generic<Value>: Keeping {
    var value: Value?
    override func count() -> Int { value == nil ? 0 : 1 }
}

private class GenericRelating<Value>: Generic<Value> {
    override func createRelationships(
        forDestination dInstance: ManagedObject, in mapping: EntityMapping, manager: MigrationManager
    ) throws {
        try super.createRelationships(forDestination: dInstance, in: mapping, manager: manager)
    }
}

private class Relating: Keeping {
    override func createRelationships(
        forDestination dInstance: ManagedObject, in mapping: EntityMapping, manager: MigrationManager
    ) throws {
        try super.createRelationships(forDestination: dInstance, in: mapping, manager: manager)
    }
}

private final class Deep: Relating {
    override func end(_ mapping: EntityMapping, manager: MigrationManager) throws {}
}

private final class Related: EntityMigrationPolicy {
    override func endRelationshipCreation(forMapping mapping: EntityMapping, manager: MigrationManager) throws {}
}

private final class Validating: EntityMigrationPolicy {
    override func performCustomValidation(forMapping mapping: EntityMapping, manager: MigrationManager) throws {}
}

private final class Ending: Creating {
    override func end(_ mapping: EntityMapping, manager: MigrationManager) throws {}
}
