import Diagnostics
import Rows

/// The request of a ``TableScan``: the fields to read, their slots in a batch, and the rows.
package struct ScanRequest {
    /// A field of a record, and the slot for its value.
    package struct Field {
        /// The position in the record, from 0.
        package let field: Int
        package let slot: Int
        package let affinity: ColumnAffinity
        /// True if the column takes reals: it stores some of them as integers.
        var isReal: Bool { affinity == .real }

        package init(field: Int, slot: Int, affinity: ColumnAffinity) {
            self.field = field
            self.slot = slot
            self.affinity = affinity
        }
    }

    /// A run of neighbouring fields whose values nobody looks at: they may come together, encoded as in the record.
    package struct FieldRun {
        package let first: Int
        package let count: Int

        /// Makes a run.
        ///
        /// - Precondition: 2 to ``Cell/mostEncoded`` fields, each of which is requested once.
        package init(first: Int, count: Int) {
            precondition(count > 1 && count <= Cell.mostEncoded)
            self.first = first
            self.count = count
        }
    }

    /// A filter that passes only rows whose value of a field is one of some numbers.
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

    /// The treatment of values that are too large to be read.
    package struct LargeValues {
        /// The size in bytes of the largest value that is read.
        let limit: Int
        /// Slots whose larger values are returned as references.
        let streamed: Set<Int>
        /// Makes the reference; receives slot, key, size in bytes, and true for a text.
        let reference: (Int, Int64, Int, Bool) -> HugeValue
        /// Makes the error; receives slot, key and size in bytes.
        let refusal: (Int, Int64, Int) -> MigrationError

        package init(
            limit: Int, streamed: Set<Int> = [],
            reference: @escaping (Int, Int64, Int, Bool) -> HugeValue = { _, _, _, _ in
                preconditionFailure("no slot is streamed")
            }, refusal: @escaping (Int, Int64, Int) -> MigrationError
        ) {
            self.limit = limit
            self.streamed = streamed
            self.reference = reference
            self.refusal = refusal
        }
    }

    /// The fields to read. Slots that no field fills are NULL.
    package var fields: [Field] = []
    /// The runs, ascending. If a batch borrows pages, the slot of a run's first field may receive an encoded cell for the whole
    /// run.
    package var runs: [FieldRun] = []
    /// Slots that receive the row's key.
    package var keySlots: [Int] = []
    package var filter: Filter?
    /// Only rows with a greater key are read; nil: from the first row.
    package var after: Int64?
    /// Only rows up to this key are read; nil: to the last row.
    package var through: Int64?
    package var large: LargeValues
    /// Counts values during the scan; nil if nothing is to be counted.
    package var tally: ValueTally?

    package init(large: LargeValues) { self.large = large }
}
