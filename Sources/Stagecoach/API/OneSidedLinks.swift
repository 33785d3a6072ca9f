import Diagnostics

/// The one-sided links of a copied one-to-one pair: pairs of objects of which only one names the other.
public struct OneSidedLinks: Sendable, Codable, Equatable {
    /// The source's relationship, `Entity.relationship`.
    public var relationship: String
    /// Its inverse; the same relationship if it is its own inverse.
    public var inverse: String
    /// The number of such links in the source.
    public var count: Int
    /// True if the links were completed; false if both columns are copied unchanged.
    public var isCompleted: Bool
    /// Some of the objects that are not named back.
    public var samples: [String]

    /// The most samples.
    static let mostSamples = 3

    /// The sentence for people.
    public var sentence: String {
        let pairs = count.counted("link stands", "links stand")
        let more = count > samples.count ? ", …" : ""
        return "\(relationship) and its inverse \(inverse): \(pairs) on one side only "
            + "(\(samples.joined(separator: ", "))\(more)); "
            + (isCompleted
                ? "the other side was set too, where no later link took its place, as Core Data's manager does"
                : "both sides were kept as they stand, as a migration in place keeps them")
    }
}
