/// Whether calls of a policy for different source objects may run at the same time.
public enum PolicyExecution: Sendable, Hashable {
    /// One call at a time, in the order of the source objects: what every policy may rely on.
    case isolated
    /// While one thread calls ``EntityMigrationPolicy/createDestinationInstances(forSource:in:manager:)`` for some
    /// source objects of a batch, a second one calls it for the next ones.
    ///
    /// What such a policy promises: a call neither needs nor changes what calls for other source objects of its entity
    /// mapping have made; what it stores in itself, or anywhere else, it guards with a lock, which it does not hold
    /// while it asks objects, contexts or the manager for anything; it keeps no managed object past its call.
    ///
    /// The destination is the same, key by key, as with ``isolated``: a call that asks for more than attributes of its
    /// source object and objects that it made itself (relationships, associations of other entity mappings, fetches,
    /// object ids) waits there until all calls before it are done.
    case concurrent
}
