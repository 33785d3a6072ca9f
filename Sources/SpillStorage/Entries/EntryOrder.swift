/// The order of the entries of an ``EntrySorter``.
package protocol EntryOrder: AnyObject {
    /// A word that never goes down along the order: of two entries with different words, the one with the smaller word comes
    /// first.
    func prefix(of entry: UnsafeRawBufferPointer) -> UInt64

    /// Compares two entries: below 0 if the left one comes first, above 0 if the right one does, 0 if neither must.
    func compare(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Int
}
