import Diagnostics
import Rows

/// Decodes records into a batch: of each record the requested fields, and none behind the last of them.
///
/// Numbers are read as SQLite reads them: a NaN is NULL, an integer in a column of reals is a real. Texts and blobs are
/// unchanged. A record with fewer fields than its table has columns gives NULL for the missing ones.
///
/// Memory: nine bytes a field, and a page.
final class RecordDecoder {
    private let file: PageFile
    private let large: ScanRequest.LargeValues
    private let filter: ScanRequest.Filter?
    private let fieldCount: Int
    /// For each field: its first slot, with ``realFlag`` if the column takes reals, or -1.
    private let plan: UnsafeMutablePointer<Int32>
    /// The number of different slots that are filled.
    private let filledSlots: Int
    private static let realFlag: Int32 = 1 << 30
    private static let slotMask: Int32 = realFlag - 1
    private let keySlots: [Int]
    /// Slots that receive the value of another slot.
    private let copies: [(from: Int, to: Int)]
    private let largest: Int
    private let overflow: OverflowReader
    private let runs: RawFieldRanges

    /// The largest header in bytes that SQLite reads: that of 32,767 columns.
    private static let headerLimit = 98307

    init(file: PageFile, request: ScanRequest) {
        self.file = file
        large = request.large
        largest = request.large.limit
        filter = request.filter
        keySlots = request.keySlots
        fieldCount = (request.fields.map(\.field).max() ?? -1) + 1
        plan = .allocate(capacity: max(1, fieldCount))
        plan.initialize(repeating: -1, count: max(1, fieldCount))
        var copies: [(from: Int, to: Int)] = []
        for field in request.fields {
            if plan[field.field] >= 0 {
                copies.append((Int(plan[field.field] & Self.slotMask), field.slot))
            } else {
                plan[field.field] = Int32(field.slot) | (field.isReal ? Self.realFlag : 0)
            }
        }
        self.copies = copies
        filledSlots = Set(request.fields.map(\.slot) + request.keySlots).count
        runs = RawFieldRanges(request)
        overflow = OverflowReader(file: file)
    }

    deinit { plan.deallocate() }

    // MARK: - Records within a page

    /// Appends a row to a batch.
    ///
    /// - Parameters:
    ///   - record: the whole record; seven bytes behind it must be readable too.
    @inline(__always)
    func decode(
        _ record: UnsafeRawPointer, _ count: Int, key: Int64, page: UInt32, into batch: inout RowBatch
    ) throws(MigrationError) {
        if let filter, try !passes(record, count, filter, page) { return }
        var place = 0
        let headerSize = try headerSize(record, &place, available: count, total: count, page)
        if count <= largest {
            let cells = batch.appendRowToFill(key: key)
            if !fillsAllSlots(of: batch) { cells.initialize(repeating: .null, count: batch.slots) }
            let (pages, offset) = (batch.lentPages, batch.arenaCount)
            let used = Self.fields(
                record + place, headerEnd: record + headerSize, end: record + count, plan: plan, count: fieldCount,
                cells: cells, pages: pages, arena: pages == nil ? batch.reserve(count) : nil, offset: offset,
                runs: pages == nil ? runs.none : runs.starts)
            batch.trimArena(to: offset + max(0, used))
            if used == Self.damage { throw damagedRecord(key, page) }
            if used >= 0 { return complete(cells, key) }
            batch.removeLastRow()
        }
        overflow.begin(UnsafeRawBufferPointer(start: record, count: count), next: 0, total: count, page: page)
        try overflow.skip(headerSize)
        try decodeFields(record, headerSize, place, key, page, &batch)
    }

    private static let damage = -1
    private static let unusual = -2

