/// The encoding of an integer in a record.
struct IntegerForm {
    let serial: UInt8
    let width: UInt8
    /// The shift in bits that moves the value's bytes to the top of its 64-bit word.
    let shift: UInt8

    /// Makes the table of the forms of all integers. The index is twice the number of bits of the magnitude, plus one for
    /// negative integers, whose magnitude is that of their complement.
    static func allForms() -> UnsafeMutablePointer<IntegerForm> {
        let forms = UnsafeMutablePointer<IntegerForm>.allocate(capacity: 128)
        for bits in 0..<64 {
            // All integers with the same number of bits have one form; 0 and 1 have forms of their own.
            let least: Int64 = bits == 0 ? 0 : 1 << Int64(bits - 1)
            for (place, value) in [least, ~least].enumerated() {
                let (serial, width) = RecordEncoder.form(of: value)
                (forms + 2 * bits + place).initialize(
                    to: IntegerForm(
                        serial: UInt8(serial), width: UInt8(width), shift: width == 0 ? 0 : UInt8(64 - 8 * width)))
            }
        }
        return forms
    }
}
