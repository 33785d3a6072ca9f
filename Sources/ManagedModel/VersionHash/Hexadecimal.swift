import protocol Foundation.ContiguousBytes

extension ContiguousBytes {
    /// The bytes as text, with two lower-case hexadecimal digits for each.
    package var hexadecimal: String {
        withUnsafeBytes { bytes in
            String(unsafeUninitializedCapacity: 2 * bytes.count) { digits in
                func digit(_ half: UInt8) -> UInt8 { half < 10 ? 0x30 + half : 0x57 + half }
                for (place, byte) in bytes.enumerated() {
                    digits[2 * place] = digit(byte >> 4)
                    digits[2 * place + 1] = digit(byte & 15)
                }
                return 2 * bytes.count
            }
        }
    }
}
