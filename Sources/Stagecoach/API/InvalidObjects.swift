/// The handling of objects that break the destination model's rules.
public enum InvalidObjects: String, Sendable, CaseIterable {
    /// The first such object ends the run.
    case fail
    /// Such objects are left out, and so are objects that need them.
    case reject
}
