import Rows

/// The source columns that rows on disk refer to, by number, for values too large to be spilled.
///
/// It lives as long as the spills that share it: the numbers on disk mean nothing without it.
///
/// Memory: some 50 bytes a column.
final class HugeReferences {
    // Read for every row, so without checks of exclusive access.
    @exclusivity(unchecked) private var sources: [any HugeValueSource] = []
    private var numbers: [ObjectIdentifier: Int] = [:]

    /// True if no column has a number: only then do the files mean the same to another process.
    var isEmpty: Bool { sources.isEmpty }

    /// The number of a column; a new column gets the next number.
    func number(of source: any HugeValueSource) -> Int {
        if let known = numbers[ObjectIdentifier(source)] { return known }
        sources.append(source)
        numbers[ObjectIdentifier(source)] = sources.count - 1
        return sources.count - 1
    }

    /// The column with a number; nil if the number was never given.
    func source(_ number: UInt64) -> (any HugeValueSource)? {
        number < UInt64(sources.count) ? sources[Int(number)] : nil
    }
}
