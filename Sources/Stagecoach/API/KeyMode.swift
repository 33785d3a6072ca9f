/// The way the rows of a destination table get their keys.
public enum KeyMode: String, Sendable, Codable {
    /// A row keeps the Z_PK of its source row.
    case kept
    /// Rows are numbered at creation, in order.
    case sequential
}

/// The choice of keys that the user makes with `--keys`.
public enum KeyChoice: String, Sendable, CaseIterable {
    /// Kept if possible.
    case auto
    /// Kept in all tables; refused if that is impossible.
    case kept
    /// Numbered in all tables.
    case sequential
}