    /// Decodes the fields of a record that is in one page.
    ///
    /// Only pointers and numbers here: this loop is the cost of a row.
    ///
    /// - Parameters:
    ///   - end: the record's end; seven bytes behind it must be readable too.
    ///   - plan: for each field, as ``plan``.
    ///   - pages: the lent pages, in which texts and blobs stay; nil: they go to the arena.
    ///   - arena: room for all bytes of the record.
    ///   - offset: the offset of this room in the batch's arena.
    ///   - runs: the runs of fields that may stay together, ascending, with an end mark behind all fields.
    /// - Returns: the number of bytes put into the arena; or ``damage``; or ``unusual`` if a serial type takes three bytes or
    ///   more.
    @inline(never)
    private static func fields(
        _ header: UnsafeRawPointer, headerEnd: UnsafeRawPointer, end: UnsafeRawPointer, plan: UnsafePointer<Int32>,
        count: Int, cells: UnsafeMutablePointer<Cell>, pages: UnsafeRawPointer?, arena: UnsafeMutableRawPointer?,
        offset: Int, runs: UnsafePointer<RawFieldRanges.Run>
    ) -> Int {
        var header = header
        var body = headerEnd
        var used = 0
        var field = 0
        var run = runs
        while field < count, header < headerEnd {
            if field == run.pointee.first {
                let (fields, slot) = (run.pointee.count, run.pointee.slot)
                if let pages, let ends = run.pointee.ends(header, headerEnd: headerEnd, body, end: end) {
                    cells[slot] = .rawRecord(
                        header: header - pages, headerLength: ends.header - header, body: body - pages,
                        bodyLength: ends.body - body, slots: fields)
                    (header, body) = ends
                    field &+= fields
                    run += 1
                    continue
                }
                run += 1
            }
            var serial = UInt(header.load(as: UInt8.self))
            header += 1
            if serial >= 0x80 {
                guard header < headerEnd else { return damage }
                let low = UInt(header.load(as: UInt8.self))
                guard low < 0x80 else { return unusual }
                header += 1
                serial = (serial & 0x7F) &<< 7 | low
            }
            let code = plan[field]
            field &+= 1
            if serial < 12 {
                let size = RecordForm.size(ofNumber: UInt64(serial))
                guard size <= end - body else { return damage }
                if code >= 0 {
                    cells[Int(code & slotMask)] = number(body, UInt64(serial), size, isReal: code & realFlag != 0)
                }
                body += size
            } else {
                let size = Int(bitPattern: (serial &- 12) &>> 1)
                guard size <= end - body else { return damage }
                if code >= 0, let pages {
                    cells[Int(code & slotMask)] = .lent(
                        offset: body - pages, length: size, kind: serial & 1 == 1 ? .text : .blob)
                } else if code >= 0, let arena {
                    (arena + used).copyMemory(from: body, byteCount: size)
                    cells[Int(code & slotMask)] = Cell(
                        bits: UInt64(bitPattern: Int64(offset &+ used)), length: UInt32(truncatingIfNeeded: size),
                        kind: serial & 1 == 1 ? .text : .blob)
                    used &+= size
                }
                body += size
            }
        }
        // If the header was read to its end, it must account for all bytes of the record, as in SQLite.
        if header == headerEnd, body != end { return damage }
        while field < count {
            if plan[field] >= 0 { cells[Int(plan[field] & slotMask)] = .null }
            field &+= 1
        }
        return used
    }

