import CoreDataStore

extension PolicyRuntime {
    /// Makes the context of one side's objects, with their store.
    static func context(
        of backing: any ManagedObjectContext.Backing, _ inputs: RunInputs, storeUUID: String,
        failures: FailureRecord
    ) -> ManagedObjectContext {
        let isDestination = backing is DestinationObjects
        var metadata: [String: Any] = ["NSStoreType": "SQLite", "NSStoreUUID": storeUUID]
        if isDestination {
            for (key, value) in inputs.source.metadata.applicationValues { metadata[key] = value.object }
        } else {
            for (key, value) in inputs.source.metadata.propertyList { metadata[key] = value.object }
        }
        let store = PersistentStore(
            path: isDestination ? inputs.destinationPath : inputs.source.path, identifier: storeUUID,
            metadata: metadata, isReadOnly: !isDestination)
        let coordinator = PersistentStoreCoordinator(
            schema: isDestination ? inputs.destinationSchema : inputs.layout.schema, isMigrating: true,
            isDestination: isDestination)
        coordinator.attach(store)
        return ManagedObjectContext(
            backing: backing, failures: failures, coordinator: coordinator, isDestination: isDestination,
            transforms: inputs.options.transformsValues)
    }
}
