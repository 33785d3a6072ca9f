import Rows

/// The columns of the source that rows on disk refer to for values too large to be spilled, each by a number.
///
/// It lives as long as the spills that share it: what is on disk means nothing without it.
/// Memory: some 50 bytes a column.
final class HugeReferences {
    // Asked for each row that is read.
    @exclusivity(unchecked) private var sources: [any HugeValueSource] = []
    private var numbers: [ObjectIdentifier: Int] = [:]

    /// Whether no column was given a number: only then do files mean the same to another process.
    var isEmpty: Bool { sources.isEmpty }

    /// The number of a column.
    func number(of source: any HugeValueSource) -> Int {
        if let known = numbers[ObjectIdentifier(source)] { return known }
        sources.append(source)
        numbers[ObjectIdentifier(source)] = sources.count - 1
        return sources.count - 1
    }

    /// The column of a number; nil for a number that was never given.
    func source(_ number: UInt64) -> (any HugeValueSource)? {
        number < UInt64(sources.count) ? sources[Int(number)] : nil
    }
}
