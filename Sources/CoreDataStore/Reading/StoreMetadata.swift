import Archives

/// The content of a store's Z_METADATA.
package struct StoreMetadata: Sendable, Equatable {
    /// The store identifier in object URIs, as text.
    package var uuid: String
    /// The whole property list.
    package var propertyList: [String: PropertyListValue]

    /// The keys of Z_PLIST that belong to Core Data. All others are the application's.
    package static let frameworkKeys: Set<String> = [
        "NSStoreType", "NSStoreUUID", "NSPersistenceFrameworkVersion", "NSPersistenceMaximumFrameworkVersion",
        "NSStoreModelVersionHashes", "NSStoreModelVersionHashesVersion", "NSStoreModelVersionHashesDigest",
        "NSStoreModelVersionIdentifiers", "NSStoreModelVersionChecksumKey", "_NSAutoVacuumLevel", unknownHashesKey,
    ]

    /// A key of Stagecoach: the names of the entities whose hashes only Core Data can compute, and which a store made by
    /// Stagecoach lacks.
    package static let unknownHashesKey = "StagecoachUnknownVersionHashes"

    package init(uuid: String, propertyList: [String: PropertyListValue]) {
        self.uuid = uuid
        self.propertyList = propertyList
    }

    /// The version hashes by entity name, 32 bytes each, without those that only Core Data knows; empty if the store has none.
    package var versionHashes: [String: [UInt8]] {
        guard case .dictionary(let hashes) = propertyList["NSStoreModelVersionHashes"] else { return [:] }
        var found: [String: [UInt8]] = [:]
        for case (let name, .data(let bytes)) in hashes { found[name] = bytes }
        if case .array(let names) = propertyList[Self.unknownHashesKey] {
            for case .string(let name) in names where found[name] == nil { found[name] = [] }
        }
        return found
    }
    /// The version of the hashes: 3 since 2005.
    package var versionHashesVersion: Int64? { integer("NSStoreModelVersionHashesVersion") }
    /// The identifiers of the model version, in the file's order.
    package var versionIdentifiers: [String] {
        let members: [PropertyListValue]
        switch propertyList["NSStoreModelVersionIdentifiers"] {
        case .array(let values), .set(let values): members = values
        default: return []
        }
        return members.compactMap { member in
            guard case .string(let text) = member else { return nil }
            return text
        }
    }
    /// The build of the framework that wrote last.
    package var frameworkVersion: Int64? { integer("NSPersistenceFrameworkVersion") }
    package var versionHashesDigest: String? { string("NSStoreModelVersionHashesDigest") }
    package var versionChecksum: String? { string("NSStoreModelVersionChecksumKey") }
    package var storeType: String? { string("NSStoreType") }
    /// The application's own keys and values, by key in code point order.
    package var applicationValues: [(key: String, value: PropertyListValue)] {
        propertyList.filter { !StoreMetadata.frameworkKeys.contains($0.key) }
            .sorted { $0.key.unicodeScalars.lexicographicallyPrecedes($1.key.unicodeScalars) }
            .map { ($0.key, $0.value) }
    }

    private func integer(_ key: String) -> Int64? {
        guard case .integer(let value) = propertyList[key] else { return nil }
        return value
    }
    private func string(_ key: String) -> String? {
        guard case .string(let value) = propertyList[key] else { return nil }
        return value
    }
}

/// A row of Z_PRIMARYKEY.
package struct PrimaryKeyRow: Sendable, Equatable {
    /// Z_ENT: the entity's number in this file.
    package var number: Int
    /// Z_NAME: the entity's name, which an in-place migration may have left stale.
    package var name: String
    /// Z_SUPER: number of the parent entity, 0 for none.
    package var parent: Int
    /// Z_MAX: highest key handed out; kept on root entities only.
    package var maximum: Int64
}
