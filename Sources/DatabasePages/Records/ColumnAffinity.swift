/// What SQLite makes of a value when it enters a column, by the column's declared type.
package enum ColumnAffinity: UInt8, Sendable {
    case blob
    case text
    case numeric
    case integer
    case real

    /// SQLite's rules for a declared type, in their order.
    package init(declaredType: String) {
        let type = declaredType.uppercased()
        if type.contains("INT") {
            self = .integer
        } else if type.contains("CHAR") || type.contains("CLOB") || type.contains("TEXT") {
            self = .text
        } else if type.contains("BLOB") || type.isEmpty {
            self = .blob
        } else if type.contains("REAL") || type.contains("FLOA") || type.contains("DOUB") {
            self = .real
        } else {
            self = .numeric
        }
    }

    var isNumber: Bool { self == .numeric || self == .integer || self == .real }
}
