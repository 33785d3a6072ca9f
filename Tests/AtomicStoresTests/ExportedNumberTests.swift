import CoreDataStore
import Diagnostics
import Foundation
import ManagedModel
import TestSupport
import Testing

@testable import AtomicStores

/// The numbers of objects in an XML store, which has one series for all tables.
@Suite("Numbers of exported objects")
struct ExportedNumberTests {
    /// Exports a store of two tables with the given keys. Returns the ids in the file, in order.
    private func ids(_ first: [Int64], _ second: [Int64]) throws -> [String] {
        var definition = ModelDefinition()
        definition.entities = ["A", "B"].map { name in
            var entity = EntityDefinition(name: name)
            entity.attributes = [AttributeDefinition(name: "text", type: .string)]
            entity.attributes[0].isOptional = true
            return entity
        }
        let bench = try AtomicBench(try ManagedObjectModel(definition))
        let store = bench.folder.file("store.sqlite")
        try ReferenceStore.make(bench.model) { made in
            for key in first { made.insert("A", key) }
            for key in second { made.insert("B", key) }
        }.write(path: store)
        let body = try AtomicBench.body(try bench.exporting(store))
        return body.matches(of: /id="(z[^"]*)"/).map { String($0.1) }
    }

    @Test("Keys that differ stay; where two tables have the same, those of each follow those of the table before")
    func numbers() throws {
        #expect(try ids([1, 5], [2, 9]) == ["z1", "z2", "z5", "z9"])
        #expect(try ids([1, 5], [5]) == ["z1", "z5", "z10"])
        let most: Int64 = 1 << 47 - 1
        #expect(try ids([most], [1]) == ["z1", "z\(most)"])
    }

    @Test(
        "Keys that no object of an XML store can have are refused",
        arguments: [
            ([.max], [1]), ([0], [1]), ([-3], [1]), ([1], [1 << 47]), ([1, 1 << 47 - 1], [1]), ([.max, 1], [1]),
        ] as [([Int64], [Int64])])
    func refused(first: [Int64], second: [Int64]) throws {
        let error = #expect(throws: MigrationError.self) { try ids(first, second) }
        #expect(error?.code == "store.objectID")
    }
}
