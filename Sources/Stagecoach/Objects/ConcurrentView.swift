import Glibc

/// The turn of a second thread that calls a policy. It works ahead until a call needs what earlier calls do.
final class ConcurrentTurn {
    @exclusivity(unchecked) var thread = pthread_self()
    /// True while the thread works ahead of its turn; used by that thread only.
    @exclusivity(unchecked) var isWorkingAhead = false
    let failures = FailureRecord()
    /// Waits until all earlier calls are done.
    var take: () -> Void = {}

    /// True if the caller is the second thread and works ahead of its turn.
    var isAhead: Bool { pthread_equal(pthread_self(), thread) != 0 && isWorkingAhead }
}

/// A context as the second thread sees it while it works ahead.
final class ConcurrentView {
    let turn: ConcurrentTurn
    let backing: any ManagedObjectContext.Backing
    /// The objects that the thread's calls hold.
    @exclusivity(unchecked) var live = LiveObjects()
    @exclusivity(unchecked) var transformed = TransformedValues()

    init(turn: ConcurrentTurn, backing: any ManagedObjectContext.Backing) {
        self.turn = turn
        self.backing = backing
    }
}
