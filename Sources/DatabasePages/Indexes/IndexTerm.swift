import Rows

/// A column of an index, ascending or descending. The values of a column of numbers are sorted as words.
///
/// A word has the order of its value, and the value can be restored from it exactly. Some values have no word: texts, blobs,
/// the least integer, and in a column of reals the integers that no real equals.
package struct IndexTerm: Sendable {
    /// The column's slot in a batch.
    package let slot: Int
    let affinity: ColumnAffinity
    let isAscending: Bool
    /// The largest value that is expected; nil if unknown. Larger values are sorted too, but slower.
    let mostExpected: Int64?

    /// True if the column's type promises numbers.
    var hasWords: Bool { affinity.isNumber }

    package init(slot: Int, affinity: ColumnAffinity, isAscending: Bool, mostExpected: Int64? = nil) {
        self.slot = slot
        self.affinity = affinity
        self.isAscending = isAscending
        self.mostExpected = mostExpected
    }

    /// The word of NULL, which comes before every number; no number has it.
    private static let null: UInt64 = 0

    /// The word of a value as the column would store it; nil if it has none.
    @inline(__always)
    func word(of cell: Cell) -> UInt64? {
        let word: UInt64
        switch cell.kind {
        case .null: word = Self.null
        case .integer, .reference:
            if affinity == .integer {
                guard cell.integerValue != .min else { return nil }
                word = UInt64(bitPattern: cell.integerValue) ^ (1 << 63)
            } else {
                let real = Double(cell.integerValue)
                guard Int64(exactly: real) == cell.integerValue else { return nil }
                word = real.orderedBits
            }
        case .real:
            if cell.realValue.isNaN {
                word = Self.null
            } else if affinity == .integer {
                guard let whole = Int64(exactly: cell.realValue), whole != .min else { return nil }
                word = UInt64(bitPattern: whole) ^ (1 << 63)
            } else {
                word = cell.realValue.orderedBits
            }
        case .text, .blob, .huge, .absent, .rawRecord: return nil
        }
        return isAscending ? word : ~word
    }

    /// The value of a word, as records hold it; nil for NULL.
    @inline(__always)
    func form(of word: UInt64) -> NumberForm? {
        let word = isAscending ? word : ~word
        if word == Self.null { return nil }
        if affinity == .integer { return NumberForm(integer: Int64(bitPattern: word ^ (1 << 63))) }
        let real = Double(bitPattern: word >> 63 == 1 ? word ^ (1 << 63) : ~word)
        guard let whole = Int64(exactly: real) else { return NumberForm(real: real) }
        // A column of reals keeps integers of up to six bytes as integers, and larger ones as reals.
        if affinity == .real, (whole < 0 ? ~whole : whole) >= 1 << 47 { return NumberForm(real: real) }
        return NumberForm(integer: whole)
    }
}

/// The encoding of a number in a record: its serial type and its bytes.
struct NumberForm {
    let serial: UInt8
    let width: Int
    /// The value's bytes, at the low end of the word.
    let bits: UInt64

    @inline(__always)
    init(integer: Int64) {
        let form = RecordEncoder.form(of: integer)
        serial = UInt8(truncatingIfNeeded: form.serial)
        width = form.width
        bits = UInt64(bitPattern: integer)
    }

    init(real: Double) {
        serial = 7
        width = 8
        bits = real.bitPattern
    }

    /// Writes a number's serial type at `serial` and its bytes at `place`, and moves `place` behind them. For nil it writes the
    /// serial type of NULL and no bytes.
    @inline(__always)
    static func put(
        _ form: NumberForm?, serialAt serial: UnsafeMutableRawPointer, _ place: inout UnsafeMutableRawPointer
    ) {
        serial.storeBytes(of: form?.serial ?? 0, as: UInt8.self)
        form?.write(to: &place)
    }

    /// Writes the bytes, the highest first, and moves the place behind them. It may overwrite eight bytes whatever the width.
    @inline(__always)
    func write(to place: inout UnsafeMutableRawPointer) {
        place.storeBytes(of: (bits << UInt64(64 - 8 * width)).bigEndian, as: UInt64.self)
        place += width
    }
}
