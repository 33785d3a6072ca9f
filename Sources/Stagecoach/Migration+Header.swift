import Archives
import CoreDataStore
import Diagnostics
import ManagedModel
import Mapping
import SpillStorage

extension Migration {
    /// Returns the header of the run's journal: its inputs.
    func journalHeader(
        _ prepared: Prepared, started: Double, uuid: String
    ) throws(MigrationError) -> JournalRecord.Header {
        var inputs = prepared.plan.inputs
        inputs.sourceModel = InputDigest.hashes(sourceModel)
        inputs.destinationModel = InputDigest.hashes(destinationModel)
        inputs.mappingModels = mappingModels.map(InputDigest.digests)
        // A store that is appended to is copied again, so a change of its -wal does not matter.
        inputs.destination = nil
        // These options may differ between the interrupted run and this one.
        inputs.options["--memory-limit"] = nil
        inputs.options["--batch-size"] = nil
        var policies: [String: String] = [:]
        for (number, model) in mappingModels.enumerated() {
            for mapping in model.entityMappings ?? [] {
                guard let name = mapping.entityMigrationPolicyClassName else { continue }
                policies["\(number + 1):\(mapping.name ?? "")"] = name
            }
        }
        var header = JournalRecord.Header(
            inputs: inputs, options: contentOptions, policies: policies, work: Self.digest(prepared.models.map(\.work)),
            started: started, uuid: uuid)
        if !policies.isEmpty, !options.policyCode.isEmpty { header.policyCode = options.policyCode }
        (header.sourceRows, header.strays) = (prepared.census.rows, prepared.census.strays)
        header.destinationBytes = prepared.plan.disk.destination
        header.models = [sourceModel, destinationModel].map { $0.definitionDigest.hexadecimal }
        return header
    }

    /// The options beyond those of a plan that change the contents of the destination, spelled as in the command.
    private var contentOptions: [String: String] {
        var lines: [String: String] = [:]
        if options.keys != .auto { lines["--keys"] = options.keys.rawValue }
        if options.newUUID { lines["--new-uuid"] = "given" }
        if options.isDryRun { lines["--dry-run"] = "given" }
        if options.history != .auto { lines["--history"] = options.history.rawValue }
        if options.cloudKit != .refuse { lines["--cloudkit"] = options.cloudKit.rawValue }
        if options.externalThreshold != MigrationOptions.defaultExternalThreshold {
            lines["--external-threshold"] = String(options.externalThreshold)
        }
        if options.writer != .pages { lines["--writer"] = options.writer.rawValue }
        return lines
    }

    /// Returns a digest of the steps of the work of all mapping models, in order.
    private static func digest(_ works: [PlannedWork]) -> String {
        var steps = StateWriter()
        for work in works {
            for pass in work.passes {
                steps.write(pass.steps.count)
                for step in pass.steps {
                    steps.write(step.table)
                    steps.write(words: step.mappings.map { UInt64($0) })
                    steps.write(step.after)
                    steps.write(step.through)
                    steps.write(step.isLast)
                }
                steps.write(words: pass.joinTables.map { UInt64($0) })
            }
        }
        return SHA256.hash(steps.bytes).prefix(8).hexadecimal
    }
}
