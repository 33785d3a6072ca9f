import Diagnostics

/// Typed access to fields. Each method returns nil for a missing or null field, and throws `archive.type` for another type.
extension ArchivedObject {
    package func string(_ key: String) throws(MigrationError) -> String? {
        try typed(key, "string") { value throws(MigrationError) in try value.string() }
    }

    /// A boolean, or a number as a boolean: true if it is not zero. False if the field is missing, because archivers leave out
    /// false.
    package func flag(_ key: String) throws(MigrationError) -> Bool {
        try typed(key, "boolean") { value throws(MigrationError) in try value.boolean() } ?? false
    }

    package func integer(_ key: String) throws(MigrationError) -> Int64? {
        try typed(key, "integer") { value throws(MigrationError) in try value.integer() }
    }

    package func real(_ key: String) throws(MigrationError) -> Double? {
        try typed(key, "number") { value throws(MigrationError) in try value.real() }
    }

    package func data(_ key: String) throws(MigrationError) -> [UInt8]? {
        try typed(key, "data") { value throws(MigrationError) in try value.data() }
    }

    /// An object with a class.
    package func object(_ key: String) throws(MigrationError) -> ArchivedObject? {
        try typed(key, "object") { value throws(MigrationError) in value.object }
    }

    /// The members of an array or set.
    package func elements(_ key: String) throws(MigrationError) -> [ArchivedValue]? {
        try typed(key, "array or set") { value throws(MigrationError) in try value.elements() }
    }

    /// The entries of a dictionary, in the archive's order.
    package func entries(
        _ key: String
    ) throws(MigrationError) -> [(key: ArchivedValue, value: ArchivedValue)]? {
        try typed(key, "dictionary") { value throws(MigrationError) in try value.entries() }
    }

    private func typed<Value>(
        _ key: String, _ type: String, _ read: (ArchivedValue) throws(MigrationError) -> Value?
    ) throws(MigrationError) -> Value? {
        let value = try value(key)
        if case .null = value { return nil }
        if let result = try read(value) { return result }
        throw .archive(
            "archive.type", "\(key) of object \(uid) (\(className)) is a \(value.kindName), not a \(type)")
    }
}

extension ArchivedValue {
    /// The kind of the value, for messages: a class name or a property list's kind.
    package var kindName: String {
        switch self {
        case .null: "null"
        case .plain(let value): value.kindName
        case .object(let object): object.className
        }
    }
}
