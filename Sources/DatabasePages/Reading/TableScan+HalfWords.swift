import Diagnostics
import SpillStorage

/// Reads the entries of an index from its table's rows without putting the rows into a batch.
extension TableScan {
    /// Writes the entries of the next rows, until a row comes that is not ordinary: ``fill(_:)`` reads that row, or finds the
    /// error in it.
    ///
    /// A row is ordinary if its record has only numbers up to the last of the fields, is all in its leaf, and its values have
    /// halves.
    ///
    /// - Parameters:
    ///   - most: the most rows to read, at least one.
    ///   - room: room for as many entries of `form.width` words.
    /// - Returns: the number of rows read; fewer than `most` before a row that is not ordinary, and at the end.
    func entries(
        of fields: EntryFields, upTo most: Int, into room: UnsafeMutablePointer<UInt64>
    ) throws(MigrationError) -> Int {
        guard !isFinished else { return 0 }
        var leaf = self.leaf
        var written = 0
        while written < most, try stand(at: &leaf) {
            // The keys to accept: behind the last one, within the leaf's bounds and the requested range.
            var last = max(lastKey ?? .min, after ?? .min)
            let next = fields.entries(
                in: leaf.bytes, cells: leaf.next..<min(leaf.count, leaf.next + most - written), of: leaf.count,
                usable: file.usableSize, after: &last, through: min(leaf.upper ?? .max, through ?? .max),
                into: room + written * fields.form.width)
            guard next > leaf.next else { break }
            written += next - leaf.next
            leaf.next = next
            lastKey = last
        }
        self.leaf = leaf
        return written
    }
}

/// The fields of an index's entries in the records of its table, and the layout of the half words.
struct EntryFields {
    let form: CompactIndexEntry
    private let first: Int
    /// The second field; -1 if the index is over one column.
    private let second: Int
    /// The number of fields to look at.
    private let count: Int

    /// Makes a request for the entries of an index.
    ///
    /// - Parameter fields: the fields of the index's columns: one field, or two different ones.
    init(_ fields: [Int], form: CompactIndexEntry) {
        precondition(fields.count == 1 || fields.count == 2 && fields[0] != fields[1])
        self.form = form
        first = fields[0]
        second = fields.count == 2 ? fields[1] : -1
        count = max(first, second) + 1
    }

    /// Writes the entries of rows of a leaf, one by one, up to a row that is not ordinary.
    ///
    /// Only pointers and numbers here: this loop is the cost of a row.
    ///
    /// - Parameters:
    ///   - bytes: the page; seven bytes behind it must be readable too.
    ///   - last: all keys must be greater than this one; set to the key of the last entry.
    ///   - most: the greatest key to accept.
    /// - Returns: the first cell that was not read.
    @inline(never)
    func entries(
        in bytes: UnsafeRawPointer, cells: Range<Int>, of total: Int, usable: Int, after last: inout Int64,
        through most: Int64, into room: UnsafeMutablePointer<UInt64>
    ) -> Int {
        let (first, second, count) = (first, second, count)
        let least = PageKind.tableLeaf.headerSize &+ 2 &* total
        let isPair = second >= 0 && count == 2
        var room = room
        var before = last
        defer { last = before }
        var cell = cells.lowerBound
        while cell < cells.upperBound {
            if isPair {
                pairs(
                    in: bytes, from: &cell, upTo: cells.upperBound, least: least, usable: usable, after: &before,
                    through: most, into: &room)
                guard cell < cells.upperBound else { break }
            }
            guard
                let (key, record, size) = Self.row(
                    in: bytes, cell: cell, least: least, usable: usable, after: before, through: most)
            else { return cell }
            let headerSize = Int(record.load(as: UInt8.self))
            guard headerSize > count, headerSize <= size else { return cell }
            var body = headerSize
            var (high, low): (UInt64, UInt64) = (0, 0)
            for field in 0..<count {
                let serial = UInt64(record.load(fromByteOffset: field &+ 1, as: UInt8.self))
                let width = RecordForm.size(ofNumber: serial)
                // A text, or a type that no file has, counts as larger than any record.
                guard width <= size &- body else { return cell }
                if field == first {
                    high = Self.half(record + body, serial, width)
                } else if field == second {
                    low = Self.half(record + body, serial, width)
                }
                body &+= width
            }
            guard headerSize > count &+ 1 || body == size else { return cell }
            guard put(high, low, key, into: &room) else { return cell }
            before = key
            cell &+= 1
        }
        return cells.upperBound
    }

