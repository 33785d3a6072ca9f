/// An object of a store with its stored values, ready to be shown.
public struct StoredObject: Sendable, Equatable {
    /// An attribute and its value.
    public typealias Attribute = ShownValue.Element

    /// A relationship and its objects.
    public struct Relationship: Sendable, Equatable {
        /// The relationship's name.
        public let name: String
        /// True if it may have several objects.
        public let isToMany: Bool
        /// True if its objects have an order; ``members`` are in that order, else ascending by key.
        public let isOrdered: Bool
        /// The number of its objects, missing ones included.
        public let count: Int
        /// The first objects, each `Entity/p<key>` by its own entity.
        public let members: [String]
        /// The members among ``members`` of which the store has no row.
        public let missing: [String]
    }

    /// The name of the object's own entity.
    public let entity: String
    /// The key, Z_PK.
    public let key: Int64
    /// The stored attributes, by name; a composite attribute is one.
    public let attributes: [Attribute]
    /// The stored relationships, by name.
    public let relationships: [Relationship]

    /// `Entity/p<key>`.
    public var id: String { "\(entity)/p\(key)" }

    /// The value of an attribute or relationship; nil if the entity has none of this name, ``ShownValue/null`` if it is nil.
    ///
    /// - Complexity: O(properties).
    public subscript(name: String) -> ShownValue? {
        attributes.first { $0.name == name }?.value ?? relationships.first { $0.name == name }?.value
    }
}

/// In JSON a to-one relationship is the id of its object or null, and a to-many one is an object with `count` and `members`.
/// References to rows that do not exist are listed in `missing`.
extension StoredObject: Encodable {
    private enum Key: String, CodingKey { case id, entity, key, attributes, relationships, missing }

    /// Encodes the object with its attributes and relationships by name.
    public func encode(to encoder: any Encoder) throws {
        var keyed = encoder.container(keyedBy: Key.self)
        try keyed.encode(id, forKey: .id)
        try keyed.encode(entity, forKey: .entity)
        try keyed.encode(key, forKey: .key)
        try keyed.encode(ShownValue.dictionary(attributes), forKey: .attributes)
        let related = relationships.map { Attribute(name: $0.name, value: $0.value) }
        try keyed.encode(ShownValue.dictionary(related), forKey: .relationships)
        let missing = relationships.flatMap(\.missing)
        if !missing.isEmpty { try keyed.encode(missing, forKey: .missing) }
    }
}

extension StoredObject.Relationship {
    /// The relationship as a value.
    public var value: ShownValue {
        isToMany ? .objects(members, count: count) : members.first.map(ShownValue.object) ?? .null
    }
}

/// The name of an object or entity, as people write it: `Book/p7`, the URI of its object id, or `Book` for all objects.
struct ObjectName {
    let entity: String
    /// The key; nil if the name is that of an entity alone.
    let key: Int64?
    /// The UUID of the store in a URI; nil if the name has none.
    let storeUUID: String?

    init(_ text: String) {
        var parts = text.split(separator: "/", omittingEmptySubsequences: false)[...]
        var uuid: String?
        if parts.count == 5, parts[0].lowercased() == "x-coredata:", parts[1].isEmpty {
            uuid = String(parts[2])
            parts = parts.dropFirst(3)
        }
        storeUUID = uuid
        if parts.count == 2, let last = parts.last, last.first == "p", let number = Int64(last.dropFirst()) {
            entity = String(parts[parts.startIndex])
            key = number
        } else {
            entity = parts.joined(separator: "/")
            key = nil
        }
    }
}
