/// A value of a property list that is no collection, by its identity: numbers by their bits, texts by code units and not by
/// canonical equivalence. Equal leaves are written once.
struct PropertyListLeaf: Hashable {
    let value: PropertyListValue

    /// Makes a leaf; nil for a collection.
    init?(_ value: PropertyListValue) {
        switch value {
        case .array, .set, .dictionary: return nil
        default: self.value = value
        }
    }

    static func == (left: PropertyListLeaf, right: PropertyListLeaf) -> Bool {
        switch (left.value, right.value) {
        case (.real(let one), .real(let other)), (.date(let one), .date(let other)): one.bitPattern == other.bitPattern
        case (.string(let one), .string(let other)): one.utf8.elementsEqual(other.utf8)
        case (let one, let other): one == other
        }
    }

    func hash(into hasher: inout Hasher) {
        switch value {
        case .null, .array, .set, .dictionary: hasher.combine(0)
        case .boolean(let flag): hasher.combine(flag)
        case .integer(let number): hasher.combine(number)
        case .largeInteger(let high, let low): hasher.combine(high ^ low)
        case .real(let number), .date(let number): hasher.combine(number.bitPattern)
        case .data(let bytes): bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
        case .string(var text): text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        case .uid(let number): hasher.combine(number)
        }
    }
}

extension [PropertyListLeaf: Int] {
    /// Returns the place of a leaf, which is entered with a new one if it is not known. It hashes once.
    mutating func place(of leaf: PropertyListLeaf, ifNew place: Int) -> Int {
        func known(_ entry: inout Int) -> Int { entry }
        return known(&self[leaf, default: place])
    }
}
