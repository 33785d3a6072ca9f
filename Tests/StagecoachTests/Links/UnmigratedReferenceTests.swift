import Foundation
import Mapping
import Stagecoach
import TestSupport
import Testing

/// The report's references to objects that were not migrated: those that are nil in the end.
@Suite("References to objects that are not migrated")
struct UnmigratedReferenceTests {
    /// Migrates persons and pets by two mapping models in turn.
    private func run(_ models: [EntityMapping], isStaged: Bool, steps: [String: ClosurePolicy.Steps] = [:]) throws
        -> Int
    {
        let fixture = try PolicyFixture(persons: 4)
        fixture.mapping = mappings()
        fixture.mapping.entityMappings = models
        for (name, steps) in steps { fixture.policy(name, steps) }
        let manager = fixture.manager()
        manager.options.usesStoreSpecificMigrationManager = !isStaged
        let report = try Migration(
            from: fixture.sourcePath, model: fixture.source, mappings: models.map { mappings($0) },
            to: fixture.destinationURL.path, model: fixture.destination, options: manager.options, manager: manager
        ).run()
        let noted = report.notes.contains { $0.contains(" became nil: ") }
        #expect(noted == (report.counts.unmigratedReferences > 0))
        return report.counts.unmigratedReferences
    }

    private func pets(_ owner: String?, filter: String? = nil) throws -> EntityMapping {
        let pets = try mapping("Pets", "Pet", "Pet", ["name": "$source.name"], relationships: ["owner": owner])
        pets.sourceFilter = try filter.map { try SourcePredicate(format: $0) }
        return pets
    }

    private func persons(_ pets: String?, filter: String? = nil) throws -> EntityMapping {
        let persons = try mapping(
            "Persons", "Person", "Person", ["name": "$source.name"], relationships: ["pets": pets])
        persons.sourceFilter = try filter.map { try SourcePredicate(format: $0) }
        return persons
    }

    @Test("A reference that a later mapping model sets from the other side does not count", arguments: [false, true])
    func setLater(isStaged: Bool) throws {
        // Person 1 has pets 1 and 3, person 2 has pet 2.
        let owner = via("owner", "$source.owner")
        #expect(
            try run([try pets(owner), try persons(by("Pets", "$source.pets"))], isStaged: isStaged) == 0)
        #expect(
            try run(
                [try pets(owner), try persons(by("Pets", "$source.pets"), filter: "age > 10")], isStaged: isStaged) == 2
        )
        // Nothing sets them.
        #expect(try run([try pets(owner), try persons(nil)], isStaged: isStaged) == 3)
        // Members that are not migrated hold their links themselves: their owners refer to nothing.
        let members = via("pets", "$source.pets")
        #expect(try run([try persons(members), try pets(nil)], isStaged: isStaged) == 0)
    }

    @Test("A reference that a policy sets after the default method does not count")
    func setByPolicy() throws {
        var steps = ClosurePolicy.Steps()
        let owner = via("owner", "$source.owner")
        #expect(try run([try pets(owner)], isStaged: true, steps: ["Pets": steps]) == 3)
        steps.relate = { pet, _, manager, standard in
            try standard()
            guard pet.value(forKey: "name") as? String == "pet 3" else { return }
            pet.setValue(
                EntityDescription.insertNewObject(forEntityName: "Person", into: manager.destinationContext),
                forKey: "owner")
        }
        #expect(try run([try pets(owner)], isStaged: true, steps: ["Pets": steps]) == 2)
        // An object that is gone has no reference.
        steps.end = { _, manager in
            let pets = try manager.destinationContext.fetch(FetchRequest<ManagedObject>(entityName: "Pet"))
            for pet in pets where pet.value(forKey: "name") as? String == "pet 1" {
                manager.destinationContext.delete(pet)
            }
        }
        #expect(try run([try pets(owner)], isStaged: true, steps: ["Pets": steps]) == 1)
    }
}
