import CoreDataStore
import Diagnostics
import Glibc
import ManagedModel
import Mapping

/// Estimates the size of a mapping's rows in the destination from sampled rows of the source.
///
/// A copied attribute is counted with its size in the source, a computed one with the usual size of its type.
struct RowSizes {
    private let source: SourceStore
    private let layout: StoreLayout
    private let destination: StoreSchema
    private var averages: [Int: [Double]] = [:]
    /// The number of rows sampled at either end of a table: if the plan itself is wanted, and if a run only needs to
    /// know whether the disk has room.
    static let (describedSample, sample) = (64, 12)
    /// The size of a store, in bytes, up to which its own size is a good enough estimate.
    static let smallStore: Int64 = 1 << 20
    private let rows: Int
    private let isEmpty: Bool

    /// Creates an estimate.
    ///
    /// - Parameters:
    ///   - rows: the number of rows sampled at either end of a table. With none, attributes count nothing, and the
    ///     estimate rests on the file's size.
    ///   - isEmpty: true if the source's rows do not exist yet. Attributes then count with their types' usual size.
    init(source: SourceStore, layout: StoreLayout, destination: StoreSchema, rows: Int, isEmpty: Bool = false) {
        self.rows = rows
        self.isEmpty = isEmpty
        self.source = source
        self.layout = layout
        self.destination = destination
    }

    /// Returns the estimated size of a row, in bytes. Throws the errors of reading the sample.
    mutating func bytes(of mapping: PlannedMapping) throws(MigrationError) -> Double {
        guard let table = mapping.destinationTable, let from = mapping.sourceTable else { return 0 }
        let sampled = try columns(of: from)
        // The key, the record's header with one byte a column, Z_ENT and Z_OPT.
        var bytes = 8 + Double(destination.tables[table].columns.count)
        for planned in mapping.attributes {
            guard let expression = planned.expression else { continue }
            let path = expression.node.sourceKeyPath.map { mapping.source?.joiningElements(in: $0) ?? $0 }
            if !isEmpty, let path, path.count == 1, let attribute = mapping.source?.attribute(named: path[0]),
                let column = layout.schema.column(of: attribute), sampled.indices.contains(column)
            {
                bytes += sampled[column]
            } else {
                bytes += RowSizes.usual(planned.attribute.attributeType)
            }
        }
        // Each foreign key is stored in the row and in an index; the entity of subentities is indexed as well.
        let references = mapping.relationships.filter { if case .toOne = $0.storage { true } else { false } }.count
        let isShared = destination.tables[table].entities.count > 1
        return bytes + 14 * Double(references) + (isShared ? 8 : 0)
    }

    /// Returns the estimated size of all rows of the source's tables, in bytes, judged by the sample.
    mutating func sourceBytes(rows: [[Int: Int]]) throws(MigrationError) -> Double {
        var total = 0.0
        for table in layout.tables.indices {
            let count = rows[table].values.reduce(0, +)
            guard count > 0 else { continue }
            let sampled = try columns(of: table)
            total += Double(count) * (8 + Double(sampled.count) + sampled.reduce(0, +))
        }
        return total
    }

    private mutating func columns(of table: Int) throws(MigrationError) -> [Double] {
        if let known = averages[table] { return known }
        let sampled =
            try rows > 0
            ? source.averageBytes(table: table, rows: rows, in: layout)
            : Array(repeating: 0, count: layout.tables[table].columns.count)
        averages[table] = sampled
        return sampled
    }

    private static func usual(_ type: AttributeType) -> Double {
        switch type {
        case .integer16, .boolean: 2
        case .integer32, .integer64: 4
        case .string, .uri, .binaryData: 24
        default: 8
        }
    }
}

/// The free space of a file system.
enum DiskSpace {
    /// Returns the bytes that a user may still write in a folder's file system; nil if the system does not tell.
    static func free(in folder: String) -> Int? {
        var status = statvfs()
        guard statvfs(folder, &status) == 0 else { return nil }
        let (bytes, overflow) = UInt(status.f_bavail).multipliedReportingOverflow(by: UInt(status.f_frsize))
        return overflow ? .max : Int(clamping: bytes)
    }

    /// Refuses a run if the disk cannot hold its destination, before anything is written.
    ///
    /// - Throws: `disk.tooSmall` (74) with the bytes needed and the bytes free.
    static func check(_ disk: MigrationPlan.Disk, in folder: String) throws(MigrationError) {
        guard let free = free(in: folder), free < disk.least else { return }
        throw MigrationError(
            "disk.tooSmall", .io,
            "The disk has \(mebibytes(free)) free, and the destination takes \(mebibytes(disk.destination)), \(mebibytes(disk.least)) at the least",
            remedy: "Free space on the disk, or name a destination on another one", context: .init(path: folder))
    }

    private static func mebibytes(_ bytes: Int) -> String { "\((bytes >> 20) + 1) MiB" }
}
