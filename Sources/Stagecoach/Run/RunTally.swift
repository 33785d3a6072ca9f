import CoreDataStore
import Mapping

/// The counts of one run: the objects by what happened to them, and the rows and links of the destination.
final class RunTally {
    var counts = MigrationCounts()
    /// Rows written, by table of the destination.
    var rowsWritten: [Int]
    /// Links written, by join table of the destination.
    var linksWritten: [Int]
    /// Rows and links that an appended store held before the run.
    private(set) var existingRows: [Int]
    private(set) var existingLinks: [Int]

    init(_ schema: StoreSchema) {
        rowsWritten = Array(repeating: 0, count: schema.tables.count)
        linksWritten = Array(repeating: 0, count: schema.joinTables.count)
        existingRows = rowsWritten
        existingLinks = linksWritten
    }

    /// Notes the rows and links that an appended store held before the run.
    func countExisting(_ counts: (tables: [Int], joinTables: [Int])) {
        existingRows = counts.tables
        existingLinks = counts.joinTables
    }

    /// The counts, and the numbers of rows and links written.
    struct Written {
        var counts: MigrationCounts
        var rows: [Int]
        var links: [Int]
    }

    var written: Written {
        get { Written(counts: counts, rows: rowsWritten, links: linksWritten) }
        set {
            counts = newValue.counts
            rowsWritten = newValue.rows
            linksWritten = newValue.links
        }
    }

    /// Counts a number of which a conversion cut something off; does nothing for one that lost nothing.
    ///
    /// - Returns: the line that counts it, if the object is to be named there; else nil.
    func add(_ cut: NumberCut, of attribute: String) -> Int? {
        guard let part = ValuesCut.Part(cut) else { return nil }
        let line = place(of: attribute, part)
        counts.valuesCut?[line].values += 1
        return counts.valuesCut?[line].objects.count ?? 0 < ValuesCut.mostObjects ? line : nil
    }

    /// Names an object in a line that ``add(_:of:)`` returned.
    func name(_ object: ValuesCut.Value, inLine line: Int) { counts.valuesCut?[line].objects.append(object) }

    /// Returns the index of an attribute's line, which is made if there is none.
    private func place(of attribute: String, _ part: ValuesCut.Part) -> Int {
        let known = counts.valuesCut?.firstIndex { $0.attribute == attribute && $0.part == part }
        if let known { return known }
        counts.valuesCut =
            (counts.valuesCut ?? []) + [ValuesCut(attribute: attribute, part: part, values: 0, objects: [])]
        return (counts.valuesCut?.count ?? 1) - 1
    }

    /// Adds references that find no object, and further objects of to-one relationships.
    func add(_ references: ReferenceCounts) {
        guard !references.isEmpty else { return }
        counts.danglingReferences += references.missing { $0 == .dangling }
        // References to rejected objects are counted in the report of the rejects.
        counts.unmigratedReferences += references.missing { $0 != .dangling && $0 != .rejected }
        counts.surplusToOne += references.further.reduce(0) { $0 + $1.count }
        // The lines are taken out of the counts first, so that they are changed in place and not copied.
        if !references.missing.isEmpty {
            var lines = counts.nilReferences ?? []
            counts.nilReferences = nil
            for line in references.missing { NilReferences.add(line, to: &lines) }
            counts.nilReferences = lines
        }
        if !references.further.isEmpty {
            var lines = counts.furtherObjects ?? []
            for line in references.further { FurtherObjects.add(line, to: &lines) }
            counts.furtherObjects = lines
        }
    }
}
