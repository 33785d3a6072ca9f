import TestSupport
import Testing

@testable import ManagedModel

private let examples: [(message: String, sha256: String, sha512: String)] = [
    (
        "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "cf83e1357eefb8bdf1542850d66d8007d620e4050b5715dc83f4a921d36ce9ce"
            + "47d0d13c5d85f2b0ff8318d2877eec2f63b931bd47417a81a538327af927da3e"
    ),
    (
        "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
        "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
            + "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f"
    ),
    (
        "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
        "204a8fc6dda82f0a0ced7beb8e08a41657c16ef468b228a8279be331a703c335"
            + "96fd15c13b1b07f9aa1d3bea57789ca031ad85c7a71dd70354ec631238ca3445"
    ),
    (
        "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrst"
            + "nopqrstu",
        "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1",
        "8e959b75dae313da8cf4f72814fc143f8f7779c6eb9f7fa17299aeadb6889018"
            + "501d289e4900f7e4331b99dec4b5433ac7d329eeb6dd26545e96e55b874be909"
    ),
]

@Suite("SHA-256 and SHA-512")
struct DigestTests {
    private static func long(_ message: [UInt8]) -> [UInt8] {
        var function = SHA512()
        function.update(message)
        return function.finalize()
    }

    @Test("The examples of FIPS 180-4 come out", arguments: examples)
    func standardExamples(message: String, sha256: String, sha512: String) {
        #expect(SHA256.hash(Array(message.utf8)).hexadecimal == sha256)
        #expect(Self.long(Array(message.utf8)).hexadecimal == sha512)
    }

    @Test("A million times the letter a")
    func million() {
        let chunk = [UInt8](repeating: UInt8(ascii: "a"), count: 10_000)
        var short = SHA256()
        var long = SHA512()
        for _ in 0..<100 {
            short.update(chunk)
            long.update(chunk)
        }
        #expect(
            short.finalize().hexadecimal == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0")
        #expect(
            long.finalize().hexadecimal
                == "e718483d0ce769644e2e42c7bc15b4638e1f98b13b2044285632a803afa973eb"
                + "de0ff244877ea60a4cb0432ce577c31beb009c5c2c49aa2e4eadb217ad8cc09b")
    }

    @Test("Any cut of a message gives the same digest, at every length around a block's end")
    func cuts() {
        let seed: UInt64 = 0x5EED_0001
        var random = SeededGenerator(seed: seed)
        for length in 0...260 {
            let message = (0..<length).map { _ in UInt8.random(in: 0...255, using: &random) }
            var short = SHA256()
            var long = SHA512()
            var offset = 0
            while offset < length {
                let end = min(length, offset + 1 + random.below(70))
                short.update(Array(message[offset..<end]))
                long.update(Array(message[offset..<end]))
                offset = end
            }
            #expect(short.finalize() == SHA256.hash(message), "seed \(seed), length \(length)")
            #expect(long.finalize() == Self.long(message), "seed \(seed), length \(length)")
        }
    }

    @Test("A string counts as its UTF-8 bytes")
    func strings() {
        var function = SHA256()
        function.update("Gr\u{F6}\u{DF}e")
        #expect(function.finalize() == SHA256.hash([0x47, 0x72, 0xC3, 0xB6, 0xC3, 0x9F, 0x65]))
    }
}

extension [UInt8] {
    /// Lower-case hexadecimal digits.
    var hexadecimal: String {
        let digits = [Character]("0123456789abcdef")
        return reduce(into: "") { text, byte in
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 15)])
        }
    }
}
