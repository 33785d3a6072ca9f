import Archives
import Diagnostics

/// Reads an archived `userInfo` dictionary.
enum ArchivedUserInfo {
    /// The limits of an archive.
    private static let limits = BinaryPropertyList.Limits(bytes: 16 << 20, expandedValues: 500_000, depth: 64)

    /// Reads a whole archive with a dictionary as its root.
    ///
    /// - Parameter tree: bounds this walk, and all walks that share it.
    /// - Returns: nil if the root is nil.
    /// - Throws: `archive.…`; `archive.userInfo` for values other than property list values, decimals and null.
    static func decode(
        _ bytes: [UInt8], _ tree: inout ArchivedTreeGuard
    ) throws(MigrationError) -> [AnyHashable: Any]? {
        try dictionary(try KeyedArchive(decoding: bytes, limits: limits).topValue(), &tree)
    }

    /// Reads the dictionary of a field; nil for the archive's nil.
    static func dictionary(
        _ value: ArchivedValue, _ tree: inout ArchivedTreeGuard
    ) throws(MigrationError) -> [AnyHashable: Any]? {
        if value.isNull { return nil }
        guard case .object(let members) = try self.value(value, &tree) else {
            throw .archive("archive.userInfo", "The archived userInfo is a \(value.kindName), not a dictionary")
        }
        return Dictionary(
            members.map { (AnyHashable($0.key), $0.value.any) }, uniquingKeysWith: { first, _ in first })
    }

    private static func value(
        _ value: ArchivedValue, _ tree: inout ArchivedTreeGuard
    ) throws(MigrationError) -> UserInfoValue {
        if value.isNull { return .null }
        if let text = try value.string() {
            try tree.charge(bytes: text.utf8.count)
            return .string(text)
        }
        if let bytes = try value.data() {
            try tree.charge(bytes: bytes.count)
            return .data(bytes)
        }
        if let seconds = try value.date() { return .date(seconds) }
        if let decimal = try value.decimal() { return .decimal(decimal.decimal) }
        switch try value.number() {
        case .boolean(let flag): return .boolean(flag)
        case .integer(let number): return .integer(Int(number))
        case .real(let number) where number.isFinite: return .double(number)
        default: break
        }
        guard let object = value.object else {
            throw .archive("archive.userInfo", "The archived userInfo holds a \(value.kindName)")
        }
        return try tree.visit(object) { tree throws(MigrationError) in
            if let entries = try value.entries() {
                var members: [String: UserInfoValue] = [:]
                for entry in entries {
                    guard let key = try entry.key.string() else {
                        throw .archive("archive.userInfo", "The archived userInfo has a \(entry.key.kindName) as a key")
                    }
                    try tree.charge(bytes: key.utf8.count)
                    members[key] = try self.value(entry.value, &tree)
                }
                return .object(members)
            }
            guard let elements = try value.elements() else {
                throw .archive("archive.userInfo", "The archived userInfo holds a \(object.className)")
            }
            var values: [UserInfoValue] = []
            for element in elements {
                try tree.charge(bytes: 64)
                values.append(try self.value(element, &tree))
            }
            return .array(values)
        }
    }
}
