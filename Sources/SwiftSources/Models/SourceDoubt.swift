/// A part of a class for which no known store shows what SwiftData makes of it.
package struct SourceDoubt: Sendable, Equatable {
    /// True if a model with it is refused unless the hash of a store agrees; false if it only stays unchecked.
    package let isRefused: Bool
    package let entity: String
    package let property: String?
    /// A sentence without a full stop.
    package let reason: String
    package let place: SourcePlace

    /// The doubt with its place.
    package var sentence: String {
        "\(place): \(entity)\(property.map { ".\($0)" } ?? ""): \(reason)"
    }
}
