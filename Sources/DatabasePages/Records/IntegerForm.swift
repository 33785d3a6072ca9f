/// How a record has an integer.
struct IntegerForm {
    let serial: UInt8
    /// Bytes of the value.
    let width: UInt8
    /// Bits by which its 64 are shifted, so that its bytes come first.
    let shift: UInt8

    /// The forms of all integers: at twice the bits of the magnitude, and behind it for negative ones, whose magnitude is their
    /// complement's.
    static func allForms() -> UnsafeMutablePointer<IntegerForm> {
        let forms = UnsafeMutablePointer<IntegerForm>.allocate(capacity: 128)
        for bits in 0..<64 {
            // All integers of so many bits have one form, but 0 and 1, which are alone with theirs.
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
