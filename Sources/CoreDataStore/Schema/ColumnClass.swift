import ManagedModel

/// The classes by which Core Data orders the columns of a table, after Z_PK, Z_ENT and Z_OPT.
enum ColumnClass: CaseIterable {
    case integer
    /// The Z_FOK_ columns.
    case order
    case real
    case decimal
    case string
    /// URIs, after the strings. No real store shows their place; in cdp-s2 `ZSITEURL` follows `ZALIAS`.
    case uri
    case uuid
    case transformable
    case binary

    /// Returns the class and the declared SQL type of an attribute; nil if the type has no column.
    static func of(_ type: AttributeType) -> (ColumnClass, String)? {
        switch type {
        case .integer16, .integer32, .integer64, .boolean: (.integer, "INTEGER")
        case .date: (.real, "TIMESTAMP")
        case .double, .float: (.real, "FLOAT")
        case .decimal: (.decimal, "DECIMAL")
        case .string: (.string, "VARCHAR")
        case .uri: (.uri, "VARCHAR")
        case .uuid: (.uuid, "BLOB")
        case .transformable: (.transformable, "BLOB")
        case .binaryData: (.binary, "BLOB")
        case .undefined, .objectID, .composite: nil
        }
    }
}
