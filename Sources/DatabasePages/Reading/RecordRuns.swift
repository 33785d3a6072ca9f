import Rows

/// The neighbouring fields that a scan reads together, and which of their values may stay as a record has them: those that
/// SQLite would store in the same way in a column of the same affinity.
final class RecordRuns {
    /// Fields that follow each other.
    struct Run {
        /// Greater than any field for the one behind the last.
        let first: Int
        let count: Int
        /// The slot of the first one.
        let slot: Int
        /// By field: the serial types that may stay, a bit each.
        let forms: UnsafePointer<UInt16>
        let shapes: UnsafePointer<Shape>

        /// Goes over the fields' serial types and values.
        ///
        /// - Parameters:
        ///   - header: the serial type of the first one.
        ///   - body: its value; seven bytes behind the record's end may be loaded too.
        /// - Returns: where both end; nil where a value has to be looked at.
        @inline(__always)
        func ends(
            _ header: UnsafeRawPointer, headerEnd: UnsafeRawPointer, _ body: UnsafeRawPointer, end: UnsafeRawPointer
        ) -> (header: UnsafeRawPointer, body: UnsafeRawPointer)? {
            guard count <= headerEnd - header else { return nil }
            var (header, body) = (header, body)
            var (forms, left) = (forms, count)
            while left > 0 {
                let serial = UInt(header.load(as: UInt8.self))
                header += 1
                if serial < 0x80 {
                    let shape = shapes[Int(bitPattern: serial)]
                    guard forms.pointee & shape.form != 0 else { return nil }
                    if serial == 7 { guard end - body >= 8, RecordRuns.isKept(body) else { return nil } }
                    body += Int(shape.size)
                } else {
                    guard header < headerEnd else { return nil }
                    let low = UInt(header.load(as: UInt8.self))
                    guard low < 0x80 else { return nil }
                    header += 1
                    let serial = (serial & 0x7F) &<< 7 | low
                    // As many bytes have to be left as fields.
                    guard left <= headerEnd - header + 1, serial >= 12,
                        forms.pointee & 1 &<< UInt16(12 | serial & 1) != 0
                    else { return nil }
                    body += Int(bitPattern: (serial &- 12) &>> 1)
                }
                forms += 1
                left &-= 1
            }
            return body <= end ? (header, body) : nil
        }
    }

    /// What a serial type of one byte means.
    struct Shape {
        /// Bytes of its value.
        let size: UInt16
        /// Its bit; none for the two types that no file has.
        let form: UInt16

        init(_ serial: Int) {
            switch serial {
            case ..<10: (size, form) = (UInt16(RecordForm.size(ofNumber: UInt64(serial))), 1 << UInt16(serial))
            case ..<12: (size, form) = (0, 0)
            default: (size, form) = (UInt16((serial - 12) / 2), 1 << UInt16(12 + serial % 2))
            }
        }
    }

    /// The runs, and one behind all fields.
    let starts: UnsafePointer<Run>
    /// Only the one behind all fields.
    let none: UnsafePointer<Run>
    private let runs: UnsafeMutablePointer<Run>
    private let forms: UnsafeMutablePointer<UInt16>
    private let shapes: UnsafeMutablePointer<Shape>

    init(_ request: ScanRequest) {
        let byField = Dictionary(request.fields.map { ($0.field, $0) }, uniquingKeysWith: { first, _ in first })
        let count = request.runs.reduce(0) { $0 + $1.count }
        forms = .allocate(capacity: max(1, count))
        runs = .allocate(capacity: request.runs.count + 1)
        shapes = .allocate(capacity: 128)
        for serial in 0..<128 { (shapes + serial).initialize(to: Shape(serial)) }
        var place = 0
        for (index, run) in request.runs.enumerated() {
            guard let first = byField[run.first] else { preconditionFailure("a run's field is not asked for") }
            (runs + index).initialize(
                to: Run(
                    first: run.first, count: run.count, slot: first.slot, forms: UnsafePointer(forms + place),
                    shapes: UnsafePointer(shapes)))
            for field in run.first..<run.first + run.count {
                guard let asked = byField[field] else { preconditionFailure("a run's field is not asked for") }
                (forms + place).initialize(to: Self.forms(of: asked.affinity))
                place += 1
            }
        }
        (runs + request.runs.count).initialize(
            to: Run(first: .max, count: 0, slot: 0, forms: UnsafePointer(forms), shapes: UnsafePointer(shapes)))
        starts = UnsafePointer(runs)
        none = starts + request.runs.count
    }

    deinit {
        runs.deallocate()
        forms.deallocate()
        shapes.deallocate()
    }

    /// The serial types of values that a column keeps as they are: NULL, and what its affinity is for. Of those above 11 bit 12
    /// is for blobs, bit 13 for texts.
    private static func forms(of affinity: ColumnAffinity) -> UInt16 {
        let integers: UInt16 = 0b11_0111_1110
        switch affinity {
        case .integer: return 1 | integers
        case .numeric: return 1 | integers | 1 << 7
        // An integer of eight bytes becomes a real there.
        case .real: return (1 | integers | 1 << 7) & ~(1 << 6)
        case .text: return 1 | 1 << 13
        case .blob: return 1 | 1 << 12
        }
    }

    /// Whether a column of numbers keeps a real as it is: one with a fraction, or beyond the integers. NaN is NULL.
    @inline(__always)
    private static func isKept(_ body: UnsafeRawPointer) -> Bool {
        let real = Double(bitPattern: UInt64(bigEndian: body.loadUnaligned(as: UInt64.self)))
        guard real > -0x1p63, real < 0x1p63 else { return !real.isNaN }
        return Double(Int64(real)) != real
    }
}
