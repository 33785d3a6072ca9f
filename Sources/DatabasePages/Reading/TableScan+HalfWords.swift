import Diagnostics
import SpillStorage

/// Reads the entries of an index from its table's rows without putting the rows into a batch.
extension TableScan {
    /// Writes the entries of the next rows, until one comes that is out of the ordinary: ``fill(_:)`` takes that one, or finds
    /// what is wrong with it.
    ///
    /// An ordinary row has a record of numbers up to the last of the fields, all in its leaf, and values that are halves.
    ///
    /// - Parameters:
    ///   - most: rows, one at least.
    ///   - room: for so many entries of `form.width` words.
    /// - Returns: the rows that were read; fewer than `most` where one is out of the ordinary, and at the end.
    /// - Throws: `store.damaged`, naming the page; `store.io`.
    func entries(
        of fields: EntryFields, upTo most: Int, into room: UnsafeMutablePointer<UInt64>
    ) throws(MigrationError) -> Int {
        guard !isFinished else { return 0 }
        var leaf = self.leaf
        var written = 0
        while written < most, try stand(at: &leaf) {
            // Keys that may come: those behind the last one, in the leaf's bounds and in the range.
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

/// Where the values of an index's entries stand in the records of its table, and what half words they make.
struct EntryFields {
    let form: HalfWords
    private let first: Int
    /// -1 where the index is over one column.
    private let second: Int
    /// Fields that are looked at.
    private let count: Int

    /// - Parameter fields: one, or two different ones.
    init(_ fields: [Int], form: HalfWords) {
        precondition(fields.count == 1 || fields.count == 2 && fields[0] != fields[1])
        self.form = form
        first = fields[0]
        second = fields.count == 2 ? fields[1] : -1
        count = max(first, second) + 1
    }

    /// Writes the entries of rows of a leaf, one by one, up to one that is out of the ordinary.
    ///
    /// Pointers and numbers only: what a row costs is this loop.
    ///
    /// - Parameters:
    ///   - bytes: of the page; seven behind it may be loaded too.
    ///   - total: cells of the page.
    ///   - last: the key that all others are greater than; becomes that of the last entry.
    ///   - most: the greatest key that is taken.
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
                // A text, and a type that no file has, are wider than all.
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

    /// A row's key, its record and the bytes of that; nil where they are not all in the leaf, and the key where it may be.
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

    /// Writes an entry and moves on; false where its halves have no room.
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

    /// Writes the entries of rows whose records are two integers and nothing else, as those of link tables nearly all are, up
    /// to one of another form: NULL, 0 or 1 among them.
    ///
    /// - Parameter least: the least place of a cell.
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
            // The header's size and two types, of integers of 1 to 6 or of 8 bytes.
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

    /// The half of a value, as ``HalfWords/half(of:)``; above all of them where there is none: a negative number, a real.
    @inline(__always)
    private static func half(_ bytes: UnsafeRawPointer, _ serial: UInt64, _ width: Int) -> UInt64 {
        if serial == 0 { return 0 }
        let half = UInt64(bitPattern: RecordForm.integer(bytes, serial: serial, size: width) &+ 1)
        return half == 0 || serial == 7 ? .max : half
    }
}
