import Archives
import CoreDataStore
import Diagnostics
import Glibc
import ManagedModel

/// The first 64 bytes of a binary store.
enum BinaryStoreHeader {
    /// Eight letters, and the beginning of a version.
    static let magic = Array("CoreData\0\0\0".utf8)
    static let size = 64
    /// The version of the format.
    static let version: UInt64 = 0x0000_0001_0804_0800
}

/// Reads a binary store of Core Data: a header, an archive of the metadata, an archive of the objects.
///
/// Memory: 4 MiB for each archive, and the largest value.
final class BinaryStoreReader {
    private let path: String
    private let descriptor: Int32
    private let words: [UInt64]
    private let size: Int
    private let valueLimit: Int
    private let checkCancelled: () throws(MigrationError) -> Void

    init(
        path: String, valueLimit: Int = 1 << 20,
        checkCancelled: @escaping () throws(MigrationError) -> Void = {}
    ) throws(MigrationError) {
        self.path = path
        self.valueLimit = valueLimit
        self.checkCancelled = checkCancelled
        descriptor = SystemCall.uninterrupted { open(path, O_RDONLY | O_CLOEXEC) }
        guard descriptor >= 0 else { throw AtomicStoreError.system("opened", errno, path) }
        var status = stat()
        fstat(descriptor, &status)
        size = Int(status.st_size)
        var bytes = [UInt8](repeating: 0, count: BinaryStoreHeader.size)
        let descriptor = descriptor
        let read = SystemCall.uninterrupted { pread(descriptor, &bytes, BinaryStoreHeader.size, 0) }
        words = stride(from: 0, to: BinaryStoreHeader.size, by: 8).map { place in
            bytes[place..<place + 8].reduce(0) { $0 << 8 | UInt64($1) }
        }
        guard read == BinaryStoreHeader.size else { throw ArchiveFile.damaged("it ends within its header", path) }
        guard words[1] == BinaryStoreHeader.version else {
            throw MigrationError(
                "store.binaryVersion", .data, "The binary store has a version that is not known",
                remedy: "Have it written as an SQLite store on a Mac", context: .init(path: path))
        }
    }

    deinit { close(descriptor) }

    private func archive(_ word: Int) throws(MigrationError) -> ArchivedNodes {
        let (start, count) = (words[word], words[word + 1])
        guard start <= UInt64(size), count <= UInt64(size) - start else {
            throw MigrationError(
                "store.truncated", .data, "The file has \(size.counted("byte")), its header promises more",
                remedy: "Copy the store again", context: .init(path: path))
        }
        return try ArchivedNodes(try ArchiveFile(descriptor, part: Int(start)..<Int(start + count), path: path))
    }

    /// Reads the header and the metadata.
    func header() throws(MigrationError) -> AtomicStoreHeader {
        let nodes = try archive(2)
        var left = 100_000
        guard case .dictionary(let entries) = try nodes.value(try nodes.top("metadata"), left: &left),
            case .string(let uuid)? = entries["NSStoreUUID"]
        else {
            throw MigrationError(
                "store.metadata", .data, "The store's metadata are no dictionary with its identifier",
                context: .init(path: path))
        }
        var list = entries.byKey
        list["NSStoreUUID"] = nil
        return AtomicStoreHeader(
            format: .binary, metadata: StoreMetadata(uuid: uuid.uppercased(), propertyList: list),
            highestID: Int64(clamping: words[6]))
    }

    /// Counts the objects of each entity.
    func counts() throws(MigrationError) -> [String: Int] {
        var counts: [String: Int] = [:]
        try forEachNode { node, key throws(MigrationError) in
            guard let name = try node.nodes.text(try node.field("NSEntityName"), limit: 4096) else {
                throw node.nodes.file.damaged("the object \(key) has no entity")
            }
            counts[name, default: 0] += 1
        }
        return counts
    }

    /// Passes all objects on.
    func objects(_ intake: ObjectIntake) throws(MigrationError) {
        var slots: [Int: SlotPlan] = [:]
        try forEachNode { node, key throws(MigrationError) in try object(node, key, intake, &slots) }
    }

    private func forEachNode(
        _ body: (BinaryNode, Int64) throws(MigrationError) -> Void
    ) throws(MigrationError) {
        let nodes = try archive(4)
        guard case .object(_, let at, let count) = try nodes.top("mapData"),
            let keys = try nodes.list("NS.keys", at: at, count: count),
            let values = try nodes.list("NS.objects", at: at, count: count), keys.count == values.count
        else { throw nodes.file.damaged("its objects are no dictionary") }
        for index in 0..<values.count {
            if index % 1024 == 0 { try checkCancelled() }
            guard case .plain(.integer(let key)) = try nodes.member(at: keys.at, index),
                case .object(_, let at, let count) = try nodes.member(at: values.at, index)
            else { throw nodes.file.damaged("one of its objects has no number") }
            try body(BinaryNode(nodes: nodes, at: at, count: count), key)
        }
    }

    private func object(
        _ node: BinaryNode, _ key: Int64, _ intake: ObjectIntake, _ slots: inout [Int: SlotPlan]
    ) throws(MigrationError) {
        guard case .plain(.integer(key)) = try node.field("NSPrimaryKey64"),
            let name = try node.nodes.text(try node.field("NSEntityName"), limit: 4096)
        else { throw node.nodes.file.damaged("the object \(key) has another number inside, or no entity") }
        guard let entity = intake.model.entity(named: name) else {
            throw MigrationError(
                "store.unknownEntity", .data,
                "The store has an object \(key) of the entity \(name), and the model has no entity of that name",
                remedy: "Name the model version that wrote the store")
        }
        try intake.begin(entity: entity, id: key)
        let plan = slots[entity] ?? SlotPlan(intake.current)
        slots[entity] = plan
        try attributes(node, plan, intake)
        try relationships(node, intake)
        try intake.end()
    }

