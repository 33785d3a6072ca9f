/// The declared links that are resolved by sorting whole tables: those to be resolved, and patches that wait for the rows of
/// their table.
///
/// Memory: the patches wait on disk.
struct PendingLinks {
    private var tasks: [LinkPlan.ColumnTask]
    private var patches: [Int: [ColumnPatches]] = [:]

    init(_ tasks: [LinkPlan.ColumnTask]) { self.tasks = tasks }

    /// Returns the patches of a table's rows, once. A one-to-one pair is resolved with the first of its two tables.
    ///
    /// - Parameter isClosed: tells whether all rows of a table were written. Links of such tables alone are left out.
    mutating func patches(
        of table: Int, by resolution: DeclaredLinkSort, isClosed: (Int) -> Bool
    ) throws -> [ColumnPatches] {
        let schema = resolution.stream.run.inputs.destinationSchema
        let due = tasks.filter { $0.tables(in: schema).contains(table) }
        tasks.removeAll { $0.tables(in: schema).contains(table) }
        for task in due where !task.tables(in: schema).allSatisfy(isClosed) {
            for links in try resolution.resolve(task) {
                guard let target = links.storage.columnTable, let made = try ColumnPatches(links) else { continue }
                patches[target, default: []].append(made)
            }
        }
        return patches.removeValue(forKey: table) ?? []
    }
}
