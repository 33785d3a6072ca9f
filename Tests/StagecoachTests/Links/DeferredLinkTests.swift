import Mapping
import Stagecoach
import TestSupport
import Testing

/// Links that the default methods set stay as mapping models declare them until somebody looks.
@Suite("Deferred links")
struct DeferredLinkTests {
    private typealias Steps = ClosurePolicy.Steps

    /// The cost of links in records: when the last policy ends, and after one relationship was read.
    private func costs(
        reading relationship: String, relate: ClosurePolicy.ObjectStep? = nil
    ) throws -> (ended: Int, read: Int, store: ReferenceStore) {
        let fixture = try PolicyFixture()
        var (ended, read) = (0, 0)
        for name in ["Persons", "Pets", "Things"] {
            var steps = Steps()
            steps.relate = name == "Persons" ? relate : { _, _, _, standard in try standard() }
            if name == "Things" {
                steps.end = { _, manager in
                    let context = manager.destinationContext
                    ended = context.linkStatistics.writtenRecords
                    for person in try context.fetch(request("Person")) { _ = person.value(forKey: relationship) }
                    read = context.linkStatistics.writtenRecords
                }
            }
            fixture.policy(name, steps)
        }
        let store = try fixture.run()
        return (ended, read, store)
    }

    @Test("A relationship that is read is made from its pair's links alone", arguments: ["pets", "friends", "best"])
    func reading(relationship: String) throws {
        let links = ["pets": 3, "friends": 2, "best": 1]
        let (ended, read, store) = try costs(reading: relationship) { _, _, _, standard in try standard() }
        #expect(ended == 0)
        // An ordered pair is set from both ends.
        #expect(read >= links[relationship, default: 0] && read <= 9)
        let persons = store.objects("Person")
        #expect(persons[1]?.related("pets").map(\.key) == [3, 1])
        #expect(persons[2]?.related("pets").map(\.key) == [2])
        #expect(persons[1]?.related("friends").map(\.key) == [2, 3])
        #expect(persons[1]?.related("best").map(\.key) == [2])
    }

    @Test("An object whose policy leaves out the default method has no links, and those of the others are made")
    func leftOut() throws {
        let (ended, _, store) = try costs(reading: "friends") { person, _, _, standard in
            if person.objectID.key != 2 { try standard() }
        }
        #expect(ended > 0)
        let persons = store.objects("Person")
        #expect(persons[1]?.related("friends").map(\.key) == [2, 3])
        #expect(persons[1]?.related("best").map(\.key) == [2])
        // The pets have set their owner themselves.
        #expect(persons[2]?.related("pets").map(\.key) == [2])
    }

    @Test("A policy that sets one relationship leaves the others to the load")
    func setting() throws {
        let (ended, _, store) = try costs(reading: "friends") { person, _, manager, standard in
            try standard()
            person.setValue(nil, forKey: "best")
        }
        // Nil for each person, and the one link that the default method had set.
        #expect(ended > 0 && ended <= 13)
        let persons = store.objects("Person")
        #expect(persons.values.allSatisfy { $0.related("best").isEmpty })
        #expect(persons[1]?.related("friends").map(\.key) == [2, 3])
    }
}
