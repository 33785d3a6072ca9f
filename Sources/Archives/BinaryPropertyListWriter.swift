import Diagnostics

/// The encoder of a binary property list, object by object. Each object has a number, and the first one is the top.
///
/// A leaf is written when it is numbered, and equal leaves are one object. Collections are written at the end, because the
/// number of all objects decides the width of their references.
///
/// Memory: the list's bytes, 40 bytes for each leaf, and 8 for each member of a collection.
struct BinaryPropertyListWriter {
    enum CollectionKind: UInt8 {
        case array = 0xA
        case set = 0xC
        case dictionary = 0xD
    }

    private struct Collection {
        let number: Int
        let kind: CollectionKind
        /// Where its references are: those of a dictionary's keys first, then those of its values.
        let references: Range<Int>
    }

    /// The first UID that is found by its hash.
    private static let firstLargeUID = 1 << 16

    private let limits: BinaryPropertyList.Limits
    private var output = PropertyListBytes(Array("bplist00".utf8))
    private var offsets: [Int] = []
    private var leaves: [PropertyListLeaf: Int] = [:]
    /// The objects of UIDs below ``firstLargeUID``, each plus one, which need no hash; 0 for none.
    private var uids: [Int] = []
    private var collections: [Collection] = []
    private var references: [Int] = []
    /// The error that makes the list impossible, which is thrown at the end.
    private var problem: MigrationError?

    init(limits: BinaryPropertyList.Limits) {
        self.limits = limits
        // Enough for the archive of a few texts, so that none of these grows step by step.
        output.reserveCapacity(512)
        offsets.reserveCapacity(48)
        leaves.reserveCapacity(16)
        uids.reserveCapacity(32)
        collections.reserveCapacity(8)
        references.reserveCapacity(48)
    }

    // MARK: Objects

    /// Returns the number of a collection that is filled later.
    mutating func reserve() -> Int {
        guard offsets.count < limits.expandedValues else {
            problem = .archive("archive.limit", "The property list has more than \(limits.expandedValues) objects")
            return 0
        }
        offsets.append(0)
        return offsets.count - 1
    }

    /// Returns the number of a value, which is added with all its members if it is new.
    ///
    /// - Parameter depth: the level of the value; 1 for the top.
    mutating func number(of value: PropertyListValue, depth: Int) -> Int {
        guard depth <= limits.depth else {
            problem = .archive("archive.limit", "The property list is nested too deeply")
            return 0
        }
        if case .uid(let uid) = value, uid < Self.firstLargeUID { return number(ofUID: Int(uid)) }
        if let leaf = PropertyListLeaf(value) { return number(of: leaf) }
        let number = reserve()
        switch value {
        case .array(let members): fill(number, .array, members.map { self.number(of: $0, depth: depth + 1) })
        case .set(let members): fill(number, .set, members.map { self.number(of: $0, depth: depth + 1) })
        case .dictionary(let entries): fill(number, Self.sorted(entries), depth: depth)
        default: preconditionFailure("every other case is a leaf")
        }
        return number
    }

    /// Returns the number of a UID, which is added if it is new.
    mutating func number(ofUID uid: Int) -> Int {
        guard uid < Self.firstLargeUID else { return number(of: .uid(UInt64(uid)), depth: 1) }
        while uids.count <= uid { uids.append(0) }
        if uids[uid] != 0 { return uids[uid] - 1 }
        let number = add(leaf: .uid(UInt64(uid)))
        uids[uid] = number + 1
        return number
    }

    private mutating func number(of leaf: PropertyListLeaf) -> Int {
        let number = leaves.place(of: leaf, ifNew: offsets.count)
        if number == offsets.count { _ = add(leaf: leaf.value) }
        return number
    }

    /// Adds a leaf as an object of its own, also if an equal one is there. It returns the object's number.
    mutating func add(leaf: PropertyListValue) -> Int {
        let place = output.bytes.count
        let number = reserve()
        if problem == nil {
            offsets[number] = place
            output.append(leaf: leaf)
        }
        return number
    }

    /// Gives a reserved collection its members, by their numbers; a dictionary all its keys, and then all its values.
    mutating func fill(_ number: Int, _ kind: CollectionKind, _ members: [Int]) {
        let start = references.count
        references += members
        collections.append(Collection(number: number, kind: kind, references: start..<references.count))
    }

    /// Gives a reserved dictionary its entries.
    mutating func fill(_ number: Int, _ entries: [(key: String, value: PropertyListValue)], depth: Int) {
        var members: [Int] = []
        members.reserveCapacity(2 * entries.count)
        for entry in entries { members.append(self.number(of: .string(entry.key), depth: depth + 1)) }
        for entry in entries { members.append(self.number(of: entry.value, depth: depth + 1)) }
        fill(number, .dictionary, members)
    }

    /// Returns the entries of a dictionary in the order in which they are written, that of the keys' bytes.
    static func sorted(
        _ entries: some Sequence<PropertyListDictionary.Element>
    ) -> [PropertyListDictionary.Element] {
        entries.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
    }

    // MARK: The list

    /// Returns the bytes of the whole property list. Call it once, after all reserved collections were filled.
    ///
    /// - Throws: `archive.limit` if the list has too many objects or is nested too deeply.
    mutating func encoded() throws(MigrationError) -> [UInt8] {
        if let problem { throw problem }
        let referenceSize = PropertyListBytes.width(UInt64(offsets.count - 1))
        for collection in collections { append(collection, referenceSize: referenceSize) }
        let table = output.bytes.count
        let offsetSize = PropertyListBytes.width(UInt64(table))
        output.append(offsets[...], width: offsetSize)
        output.append(UInt64(offsetSize) << 8 | UInt64(referenceSize), width: 8)
        output.append(UInt64(offsets.count), width: 8)
        output.append(0, width: 8)
        output.append(UInt64(table), width: 8)
        return output.bytes
    }

    private mutating func append(_ collection: Collection, referenceSize: Int) {
        offsets[collection.number] = output.bytes.count
        let members = collection.references.count
        output.append(marker: collection.kind.rawValue, count: collection.kind == .dictionary ? members / 2 : members)
        output.append(references[collection.references], width: referenceSize)
    }
}
