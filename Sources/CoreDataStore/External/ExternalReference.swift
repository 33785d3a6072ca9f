/// The name of a file that holds a binary value, as a column stores it: the marker byte 2, 36 characters of an upper-case UUID,
/// a NUL byte (wire store1-24: `ZIMAGEMEDIUMDATA`).
///
/// Only names of this form can be made, so no name in a store can lead out of its folder.
package struct ExternalReference: Hashable, Sendable {
    /// The marker byte of a value stored in the column itself.
    package static let inlineMarker: UInt8 = 1
    /// The marker byte of a reference.
    package static let referenceMarker: UInt8 = 2
    /// The number of bytes of a stored reference.
    package static let byteCount = 38

    /// The file's name.
    package let name: String

    /// Tells whether a column's bytes refer to a file, well formed or not.
    package static func isReference(_ bytes: UnsafeRawBufferPointer) -> Bool { bytes.first == referenceMarker }

    /// Parses a column's bytes.
    ///
    /// - Returns: nil unless they are exactly the marker, a UUID and the NUL byte.
    package init?(stored bytes: UnsafeRawBufferPointer) {
        guard bytes.count == Self.byteCount, bytes[0] == Self.referenceMarker, bytes[37] == 0 else { return nil }
        self.init(name: bytes[1..<37])
    }

    /// Parses a file name.
    ///
    /// - Returns: nil if it is not a UUID.
    package init?(name: String) { self.init(name: Array(name.utf8)[...]) }

    /// Makes the name from the 16 bytes of a UUID.
    package init(uuid bytes: [UInt8]) {
        precondition(bytes.count == 16, "a UUID has 16 bytes")
        let digits = Array("0123456789ABCDEF".utf8)
        var text: [UInt8] = []
        for (index, byte) in bytes.enumerated() {
            if [4, 6, 8, 10].contains(index) { text.append(UInt8(ascii: "-")) }
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 15)])
        }
        name = String(decoding: text, as: UTF8.self)
    }

    private init?(name: some RandomAccessCollection<UInt8>) {
        guard name.count == 36 else { return nil }
        let isUUID = name.enumerated().allSatisfy { position, byte in
            switch byte {
            case UInt8(ascii: "-"): [8, 13, 18, 23].contains(position)
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "F"),
                UInt8(ascii: "a")...UInt8(ascii: "f"):
                ![8, 13, 18, 23].contains(position)
            default: false
            }
        }
        guard isUUID else { return nil }
        self.name = String(decoding: name, as: UTF8.self)
    }

    /// The bytes to store in a column.
    package var stored: [UInt8] { [Self.referenceMarker] + Array(name.utf8) + [0] }
}
