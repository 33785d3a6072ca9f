/// Pairs of objects of which only one names the other, in a one-to-one pair of relationships that is copied.
public struct OneSidedLinks: Sendable, Codable, Equatable {
    /// The source's relationship, `Entity.relationship`.
    public var relationship: String
    /// Its inverse; the same where it is its own.
    public var inverse: String
    /// How many there are in the source.
    public var count: Int
    /// True if the other side was completed; otherwise both columns are as they stand.
    public var isCompleted: Bool
    /// Some of the objects that are not named back.
    public var samples: [String]

    /// Objects that are named.
    static let mostSamples = 3

    /// The sentence that a person should read.
    public var sentence: String {
        let pairs = count == 1 ? "1 link stands" : "\(count) links stand"
        let more = count > samples.count ? ", …" : ""
        return "\(relationship) and its inverse \(inverse): \(pairs) on one side only "
            + "(\(samples.joined(separator: ", "))\(more)); "
            + (isCompleted
                ? "the other side was set too, where no later link took its place, as Core Data's manager does"
                : "both sides were kept as they stand, as a migration in place keeps them")
    }
}
