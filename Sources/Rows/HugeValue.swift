import Diagnostics

/// A text or blob that is too large for a batch: where it lies in the source. Only its length is known; its bytes are
/// streamed when the row is written.
///
/// A cell of kind ``CellKind/huge`` refers to one in its batch. Only slots that are copied unchanged ever hold one.
package struct HugeValue {
    /// What reads the value.
    package let source: any HugeValueSource
    /// Key of the row that has it.
    package let key: Int64
    /// Bytes.
    package let count: Int
    package let isText: Bool

    package init(source: any HugeValueSource, key: Int64, count: Int, isText: Bool) {
        self.source = source
        self.key = key
        self.count = count
        self.isText = isText
    }
}

/// A column of the source whose huge values can be read in parts.
package protocol HugeValueSource: AnyObject {
    /// Shows a value's bytes from the first to the last, in parts of at most 256 KiB.
    ///
    /// - Throws: `store.damaged`, `store.io`; what the body throws.
    func read(
        _ value: HugeValue, _ body: (UnsafeRawBufferPointer) throws(MigrationError) -> Void
    ) throws(MigrationError)

    /// The error for a value whose bytes are needed all at once: `store.valueTooLarge`, with the least workable limit.
    ///
    /// - Parameter use: what needs them, as "An index".
    func refusal(_ value: HugeValue, for use: String) -> MigrationError
}
