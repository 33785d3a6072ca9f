/// SHA-256 of FIPS 180-4, streaming.
///
/// An own implementation, because the program links no cryptographic library and needs the function only for version hashes.
/// Memory: one block of 64 bytes and a schedule of 64 words. O(n) time in the bytes given.
package struct SHA256 {
    /// The number of bytes of a digest.
    package static let digestCount = 32
    private static let blockCount = 64

    private var state: [UInt32] = initialState
    /// The message schedule, stored so that a block allocates nothing.
    private var schedule = [UInt32](repeating: 0, count: 64)
    private var block = [UInt8](repeating: 0, count: blockCount)
    private var fill = 0
    private var total: UInt64 = 0

    package init() {}

    /// Returns the digest of some bytes.
    package static func hash(_ bytes: [UInt8]) -> [UInt8] {
        var function = SHA256()
        function.update(bytes)
        return function.finalize()
    }

    /// Appends bytes to the message.
    package mutating func update(_ bytes: [UInt8]) {
        for byte in bytes { append(byte) }
        total &+= UInt64(bytes.count)
    }

    /// Appends the UTF-8 bytes of a string to the message, without terminator.
    package mutating func update(_ text: String) {
        for byte in text.utf8 {
            append(byte)
            total &+= 1
        }
    }

    /// Ends the message and returns its digest. The value is spent afterwards.
    package consuming func finalize() -> [UInt8] {
        let bits = total &* 8
        append(0x80)
        while fill != Self.blockCount - 8 { append(0) }
        for shift in stride(from: 56, through: 0, by: -8) { append(UInt8(truncatingIfNeeded: bits >> UInt64(shift))) }
        var digest: [UInt8] = []
        digest.reserveCapacity(Self.digestCount)
        for word in state {
            for shift in stride(from: 24, through: 0, by: -8) {
                digest.append(UInt8(truncatingIfNeeded: word >> UInt32(shift)))
            }
        }
        return digest
    }

    private mutating func append(_ byte: UInt8) {
        block[fill] = byte
        fill += 1
        if fill == Self.blockCount {
            compress()
            fill = 0
        }
    }

    private mutating func compress() {
        for index in 0..<16 {
            let start = index * 4
            let high = UInt32(block[start]) << 24 | UInt32(block[start + 1]) << 16
            schedule[index] = high | UInt32(block[start + 2]) << 8 | UInt32(block[start + 3])
        }
        for index in 16..<64 {
            let first = schedule[index - 15]
            let second = schedule[index - 2]
            let small0 = rotate(first, 7) ^ rotate(first, 18) ^ first >> 3
            let small1 = rotate(second, 17) ^ rotate(second, 19) ^ second >> 10
            schedule[index] = schedule[index - 16] &+ small0 &+ schedule[index - 7] &+ small1
        }
        var (a, b, c, d) = (state[0], state[1], state[2], state[3])
        var (e, f, g, h) = (state[4], state[5], state[6], state[7])
        for index in 0..<64 {
            let big1 = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)
            let choice = (e & f) ^ (~e & g)
            let first = h &+ big1 &+ choice &+ Self.constants[index] &+ schedule[index]
            let big0 = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)
            let majority = (a & b) ^ (a & c) ^ (b & c)
            (h, g, f, e) = (g, f, e, d &+ first)
            (d, c, b, a) = (c, b, a, first &+ big0 &+ majority)
        }
        state[0] &+= a
        state[1] &+= b
        state[2] &+= c
        state[3] &+= d
        state[4] &+= e
        state[5] &+= f
        state[6] &+= g
        state[7] &+= h
    }

    private func rotate(_ word: UInt32, _ count: UInt32) -> UInt32 { word >> count | word << (32 - count) }

    /// The first 32 bits of the fractions of the square roots of the first 8 primes.
    private static let initialState: [UInt32] = [
        0x6A09_E667, 0xBB67_AE85, 0x3C6E_F372, 0xA54F_F53A, 0x510E_527F, 0x9B05_688C, 0x1F83_D9AB, 0x5BE0_CD19,
    ]

    /// The first 32 bits of the fractions of the cube roots of the first 64 primes.
    private static let constants: [UInt32] = [
        0x428A_2F98, 0x7137_4491, 0xB5C0_FBCF, 0xE9B5_DBA5, 0x3956_C25B, 0x59F1_11F1, 0x923F_82A4, 0xAB1C_5ED5,
        0xD807_AA98, 0x1283_5B01, 0x2431_85BE, 0x550C_7DC3, 0x72BE_5D74, 0x80DE_B1FE, 0x9BDC_06A7, 0xC19B_F174,
        0xE49B_69C1, 0xEFBE_4786, 0x0FC1_9DC6, 0x240C_A1CC, 0x2DE9_2C6F, 0x4A74_84AA, 0x5CB0_A9DC, 0x76F9_88DA,
        0x983E_5152, 0xA831_C66D, 0xB003_27C8, 0xBF59_7FC7, 0xC6E0_0BF3, 0xD5A7_9147, 0x06CA_6351, 0x1429_2967,
        0x27B7_0A85, 0x2E1B_2138, 0x4D2C_6DFC, 0x5338_0D13, 0x650A_7354, 0x766A_0ABB, 0x81C2_C92E, 0x9272_2C85,
        0xA2BF_E8A1, 0xA81A_664B, 0xC24B_8B70, 0xC76C_51A3, 0xD192_E819, 0xD699_0624, 0xF40E_3585, 0x106A_A070,
        0x19A4_C116, 0x1E37_6C08, 0x2748_774C, 0x34B0_BCB5, 0x391C_0CB3, 0x4ED8_AA4A, 0x5B9C_CA4F, 0x682E_6FF3,
        0x748F_82EE, 0x78A5_636F, 0x84C8_7814, 0x8CC7_0208, 0x90BE_FFFA, 0xA450_6CEB, 0xBEF9_A3F7, 0xC671_78F2,
    ]
}
