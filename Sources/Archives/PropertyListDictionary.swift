/// A dictionary of a property list. Most have two to four entries, which are found faster without a hash; larger ones have an
/// index.
package struct PropertyListDictionary: Sendable, Equatable, Sequence, ExpressibleByDictionaryLiteral {
    package typealias Element = (key: String, value: PropertyListValue)

    /// The entries in the order in which they were added.
    private var entries: [Element] = []
    /// The place of each key; empty where there are few entries.
    private var places: [String: Int] = [:]
    private static let mostWithoutIndex = 12

    package init() {}

    /// Makes an empty dictionary with room for a number of entries.
    init(capacity: Int) { entries.reserveCapacity(capacity) }

    package init(_ values: [String: PropertyListValue]) {
        for (key, value) in values { add(value, forKey: key) }
    }

    /// - Precondition: no key is there twice.
    package init(dictionaryLiteral elements: (String, PropertyListValue)...) {
        for (key, value) in elements { precondition(add(value, forKey: key), "\(key) is there twice") }
    }

    /// The values by key.
    package var byKey: [String: PropertyListValue] {
        Dictionary(uniqueKeysWithValues: entries.map { ($0.key, $0.value) })
    }

    package var count: Int { entries.count }
    package var keys: [String] { entries.map(\.key) }

    package func makeIterator() -> [Element].Iterator { entries.makeIterator() }

    private func place(of key: String) -> Int? {
        places.isEmpty ? entries.firstIndex { $0.key == key } : places[key]
    }

    /// The value of a key; nil if there is none. Setting nil removes the entry.
    package subscript(key: String) -> PropertyListValue? {
        get { place(of: key).map { entries[$0].value } }
        set {
            if let newValue, !add(newValue, forKey: key), let place = place(of: key) { entries[place].value = newValue }
            if newValue == nil, let place = place(of: key) {
                entries.remove(at: place)
                places = [:]
                if entries.count > Self.mostWithoutIndex { index() }
            }
        }
    }

    private mutating func index() {
        for (place, entry) in entries.enumerated() { places[entry.key] = place }
    }

    /// Adds an entry. It returns false, and adds nothing, if the key is there.
    @discardableResult
    package mutating func add(_ value: PropertyListValue, forKey key: String) -> Bool {
        guard place(of: key) == nil else { return false }
        entries.append((key, value))
        if !places.isEmpty {
            places[key] = entries.count - 1
        } else if entries.count > Self.mostWithoutIndex {
            index()
        }
        return true
    }

    package static func == (left: PropertyListDictionary, right: PropertyListDictionary) -> Bool {
        left.count == right.count && left.allSatisfy { right[$0.key] == $0.value }
    }
}
