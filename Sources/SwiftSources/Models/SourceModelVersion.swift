import Diagnostics
import ManagedModel
import SwiftTokens

/// Version hashes that are known to be those of a SwiftData app.
package struct KnownHashes: Sendable {
    /// Their origin, for messages: a store's path, or that of a list.
    let origin: String
    /// The names of the entities; of a list in a text, all of its words.
    private let names: Set<String>
    /// 32 bytes each. An entity's name is in its hash, so none proves another entity.
    private let hashes: Set<[UInt8]>

    package init(origin: String, names: Set<String>, hashes: Set<[UInt8]>) {
        (self.origin, self.names, self.hashes) = (origin, names, hashes)
    }

    /// - Parameter hashes: 32 bytes by entity name.
    package init(origin: String, hashes: [String: [UInt8]]) {
        self.init(origin: origin, names: Set(hashes.keys), hashes: Set(hashes.values))
    }

    /// Returns the hashes that an entity may have.
    func hashes(of entity: String) -> Set<[UInt8]> { names.contains(entity) ? hashes : [] }
}

/// The evidence for an entity that was derived from sources.
package enum EntityStanding: Sendable, Equatable {
    /// Its hash is the one in a store or a list, which is named.
    case equal(to: String)
    /// Nothing at hand has its hash.
    case unchecked
}

/// A part of a class for which no known store shows what SwiftData makes of it.
package struct SourceDoubt: Sendable {
    /// The error of a model whose hash agrees with no store; nil if the entity only stays unchecked then.
    let refusal: MigrationError?
    package let entity: String
    package let property: String?
    /// A sentence without a full stop.
    package let reason: String
    package let place: SourcePlace

    /// The doubt with its place.
    package var sentence: String { "\(place): \(entity)\(property.map { ".\($0)" } ?? ""): \(reason)" }
}

/// A version of a model that was derived from sources.
package struct SourceModelVersion: Sendable {
    package let name: String
    /// `1.0.0`; nil if the sources do not say it.
    package let identifier: String?
    package let place: SourcePlace
    /// The model, or the reason why the sources do not give it.
    package let model: Result<ManagedObjectModel, MigrationError>
    /// The evidence for each entity, by name; empty if there is no model.
    package var standings: [String: EntityStanding] = [:]
    package var doubts: [SourceDoubt] = []
    /// The initial values that are expressions, by `Entity.property`: a model has no value for them.
    package var expressions: [String: String] = [:]
    /// The places of the classes, by entity.
    package var places: [String: SourcePlace] = [:]

    /// The names of the entities without evidence.
    package var unchecked: [String] { standings.filter { $0.value == .unchecked }.keys.sorted() }
}
