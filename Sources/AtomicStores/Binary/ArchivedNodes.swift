import Archives
import Diagnostics

/// The objects of a keyed archive in a file, by their numbers in the archive.
struct ArchivedNodes {
    /// A field's value with its reference followed.
    enum Node {
        case null
        case plain(ArchiveFile.Item)
        /// An object: the name of its class, and the place and the number of its fields in the file.
        case object(String, at: Int, count: Int)
    }

    let file: ArchiveFile
    private let objects: (at: Int, count: Int)
    private let root: (at: Int, count: Int)

    /// - Throws: `store.binary` (65) if the property list is no keyed archive.
    init(_ file: ArchiveFile) throws(MigrationError) {
        self.file = file
        func field(_ key: String, _ place: (Int, Int)) throws(MigrationError) -> ArchiveFile.Item {
            guard let number = try file.value(of: key, inDictionaryAt: place.0, count: place.1) else {
                throw file.damaged("an archive has no \(key)")
            }
            return try file.item(number)
        }
        guard case .dictionary(let at, let count) = try file.item(file.top),
            case .array(let objectsAt, let objectCount) = try field("$objects", (at, count)),
            case .dictionary(let topAt, let topCount) = try field("$top", (at, count)),
            case .text(let range, let isUTF16) = try field("$archiver", (at, count)),
            try file.text(range, isUTF16: isUTF16, limit: 256) == "NSKeyedArchiver"
        else { throw file.damaged("an archive is not one of NSKeyedArchiver") }
        objects = (objectsAt, objectCount)
        root = (topAt, topCount)
    }

    /// The value of a root entry.
    func top(_ key: String) throws(MigrationError) -> Node {
        guard let number = try file.value(of: key, inDictionaryAt: root.at, count: root.count) else {
            throw file.damaged("an archive has no entry \(key)")
        }
        return try follow(number)
    }

    /// The value of a field; null if it is missing.
    func field(_ key: String, at place: Int, count: Int) throws(MigrationError) -> Node {
        guard let number = try file.value(of: key, inDictionaryAt: place, count: count) else { return .null }
        return try follow(number)
    }

    /// A member of the list in a field.
    func member(at place: Int, _ index: Int) throws(MigrationError) -> Node {
        try follow(try file.reference(at: place, index))
    }

    private func follow(_ number: Int) throws(MigrationError) -> Node {
        let item = try file.item(number)
        guard case .uid(let uid) = item else { return .plain(item) }
        // The first object stands for nil.
        guard uid > 0 else { return .null }
        guard uid < objects.count else { throw file.damaged("an object that does not exist is named") }
        let object = try file.item(try file.reference(at: objects.at, uid))
        guard case .dictionary(let at, let count) = object else { return .plain(object) }
        let name = try className(at: at, count: count)
        return name == "NSNull" ? .null : .object(name, at: at, count: count)
    }

    private func className(at place: Int, count: Int) throws(MigrationError) -> String {
        if let number = try file.value(of: "$class", inDictionaryAt: place, count: count),
            case .uid(let uid) = try file.item(number), uid < objects.count,
            case .dictionary(let at, let fields) = try file.item(try file.reference(at: objects.at, uid)),
            let name = try file.value(of: "$classname", inDictionaryAt: at, count: fields),
            case .text(let range, let isUTF16) = try file.item(name)
        {
            return try file.text(range, isUTF16: isUTF16, limit: 256)
        }
        throw file.damaged("an object has no class")
    }

    /// The place and the number of the references in a field with a list; nil if the field is none.
    func list(_ key: String, at place: Int, count: Int) throws(MigrationError) -> (at: Int, count: Int)? {
        guard let number = try file.value(of: key, inDictionaryAt: place, count: count),
            case .array(let at, let members) = try file.item(number)
        else { return nil }
        return (at, members)
    }

    // MARK: Whole values

    /// Returns a text; nil if the node is none.
    func text(_ node: Node, limit: Int) throws(MigrationError) -> String? {
        switch node {
        case .plain(.text(let range, let isUTF16)): return try file.text(range, isUTF16: isUTF16, limit: limit)
        case .object("NSString", let at, let count), .object("NSMutableString", let at, let count):
            guard case .plain(.text(let range, let isUTF16)) = try field("NS.string", at: at, count: count) else {
                return nil
            }
            return try file.text(range, isUTF16: isUTF16, limit: limit)
        default: return nil
        }
    }

    /// Returns data; nil if the node is none.
    func data(_ node: Node, limit: Int) throws(MigrationError) -> [UInt8]? {
        switch node {
        case .plain(.data(let range)): return try file.bytes(range, limit: limit)
        case .object("NSData", let at, let count), .object("NSMutableData", let at, let count):
            guard case .plain(.data(let range)) = try field("NS.data", at: at, count: count) else { return nil }
            return try file.bytes(range, limit: limit)
        default: return nil
        }
    }

    /// Returns a date in seconds since 2001; nil if the node is none.
    func date(_ node: Node) throws(MigrationError) -> Double? {
        switch node {
        case .plain(.date(let seconds)): return seconds
        case .object("NSDate", let at, let count):
            switch try field("NS.time", at: at, count: count) {
            case .plain(.real(let seconds)): return seconds
            case .plain(.integer(let seconds)): return Double(seconds)
            default: return nil
            }
        default: return nil
        }
    }

    /// Returns a node with all its members; for metadata, which are small.
    ///
    /// - Parameter left: the number of values that may still be read.
    func value(_ node: Node, depth: Int = 0, left: inout Int) throws(MigrationError) -> PropertyListValue {
        left -= 1
        guard left > 0, depth < 16 else { throw file.damaged("its metadata are too large") }
        let limit = 1 << 20
        if let text = try text(node, limit: limit) { return .string(text) }
        if let data = try data(node, limit: limit) { return .data(data) }
        if let date = try date(node) { return .date(date) }
        switch node {
        case .plain(.integer(let value)): return .integer(value)
        case .plain(.boolean(let value)): return .boolean(value)
        case .plain(.real(let value)): return .real(value)
        case .object(let name, let at, let count):
            guard let members = try list("NS.objects", at: at, count: count) else { break }
            var values: [PropertyListValue] = []
            for index in 0..<members.count {
                values.append(try value(try member(at: members.at, index), depth: depth + 1, left: &left))
            }
            if name.hasSuffix("Array") { return .array(values) }
            if name.hasSuffix("Set") { return .set(values) }
            guard let keys = try list("NS.keys", at: at, count: count), keys.count == members.count else { break }
            var entries = PropertyListDictionary()
            for (index, value) in values.enumerated() {
                guard let key = try text(try member(at: keys.at, index), limit: limit) else {
                    throw file.damaged("its metadata have a key that is no text")
                }
                entries.add(value, forKey: key)
            }
            return .dictionary(entries)
        default: break
        }
        throw file.damaged("its metadata have a value of an unknown kind")
    }
}
