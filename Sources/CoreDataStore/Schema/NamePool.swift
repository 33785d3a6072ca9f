/// The SQL names already taken within one scope. The second use of a name gets the suffix 1, the third 2.
///
/// For example, scout-4 has `ZNAME`, `ZNAME1`, `ZNAME2` in one table. SQLite compares names without regard to ASCII case, and
/// so does the pool. Memory: one entry a name.
struct NamePool {
    private var used: Set<String>
    /// The next suffix to try, by name, so that n uses of one name cost O(n).
    private var nextSuffix: [String: Int] = [:]

    /// - Parameter reserved: names that are never given out.
    init(reserved: [String] = []) { used = Set(reserved.map { $0.uppercased() }) }

    /// Takes a name that is given from elsewhere.
    mutating func reserve(_ name: String) { used.insert(name.uppercased()) }

    /// Returns the name, or the name with the first free suffix.
    mutating func take(_ name: String) -> String {
        let key = name.uppercased()
        if used.insert(key).inserted { return name }
        var suffix = nextSuffix[key] ?? 1
        while !used.insert(key + String(suffix)).inserted { suffix += 1 }
        nextSuffix[key] = suffix + 1
        return name + String(suffix)
    }
}
