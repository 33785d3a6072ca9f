extension RowBatch {
    /// Tells whether a cell of this batch and one of another hold the same value in the same storage class.
    ///
    /// - Complexity: O(bytes of the value).
    package func isEqual(_ cell: Cell, to other: Cell, of batch: borrowing RowBatch) -> Bool {
        guard cell.kind == other.kind else { return false }
        guard cell.hasBytes else { return cell.bits == other.bits && cell.length == other.length }
        guard cell.length == other.length else { return false }
        let (left, right) = (bytes(cell), batch.bytes(other))
        return left.elementsEqual(right)
    }
}
