/// The treatment of properties that cannot be mapped without an instruction: a changed type, a relationship with less room for
/// links or with another destination, an attribute that became a relationship.
public enum UnmappableProperties: String, Sendable, CaseIterable {
    /// No mapping model is inferred.
    case refuse
    /// The properties are left without an expression: an attribute keeps the model's default, or is nil; a relationship is
    /// empty, or filled by its inverse. The values left behind are counted and named. A relationship whose objects could be in
    /// it for several owners, and can be for one, is mapped: the links that fit are made, and the others counted. Entities of
    /// two hierarchies put into one are still refused, because the keys of their objects would collide.
    case leave
    /// Attributes whose type changed are converted where no value loses anything: a number to one that holds it, a number, UUID or
    /// URI to text, a UUID to data. The others are refused.
    case convert
}
