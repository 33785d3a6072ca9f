import Rows

/// A row on its way through the sorter: a word with table and key, then for each value its column, a kind, and a number or a
/// length with the bytes.
enum RowEntry {
    static let integer: UInt8 = 1
    static let real: UInt8 = 2
    static let text: UInt8 = 3
    static let blob: UInt8 = 4
    /// The byte before a value that may be stored in a file of its own and is not.
    static let inlineMarker: UInt8 = 1

    /// The table and the key of a row.
    static func place(of entry: UnsafeRawBufferPointer) -> (table: Int, key: Int64) {
        let word = UInt64(littleEndian: entry.loadUnaligned(as: UInt64.self))
        return (Int(word >> 48), Int64(word & (1 << 48 - 1)))
    }

    /// Sets the cells of a row of a batch.
    static func fill(_ batch: inout RowBatch, row: Int, from entry: UnsafeRawBufferPointer) {
        var offset = 8
        while offset < entry.count {
            let slot = Int(entry[offset]) | Int(entry[offset + 1]) << 8
            let kind = entry[offset + 2]
            let word = UInt64(littleEndian: entry.loadUnaligned(fromByteOffset: offset + 3, as: UInt64.self))
            offset += 11
            switch kind {
            case integer: batch[row, slot] = .integer(Int64(bitPattern: word))
            case real: batch[row, slot] = .real(Double(bitPattern: word))
            default:
                let end = offset + Int(word)
                batch.setBytes(
                    UnsafeRawBufferPointer(rebasing: entry[offset..<end]), kind: kind == text ? .text : .blob, row: row,
                    slot: slot)
                offset = end
            }
        }
    }
}
