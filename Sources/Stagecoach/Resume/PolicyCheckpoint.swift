import Diagnostics
import Foundation
import Mapping
import SpillStorage

/// The states of a run with user code. They hold the results of its stages, so that a killed run resumes inside an entity.
///
/// States are possible if no user code loses anything with the process: each policy has no stored properties or conforms to
/// ``ResumablePolicy``, and `userInfo` fits a property list. Otherwise no state is taken before the load, in which no user code
/// runs.
final class PolicyCheckpoint {
    private let modelRun: ModelRun
    private let mappings: [PlannedMapping]
    private let runtime: PolicyRuntime
    private let keys: PlanKeys
    private let policies: Policies
    private let manager: MigrationManager
    private let checkpoints: CheckpointScheduler?
    /// The position in the stages.
    var position = StagePosition(phase: .create)
    /// The counts at the beginning of the load; nil before it.
    private var countsBeforeLoad: MigrationCounts?
    /// The version of all property mappings' expressions when the stages began.
    private let mappingVersion = PropertyMapping.changes
    private let canKeepPolicies: Bool
    /// The size of the last state in bytes.
    private var lastSize = 0

    /// The part of a state that is not in the objects and associations.
    private struct Outline: Codable {
        var position: StagePosition
        var deferred: DeferredLinks.Saved
        var counts: MigrationCounts
        /// The checkpoints of the policies, by entity mapping.
        var policies: [Int: Data]
        var userInfo: Data?
    }

    init(
        modelRun: ModelRun, mappings: [PlannedMapping], runtime: PolicyRuntime, keys: PlanKeys,
        policies: Policies, manager: MigrationManager, checkpoints: CheckpointScheduler?
    ) {
        self.modelRun = modelRun
        self.mappings = mappings
        self.runtime = runtime
        self.keys = keys
        self.policies = policies
        self.manager = manager
        self.checkpoints = checkpoints
        canKeepPolicies = Self.obstacle(mappings, policies, manager) == nil
    }

    /// Returns the reason that user code cannot be resumed, a sentence without a full stop. Returns nil if it can.
    static func obstacle(_ mappings: [PlannedMapping], _ policies: Policies, _ manager: MigrationManager) -> String? {
        if !PolicyStoredProperties.isAbsent(in: manager) { return "the manager \(type(of: manager)) holds a state" }
        for mapping in mappings {
            guard let policy = policies[mapping], let name = policies.statefulName(mapping, policy) else { continue }
            return "the policy \(name) of \(mapping.name) holds a state and is no ResumablePolicy"
        }
        guard UserInfoArchive.bytes(of: manager.userInfo) != nil else {
            return "the manager's userInfo holds what no property list can"
        }
        return nil
    }

    // MARK: - Saving

    /// Begins the stages: states have their results.
    func begin() { checkpoints?.stages(self) }

    /// Ends the stages. The load may follow later.
    func end() { checkpoints?.stages(nil) }

    /// Notes the position that the stages have reached, between two calls of user code, and takes a state if one is due.
    func reach(_ position: StagePosition) throws {
        self.position = position
        try checkpoints?.tickStages()
    }

    /// Records that the load begins. No user code runs from here on.
    func beginLoad() {
        position = StagePosition(phase: .load)
        countsBeforeLoad = modelRun.tally.counts
    }

    /// Encodes the stages. Flushes their in-memory parts to their files. Returns nil if the stages cannot be saved.
    ///
    /// - Throws: the error of a policy's `checkpoint()`; `spill.…`.
    func bytes() throws -> [UInt8]? {
        guard modelRun.touched?.isEmpty ?? true, !runtime.objects.rows.contains(where: \.hasDeletedStored),
            runtime.objects.rows.allSatisfy(\.canBeSaved)
        else { return nil }
        var held: [Int: Data] = [:]
        // During the load only the caller still needs it, after the run. So it need not have an encoding then.
        let userInfo = UserInfoArchive.bytes(of: manager.userInfo)
        if position.phase < .load {
            // Nothing reads transient values in the load.
            guard canKeepPolicies, runtime.objects.transients.isEmpty, runtime.sources.transients.isEmpty,
                mappingVersion == PropertyMapping.changes,
                runtime.sourceContext.userInfo.count == 0, runtime.destinationContext.userInfo.count == 0,
                userInfo != nil
            else { return nil }
            for mapping in mappings where hasBegun(mapping) {
                if let policy = policies[mapping] as? any ResumablePolicy {
                    held[mapping.index] = try policy.checkpoint()
                }
            }
        }
        let outline = Outline(
            position: position, deferred: runtime.linkSetter.deferred.saved,
            counts: countsBeforeLoad ?? modelRun.tally.counts, policies: held, userInfo: userInfo.map { Data($0) })
        var coder = StateCoder(capacity: lastSize + lastSize / 16)
        var head = Array(try JSONEncoder().encode(outline))
        try coder.code(bytes: &head)
        try codeContent(with: &coder)
        lastSize = coder.bytes.count
        return coder.bytes
    }

    /// Writes or reads the objects, the associations and the unmigrated references.
    private func codeContent(with coder: inout StateCoder) throws(MigrationError) {
        try modelRun.run.codeSourceChanges(with: &coder)
        try runtime.objects.code(with: &coder, keys: keys.byMapping)
        for table in ownAssociations { try table.code(with: &coder) }
        let unmigrated = modelRun.missing.unmigrated
        var hasUnmigrated = unmigrated != nil
        try coder.code(&hasUnmigrated)
        guard hasUnmigrated else { return }
        guard let unmigrated else { throw StateReader.damaged("unmigrated references") }
        try unmigrated.code(with: &coder, model: modelRun.inputs.destinationSchema.model)
    }

    /// The associations of the current mapping model.
    private var ownAssociations: ArraySlice<MappingAssociations> {
        runtime.associations.dropFirst(modelRun.archive.tables.count)
    }

    /// Tells whether a mapping's policy has been called.
    private func hasBegun(_ mapping: PlannedMapping) -> Bool {
        guard position.phase == .create else { return true }
        guard let current = position.mapping else { return false }
        return mapping.index < current || mapping.index == current && position.hasBegun
    }

    // MARK: - Resuming

    /// Restores the stages of a killed run.
    ///
    /// - Throws: `journal.damaged`, `spill.io` (74); the error of a policy, wrapped as `policy.failed`.
    func restore(from bytes: [UInt8]) throws {
        var coder = StateCoder(reading: bytes)
        var head: [UInt8] = []
        try coder.code(bytes: &head)
        guard let outline = try? JSONDecoder().decode(Outline.self, from: Data(head)) else {
            throw StateReader.damaged("the stages' position")
        }
        position = outline.position
        modelRun.tally.counts = outline.counts
        if position.phase == .load { countsBeforeLoad = outline.counts }
        try codeContent(with: &coder)
        try coder.finish()
        runtime.linkSetter.deferred.restore(outline.deferred)
        if let info = outline.userInfo { manager.userInfo = try UserInfoArchive.info(Array(info)) }
        for mapping in mappings {
            guard let policy = policies[mapping] as? any ResumablePolicy, let data = outline.policies[mapping.index]
            else { continue }
            do {
                try policy.restore(from: data)
            } catch {
                var context = mapping.context
                context.policy = "\(type(of: policy)).restore"
                throw MigrationError.ofUserCode(error, in: context)
            }
        }
    }
}
