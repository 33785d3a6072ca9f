extension RowBatch {
    /// Tells whether a cell of this batch and one of another hold the same value in the same storage class.
    ///
    /// - Complexity: O(bytes of the value).
    package func isEqual(_ cell: Cell, to other: Cell, of batch: borrowing RowBatch) -> Bool {
        guard cell.kind == other.kind, cell.length == other.length else { return false }
        return cell.hasBytes ? bytes(cell).elementsEqual(batch.bytes(other)) : cell.bits == other.bits
    }
}
