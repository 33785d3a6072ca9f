import Diagnostics

/// A reference to a text or blob of the source that is too large for a batch. It holds the size; the bytes are streamed when
/// the row is written.
///
/// A cell of kind ``CellKind/huge`` refers to one in its batch. Only slots that are copied unchanged ever hold one.
package struct HugeValue {
    /// The reader of the value.
    package let source: any HugeValueSource
    /// The key of the value's row.
    package let key: Int64
    /// The size in bytes.
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
    /// Passes a value's bytes to a closure, from the first to the last, in parts of at most 256 KiB.
    ///
    /// - Throws: `store.damaged`, `store.io`, and what the closure throws.
    func read(
        _ value: HugeValue, _ body: (UnsafeRawBufferPointer) throws(MigrationError) -> Void
    ) throws(MigrationError)

    /// The error for a value whose bytes are needed all at once: `store.valueTooLarge`, with the least workable limit.
    ///
    /// - Parameter use: the user of the bytes, as a text that begins a sentence, such as "An index".
    func refusal(_ value: HugeValue, for use: String) -> MigrationError
}
