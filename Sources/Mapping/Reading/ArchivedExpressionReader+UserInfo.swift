import Archives
import Diagnostics

extension ArchivedExpressionReader {
    /// Reads a whole archive of a `userInfo`, with a dictionary as its root.
    ///
    /// - Returns: nil if the root is nil.
    /// - Throws: `archive.…`; `archive.userInfo` for values other than property list values, decimals and null.
    func userInfo(decoding bytes: [UInt8]) throws(MigrationError) -> [AnyHashable: Any]? {
        let limits = BinaryPropertyList.Limits(bytes: 16 << 20, expandedValues: 500_000, depth: 64)
        return try userInfo(try KeyedArchive(decoding: bytes, limits: limits).topValue())
    }

    /// Reads the dictionary of a field; nil for the archive's nil.
    func userInfo(_ value: ArchivedValue) throws(MigrationError) -> [AnyHashable: Any]? {
        if value.isNull { return nil }
        guard case .object(let members) = try self.value(value) else {
            throw .archive("archive.userInfo", "The archived userInfo is a \(value.kindName), not a dictionary")
        }
        return Dictionary(
            members.map { (AnyHashable($0.key), $0.value.any) }, uniquingKeysWith: { first, _ in first })
    }

    private func value(_ value: ArchivedValue) throws(MigrationError) -> UserInfoValue {
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
        if let decimal = try value.decimal() { return .decimal(decimal) }
        switch try value.number() {
        case .boolean(let flag): return .boolean(flag)
        case .integer(let number): return .integer(Int(number))
        case .real(let number) where number.isFinite: return .double(number)
        default: break
        }
        guard let object = value.object else {
            throw .archive("archive.userInfo", "The archived userInfo holds a \(value.kindName)")
        }
        try tree.enter(object)
        defer { tree.leave() }
        if let entries = try value.entries() {
            var members: [String: UserInfoValue] = [:]
            for entry in entries {
                guard let key = try entry.key.string() else {
                    throw .archive("archive.userInfo", "The archived userInfo has a \(entry.key.kindName) as a key")
                }
                try tree.charge(bytes: key.utf8.count)
                members[key] = try self.value(entry.value)
            }
            return .object(members)
        }
        guard let elements = try value.elements() else {
            throw .archive("archive.userInfo", "The archived userInfo holds a \(object.className)")
        }
        try tree.charge(bytes: 64 * elements.count)
        return .array(try elements.map { element throws(MigrationError) in try self.value(element) })
    }
}
