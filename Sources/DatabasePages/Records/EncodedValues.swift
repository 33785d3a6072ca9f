import Rows

/// Decodes the values of an encoded cell one by one, for rows that are not turned into a record at once.
package enum EncodedValues {
    /// Puts each value into its own slot, beginning with the slot of the encoded cell.
    ///
    /// - Parameter cells: the encoded cell; the slots of its other values follow.
    /// - Precondition: a ``RecordDecoder`` made the cell.
    package static func decode(_ cells: UnsafeMutablePointer<Cell>, of batch: borrowing RowBatch) {
        let cell = cells.pointee
        let (types, body, _) = batch.rawRecord(cell)
        guard let header = types.baseAddress, let bytes = body.baseAddress else { return }
        let start = cell.encodedBody
        var (place, offset) = (0, 0)
        for slot in 0..<cell.rawRecordSlots {
            guard let serial = RecordForm.varint(header, &place, end: types.count),
                let size = RecordForm.size(ofSerial: serial), size <= body.count - offset
            else { preconditionFailure("an encoded cell has no values that fit it") }
            switch serial {
            case 0: cells[slot] = .null
            case 7:
                let word = UInt64(bigEndian: (bytes + offset).loadUnaligned(as: UInt64.self))
                cells[slot] = .real(Double(bitPattern: word))
            case ..<12: cells[slot] = .integer(RecordForm.integer(bytes + offset, serial: serial))
            default:
                cells[slot] = .lent(offset: start + offset, length: size, kind: serial & 1 == 1 ? .text : .blob)
            }
            offset += size
        }
    }
}