    /// The cell of a number; eight bytes are loaded whatever its size.
    @inline(__always)
    private static func number(_ bytes: UnsafeRawPointer, _ serial: UInt64, _ size: Int, isReal: Bool) -> Cell {
        if serial == 0 { return .null }
        if serial == 7 {
            let real = Double(bitPattern: UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)))
            return real.isNaN ? .null : .real(real)
        }
        let integer = RecordForm.integer(bytes, serial: serial, size: size)
        return isReal ? .real(Double(integer)) : .integer(integer)
    }

    /// True if the fields, the keys and their copies fill every slot of a batch.
    @inline(__always)
    private func fillsAllSlots(of batch: borrowing RowBatch) -> Bool { filledSlots == batch.slots }

    @inline(__always)
    private func complete(_ cells: UnsafeMutablePointer<Cell>, _ key: Int64) {
        if !keySlots.isEmpty { for slot in keySlots { cells[slot] = .integer(key) } }
        if !copies.isEmpty { for copy in copies { cells[copy.to] = cells[copy.from] } }
    }

    @inline(__always)
    private func headerSize(
        _ record: UnsafeRawPointer, _ place: inout Int, available: Int, total: Int, _ page: UInt32
    ) throws(MigrationError) -> Int {
        guard let size = RecordForm.varint(record, &place, end: available), size >= UInt64(place),
            size <= UInt64(total), size <= UInt64(Self.headerLimit)
        else { throw file.damaged(page, "a record has an impossible header") }
        return Int(size)
    }

    @inline(__always)
    private func passes(
        _ record: UnsafeRawPointer, _ count: Int, _ filter: ScanRequest.Filter, _ page: UInt32
    ) throws(MigrationError) -> Bool {
        // The usual case, Z_ENT: the second field behind a NULL key, in a header whose length takes one byte.
        if filter.field == 1, count >= 4 {
            let (size, serial) = (Int(record.load(as: UInt8.self)), record.load(fromByteOffset: 2, as: UInt8.self))
            if size >= 3, size < 0x80, size < count, serial == 1, record.load(fromByteOffset: 1, as: UInt8.self) == 0 {
                return filter.passes(Int64(record.load(fromByteOffset: size, as: Int8.self)))
            }
        }
        var place = 0
        let headerSize = try headerSize(record, &place, available: count, total: count, page)
        var body = headerSize
        for field in 0...filter.field {
            guard place < headerSize else { return false }
            guard let serial = RecordForm.varint(record, &place, end: headerSize),
                let size = RecordForm.size(ofSerial: serial), size <= count - body
            else { throw file.damaged(page, "a record is longer than its cell") }
            if field == filter.field { return passes(filter, record + body, serial) }
            body += size
        }
        return false
    }

    private func passes(_ filter: ScanRequest.Filter, _ bytes: UnsafeRawPointer, _ serial: UInt64) -> Bool {
        switch serial {
        case 1...6, 8, 9: return filter.passes(RecordForm.integer(bytes, serial: serial))
        case 7:
            let real = Double(bitPattern: UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)))
            return Int64(exactly: real).map(filter.passes) ?? false
        default: return false
        }
    }

    // MARK: - Records with overflow pages

    /// Appends a row to a batch whose record continues in overflow pages.
    ///
    /// - Parameters:
    ///   - local: the bytes of the record that are in its cell.
    ///   - next: the first overflow page.
    ///   - total: the number of bytes of the record.
    func decode(
        _ local: UnsafeRawBufferPointer, next: UInt32, total: Int, key: Int64, page: UInt32,
        into batch: inout RowBatch
    ) throws(MigrationError) {
        guard let start = local.baseAddress else { throw damagedRecord(key, page) }
        var place = 0
        let headerSize = try headerSize(start, &place, available: local.count, total: total, page)
        overflow.begin(local, next: next, total: total, page: page)
        guard headerSize > local.count else {
            try overflow.skip(headerSize)
            return try decodeSpanning(start, headerSize, place, local, next, total, key, page, &batch)
        }
        // Only records of thousands of columns have headers that do not fit the cell.
        let header = UnsafeMutableRawPointer.allocate(byteCount: headerSize, alignment: 8)
        defer { header.deallocate() }
        try overflow.copy(headerSize, to: header)
        try decodeSpanning(UnsafeRawPointer(header), headerSize, place, local, next, total, key, page, &batch)
    }

    private func decodeSpanning(
        _ header: UnsafeRawPointer, _ headerSize: Int, _ place: Int, _ local: UnsafeRawBufferPointer,
        _ next: UInt32, _ total: Int, _ key: Int64, _ page: UInt32, _ batch: inout RowBatch
    ) throws(MigrationError) {
        if let filter {
            guard try passesSpanning(header, headerSize, place, filter, key, page) else { return }
            // The filter's field may be behind others, so start again.
            overflow.begin(local, next: next, total: total, page: page)
            try overflow.skip(headerSize)
        }
        try decodeFields(header, headerSize, place, key, page, &batch)
    }

    /// Appends a row with the fields of any record, which ``overflow`` is at the first of; slower than ``fields``.
    private func decodeFields(
        _ header: UnsafeRawPointer, _ headerSize: Int, _ start: Int, _ key: Int64, _ page: UInt32,
        _ batch: inout RowBatch
    ) throws(MigrationError) {
        var place = start
        let cells = batch.cells(ofRow: batch.appendRow(key: key))
        for field in 0..<fieldCount {
            guard place < headerSize else { break }
            let (serial, size) = try form(header, headerSize, &place, key, page)
            let slot = Int(plan[field] & Self.slotMask)
            if plan[field] < 0 {
                try overflow.skip(size)
            } else if serial < 12 {
                cells[slot] = try number(serial, size, isReal: plan[field] & Self.realFlag != 0)
            } else if size > largest {
                cells[slot] = try largeValue(serial, size, slot, key, &batch)
                try overflow.skip(size)
            } else {
                let offset = batch.arenaCount
                try overflow.copy(size, to: batch.reserve(size))
                cells[slot] = Cell(
                    bits: UInt64(offset), length: UInt32(size), kind: serial & 1 == 1 ? .text : .blob)
            }
        }
        if place == headerSize, overflow.remaining != 0 { throw damagedRecord(key, page) }
        complete(cells, key)
    }

    /// The next value's serial type and size. Throws if it is larger than the rest of the record.
    private func form(
        _ header: UnsafeRawPointer, _ headerSize: Int, _ place: inout Int, _ key: Int64, _ page: UInt32
    ) throws(MigrationError) -> (serial: UInt64, size: Int) {
        guard let serial = RecordForm.varint(header, &place, end: headerSize),
            let size = RecordForm.size(ofSerial: serial), size <= overflow.remaining
        else { throw damagedRecord(key, page) }
        return (serial, size)
    }

    private func number(_ serial: UInt64, _ size: Int, isReal: Bool) throws(MigrationError) -> Cell {
        var bytes: UInt64 = 0
        try overflow.copy(size, to: &bytes)
        return withUnsafePointer(to: &bytes) { Self.number(UnsafeRawPointer($0), serial, size, isReal: isReal) }
    }

    private func passesSpanning(
        _ header: UnsafeRawPointer, _ headerSize: Int, _ start: Int, _ filter: ScanRequest.Filter, _ key: Int64,
        _ page: UInt32
    ) throws(MigrationError) -> Bool {
        var place = start
        for field in 0...filter.field {
            guard place < headerSize else { return false }
            let (serial, size) = try form(header, headerSize, &place, key, page)
            guard field == filter.field else {
                try overflow.skip(size)
                continue
            }
            guard serial < 12 else { return false }
            var bytes: UInt64 = 0
            try overflow.copy(size, to: &bytes)
            return withUnsafePointer(to: &bytes) { passes(filter, UnsafeRawPointer($0), serial) }
        }
        return false
    }

    private func largeValue(
        _ serial: UInt64, _ size: Int, _ slot: Int, _ key: Int64, _ batch: inout RowBatch
    ) throws(MigrationError) -> Cell {
        guard large.streamed.contains(slot) else { throw large.refusal(slot, key, size) }
        return batch.store(large.reference(slot, key, size, serial & 1 == 1))
    }

    private func damagedRecord(_ key: Int64, _ page: UInt32) -> MigrationError {
        file.damaged(page, "the record of row \(key) does not fit its lengths")
    }
}
