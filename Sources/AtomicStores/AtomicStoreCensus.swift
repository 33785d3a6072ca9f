import Diagnostics

/// The objects of a store of type XML or binary, counted without a model.
package enum AtomicStoreCensus {
    /// Counts the objects of each entity, by the name in the file: in upper case in an XML store.
    ///
    /// - Throws: the errors of reading the file.
    /// - Complexity: O(bytes); memory does not depend on the size.
    package static func count(
        _ path: String, format: StoreFormat
    ) throws(MigrationError) -> (header: AtomicStoreHeader, counts: [String: Int]) {
        if format == .binary {
            let reader = try BinaryStoreReader(path: path)
            return (try reader.header(), try reader.counts())
        }
        let reader = try XMLStoreReader(path: path)
        let header = try reader.header()
        let counter = TypeCounter()
        try reader.objects(counter)
        return (header, counter.counts)
    }
}

/// Counts objects by the word for their entity.
private final class TypeCounter: XMLObjectHandler {
    private(set) var counts: [String: Int] = [:]

    func begin(type: String, id: Int64) throws(MigrationError) { counts[type.uppercased(), default: 0] += 1 }
    func attribute(_ name: String, word: String, text: UnsafeRawBufferPointer) throws(MigrationError) {}
    func relationship(_ name: String, counts: String, destination: String) throws(MigrationError) {}
    func target(_ id: Int64) throws(MigrationError) {}
    func end() throws(MigrationError) {}
}
