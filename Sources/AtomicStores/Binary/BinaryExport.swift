import Archives
import CoreDataStore
import Diagnostics
import ManagedModel

/// Writes the objects of a finished SQLite store as a binary store.
///
/// Memory: that of ``ArchiveWriter``, a row of each table and the largest value.
struct BinaryExport {
    let store: ExportedStore
    let output: FileOutput

    /// Writes the whole store.
    ///
    /// - Parameter checkCancelled: called once in a thousand objects; an error that it throws ends the export.
    func run(_ header: AtomicStoreHeader, checkCancelled: () throws -> Void) throws {
        try output.write([UInt8](repeating: 0, count: BinaryStoreHeader.size))
        let objects = try writeObjects(checkCancelled)
        let start = output.length
        var list = header.metadata.propertyList
        list["NSStoreType"] = .string(StoreFormat.binary.rawValue)
        list["NSStoreUUID"] = .string(header.metadata.uuid)
        let archive = try ArchiveWriter(output)
        let metadata = try archive.finish(
            "metadata", root: try archive.value(.dictionary(PropertyListDictionary(list))))
        var words = PropertyListBytes(Array(BinaryStoreHeader.magic.prefix(8)))
        for word in [BinaryStoreHeader.version] + [start, metadata, BinaryStoreHeader.size, objects].map(UInt64.init)
            + [UInt64(header.highestID), 0]
        {
            words.append(word, width: 8)
        }
        try output.replaceBeginning(by: words.bytes)
        try output.finish()
    }

    /// Writes the archive of the objects, and returns its length.
    private func writeObjects(_ checkCancelled: () throws -> Void) throws -> Int {
        let archive = try ArchiveWriter(output)
        let keys = NumberList(file: try output.spool("keys"))
        let nodes = NumberList(file: try output.spool("nodes"))
        let null = try archive.object(.init("NSNull"), [])
        var places: [String: [AtomicModel.Attribute]] = [:]
        try store.forEachObject { entity, id, key, row in
            if nodes.count % 1000 == 0 { try checkCancelled() }
            let attributes = places[entity.name] ?? Self.places(entity)
            places[entity.name] = attributes
            try keys.append(try archive.value(.integer(id)))
            var values: [Int] = []
            for attribute in attributes {
                values.append(
                    row.isNull(attribute.place) ? null : try archive.value(try Self.value(row, attribute)))
            }
            for _ in entity.relationships { values.append(null) }
            var fields = [
                ("NSPrimaryKey64", try archive.leaf(.integer(id))), ("NSEntityName", try archive.text(entity.name)),
                (
                    "NSAttributeValues",
                    try archive.object(.init("NSArray"), [("NS.objects", try archive.array(values))])
                ),
            ]
            if let links = try links(entity, key, row, archive) { fields.append(("NSRelatedNodes", links)) }
            try nodes.append(try archive.object(.init("NSDictionaryMapNode", "NSStoreMapNode"), fields))
        }
        let root = try archive.object(
            .init("NSMutableDictionary", "NSDictionary"),
            [("NS.keys", try archive.array(keys)), ("NS.objects", try archive.array(nodes))])
        return try archive.finish("mapData", root: root)
    }

    /// The attributes of an entity in the order of their places.
    private static func places(_ entity: ExportedStore.Entity) -> [AtomicModel.Attribute] {
        let attributes = Dictionary(uniqueKeysWithValues: entity.attributes.map { ($0.name, $0) })
        return SlotPlan.names(entity.entity) { $0.isStored }.compactMap { attributes[$0] }
    }

    private static func value(
        _ row: Statement, _ attribute: AtomicModel.Attribute
    ) throws(MigrationError) -> PropertyListValue {
        switch attribute.type {
        case .string: .string(row.text(attribute.place) ?? "")
        case .date: .date(row.double(attribute.place))
        case .binaryData: .data(try ExportedValue.bytes(row, attribute))
        default: .integer(row.integer(attribute.place))
        }
    }

    /// Adds the links of an object, and returns the number of the reference to them; nil if it has none.
    private func links(
        _ entity: ExportedStore.Entity, _ key: Int64, _ row: Statement, _ archive: ArchiveWriter
    ) throws(MigrationError) -> Int? {
        var (names, lists): ([Int], [Int]) = ([], [])
        for relationship in entity.relationships {
            var (first, count) = (0, 0)
            try store.forEachTarget(of: relationship, key: key, row: row) { target throws(MigrationError) in
                let number = try archive.value(.integer(target))
                if count == 0 { first = number }
                count += 1
            }
            guard count > 0 else { continue }
            // Each target is two objects, its number and the reference to that.
            let members = try archive.array((0..<count).lazy.map { first + 2 * $0 })
            let isToMany = relationship.relationship.isToMany
            lists.append(
                try archive.object(
                    isToMany ? .init("NSMutableArray", "NSArray") : .init("NSArray"), [("NS.objects", members)]))
            names.append(try archive.text(relationship.relationship.name))
        }
        guard !names.isEmpty else { return nil }
        return try archive.object(
            .init("NSMutableDictionary", "NSDictionary"),
            [("NS.keys", try archive.array(names)), ("NS.objects", try archive.array(lists))])
    }
}
