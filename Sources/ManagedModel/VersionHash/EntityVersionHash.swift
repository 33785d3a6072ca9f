/// The version hash of an entity or a property: 32 bytes, or the reason why nobody outside Core Data can tell them.
package enum EntityVersionHash: Sendable, Equatable {
    /// 32 bytes.
    case known([UInt8])
    /// A sentence without a full stop. The hash is never made up: a store that carries a wrong one claims to be of
    /// a version that it is not.
    case unknown(reason: String)

    /// The bytes, where they are known.
    package var bytes: [UInt8]? {
        guard case .known(let bytes) = self else { return nil }
        return bytes
    }

    /// Why the hash is not known, where it is not.
    package var reason: String? {
        guard case .unknown(let reason) = self else { return nil }
        return reason
    }
}
