import Diagnostics

/// The identity of an object: its entity's number (Z_ENT) and its key (Z_PK).
package struct ObjectReference: Hashable, Sendable, StateCodable {
    package var entity: UInt32
    package var key: Int64

    package init(entity: UInt32, key: Int64) {
        self.entity = entity
        self.key = key
    }

    package init() { self = .none }

    package mutating func code(with coder: inout StateCoder) throws(MigrationError) {
        try coder.code(&self, \.entity, \.key)
    }

    /// The reference to no object. No entity has its number.
    package static var none: ObjectReference { ObjectReference(entity: .max, key: 0) }
    /// True if it refers to no object.
    package var isNone: Bool { entity == .max }
}

/// The layout of a pair of references in the words of a record.
///
/// Narrow: one word a reference, with the entity in the top 16 bits and the key, made unsigned, in the other 48. Wide, if a
/// number does not fit: two words a reference. Both layouts sort the same: by entity, then by key.
struct PairLayout {
    var isWide: Bool

    var referenceWords: Int { isWide ? 2 : 1 }
    /// The number of words of a record of two references and a sequence number.
    var width: Int { isWide ? 5 : 3 }

    private static let bias: Int64 = 1 << 47

    /// Tells whether a reference fits in one word.
    @inline(__always)
    static func isNarrow(_ reference: ObjectReference) -> Bool {
        reference.entity < 1 << 16 && reference.key >= -bias && reference.key < bias
    }

    @inline(__always)
    func encode(_ reference: ObjectReference, into words: UnsafeMutablePointer<UInt64>) {
        if isWide {
            words[0] = UInt64(reference.entity)
            words[1] = SortKey.encode(reference.key)
        } else {
            words[0] = UInt64(reference.entity) << 48 | UInt64(bitPattern: reference.key &+ Self.bias) & ((1 << 48) - 1)
        }
    }

    @inline(__always)
    func decode(_ words: UnsafePointer<UInt64>) -> ObjectReference {
        if isWide {
            return ObjectReference(entity: UInt32(truncatingIfNeeded: words[0]), key: SortKey.decode(words[1]))
        }
        return ObjectReference(
            entity: UInt32(truncatingIfNeeded: words[0] >> 48),
            key: Int64(bitPattern: words[0] & ((1 << 48) - 1)) - Self.bias)
    }
}
