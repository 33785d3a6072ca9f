import Foundation
import ManagedModel
import Rows

/// Hashes of values for equality indexes. Equal values have equal hashes, whatever their storage class.
enum FetchHash {
    private static let knownOptions: ComparisonOptions = [.caseInsensitive, .diacriticInsensitive]

    /// Tells whether an attribute's values can be looked up by hash, for a comparison with these options. Floats cannot: their
    /// column may hold different numbers that are read as the same Float.
    static func isIndexable(_ attribute: AttributeDescription, _ options: ComparisonOptions) -> Bool {
        guard options.isSubset(of: knownOptions) else { return false }
        return switch attribute.attributeType {
        case .string, .uri, .uuid, .date, .boolean, .integer16, .integer32, .integer64, .double, .decimal: true
        case .float, .binaryData, .transformable, .undefined, .objectID, .composite: false
        }
    }

    /// Returns the hash of a cell; nil for NULL, and for a huge value, which no value in a predicate can equal.
    static func hash(_ cell: Cell, in batch: borrowing RowBatch, options: UInt8) -> UInt64? {
        switch cell.kind {
        case .null, .absent, .huge, .rawRecord: return nil
        case .integer, .reference: return mix(Double(cell.integerValue).bitPattern)
        case .real: return mix((cell.realValue == 0 ? 0 : cell.realValue).bitPattern)
        case .text, .blob: return hash(batch.bytes(cell), options: options)
        }
    }

    static func hash(_ value: ColumnValue, options: UInt8) -> UInt64 {
        switch value {
        case .integer(let number): mix(Double(number).bitPattern)
        case .real(let number): mix((number == 0 ? 0 : number).bitPattern)
        case .text(var text): text.withUTF8 { hash(UnsafeRawBufferPointer($0), options: options) }
        case .blob(let bytes): bytes.withUnsafeBytes { hash($0, options: options) }
        }
    }

    private static func hash(_ bytes: UnsafeRawBufferPointer, options: UInt8) -> UInt64 {
        guard options != 0 else { return hash(bytes) }
        let text = String(decoding: bytes, as: UTF8.self)
        // Always fold case and diacritics: values that differ may share a hash.
        var folded = text.folding(options: [.caseInsensitive, .diacriticInsensitive], locale: nil)
        return folded.withUTF8 { hash(UnsafeRawBufferPointer($0)) }
    }

    /// Returns the FNV-1a hash of bytes, with the bits mixed.
    private static func hash(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
        var state: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in bytes { state = (state ^ UInt64(byte)) &* 0x100_0000_01B3 }
        return mix(state)
    }

    private static func mix(_ bits: UInt64) -> UInt64 {
        var word = (bits ^ (bits >> 33)) &* 0xFF51_AFD7_ED55_8CCD
        word = (word ^ (word >> 33)) &* 0xC4CE_B9FE_1A85_EC53
        return word ^ (word >> 33)
    }

    /// Returns the stored form of a predicate's value, as an attribute's column holds it; nil if it is not certain.
    static func columnValue(_ value: Any, storedIn attribute: AttributeDescription) -> ColumnValue? {
        if [.string, .uri].contains(attribute.attributeType), let text = value as? String { return .text(text) }
        var batch = RowBatch(slots: 1, rowCapacity: 1, byteTarget: 256)
        let row = batch.appendRow(key: 0)
        do {
            try ValueBridge.store(
                value, type: attribute.attributeType, isExternal: false, in: &batch, row: row, slot: 0)
        } catch { return nil }
        let cell = batch[row, 0]
        switch cell.kind {
        case .integer: return .integer(cell.integerValue)
        case .real: return .real(cell.realValue)
        case .text: return .text(String(decoding: batch.bytes(cell), as: UTF8.self))
        case .blob: return .blob(Array(batch.bytes(cell)))
        case .null, .absent, .reference, .huge, .rawRecord: return nil
        }
    }
}
