import Archives
import CSQLite
import CoreDataStore
import Foundation

/// Writes into a store's metadata what only Core Data would.
package enum StatedHashes {
    /// Adds version hashes, as Core Data states those that nobody else can compute.
    ///
    /// - Parameters:
    ///   - hashes: by entity name; they take the place of those that are there.
    ///   - hasSums: whether digest and checksum are there too, whatever they say.
    package static func write(_ hashes: [String: [UInt8]], to path: String, hasSums: Bool = false) throws {
        let connection = try Connection(path: path, flags: SQLITE_OPEN_READWRITE)
        let read = try connection.prepare("SELECT Z_PLIST FROM Z_METADATA")
        guard try read.step(), let bytes = read.blob(0),
            case .dictionary(var list) = try BinaryPropertyList.decode(bytes)
        else { throw ReferenceFileError(description: "\(path): no metadata") }
        read.reset()
        var all = PropertyListDictionary()
        if case .dictionary(let known) = list["NSStoreModelVersionHashes"] { all = known }
        for (name, hash) in hashes { all[name] = .data(hash) }
        list["NSStoreModelVersionHashes"] = .dictionary(all)
        list[StoreMetadata.unknownHashesKey] = nil
        if hasSums {
            list["NSStoreModelVersionHashesDigest"] = .string("to be computed")
            list["NSStoreModelVersionChecksumKey"] = .string("to be computed")
        }
        let write = try connection.prepare("UPDATE Z_METADATA SET Z_PLIST = ?")
        write.bind(try BinaryPropertyList.encode(.dictionary(list)), at: 1)
        try write.run()
    }
}
