/// The position within the load of one table.
struct LoadPosition {
    /// The rows of one entity mapping so far.
    struct Mapping {
        var made = 0
        var highest: Int64 = 0
    }

    /// True if all rows were appended.
    var isDone = false
    /// The index of the current scan among the step's scans of source tables.
    var scan = 0
    /// The last source key that the scan has read; nil if none.
    var after: Int64?
    /// The rows of the scan, by the index of the entity mapping.
    var mappings: [Int: Mapping] = [:]
    /// The references counted in the scan, or in a join table's links up to ``afterLink``.
    var references = ReferenceCounts()
    /// The highest key written in this step.
    var highest: Int64 = 0
    /// The number of links written to a join table.
    var links = 0
    /// The source link after which reading resumes, as two keys; the first is that of the side by which the links are
    /// sorted. If nil, reading starts at the beginning and the links that were already written are skipped.
    var afterLink: (first: Int64, second: Int64)?
}
