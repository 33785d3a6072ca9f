import CoreDataStore
import Diagnostics
import ManagedModel
import Mapping

extension MigrationPlan {
    /// The inputs that a plan was made for: enough to see whether it still fits, and what differs.
    public struct Inputs: Sendable, Codable, Equatable {
        /// The source store; nil for a private store between two steps of a chain, which is not known beforehand.
        public var source: Store?
        /// The store that is appended to; nil for a fresh destination.
        public var destination: Store?
        /// Version hashes of the source's entities, in hexadecimal digits.
        public var sourceModel: [String: String]
        /// Version hashes of the destination's entities, in hexadecimal digits.
        public var destinationModel: [String: String]
        /// The digests of each mapping model's entity mappings, in hexadecimal digits.
        public var mappingModels: [[MappingDigest]]
        /// Options that the plan depends on, as the command spells them. Options with their default value are absent.
        public var options: [String: String]
    }

    /// An entity mapping's name and a digest of its contents.
    public struct MappingDigest: Sendable, Codable, Equatable {
        /// The entity mapping's name.
        public var name: String
        /// A digest of its contents.
        public var digest: String
    }

    /// A state of a store.
    public struct Store: Sendable, Codable, Equatable {
        /// The store's UUID.
        public var uuid: String
        /// The size of the main file, in bytes.
        public var size: Int64
        /// SQLite's counter of changes to the file.
        public var changeCounter: UInt32
        /// SQLite's counter of changes to the schema.
        public var schemaCookie: UInt32
        /// The size of the -wal file, in bytes; nil if there is none.
        public var logSize: Int64?
        /// The last frame of the -wal file that commits.
        public var logFrame: Int64
        /// A digest of the contents of the -wal file.
        public var logHash: String
    }
}

extension MigrationPlan.Store {
    init(_ fingerprint: StoreFingerprint, uuid: String) {
        func number(at offset: Int) -> UInt32 {
            guard fingerprint.header.count >= offset + 4 else { return 0 }
            return fingerprint.header[offset..<offset + 4].reduce(0) { $0 << 8 | UInt32($1) }
        }
        self.init(
            uuid: uuid, size: fingerprint.size, changeCounter: number(at: 24), schemaCookie: number(at: 40),
            logSize: fingerprint.walSize, logFrame: fingerprint.lastCommitFrame,
            logHash: String(fingerprint.walHash, radix: 16))
    }

    /// Returns the differences from a store as it is now, in words.
    func differences(from now: MigrationPlan.Store) -> [String] {
        var lines: [String] = []
        if uuid != now.uuid { lines.append("its UUID is \(now.uuid), it was \(uuid)") }
        if size != now.size { lines.append("it has \(now.size.counted("byte")), it had \(size.grouped)") }
        if schemaCookie != now.schemaCookie { lines.append("its schema was changed") }
        let isSame =
            changeCounter == now.changeCounter && logSize == now.logSize && logFrame == now.logFrame
            && logHash == now.logHash
        if !isSame { lines.append("it was written since") }
        return lines
    }
}

extension MigrationPlan.Inputs {
    /// Returns the differences from the inputs as they are now, one sentence each; empty if the plan fits.
    func differences(from now: MigrationPlan.Inputs) -> [String] {
        var lines: [String] = []
        if let source, let current = now.source {
            lines += source.differences(from: current).map { "the source: \($0)" }
        }
        switch (destination, now.destination) {
        case (nil, nil): break
        case (let old?, let new?): lines += old.differences(from: new).map { "the destination: \($0)" }
        case (nil, _): lines.append("there is a destination to append to, and there was none")
        case (_, nil): lines.append("there is no destination to append to, and there was one")
        }
        lines += Self.differences("the source model", sourceModel, now.sourceModel)
        lines += Self.differences("the destination model", destinationModel, now.destinationModel)
        if mappingModels.count != now.mappingModels.count {
            let (count, before) = (now.mappingModels.count, mappingModels.count)
            lines.append(
                "there \(count == 1 ? "is" : "are") \(count.counted("mapping model")), there were \(before.grouped)")
        } else {
            for (old, new) in zip(mappingModels, now.mappingModels) where old != new {
                let differing = Set(old.map { "\($0.name) \($0.digest)" })
                    .symmetricDifference(new.map { "\($0.name) \($0.digest)" })
                let names = Set(differing.compactMap { $0.split(separator: " ").dropLast().joined(separator: " ") })
                lines.append(
                    names.isEmpty
                        ? "the mapping model: its entity mappings are in another order"
                        : "the mapping model: \(names.sorted().joined(separator: ", ")) changed")
            }
        }
        for name in Set(options.keys).union(now.options.keys).sorted() where options[name] != now.options[name] {
            lines.append("\(name) was \(options[name] ?? "not given"), and is \(now.options[name] ?? "not given") now")
        }
        return lines
    }

    private static func differences(_ what: String, _ old: [String: String], _ new: [String: String]) -> [String] {
        let names = Set(old.keys).union(new.keys).filter { old[$0] != new[$0] }.sorted()
        return names.isEmpty ? [] : ["\(what): \(names.joined(separator: ", ")) changed"]
    }
}

extension MigrationOptions {
    /// The options that a plan depends on, as the command spells them. Keys and passes are in the plan itself.
    var planned: [String: String] {
        var lines: [String: String] = [:]
        if let memoryLimit { lines["--memory-limit"] = String(memoryLimit) }
        if let batchSize { lines["--batch-size"] = String(batchSize) }
        if appendsToExisting { lines["--append"] = "given" }
        if onInvalid != .fail { lines["--on-invalid"] = onInvalid.rawValue }
        if strictValidation { lines["--strict-validation"] = "given" }
        if !transformsValues { lines["--transformable-bytes"] = "given" }
        if !usesStoreSpecificMigrationManager { lines["usesStoreSpecificMigrationManager"] = "false" }
        return lines
    }
}

/// Digests of models and mapping models.
enum InputDigest {
    /// Returns the version hashes of a model by entity.
    static func hashes(_ model: ManagedObjectModel) -> [String: String] {
        model.entityVersionHashesByName.mapValues { $0.hexadecimal }
    }

    /// Returns the digests of a mapping model's entity mappings, taken over their JSON form and the handling of rules
    /// that the source has too.
    ///
    /// Parts of a mapping model built in code may have no JSON form. Then names and expressions' formats are digested.
    static func digests(_ model: MappingModel) -> [MigrationPlan.MappingDigest] {
        model.entityMappings.map { mapping in
            let one = MappingModel()
            one.entityMappings = [mapping]
            one.rulesOfTheSource = model.rulesOfTheSource
            let text = (try? one.json()) ?? outline(mapping)
            return MigrationPlan.MappingDigest(
                name: mapping.name ?? "", digest: SHA256.hash(Array(text.utf8)).hexadecimal)
        }
    }

    private static func outline(_ mapping: EntityMapping) -> String {
        let lines = mapping.propertyMappings.map { "\($0.name ?? "") = \($0.valueExpression?.format ?? "")" }
        return
            ([
                mapping.sourceEntityName ?? "", mapping.destinationEntityName ?? "",
                mapping.entityMigrationPolicyClassName ?? "", mapping.sourceFilter?.format ?? "",
            ] + lines).joined(separator: "\n")
    }
}
