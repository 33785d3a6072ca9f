/// The handling of objects that break the destination model's rules.
public enum InvalidObjects: String, Sendable, CaseIterable {
    /// The first such object ends the run.
    case fail
    /// Such objects are left out, and so are objects that need them.
    case reject
    /// Objects that would break a uniqueness constraint which only the destination's model has are merged, the first of those with
    /// the same values being kept; an object that breaks any other rule ends the run. Inference writes the rule into the mapping
    /// model, as `mergeBy`: ``MappingModel/inferred(from:to:unmappable:mergesDuplicates:)``. A given mapping model stays as it is.
    case merge

    /// True if an object that breaks a rule ends the run.
    var endsRun: Bool { self != .reject }
}