    private func attributes(
        _ node: BinaryNode, _ plan: SlotPlan, _ intake: ObjectIntake
    ) throws(MigrationError) {
        guard case .object(_, let at, let count) = try node.field("NSAttributeValues"),
            let values = try node.nodes.list("NS.objects", at: at, count: count)
        else { throw intake.failure("store.binary", "An object has no list of values") }
        guard let names = plan.names(slots: values.count) else {
            throw intake.failure(
                "store.slots", "An object has \(values.count.counted("value")), its entity asks for \(plan.expected)",
                remedy: "Name the model version that wrote the store")
        }
        for index in 0..<values.count {
            let value = try node.nodes.member(at: values.at, index)
            if case .null = value { continue }
            guard index < names.count else {
                throw intake.failure("store.slots", "An object has a value in a place that belongs to a relationship")
            }
            guard let attribute = intake.current.attributes[names[index]] else { continue }
            try BinaryValue(nodes: node.nodes, limit: valueLimit).set(attribute, value, intake)
        }
    }

    private func relationships(_ node: BinaryNode, _ intake: ObjectIntake) throws(MigrationError) {
        guard case .object(_, let at, let count) = try node.field("NSRelatedNodes") else { return }
        let nodes = node.nodes
        guard let keys = try nodes.list("NS.keys", at: at, count: count),
            let values = try nodes.list("NS.objects", at: at, count: count), keys.count == values.count
        else { throw intake.failure("store.binary", "The links of an object are no dictionary") }
        for index in 0..<keys.count {
            guard let name = try nodes.text(try nodes.member(at: keys.at, index), limit: 4096) else {
                throw intake.failure("store.binary", "A relationship of an object has no name")
            }
            guard let relationship = intake.current.relationships[name] else {
                throw intake.failure(
                    "store.unknownProperty", "An object has a relationship that its entity has not", property: name)
            }
            guard case .object(let kind, let at, let count) = try nodes.member(at: values.at, index),
                kind.hasSuffix("Array"), let members = try nodes.list("NS.objects", at: at, count: count)
            else { throw intake.failure("store.binary", "A relationship of an object is no list", property: name) }
            try intake.begin(relationship)
            for member in 0..<members.count {
                guard case .plain(.integer(let target)) = try nodes.member(at: members.at, member), target > 0,
                    target <= ObjectIntake.greatestID
                else { throw intake.failure("store.binary", "A link of an object is no number", property: name) }
                try intake.target(target)
            }
        }
    }
}

/// An object in the archive of a binary store: the place and the number of its fields.
private struct BinaryNode {
    let nodes: ArchivedNodes
    let at: Int
    let count: Int

    func field(_ key: String) throws(MigrationError) -> ArchivedNodes.Node {
        try nodes.field(key, at: at, count: count)
    }
}

/// The places of an entity's values: its attributes, from the outermost ancestor on and by name in each, then a place for each
/// relationship.
struct SlotPlan {
    private let stored: [String]
    private let all: [String]
    private let relationships: Int

    init(_ entity: AtomicModel.Entity) {
        let names = Self.names(entity.entity) { $0.isStored }
        stored = names
        all = Self.names(entity.entity) { _ in true }
        relationships = entity.entity.relationships.count
    }

    static func names(_ entity: EntityDescription, _ isTaken: (AttributeDescription) -> Bool) -> [String] {
        let inherited = entity.superentity.map { names($0, isTaken) } ?? []
        return inherited
            + entity.ownAttributes.filter(isTaken).map(\.name).sorted {
                $0.unicodeScalars.lexicographicallyPrecedes($1.unicodeScalars)
            }
    }

    /// The first thing in an entity for which no real file shows the places of its values; nil if all is known.
    static func obstacle(_ entity: EntityDescription) -> String? {
        if let attribute = entity.attributes.first(where: { !$0.isStored }) {
            return "the transient attribute \(attribute.name)"
        }
        if let relationship = entity.relationships.first(where: \.isTransient) {
            return "the transient relationship \(relationship.name)"
        }
        var levels = 0
        var next: EntityDescription? = entity
        while let one = next {
            if let property = one.definition.fetchedProperties.first {
                return "the fetched property \(property.name)"
            }
            let names = one.ownAttributes.map(\.name)
            let sorted = names.sorted { $0.unicodeScalars.lexicographicallyPrecedes($1.unicodeScalars) }
            if sorted.map({ $0.lowercased() }) != names.map({ $0.lowercased() }).sorted() {
                return "attributes whose order depends on case"
            }
            levels += names.isEmpty ? 0 : 1
            next = one.superentity
        }
        return levels > 2 ? "attributes of three entities above each other" : nil
    }

    var expected: Int { stored.count + relationships }

    /// The names of the attributes of so many places: no real file shows whether transient ones have a place, so the number
    /// decides. Nil if it fits neither.
    func names(slots: Int) -> [String]? {
        if slots == stored.count + relationships { return stored }
        return slots == all.count + relationships ? all : nil
    }
}
