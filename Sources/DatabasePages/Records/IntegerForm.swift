/// How an integer stands in a record: its serial type and its bytes.
struct IntegerForm {
    let value: Int64
    let serial: UInt64
    let width: Int

    @inline(__always)
    init(_ value: Int64) {
        self.value = value
        switch UInt64(bitPattern: value < 0 ? ~value : value) {
        case 0...127: (serial, width) = value == 0 || value == 1 ? (8 + UInt64(bitPattern: value), 0) : (1, 1)
        case 128...32767: (serial, width) = (2, 2)
        case 32768...8_388_607: (serial, width) = (3, 3)
        case 8_388_608...2_147_483_647: (serial, width) = (4, 4)
        case 2_147_483_648...140_737_488_355_327: (serial, width) = (5, 6)
        default: (serial, width) = (6, 8)
        }
    }
}
