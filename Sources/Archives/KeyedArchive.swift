import Diagnostics

/// A keyed archive (`NSKeyedArchiver` in a binary property list): a graph of objects, read one object at a time.
///
/// Nothing is instantiated by class name, and nothing is expanded. References stay numbers until they are followed, so cycles
/// do no harm.
///
/// Memory: the decoded property list, as long as the archive or one of its objects lives.
package final class KeyedArchive: Sendable {
    /// The `$objects`; the first one stands for nil.
    private let objects: [PropertyListValue]
    /// The `$top` entries.
    private let top: PropertyListDictionary

    /// Reads the frame of an archive.
    ///
    /// - Parameter bytes: the whole archive.
    /// - Throws: the errors of ``BinaryPropertyList/decode(_:limits:)``, and `archive.notKeyed` for another property list.
    /// - Complexity: O(bytes) time and memory.
    package init(
        decoding bytes: [UInt8], limits: BinaryPropertyList.Limits = .init()
    ) throws(MigrationError) {
        guard case .dictionary(let frame) = try BinaryPropertyList.decode(bytes, limits: limits),
            frame["$archiver"] == .string("NSKeyedArchiver"), frame["$version"] == .integer(100_000),
            case .array(let objects) = frame["$objects"], objects.first == .string("$null"),
            case .dictionary(let top) = frame["$top"]
        else { throw .archive("archive.notKeyed", "The property list is not a keyed archive") }
        self.objects = objects
        self.top = top
    }

    /// The number of objects in the archive, the nil object included.
    package var objectCount: Int { objects.count }

    /// The root entry with a name.
    ///
    /// - Throws: `archive.missing`, and the errors of ``value(of:)``.
    package func topValue(_ key: String = "root") throws(MigrationError) -> ArchivedValue {
        guard let entry = top[key] else { throw .archive("archive.missing", "The archive has no entry \(key)") }
        return try value(of: entry)
    }

    /// The root object.
    ///
    /// - Throws: `archive.missing`, `archive.type` if it is no object with a class.
    package func root() throws(MigrationError) -> ArchivedObject {
        guard case .object(let object) = try topValue() else {
            throw .archive("archive.type", "The archive's root is not an object")
        }
        return object
    }

    /// Follows a reference by one step. Other values are returned as they are.
    ///
    /// - Throws: `archive.reference` if the object does not exist, `archive.type` for an object without a class.
    package func value(of field: PropertyListValue) throws(MigrationError) -> ArchivedValue {
        guard case .uid(let uid) = field else { return field == .null ? .null : .plain(field) }
        guard uid < UInt64(objects.count) else {
            throw .archive("archive.reference", "The archive refers to object \(uid), which does not exist")
        }
        switch objects[Int(uid)] {
        case .string("$null"): return .null
        case .dictionary(let fields): return .object(try object(Int(uid), fields))
        case .uid, .array, .set, .null:
            throw .archive("archive.type", "Object \(uid) of the archive is a bare \(objects[Int(uid)].kindName)")
        case let leaf: return .plain(leaf)
        }
    }

    private func object(
        _ uid: Int, _ fields: PropertyListDictionary
    ) throws(MigrationError) -> ArchivedObject {
        guard case .uid(let classID) = fields["$class"], classID < UInt64(objects.count),
            case .dictionary(let description) = objects[Int(classID)],
            case .string(let name) = description["$classname"]
        else { throw .archive("archive.type", "Object \(uid) of the archive has no class") }
        // Each object searches its ancestors by name, so a list of millions would take forever.
        if case .array(let names) = description["$classes"], names.count > 64 {
            throw .archive("archive.limit", "The class \(name) of the archive has too many ancestors")
        }
        return ArchivedObject(
            archive: self, uid: uid, className: name, classDescription: description, fields: fields)
    }
}

/// A value of a keyed archive, with its reference followed.
package enum ArchivedValue: Sendable {
    /// A missing value, or the archive's nil.
    case null
    /// A value without a class: number, string, data, date; or a collection in the field itself.
    case plain(PropertyListValue)
    case object(ArchivedObject)
}

/// An object of a keyed archive: the names of its classes, and its fields. It keeps its archive alive.
package struct ArchivedObject: Sendable {
    package let archive: KeyedArchive
    /// The object's number in the archive.
    package let uid: Int
    package let className: String
    fileprivate let classDescription: PropertyListDictionary
    fileprivate let fields: PropertyListDictionary

    /// The class and its ancestors by name, nearest first.
    package var classNames: [String] {
        guard case .array(let names) = classDescription["$classes"] else { return [className] }
        return names.compactMap { if case .string(let name) = $0 { name } else { nil } }
    }

    /// Tells whether the class or an ancestor has a name.
    package func isKind(of name: String) -> Bool { className == name || classNames.contains(name) }

    /// The names of the fields, sorted, without `$class`.
    package var keys: [String] { fields.keys.filter { $0 != "$class" }.sorted() }

    /// A field as it is in the archive, with references not followed.
    package func field(_ key: String) -> PropertyListValue? { fields[key] }

    /// A field's value, with its reference followed; null if the field is missing.
    ///
    /// - Throws: `archive.reference`, `archive.type`.
    package func value(_ key: String) throws(MigrationError) -> ArchivedValue {
        guard let field = fields[key] else { return .null }
        return try archive.value(of: field)
    }
}
