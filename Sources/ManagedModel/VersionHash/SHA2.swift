/// SHA-256 and SHA-512 of FIPS 180-4, streaming: two functions of one shape, over words of 32 or 64 bits.
///
/// An own implementation, because the program links no cryptographic library and needs the functions only for version hashes.
/// Memory: one block of 16 words and a schedule of 64 or 80 words. O(n) time in the bytes given.
struct SHA2<Word: SHA2Word> {
    private var state = Word.initialState
    /// The message schedule, stored so that a block allocates nothing.
    private var schedule = Word.constants
    private var block = [UInt8](repeating: 0, count: 16 * MemoryLayout<Word>.size)
    private var fill = 0
    private var total: UInt64 = 0

    /// Appends bytes to the message.
    mutating func update(_ bytes: some Sequence<UInt8>) {
        for byte in bytes {
            append(byte)
            total &+= 1
        }
    }

    /// Ends the message and returns its digest. The value is spent afterwards.
    consuming func finalize() -> [UInt8] {
        let bits = total &* 8
        append(0x80)
        if fill > block.count - 2 * MemoryLayout<Word>.size { while fill != 0 { append(0) } }
        // The length field has two words. Of 128 bits the upper 64 are zero for every message that fits into an address space,
        // and this loop writes them too.
        while fill != block.count - 8 { append(0) }
        withUnsafeBytes(of: bits.bigEndian) { for byte in $0 { append(byte) } }
        return state.flatMap { word in withUnsafeBytes(of: word.bigEndian, Array.init) }
    }

    private mutating func append(_ byte: UInt8) {
        block[fill] = byte
        fill += 1
        if fill == block.count {
            compress()
            fill = 0
        }
    }

    private mutating func compress() {
        block.withUnsafeBytes { bytes in
            for index in 0..<16 {
                let offset = index * MemoryLayout<Word>.size
                schedule[index] = Word(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: Word.self))
            }
        }
        let constants = Word.constants
        for index in 16..<constants.count {
            let change = schedule[index - 15].small0 &+ schedule[index - 7] &+ schedule[index - 2].small1
            schedule[index] = schedule[index - 16] &+ change
        }
        var (a, b, c, d) = (state[0], state[1], state[2], state[3])
        var (e, f, g, h) = (state[4], state[5], state[6], state[7])
        for index in constants.indices {
            let choice = (e & f) ^ (~e & g)
            let first = h &+ e.big1 &+ choice &+ constants[index] &+ schedule[index]
            let majority = (a & b) ^ (a & c) ^ (b & c)
            (h, g, f, e) = (g, f, e, d &+ first)
            (d, c, b, a) = (c, b, a, first &+ a.big0 &+ majority)
        }
        for (index, word) in [a, b, c, d, e, f, g, h].enumerated() { state[index] &+= word }
    }
}

/// SHA-512, whose digest has 64 bytes.
typealias SHA512 = SHA2<UInt64>

/// SHA-256, streaming.
package struct SHA256 {
    /// The number of bytes of a digest.
    package static let digestCount = 32
    // Not an alias: other modules call generic code without specialisation.
    private var function = SHA2<UInt32>()

    package init() {}

    /// Returns the digest of some bytes.
    package static func hash(_ bytes: [UInt8]) -> [UInt8] {
        var function = SHA256()
        function.update(bytes)
        return function.finalize()
    }

    /// Appends bytes to the message.
    package mutating func update(_ bytes: [UInt8]) { function.update(bytes) }

    /// Appends the UTF-8 bytes of a string to the message, without terminator.
    package mutating func update(_ text: String) { function.update(text.utf8) }

    /// Ends the message and returns its digest. The value is spent afterwards.
    package consuming func finalize() -> [UInt8] { function.finalize() }
}

/// The word of a function of the family, with the standard's σ0, σ1, Σ0 and Σ1, and its tables.
protocol SHA2Word: FixedWidthInteger, BitwiseCopyable {
    var small0: Self { get }
    var small1: Self { get }
    var big0: Self { get }
    var big1: Self { get }
    static var initialState: [Self] { get }
    static var constants: [Self] { get }
}

extension UInt32: SHA2Word {
    var small0: UInt32 { rotated(7) ^ rotated(18) ^ self >> 3 }
    var small1: UInt32 { rotated(17) ^ rotated(19) ^ self >> 10 }
    var big0: UInt32 { rotated(2) ^ rotated(13) ^ rotated(22) }
    var big1: UInt32 { rotated(6) ^ rotated(11) ^ rotated(25) }
    private func rotated(_ count: UInt32) -> UInt32 { self &>> count | self &<< (32 &- count) }

