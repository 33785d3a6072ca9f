import Foundation

// Parts of Core Data's class that the engine does not need.

extension ManagedObjectModel: Hashable {
    /// Two models are equal if they define the same.
    public static func == (left: ManagedObjectModel, right: ManagedObjectModel) -> Bool {
        left === right || left.definition == right.definition
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(definition.entities.map(\.name)) }

    /// Tells whether an object is a model that defines the same.
    public func isEqual(_ object: Any?) -> Bool { (object as? ManagedObjectModel) == self }

    /// Returns a model that defines the same and may be changed, as one of ``init()``, until it is used.
    public func copy() -> Any { ManagedObjectModel(definition, resolved, indexByName, isOpen: true) }

    /// Returns the same as ``copy()``.
    public func mutableCopy() -> Any { copy() }

    /// Nil: names for people are not read. Setting it has no effect.
    public var localizationDictionary: [String: String]? {
        get { nil }
        set {}
    }

    /// Returns the model among some, or of all of them together, that wrote a store; nil if none did.
    public convenience init?(byMerging models: [ManagedObjectModel], forStoreMetadata metadata: [String: Any]) {
        let candidates = models + [ManagedObjectModel(byMerging: models)].compactMap { $0 }
        let fitting = candidates.first { $0.isConfiguration(withName: nil, compatibleWithStoreMetadata: metadata) }
        guard let fitting else { return nil }
        self.init(fitting.definition, fitting.resolved, fitting.indexByName)
    }
}
