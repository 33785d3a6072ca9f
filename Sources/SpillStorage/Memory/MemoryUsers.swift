/// The users of a memory, and the amount that each of them holds.
struct MemoryUsers<User: AnyObject> {
    struct Entry {
        /// Valid as long as it is in the list: a user leaves the list when it is released.
        unowned(unsafe) let user: User
        let id: ObjectIdentifier
        fileprivate(set) var held = 0
        var lastUse = 0
    }

    var entries: [Entry] = []
    /// The amount that all of them hold.
    private(set) var held = 0
    private var runs = 0

    /// Returns a number for a run, unique in the group.
    mutating func nextRun() -> Int {
        runs += 1
        return runs
    }

    mutating func enter(_ user: User) { entries.append(Entry(user: user, id: ObjectIdentifier(user))) }

    mutating func leave(_ user: User) {
        guard let index = index(of: user) else { return }
        set(0, at: index)
        entries.swapAt(index, entries.count - 1)
        entries.removeLast()
    }

    func index(of user: User) -> Int? {
        let id = ObjectIdentifier(user)
        return entries.firstIndex { $0.id == id }
    }

    /// Notes that a user holds nothing any more.
    mutating func giveBack(_ user: User) { if let index = index(of: user) { set(0, at: index) } }

    /// Notes the amount that a user holds now.
    mutating func set(_ amount: Int, at index: Int) {
        held += amount - entries[index].held
        entries[index].held = amount
    }
}
