import Rows

extension RowBatch {
    /// Returns the row with a key in a batch whose keys ascend; nil if there is none.
    func row(ofKey wanted: Int64) -> Int? {
        guard count > 0, wanted >= key(0), wanted <= key(count - 1) else { return nil }
        var (low, high) = (0, count - 1)
        if key(high) == wanted { return high }
        while low < high {
            let middle = (low + high) / 2
            if key(middle) < wanted { low = middle + 1 } else { high = middle }
        }
        return key(low) == wanted ? low : nil
    }
}
