import Diagnostics
import SpillStorage

extension RecordSorter {
    /// Appends a record of six words.
    func append(
        _ first: UInt64, _ second: UInt64, _ third: UInt64, _ fourth: UInt64, _ fifth: UInt64, _ sixth: UInt64
    ) throws(MigrationError) {
        try append(words: (first, second, third, fourth, fifth, sixth))
    }

    /// Appends a record of seven words.
    func append(
        _ first: UInt64, _ second: UInt64, _ third: UInt64, _ fourth: UInt64, _ fifth: UInt64, _ sixth: UInt64,
        _ seventh: UInt64
    ) throws(MigrationError) {
        try append(words: (first, second, third, fourth, fifth, sixth, seventh))
    }

    /// Appends a record of eight words.
    func append(
        _ first: UInt64, _ second: UInt64, _ third: UInt64, _ fourth: UInt64, _ fifth: UInt64, _ sixth: UInt64,
        _ seventh: UInt64, _ eighth: UInt64
    ) throws(MigrationError) {
        try append(words: (first, second, third, fourth, fifth, sixth, seventh, eighth))
    }

    /// Appends a record given as a tuple of words.
    private func append<Words>(words: Words) throws(MigrationError) {
        var failure: MigrationError?
        withUnsafeBytes(of: words) { bytes in
            guard let base = bytes.bindMemory(to: UInt64.self).baseAddress else { return }
            do throws(MigrationError) { try append(base) } catch { failure = error }
        }
        if let failure { throw failure }
    }
}
