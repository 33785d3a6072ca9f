/// The state that a migration in a chain of versions takes over from the previous runs.
struct ChainPosition {
    /// The map from the chain's source to this run's source, in SQLite; nil if none is wanted, or for the first run.
    var idMap: String?
    /// The reject files of the previous runs.
    var rejectFiles: [String] = []
    /// The expected number of objects of each entity in a source that does not exist yet, if the run is only planned;
    /// else nil.
    var expected: [String: Int]?
}
