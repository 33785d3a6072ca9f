import ManagedModel

/// The numbers (Z_ENT) of a model's entities, in the name order that Core Data's layout uses everywhere.
struct EntityNumbering {
    /// The Z_ENT by entity index.
    let numbers: [Int]
    /// The entity indices by Z_ENT, number 1 first.
    let order: [Int]

    /// Numbers the entities 1..n in the order of ``ManagedObjectModel/entitiesInStoreOrder``. Abstract entities are numbered
    /// too.
    ///
    /// - Complexity: O(n log n) in entities.
    init(model: ManagedObjectModel) {
        order = model.entitiesInStoreOrder.map(\.index)
        var numbers = [Int](repeating: 0, count: order.count)
        for (position, entity) in order.enumerated() { numbers[entity] = position + 1 }
        self.numbers = numbers
    }
}

/// A name in the sort order of Core Data's layout: without regard to case (`SyncableSettingsMetadata` before
/// `SyncFeatureEntity` in SyncMetadata_V3.sqlite), ties by code point so that the order is total.
struct NameKey: Comparable {
    let name: String
    private let folded: [UInt32]
    private let exact: [UInt32]

    init(_ name: String) {
        self.name = name
        folded = name.lowercased().unicodeScalars.map(\.value)
        exact = name.unicodeScalars.map(\.value)
    }

    static func < (first: NameKey, second: NameKey) -> Bool {
        if first.folded == second.folded { return first.exact.lexicographicallyPrecedes(second.exact) }
        return first.folded.lexicographicallyPrecedes(second.folded)
    }

    static func == (first: NameKey, second: NameKey) -> Bool { first.exact == second.exact }
}

extension Sequence {
    /// Returns the elements in the layout's name order. Each name is folded once.
    func sortedByName(_ name: (Element) -> String) -> [Element] {
        map { (NameKey(name($0)), $0) }.sorted { $0.0 < $1.0 }.map(\.1)
    }
}
