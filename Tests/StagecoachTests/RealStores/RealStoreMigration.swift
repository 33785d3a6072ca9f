import CoreDataStore
import Diagnostics
import Foundation
import ManagedModel
import Mapping
import Stagecoach
import TestSupport

/// One inferred migration of a store, run by the engine, and everything that is wrong with its result.
struct RealStoreMigration {
    /// The ending of one migration.
    enum Outcome {
        /// Differences are defects; none should be there.
        case migrated(MigrationReport, differences: [String])
        /// No mapping model can be inferred.
        case refused(MigrationError)
        /// The rows break the destination's rules.
        case invalid(MigrationError, differences: [String])
    }

    let sourcePath: String
    let source: ManagedObjectModel
    let destinationPath: String
    let destination: ManagedObjectModel
    /// A real store of the destination's version.
    var real: RealStore?
    /// The hashes that the destination's compiled model has.
    var compiledHashes: [String: [UInt8]]?
    /// True to compare the rows with the reference's, which is quadratic in rows.
    var usesReference = true
    var variant = MigrationComparison.Variant()
    /// The treatment of properties that cannot be mapped.
    var unmappable = UnmappableProperties.refuse

    func run() throws -> Outcome {
        let mapping: MappingModel
        do throws(MigrationError) {
            mapping = try MappingModel.inferred(from: source, to: destination, unmappable: unmappable)
        } catch {
            return .refused(error)
        }
        let before = try RealStore.files(beside: sourcePath)
        var options = variant.options
        // Errors in the data are looked for, also if only Core Data can compute the destination's hashes.
        options.unknownHashes = .omit
        let result = Result {
            try Migration(
                from: sourcePath, model: source, mapping: mapping, to: destinationPath, model: destination,
                options: options
            ).run()
        }
        let after = try RealStore.files(beside: sourcePath)
        var lines = Set(before.keys).union(after.keys).sorted().compactMap { name in
            before[name] == after[name] ? nil : "the source's \(name) was changed"
        }
        switch result {
        case .success(let report):
            let old = try RealStoreFile(URL(fileURLWithPath: sourcePath))
            let new = try RealStoreFile(URL(fileURLWithPath: destinationPath))
            lines += new.damage
            lines += RealStoreSchema(
                destination: destination, file: new, real: real, source: (sourcePath, source)
            ).differences()
            lines += try metadataDifferences(old, new)
            lines += try modelCacheDifferences()
            lines += try RealStoreColumns(migration: self, mapping: mapping, report: report).differences()
            if usesReference { lines += try rowDifferences(mapping, report) }
            return .migrated(report, differences: lines)
        case .failure(let error as MigrationError):
            if FileManager.default.fileExists(atPath: destinationPath) { lines.append("a destination was left") }
            if error.category != .data || error.context.entity == nil || error.context.property == nil {
                lines.append("the error does not say what is wrong with the data: \(error)")
            }
            if usesReference { lines += try refusalDifferences(mapping, error) }
            return .invalid(error, differences: lines)
        case .failure(let error): throw error
        }
    }

    // MARK: Metadata

