/// How the rows of a destination table get their keys.
public enum KeyMode: String, Sendable, Codable {
    /// A row keeps the Z_PK of its source row.
    case kept
    /// Rows are numbered at creation, in order.
    case sequential
}

/// What the user asks for with `--keys`.
public enum KeyChoice: String, Sendable, CaseIterable {
    /// Kept where possible.
    case auto
    /// Kept everywhere, or refused.
    case kept
    /// Numbered everywhere.
    case sequential
}
