/// What the lane's thread sees of a context while it works ahead.
final class LaneSide {
    unowned let lane: PolicyLane
    let backing: any ManagedObjectContext.Backing
    /// Objects that its calls hold.
    @exclusivity(unchecked) var live = LiveObjects()

    init(lane: PolicyLane, backing: any ManagedObjectContext.Backing) {
        self.lane = lane
        self.backing = backing
    }
}
