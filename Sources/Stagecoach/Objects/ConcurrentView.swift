/// A context as the lane's thread sees it while it works ahead.
final class ConcurrentView {
    unowned let lane: ConcurrentCaller
    let backing: any ManagedObjectContext.Backing
    /// The objects that the lane's calls hold.
    @exclusivity(unchecked) var live = LiveObjects()

    init(lane: ConcurrentCaller, backing: any ManagedObjectContext.Backing) {
        self.lane = lane
        self.backing = backing
    }
}
