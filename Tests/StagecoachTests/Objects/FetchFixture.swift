import Foundation
import Mapping
import Stagecoach
import TestSupport

extension PolicyFixture {
    /// Migrates; the closure runs in the `end` of the persons' policy, when every object and link is there.
    @discardableResult
    func runInEnd(_ body: @escaping (MigrationManager) throws -> Void) throws -> MigrationManager {
        var steps = ClosurePolicy.Steps()
        steps.end = { _, manager in try body(manager) }
        policy("Persons", steps)
        let manager = manager()
        try run(manager)
        return manager
    }

    /// Fills the source with values that fetches can tell apart, written anew: name "n0" … "n4", every seventh nil, age
    /// 0 … 9, pets owned by the person with the same number modulo 10.
    func fill(persons: Int64) throws {
        var store = ReferenceStore.make(source) { store in
            for key in 1...persons {
                store.insert(
                    "Person", key,
                    ["age": .integer(key % 10), "name": key % 7 == 0 ? .null : .text("n\(key % 5)")])
                store.insert(
                    "Pet", key, ["name": .text("pet \(key)")], toOne: ["owner": key % 10 == 0 ? key : key % 10])
            }
        }
        store.complete()
        try FileManager.default.removeItem(atPath: sourcePath)
        try store.write(path: sourcePath)
    }
}

/// A request for the objects of an entity.
func request(
    _ entity: String, _ format: String? = nil, _ arguments: Any?..., sort: [(String, Bool)] = [], limit: Int = 0
) -> FetchRequest<ManagedObject> {
    let request = FetchRequest<ManagedObject>(entityName: entity)
    request.predicate = format.map { FormatPredicate(format: $0, arguments: arguments) }
    request.sortDescriptors = sort.map { KeySortDescriptor(key: $0.0, ascending: $0.1) }
    request.fetchLimit = limit
    return request
}

extension ManagedObjectContext {
    /// Keys of what a request gives.
    func keys(_ request: FetchRequest<ManagedObject>) throws -> [Int64] { try fetch(request).map(\.objectID.key) }
}
