/// The way in which a policy's creation is called for different source objects.
public enum PolicyExecution: Sendable, Hashable {
    /// One call at a time, in the order of the source objects. Every policy may rely on this.
    case isolated
    /// Two threads at a time: while one calls
    /// ``EntityMigrationPolicy/createDestinationInstances(forSource:in:manager:)`` for some source objects of a batch,
    /// a second one calls it for the next ones.
    ///
    /// Such a policy promises three things. A call neither needs nor changes the results of calls for other source
    /// objects of its entity mapping. Everything that the policy stores, in itself or elsewhere, is guarded by a lock
    /// that it does not hold while it uses objects, contexts or the manager. It keeps no managed object after its call.
    ///
    /// The destination is the same, key by key, as with ``isolated``. If a call needs more than attributes of its
    /// source object and objects that it made itself (relationships, associations of other entity mappings, fetches,
    /// object ids), it waits there until all previous calls are done.
    case concurrent
}