    private func metadataDifferences(_ old: RealStoreFile, _ new: RealStoreFile) throws -> [String] {
        var lines: [String] = []
        func expect(_ isRight: Bool, _ what: String) { if !isRight { lines.append("metadata: \(what)") } }
        let (was, now) = (old.metadata, new.metadata)
        expect(now.uuid == was.uuid, "the UUID is \(now.uuid), not \(was.uuid)")
        expect(
            now.applicationValues.map(\.key) == was.applicationValues.map(\.key)
                && zip(now.applicationValues, was.applicationValues).allSatisfy { $0.value == $1.value },
            "application keys are \(now.applicationValues.map(\.key)), not \(was.applicationValues.map(\.key))")
        let hashes = now.versionHashes
        expect(Set(hashes.keys) == Set(destination.entities.map(\.definition.name)), "hashes of \(hashes.keys)")
        for (name, hash) in VersionHash.entityHashes(of: destination) {
            if case .known(let bytes) = hash { expect(hashes[name] == bytes, "the hash of \(name)") }
        }
        expect(now.versionHashesVersion == 3, "the hashes' version")
        expect(now.storeType == "SQLite", "the store type")
        expect(now.propertyList["_NSAutoVacuumLevel"] == .string("2"), "_NSAutoVacuumLevel")
        expect(
            now.versionIdentifiers == destination.definition.versionIdentifiers, "identifiers \(now.versionIdentifiers)"
        )
        expect((now.versionHashesDigest == nil) == (was.versionHashesDigest == nil), "the digest's presence")
        expect((now.versionChecksum == nil) == (was.versionChecksum == nil), "the checksum's presence")
        if let digest = now.versionHashesDigest { expect(digest == VersionHash.digest(of: hashes), "the digest") }
        if let sum = now.versionChecksum { expect(sum == VersionHash.checksum(of: hashes), "the checksum") }
        if let compiledHashes { expect(hashes == compiledHashes, "hashes are not those of the compiled model") }
        if let real {
            let file = try RealStoreFile(real.url).metadata
            expect(hashes == file.versionHashes, "hashes are not those of \(real.name)")
            if let digest = now.versionHashesDigest, let real = file.versionHashesDigest {
                expect(digest == real, "the digest is not the real store's")
            }
            if let sum = now.versionChecksum, let real = file.versionChecksum {
                expect(sum == real, "the checksum is not the real store's")
            }
        }
        return lines
    }

    private func modelCacheDifferences() throws -> [String] {
        guard let cached = try cachedModel() else { return ["there is no cached model"] }
        var lines: [String] = []
        if cached.entityVersionHashesByName != destination.entityVersionHashesByName {
            lines += ["cached model: other hashes"]
            lines += ModelDifference.describe(storeModel: cached, model: destination).map { "cached model: \($0)" }
        }
        let (found, expected) = (StoreSchema(model: cached), StoreSchema(model: destination))
        if RealStoreSchema.statements(found) != RealStoreSchema.statements(expected) {
            lines.append("cached model: another schema")
        }
        return lines
    }

    /// The model that the destination caches.
    func cachedModel() throws -> ManagedObjectModel? {
        let store = try SourceStore(
            path: destinationPath, cacheBytes: 1 << 16, valueLimit: 1 << 24, temporaryDirectory: nil)
        defer { try? store.close() }
        return try store.cachedModel()
    }

    // MARK: Rows

    private func reference(_ mapping: MappingModel) throws -> Result<ReferenceOutcome, ReferenceFailure> {
        ReferenceMigrator(
            source: try ReferenceStore.read(path: sourcePath, model: source), destinationModel: destination,
            mappingModel: mapping
        ).migrate()
    }

    private func rowDifferences(_ mapping: MappingModel, _ report: MigrationReport) throws -> [String] {
        switch try reference(mapping) {
        case .failure(let failure): return ["the reference refuses: \(failure)"]
        case .success(let expected):
            var lines = try ReferenceStore.read(path: destinationPath, model: destination)
                .differences(from: expected.store)
            func expect(_ what: String, _ found: Int, _ expected: Int) {
                if found != expected { lines.append("\(what): \(found), expected \(expected)") }
            }
            expect("dangling references", report.counts.danglingReferences, expected.report.danglingReferences)
            // Numbers of related objects are warned of for each owner by both.
            expect("warnings", report.counts.warnings.values.reduce(0, +), expected.report.warnings.count)
            for (root, isKept) in expected.report.keysKept {
                if report.keys[root] != (isKept ? "kept" : "sequential") { lines.append("keys of \(root)") }
            }
            return lines
        }
    }

    private func refusalDifferences(_ mapping: MappingModel, _ error: MigrationError) throws -> [String] {
        switch try reference(mapping) {
        case .success: return ["the engine fails, the reference does not: \(error)"]
        case .failure(.invalid(let violations)):
            let isKnown = violations.contains {
                $0.entity == error.context.entity && $0.property == error.context.property
                    || $0.rule == .unique && error.code == "validation.uniqueness"
            }
            return isKnown ? [] : ["the engine names another violation than \(violations.prefix(3)): \(error)"]
        case .failure(let failure): return ["the reference fails otherwise: \(failure), the engine: \(error)"]
        }
    }
}