    // Of the same primes as those of 64 bits.
    static let initialState = UInt64.initialState.map { UInt32($0 >> 32) }
    static let constants = UInt64.constants.prefix(64).map { UInt32($0 >> 32) }
}

extension UInt64: SHA2Word {
    var small0: UInt64 { rotated(1) ^ rotated(8) ^ self >> 7 }
    var small1: UInt64 { rotated(19) ^ rotated(61) ^ self >> 6 }
    var big0: UInt64 { rotated(28) ^ rotated(34) ^ rotated(39) }
    var big1: UInt64 { rotated(14) ^ rotated(18) ^ rotated(41) }
    private func rotated(_ count: UInt64) -> UInt64 { self &>> count | self &<< (64 &- count) }

    /// The first 64 bits of the fractions of the square roots of the first 8 primes.
    static let initialState: [UInt64] = [
        0x6A09E667_F3BCC908, 0xBB67AE85_84CAA73B, 0x3C6EF372_FE94F82B, 0xA54FF53A_5F1D36F1,
        0x510E527F_ADE682D1, 0x9B05688C_2B3E6C1F, 0x1F83D9AB_FB41BD6B, 0x5BE0CD19_137E2179,
    ]

    /// The first 64 bits of the fractions of the cube roots of the first 80 primes.
    static let constants: [UInt64] = [
        0x428A2F98_D728AE22, 0x71374491_23EF65CD, 0xB5C0FBCF_EC4D3B2F, 0xE9B5DBA5_8189DBBC,
        0x3956C25B_F348B538, 0x59F111F1_B605D019, 0x923F82A4_AF194F9B, 0xAB1C5ED5_DA6D8118,
        0xD807AA98_A3030242, 0x12835B01_45706FBE, 0x243185BE_4EE4B28C, 0x550C7DC3_D5FFB4E2,
        0x72BE5D74_F27B896F, 0x80DEB1FE_3B1696B1, 0x9BDC06A7_25C71235, 0xC19BF174_CF692694,
        0xE49B69C1_9EF14AD2, 0xEFBE4786_384F25E3, 0x0FC19DC6_8B8CD5B5, 0x240CA1CC_77AC9C65,
        0x2DE92C6F_592B0275, 0x4A7484AA_6EA6E483, 0x5CB0A9DC_BD41FBD4, 0x76F988DA_831153B5,
        0x983E5152_EE66DFAB, 0xA831C66D_2DB43210, 0xB00327C8_98FB213F, 0xBF597FC7_BEEF0EE4,
        0xC6E00BF3_3DA88FC2, 0xD5A79147_930AA725, 0x06CA6351_E003826F, 0x14292967_0A0E6E70,
        0x27B70A85_46D22FFC, 0x2E1B2138_5C26C926, 0x4D2C6DFC_5AC42AED, 0x53380D13_9D95B3DF,
        0x650A7354_8BAF63DE, 0x766A0ABB_3C77B2A8, 0x81C2C92E_47EDAEE6, 0x92722C85_1482353B,
        0xA2BFE8A1_4CF10364, 0xA81A664B_BC423001, 0xC24B8B70_D0F89791, 0xC76C51A3_0654BE30,
        0xD192E819_D6EF5218, 0xD6990624_5565A910, 0xF40E3585_5771202A, 0x106AA070_32BBD1B8,
        0x19A4C116_B8D2D0C8, 0x1E376C08_5141AB53, 0x2748774C_DF8EEB99, 0x34B0BCB5_E19B48A8,
        0x391C0CB3_C5C95A63, 0x4ED8AA4A_E3418ACB, 0x5B9CCA4F_7763E373, 0x682E6FF3_D6B2B8A3,
        0x748F82EE_5DEFB2FC, 0x78A5636F_43172F60, 0x84C87814_A1F0AB72, 0x8CC70208_1A6439EC,
        0x90BEFFFA_23631E28, 0xA4506CEB_DE82BDE9, 0xBEF9A3F7_B2C67915, 0xC67178F2_E372532B,
        0xCA273ECE_EA26619C, 0xD186B8C7_21C0C207, 0xEADA7DD6_CDE0EB1E, 0xF57D4F7F_EE6ED178,
        0x06F067AA_72176FBA, 0x0A637DC5_A2C898A6, 0x113F9804_BEF90DAE, 0x1B710B35_131C471B,
        0x28DB77F5_23047D84, 0x32CAAB7B_40C72493, 0x3C9EBE0A_15C9BEBC, 0x431D67C4_9C100D4C,
        0x4CC5D4BE_CB3E42B6, 0x597F299C_FC657E2A, 0x5FCB6FAB_3AD6FAEC, 0x6C44198C_4A475817,
    ]
}
