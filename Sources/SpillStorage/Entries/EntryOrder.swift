/// How the entries of an ``EntrySorter`` are ordered.
package protocol EntryOrder: AnyObject {
    /// A word that never goes down along the order: of two entries with different words the one with the lesser comes first.
    func prefix(of entry: UnsafeRawBufferPointer) -> UInt64

    /// Below 0 where the left entry comes first, above 0 where the right one does, 0 where neither has to.
    func compare(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Int
}