    /// A row's key, its record and the record's size; nil if these are not all in the leaf, or the key is outside its bounds.
    @inline(__always)
    private static func row(
        in bytes: UnsafeRawPointer, cell: Int, least: Int, usable: Int, after before: Int64, through most: Int64
    ) -> (key: Int64, record: UnsafeRawPointer, size: Int)? {
        let pointer = PageKind.tableLeaf.headerSize &+ 2 &* cell
        var place = Int(UInt16(bigEndian: bytes.loadUnaligned(fromByteOffset: pointer, as: UInt16.self)))
        guard place >= least, place <= usable &- 4 else { return nil }
        let size = Int(bytes.load(fromByteOffset: place, as: UInt8.self))
        place &+= 1
        guard size < 0x80, let word = RecordForm.keyVarint(bytes, &place, end: usable) else { return nil }
        let key = Int64(bitPattern: word)
        guard key > before, key <= most, size > 0, size <= usable &- place else { return nil }
        return (key, bytes + place, size)
    }

    /// Writes an entry and moves on. Returns false if its halves do not fit.
    @inline(__always)
    private func put(
        _ high: UInt64, _ low: UInt64, _ key: Int64, into room: inout UnsafeMutablePointer<UInt64>
    ) -> Bool {
        if form.width == 1 {
            guard let entry = form.word(of: high, low, id: key) else { return false }
            room[0] = entry
            room += 1
        } else {
            guard high < form.firstLimit, low < form.secondLimit else { return false }
            room[0] = high &<< 32 | low
            room[1] = SortKey.encode(key)
            room += 2
        }
        return true
    }

    /// Writes the entries of rows whose records are two integers and nothing else, as nearly all those of link tables. Stops at
    /// a record of another form; NULL, 0 and 1 count as such.
    ///
    /// - Parameter least: the least offset of a cell in the page.
    @inline(__always)
    private func pairs(
        in bytes: UnsafeRawPointer, from cell: inout Int, upTo end: Int, least: Int, usable: Int,
        after before: inout Int64, through most: Int64, into room: inout UnsafeMutablePointer<UInt64>
    ) {
        let isSwapped = first == 1
        while cell < end {
            guard
                let (key, record, size) = Self.row(
                    in: bytes, cell: cell, least: least, usable: usable, after: before, through: most), size > 4
            else { return }
            // The header: its size, and two types of integers of 1, 2, 3, 4, 6 or 8 bytes.
            let header = UInt32(littleEndian: record.loadUnaligned(as: UInt32.self))
            let (left, right) = (UInt64(header &>> 8 & 0xFF), UInt64(header &>> 16 & 0xFF))
            guard header & 0xFF == 3, left &- 1 < 6, right &- 1 < 6 else { return }
            let (leftSize, rightSize) = (RecordForm.size(ofNumber: left), RecordForm.size(ofNumber: right))
            guard 3 &+ leftSize &+ rightSize == size else { return }
            let one = RecordForm.integer(record + 3, serial: left, size: leftSize)
            let other = RecordForm.integer(record + 3 + leftSize, serial: right, size: rightSize)
            guard one | other >= 0 else { return }
            let high = UInt64(bitPattern: isSwapped ? other : one) &+ 1
            let low = UInt64(bitPattern: isSwapped ? one : other) &+ 1
            guard put(high, low, key, into: &room) else { return }
            before = key
            cell &+= 1
        }
    }

    /// The half of a value, like ``CompactIndexEntry/half(of:)``; a number above all halves if it has none (a negative number,
    /// a real).
    @inline(__always)
    private static func half(_ bytes: UnsafeRawPointer, _ serial: UInt64, _ width: Int) -> UInt64 {
        if serial == 0 { return 0 }
        let half = UInt64(bitPattern: RecordForm.integer(bytes, serial: serial, size: width) &+ 1)
        return half == 0 || serial == 7 ? .max : half
    }
}
