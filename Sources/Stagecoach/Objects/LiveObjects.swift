/// The objects that are still referenced, by table and key: a hash table of references that keep no object alive.
///
/// Memory: 8 bytes for each slot of the table, at least a third of which are used.
struct LiveObjects: ~Copyable {
    private typealias Place = Unmanaged<ManagedObject>?

    private var places: UnsafeMutableBufferPointer<Place>
    private(set) var count = 0

    init() {
        places = .allocate(capacity: 64)
        places.initialize(repeating: nil)
    }

    deinit { places.deallocate() }

    /// Returns the object of a row; nil if it is not referenced. Complexity: O(1).
    func object(table: Int, key: Int64) -> ManagedObject? {
        var index = start(table, key)
        while let found = places[index] {
            let isThis = found._withUnsafeGuaranteedRef { $0.place.key == key && $0.place.table == table }
            if isThis { return found.takeUnretainedValue() }
            index = (index + 1) & (places.count - 1)
        }
        return nil
    }

    /// Adds an object that is not in the table yet.
    mutating func insert(_ object: ManagedObject) {
        if (count + 1) * 2 > places.count { resize(to: places.count * 2) }
        add(.passUnretained(object), object.place)
        count += 1
    }

    /// Removes an object. Returns false if there is none.
    @discardableResult
    mutating func remove(table: Int, key: Int64) -> Bool {
        var hole = start(table, key)
        while let found = places[hole] {
            if found._withUnsafeGuaranteedRef({ $0.place.key == key && $0.place.table == table }) { break }
            hole = (hole + 1) & (places.count - 1)
        }
        guard places[hole] != nil else { return false }
        places[hole] = nil
        count -= 1
        // Entries behind the hole move up, unless their own slot lies between the hole and them.
        var index = hole
        while true {
            index = (index + 1) & (places.count - 1)
            guard let next = places[index] else { break }
            let home = next._withUnsafeGuaranteedRef { start($0.place.table, $0.place.key) }
            let distance = (index - home) & (places.count - 1)
            guard distance >= (index - hole) & (places.count - 1) else { continue }
            places[hole] = next
            places[index] = nil
            hole = index
        }
        if places.count > 1024, count * 8 < places.count { resize(to: places.count / 2) }
        return true
    }

    /// Calls a closure with every object.
    func forEachObject(_ body: (ManagedObject) -> Void) {
        for case let found? in places { body(found.takeUnretainedValue()) }
    }

    private func start(_ table: Int, _ key: Int64) -> Int {
        let mixed = (UInt64(bitPattern: key) &+ UInt64(table) << 48) &* 0x9E37_79B9_7F4A_7C15
        return Int(truncatingIfNeeded: mixed >> 32) & (places.count - 1)
    }

    private func add(_ object: Unmanaged<ManagedObject>, _ place: ObjectPlace) {
        var index = start(place.table, place.key)
        while places[index] != nil { index = (index + 1) & (places.count - 1) }
        places[index] = object
    }

    private mutating func resize(to capacity: Int) {
        let old = places
        places = .allocate(capacity: capacity)
        places.initialize(repeating: nil)
        for case let found? in old { add(found, found._withUnsafeGuaranteedRef { $0.place }) }
        old.deallocate()
    }
}
