/// The runs of neighbouring fields that a scan reads together. A run stays encoded as it is in the record, if SQLite would
/// store all its values in the same way in a column of the same affinity.
final class RawFieldRanges {
    struct Run {
        /// The first field; greater than any field in the end mark.
        let first: Int
        let count: Int
        /// The slot of the first field.
        let slot: Int
        /// For each field: the serial types that may stay as they are, a bit each.
        let forms: UnsafePointer<UInt16>
        let shapes: UnsafePointer<Shape>

        /// Checks the fields' serial types and values.
        ///
        /// - Parameters:
        ///   - header: the serial type of the first field.
        ///   - body: the value of the first field; seven bytes behind the record's end must be readable too.
        /// - Returns: the ends of both; nil if a value must be decoded.
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
                    if serial == 7 { guard end - body >= 8, RawFieldRanges.isKept(body) else { return nil } }
                    body += Int(shape.size)
                } else {
                    guard header < headerEnd else { return nil }
                    let low = UInt(header.load(as: UInt8.self))
                    guard low < 0x80 else { return nil }
                    header += 1
                    let serial = (serial & 0x7F) &<< 7 | low
                    // The header must have at least as many bytes left as there are fields left.
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

    /// The meaning of a serial type of one byte.
    struct Shape {
        /// The size of its value in bytes.
        let size: UInt16
        /// Its bit in `forms`; none for the two types that no file has.
        let form: UInt16

        init(_ serial: Int) {
            switch serial {
            case ..<10: (size, form) = (UInt16(RecordForm.size(ofNumber: UInt64(serial))), 1 << UInt16(serial))
            case ..<12: (size, form) = (0, 0)
            default: (size, form) = (UInt16((serial - 12) / 2), 1 << UInt16(12 + serial % 2))
            }
        }
    }

    /// The runs, followed by an end mark.
    let starts: UnsafePointer<Run>
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

    /// The serial types of values that a column of an affinity stores as they are, a bit each: NULL, and the types of the
    /// affinity itself. Bit 12 is for blobs, bit 13 for texts.
    private static func forms(of affinity: ColumnAffinity) -> UInt16 {
        let integers: UInt16 = 0b11_0111_1110
        switch affinity {
        case .integer: return 1 | integers
        case .numeric: return 1 | integers | 1 << 7
        // A column of reals turns an integer of eight bytes into a real.
        case .real: return (1 | integers | 1 << 7) & ~(1 << 6)
        case .text: return 1 | 1 << 13
        case .blob: return 1 | 1 << 12
        }
    }

    /// Tells whether a column of numbers stores a real as a real: it has a fraction, or is too large for an integer. NaN
    /// becomes NULL.
    @inline(__always)
    private static func isKept(_ body: UnsafeRawPointer) -> Bool {
        let real = Double(bitPattern: UInt64(bigEndian: body.loadUnaligned(as: UInt64.self)))
        guard real > -0x1p63, real < 0x1p63 else { return !real.isNaN }
        return Double(Int64(real)) != real
    }
}
