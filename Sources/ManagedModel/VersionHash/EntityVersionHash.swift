/// The version hash of an entity or a property: 32 bytes, or the reason why only Core Data can compute it.
package enum EntityVersionHash: Sendable, Equatable {
    /// The 32 bytes of the hash.
    case known([UInt8])
    /// The reason, a sentence without a full stop. A hash is never invented: a store with a wrong one claims to be of another
    /// version.
    case unknown(reason: String)

    /// The bytes if the hash is known; else nil.
    package var bytes: [UInt8]? {
        guard case .known(let bytes) = self else { return nil }
        return bytes
    }

    /// The reason if the hash is unknown; else nil.
    package var reason: String? {
        guard case .unknown(let reason) = self else { return nil }
        return reason
    }
}
