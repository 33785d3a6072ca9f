import struct Foundation.Data

extension UnsafeRawBufferPointer {
    /// Two lower-case hexadecimal digits for each byte.
    fileprivate var hexadecimal: String {
        String(unsafeUninitializedCapacity: 2 * count) { digits in
            func digit(_ half: UInt8) -> UInt8 { half < 10 ? 0x30 + half : 0x57 + half }
            for (place, byte) in enumerated() {
                digits[2 * place] = digit(byte >> 4)
                digits[2 * place + 1] = digit(byte & 15)
            }
            return 2 * count
        }
    }
}

extension [UInt8] {
    /// Two lower-case hexadecimal digits for each byte.
    package var hexadecimal: String { withUnsafeBytes { $0.hexadecimal } }
}

extension ArraySlice<UInt8> {
    /// Two lower-case hexadecimal digits for each byte.
    package var hexadecimal: String { withUnsafeBytes { $0.hexadecimal } }
}

extension Data {
    /// Two lower-case hexadecimal digits for each byte.
    package var hexadecimal: String { withUnsafeBytes { $0.hexadecimal } }
}
