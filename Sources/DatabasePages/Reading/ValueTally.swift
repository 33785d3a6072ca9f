import Diagnostics

/// Counts the values of some fields that are not NULL, over all rows of a table, separately for each entity. In a table of one
/// entity it can count the rows with another entity number, too.
///
/// Every ``TableScan`` of the table contributes, so no extra scan is needed. The first scan that passes a row counts it; no row
/// is counted twice. This works because keys ascend: all rows up to ``reached`` are counted, and a scan adds a row only if it
/// follows the counted rows without a gap. A scan that begins in the middle of the table adds nothing. Rows that no scan passed
/// are left to ``TableScan/countRest(upTo:)``.
///
/// Memory: eight bytes for each field and entity.
/// Complexity: O(fields) a row, and O(1) for a row that is counted already.
package final class ValueTally {
    /// The fields to count, ascending: positions in the record, from 0.
    private let fields: UnsafeMutablePointer<Int>
    private let fieldCount: Int
    /// The field with the entity's number; nil if all rows count together.
    private let entityField: Int?
    private let end: Int
    /// The number that all rows should have, and its field; nil if it is not compared.
    private let common: (field: Int, number: Int64)?
    /// The number of rows that do not have the common number.
    @exclusivity(unchecked) package private(set) var others = 0
    /// The numbers of the entities; rows with other numbers are not counted.
    private let numbers: [Int64]
    private let counts: UnsafeMutablePointer<Int>
    /// The counts of the last row's entity: neighbouring rows mostly have the same entity.
    @exclusivity(unchecked) private var last: (number: Int64, counts: UnsafeMutablePointer<Int>)?
    /// The greatest key up to which all rows are counted.
    @exclusivity(unchecked) package private(set) var reached = Int64.min
    /// True after a record whose header continues in an overflow page: SQLite must count then.
    @exclusivity(unchecked) package private(set) var hasFailed = false

    /// Makes an empty tally.
    ///
    /// - Parameters:
    ///   - fields: positions in the record, from 0, each once.
    ///   - entityField: the field with the entity's number; nil if all rows count together.
    ///   - entities: the numbers of the entities whose rows count; ignored without an entity field.
    ///   - common: a field and the number that all rows should have there, to count the ``others``.
    package init(
        fields: [Int], entityField: Int?, entities: [Int64], common: (field: Int, number: Int64)? = nil
    ) {
        fieldCount = fields.count
        self.entityField = entityField
        self.common = common
        end = (fields.max() ?? -1) + 1
        numbers = entityField == nil ? [0] : entities
        self.fields = .allocate(capacity: max(1, fieldCount))
        self.fields.initialize(from: fields.sorted(), count: fieldCount)
        let room = max(1, fieldCount * numbers.count)
        counts = .allocate(capacity: room)
        counts.initialize(repeating: 0, count: room)
        if entityField == nil { last = (0, counts) }
    }

    deinit {
        fields.deallocate()
        counts.deallocate()
    }

    /// The number of values that are not NULL.
    ///
    /// - Parameter entity: the number in the entity field; any number if there is no such field.
    package func count(field: Int, entity: Int64) -> Int {
        guard let place = UnsafeBufferPointer(start: fields, count: fieldCount).firstIndex(of: field),
            let index = numbers.firstIndex(of: entityField == nil ? 0 : entity)
        else { return 0 }
        return counts[index * fieldCount + place]
    }

    /// The numbers of this tally: ``reached`` and the number of counts, then the place and the value of each count above zero,
    /// those of ``others`` behind the last place; nil if SQLite must count. In a wide hierarchy nearly all counts are zero.
    package var counted: [Int]? {
        guard !hasFailed else { return nil }
        var numbers = [Int(reached), room]
        if others > 0 { numbers += [room, others] }
        for place in 0..<room where counts[place] > 0 { numbers += [place, counts[place]] }
        return numbers
    }

    /// Takes over the numbers of a tally of the same fields and entities. Other numbers are ignored.
    package func resume(from counted: [Int]) {
        guard counted.count >= 2, counted.count % 2 == 0, counted[1] == room,
            stride(from: 2, to: counted.count, by: 2).allSatisfy({ (0...room).contains(counted[$0]) })
        else { return }
        reached = Int64(counted[0])
        for index in stride(from: 2, to: counted.count, by: 2) {
            if counted[index] == room {
                others = counted[index + 1]
            } else {
                counts[counted[index]] = counted[index + 1]
            }
        }
    }

    private var room: Int { fieldCount * numbers.count }

    /// Counts a row that a scan passes, if it was not counted before.
    ///
    /// - Parameters:
    ///   - previous: the key of the row before, or the key that the scan begins behind.
    ///   - record: the beginning of the record; seven bytes behind it must be readable too.
    ///   - available: the number of bytes of the record that are in the page.
    @inline(__always)
    func pass(_ key: Int64, after previous: Int64, _ record: UnsafeRawPointer, available: Int) {
        guard key > reached, previous <= reached else { return }
        reached = key
        if fieldCount == 0, hasUsualNumber(record, available: available) { return }
        count(record, available: available)
    }

    /// Tells whether a record has the common number in its second field, behind an empty one, in a byte or as a constant. Nearly
    /// all records of a store have it so.
    @inline(__always)
    private func hasUsualNumber(_ record: UnsafeRawPointer, available: Int) -> Bool {
        guard let common, common.field == 1, available > 3 else { return false }
        let size = Int(record.load(as: UInt8.self))
        guard size > 2, size < min(0x80, available), record.load(fromByteOffset: 1, as: UInt8.self) == 0 else {
            return false
        }
        return switch record.load(fromByteOffset: 2, as: UInt8.self) {
        case 1: Int64(record.load(fromByteOffset: size, as: Int8.self)) == common.number
        case 9: common.number == 1
        default: false
        }
    }

    /// Counts a row's values. A row with an impossible header is skipped: the scan that reads it reports the damage.
    @inline(never)
    private func count(_ record: UnsafeRawPointer, available: Int) {
        var start = 0
        guard let size = RecordForm.varint(record, &start, end: available), size >= UInt64(start) else { return }
        guard size <= UInt64(available) else {
            hasFailed = true
            return
        }
        let headerSize = Int(size)
        if let common, number(in: common.field, record, start, headerSize, available: available) != common.number {
            others &+= 1
        }
        guard fieldCount > 0 else { return }
        guard let counts = counts(record, start, headerSize, available: available) else { return }
        if Self.isOfBytes(record + start, count: end, available: headerSize - start) {
            for place in 0..<fieldCount {
                let serial = record.load(fromByteOffset: start &+ fields[place], as: UInt8.self)
                counts[place] &+= serial == 0 ? 0 : 1
            }
            return
        }
        var header = start
        var place = 0
        // Fields that are missing in a short record are NULL.
        for field in 0..<end {
            guard header < headerSize, let serial = RecordForm.varint(record, &header, end: headerSize) else { return }
            guard field == fields[place] else { continue }
            if serial != 0 { counts[place] &+= 1 }
            place += 1
        }
    }

    /// Tells whether the first serial types of a header take one byte each.
    @inline(__always)
    private static func isOfBytes(_ header: UnsafeRawPointer, count: Int, available: Int) -> Bool {
        guard count <= available else { return false }
        var place = 0
        while place < count {
            var word = UInt64(littleEndian: header.loadUnaligned(fromByteOffset: place, as: UInt64.self))
            if count &- place < 8 { word &= (1 &<< UInt64(8 &* (count &- place))) &- 1 }
            guard word & 0x8080_8080_8080_8080 == 0 else { return false }
            place &+= 8
        }
        return true
    }

    /// The counts of a row's entity; nil if it is none of the entities to count.
    @inline(__always)
    private func counts(
        _ record: UnsafeRawPointer, _ start: Int, _ headerSize: Int, available: Int
    ) -> UnsafeMutablePointer<Int>? {
        guard let entityField else { return last?.counts }
        guard let number = number(in: entityField, record, start, headerSize, available: available) else { return nil }
        if let last, last.number == number { return last.counts }
        guard let index = numbers.firstIndex(of: number) else { return nil }
        let found = counts + index * fieldCount
        last = (number, found)
        return found
    }

    /// The integer in a field of a record; nil if there is none.
    @inline(__always)
    private func number(
        in wanted: Int, _ record: UnsafeRawPointer, _ start: Int, _ headerSize: Int, available: Int
    ) -> Int64? {
        var place = start
        var body = headerSize
        for field in 0...wanted {
            guard place < headerSize, let serial = RecordForm.varint(record, &place, end: headerSize),
                let width = RecordForm.size(ofSerial: serial), width <= available - body
            else { return nil }
            guard field == wanted else {
                body += width
                continue
            }
            guard 1...9 ~= serial, serial != 7 else { return nil }
            return RecordForm.integer(record + body, serial: serial)
        }
        return nil
    }
}

extension TableScan {
    /// Counts some of the rows that no scan has passed yet, without reading their values.
    ///
    /// - Precondition: the scan has a tally, begins behind the tally's ``ValueTally/reached``, and is used for nothing else.
    /// - Returns: true if there may be more.
    /// - Complexity: O(pages of the rows).
    package func countRest(upTo most: Int) throws(MigrationError) -> Bool {
        guard let tally, !isFinished else { return false }
        var leaf = self.leaf
        defer { self.leaf = leaf }
        for _ in 0..<most {
            guard try stand(at: &leaf) else { return false }
            let (key, place, total) = try cell(leaf)
            leaf.next += 1
            let available = min(localSize(total), file.usableSize - place)
            tally.pass(key, after: tally.reached, leaf.bytes + place, available: available)
        }
        return true
    }
}
