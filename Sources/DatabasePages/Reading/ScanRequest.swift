import Diagnostics
import Rows

/// What a ``TableScan`` reads: which fields of the records, for which slots of a batch, of which rows.
package struct ScanRequest {
    /// A field of a record and where its value goes.
    package struct Field {
        /// Place in the record, from 0.
        package let field: Int
        package let slot: Int
        package let affinity: ColumnAffinity
        /// Whether the column takes reals: it keeps some of them as integers.
        var isReal: Bool { affinity == .real }

        package init(field: Int, slot: Int, affinity: ColumnAffinity) {
            self.field = field
            self.slot = slot
            self.affinity = affinity
        }
    }

    /// Neighbouring fields whose values nobody looks into: they may come together, as the record has them.
    package struct FieldRun {
        package let first: Int
        package let count: Int

        /// - Precondition: 2 to ``Cell/mostEncoded`` fields, each of which is asked for once.
        package init(first: Int, count: Int) {
            precondition(count > 1 && count <= Cell.mostEncoded)
            self.first = first
            self.count = count
        }
    }

    /// Only rows whose value of a field is one of some numbers.
    package struct Filter {
        let field: Int
        let numbers: [Int64]

        package init(field: Int, numbers: [Int64]) {
            self.field = field
            self.numbers = numbers
        }

        @inline(__always)
        func passes(_ number: Int64) -> Bool {
            for candidate in numbers where candidate == number { return true }
            return false
        }
    }

    /// What becomes of values that are too large to be read.
    package struct LargeValues {
        /// Bytes of the largest value that is read.
        let limit: Int
        /// Slots whose larger values come as references.
        let streamed: Set<Int>
        /// Makes the reference: slot, key, bytes, and whether it is a text.
        let reference: (Int, Int64, Int, Bool) -> HugeValue
        /// Makes the error: slot, key and bytes.
        let refusal: (Int, Int64, Int) -> MigrationError

        package init(
            limit: Int, streamed: Set<Int>, reference: @escaping (Int, Int64, Int, Bool) -> HugeValue,
            refusal: @escaping (Int, Int64, Int) -> MigrationError
        ) {
            self.limit = limit
            self.streamed = streamed
            self.reference = reference
            self.refusal = refusal
        }
    }

    /// Slots that no field fills are NULL.
    package var fields: [Field] = []
    /// Ascending. Where a batch borrows pages, the slot of a run's first field may get an encoded cell, for all of the run.
    package var runs: [FieldRun] = []
    /// Slots that take the row's key.
    package var keySlots: [Int] = []
    package var filter: Filter?
    /// Only rows with a greater key.
    package var after: Int64?
    /// Only rows up to this key.
    package var through: Int64?
    package var large: LargeValues
    /// Takes part in the scan; nil where nothing is to be counted.
    package var tally: ValueTally?

    package init(large: LargeValues) { self.large = large }
}
