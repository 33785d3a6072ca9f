import CoreDataStore
import Diagnostics
import Foundation
import ManagedModel
import SpillStorage

/// The state that the parts of one verification share: both stores, the plan, the expected objects, the findings.
final class VerificationContext {
    let source: SourceStore
    let destination: SourceStore
    let options: MigrationOptions
    let findings: VerificationFindings
    let objects: VerifiedObjects
    let external: VerifiedExternal
    let storage: VerificationStorage
    let plan: VerificationPlan
    let manager: LookupStub
    let checkCancelled: () throws -> Void
    private let progress: VerificationProgress
    /// The reason why nothing of the source can be computed again; nil if it can.
    private let obstacle: String?
    private let rejects: VerificationRejects
    private let destinationModel: ManagedObjectModel
    /// The counts of objects by the way in which they were compared.
    var coverage: VerificationCoverage
    /// The comparison with a second run of the policies; nil if they did not run.
    let rerun: RerunVerification?
    /// True if objects may be missing because they were rejected.
    let mayReject: Bool
    let file: FileScreen
    /// The links that are compared with the rows, from the time on when the expected objects are known.
    private(set) lazy var links = LinkScreen(self)
    /// The tables whose rows are exactly those expected, and the pairs whose links all are as expected.
    var exactTables: Set<Int> = []
    private(set) var equalPairs: Set<Int> = []
    /// The links that objects made by members decide alone, by the index of their pair, compared with the rows.
    var memberLinks: [Int: MemberRows.Tally] = [:]
    /// The pairs whose links were worked out one by one, and whether a link differs.
    private var workedPairs: [(pair: LinkPair, differs: Bool)] = []

    /// True if objects were rejected, according to a reject file or to the rows compared so far.
    var hasRejects: Bool { rejects.count > 0 || findings.report.compared.takenForRejected > 0 }

    /// True if the way leads through private stores of other versions.
    var takesSteps: Bool { obstacle != nil }
    var isAppended: Bool { options.appendsToExisting }
    var hasPolicies: Bool { plan.mappings.contains { $0.obstacle != nil } }

    /// Opens both stores.
    ///
    /// - Parameter again: the path of the store made by a second run of the policies; nil if they did not run.
    /// - Throws: the errors of opening the stores, `store.otherModel` (78), `verify.layout` (65), `memory.limit` (78).
    init(
        _ migration: ChainedMigration, folder: String, findings: VerificationFindings, rejects: VerificationRejects?,
        again: String?, checkCancelled: @escaping () throws -> Void
    ) throws {
        self.findings = findings
        self.rejects = rejects ?? VerificationRejects()
        self.checkCancelled = checkCancelled
        progress = VerificationProgress(migration.progress, cancellation: migration.cancellation)
        options = migration.options
        mayReject = migration.options.onInvalid == .reject && rejects == nil
        let runs = migration.runs
        obstacle =
            runs.count == 1
            ? nil
            : "the way takes \(runs.count) migrations through private stores (\(runs[0].obstacle ?? "they do not compose"))"
        destinationModel = runs[runs.count - 1].destination.model
        let resident = ProcessMemory.currentResident() ?? 0
        let room = try Self.room(options, resident: resident)
        let cache = min(16 << 20, room / (again == nil ? 12 : 16))
        let value = max(1 << 20, room / 6)
        let readsPages = options.reader == .pages
        func open(_ path: String) throws(MigrationError) -> SourceStore {
            let store = try SourceStore(path: path, cacheBytes: cache, valueLimit: value, temporaryDirectory: folder)
            store.readsPages = readsPages
            store.comparesReaders = readsPages
            store.limitNeeded = { (resident + 8 * $0) >> 20 + 1 }
            return store
        }
        if !readsPages { findings.note("SQLite read all rows of both stores (--reader sqlite)") }
        source = try open(migration.sourcePath)
        if !options.sourceIsKnownByTables {
            try StoreMatch.check(source.metadata, against: runs[0].source.model, path: migration.sourcePath)
        }
        destination = try open(migration.destinationPath)
        let layout = try source.layout(for: runs[0].source.model, damage: options.damage)
        for repair in layout.damages { findings.note(repair.sentence) }
        for sentence in ValuePredicate.unevaluated(in: destinationModel) { findings.note(sentence) }
        let target: StoreLayout
        do {
            target = try destination.layout(for: destinationModel)
        } catch {
            throw MigrationError(
                "verify.layout", .data, "The destination is no store of the model: \(error.message)",
                context: error.context, cause: error.cause)
        }
        let models = runs.count == 1 ? runs[0].mappingModels : []
        plan = VerificationPlan(
            mappings: try VerifiedMapping.all(models, source: runs[0].source.model, destination: destinationModel),
            modelCount: models.count, source: layout, destination: target, options: options)
        let given = ExternalFolder(store: migration.sourcePath)
        let old = try given.exists() ? given : ExternalFolder(store: source.path)
        external = VerifiedExternal(source: old, destination: ExternalFolder(store: destination.path))
        objects = VerifiedObjects(source: source, layout: layout, external: old, transforms: options.transformsValues)
        coverage = VerificationCoverage(destinationModel, plan.mappings)
        if let again {
            rerun = try RerunVerification(
                open(again), model: destinationModel, external: external.destination, findings: findings)
        } else {
            rerun = nil
        }
        storage = try VerificationStorage(in: folder, memory: room / 3, plan: plan)
        manager = LookupStub(plan: plan, storage: storage)
        let progress = progress
        file = FileScreen(destination, target) { rows in
            progress.advance(rows: rows)
            try checkCancelled()
        }
        for store in [source, destination] { store.interrupt(when: progress.pulse) }
    }

    /// Returns the memory in bytes that the verification may take, below the limit.
    private static func room(_ options: MigrationOptions, resident: Int) throws(MigrationError) -> Int {
        let limit =
            options.memoryRoom.map { resident + $0 } ?? options.memoryLimit ?? MemoryLimit.standard(resident: resident)
        try AddressSpace.check(memoryLimit: limit, resident: resident, least: 12 << 20)
        guard limit - resident >= 6 << 20 else {
            throw MigrationError(
                "memory.limit", .configuration, "The memory limit of \(limit.sizeInWords) is too small to verify",
                remedy: MemoryLimit.remedy(for: limit, least: (resident + 12 << 20) >> 20))
        }
        return limit - resident
    }

    /// Reads some columns of the rows of a table, by ascending key.
    ///
    /// - Parameter entities: the entities of the rows; nil for all rows.
    func rows(
        of store: SourceStore, _ layout: StoreLayout, table: Int, columns: [Int]? = nil, entities: [Int]? = nil
    ) throws(MigrationError) -> SequentialRows {
        try SequentialRows(store, layout, table: table, columns: columns, entities: entities, noteRead: noteRead)
    }

    /// Counts the rows of a batch for the progress, and ends the reading if the verification was cancelled.
    func noteRead(_ rows: Int) throws {
        progress.advance(rows: rows)
        try checkCancelled()
    }

    /// Adds a difference of an object that an entity mapping makes.
    ///
    /// - Parameter source: the source's key.
    func add(
        _ kind: VerificationReport.Kind, _ mapping: VerifiedMapping, _ key: Int64, source: Int64,
        _ property: String? = nil, expected: String?, found: String?
    ) {
        findings.add(
            kind, mapping.destination?.definition.name, plan.objectID(mapping.index, key), property: property,
            expected: expected, found: found, sourceID: mapping.sourceID(source), mapping: mapping.name)
    }

    /// Tells whether a destination object may have existed before an append. Such objects are left out.
    func isOlder(table: Int, key: Int64) -> Bool {
        isAppended && (key <= plan.base[table] || plan.obstacles[table] != nil)
    }

    func close() {
        objects.release()
        rerun?.close()
        storage.close()
        try? source.close()
        try? destination.close()
    }

    /// Runs all parts. Damage reported by SQLite ends a part, not the verification.
    func verify() throws {
        let shares = VerificationShares(plan)
        progress.begin(rows: shares.file, reads: shares.all)
        let structure = StructureVerification(context: self, model: destinationModel)
        try part("the file", shares.file) { try structure.compareFile() }
        findings.report.ranPolicies = rerun != nil
        try part("the schema", shares.schema) { try structure.compareSchema() }
        try part("the metadata") { try structure.compareMetadata() }
        if let obstacle {
            findings.skip("all objects", obstacle, isRerun: rerun != nil)
        }
        try part("the objects") { try compareObjects(shares) }
        try part("the file") { try structure.compareIndexes() }
        if let rerun { try part("what the policies make") { try rerun.compare(self) } }
        try part("the references") { try structure.compareReferences() }
        try part("the uniqueness constraints") { try structure.compareUniqueness() }
        try part("the keys") { try structure.compareKeys(isRecomputed: obstacle == nil) }
        try part("the derived attributes") { try structure.compareDerived() }
        try part("the external data") { try structure.compareExternal() }
        try source.checkUnchanged()
        try destination.checkUnchanged()
        findings.report.compared.entities = coverage.entities
        let missing = findings.report.compared.takenForRejected
        if missing > 0 {
            findings.note(
                missing.counted(
                    "object that the mapping model makes is not there: without --reject-file it counts",
                    "objects that the mapping model makes are not there: without --reject-file they count")
                    + " as rejected")
        }
        for line in coverage.entities where line.checked > 0 && line.mappings.isEmpty {
            findings.note(
                "\(line.checked.counted("object")) of \(line.entity) \(line.checked == 1 ? "is" : "are") made by no mapping "
                    + "that can be worked out: a policy made \(line.checked == 1 ? "it" : "them")"
            )
        }
    }

    /// Runs a part.
    ///
    /// - Parameter rows: the part's share of rows; 0 if it has none, or if parts within it have shares of their own.
    private func part(_ what: String, _ rows: Int = 0, _ body: () throws -> Void) throws {
        do {
            try progress.part(rows, body)
        } catch let error as MigrationError where error.category == .data {
            findings.add(
                .integrity, error.context.entity, error.context.objectID, property: what, expected: "readable",
                found: error.message)
        }
    }

    // MARK: - Objects

    private func compareObjects(_ shares: VerificationShares) throws {
        let expected = ExpectedObjects(
            plan: plan, objects: objects, storage: storage, manager: manager, findings: findings, rejects: rejects,
            noteRead: noteRead)
        let tables = plan.destination.schema.tables.count
        try beginPlan(expected)
        if let obstacle { plan.obstacles = plan.obstacles.map { _ in obstacle } }
        let counts = try progress.part(shares.expected) { try expected.work(isCounting: false).counts }
        try checkUncertain()
        var lines = plan.mappings.map { mapping in
            let own = counts[mapping.index]
            let isKnown =
                (mapping.isDeclarative || mapping.forEach != nil && mapping.obstacle == nil)
                && plan.destinationTable(mapping).flatMap { plan.obstacles[$0] } == nil
            return VerificationReport.Mapping(
                name: mapping.name, sourceEntity: mapping.source?.definition.name,
                destinationEntity: mapping.destination?.definition.name, sourceObjects: own.objects,
                filtered: own.filtered, shared: own.shared > 0 ? own.shared : nil, rejected: own.rejected,
                expected: isKnown ? own.made : nil, found: 0,
                properties: [])
        }
        for (table, obstacle) in plan.obstacles.enumerated() {
            guard let obstacle else { continue }
            let root = plan.destination.schema.model.entity(at: plan.destination.schema.tables[table].root)
            for mapping in plan.mappings where plan.destinationTable(mapping) == table {
                findings.skip(mapping.name, obstacle, isRerun: rerun != nil)
            }
            if self.obstacle == nil, rerun == nil {
                findings.note("The objects of \(root.definition.name) are checked against the model's rules only")
            }
            storage.forgetObjects(ofTable: table)
        }
        for table in 0..<tables {
            try part("the objects of \(plan.destination.tables[table].name)", shares.tables[table]) {
                let rows = RowVerification(self, table: table)
                defer {
                    for mapping in plan.mappings where plan.destinationTable(mapping) == table {
                        let work = rows.work(mapping)
                        lines[mapping.index].found = work.found
                        lines[mapping.index].properties = zip(work.attributes, work.tallies).map { attribute, tally in
                            VerificationReport.Property(
                                name: attribute.attribute.name, origin: attribute.origin,
                                expectedChecksum: tally.expected.text, foundChecksum: tally.found.text,
                                differing: tally.differing)
                        }
                    }
                }
                try rows.run()
            }
        }
        findings.report.mappings = lines
        try links.readJoins()
        for pair in plan.linkPairs {
            guard obstacle == nil else {
                rerun?.isOpen[pair.index] = true
                continue
            }
            try part(pair.label, shares.links[pair.index]) { try compare(pair) }
        }
        // An object that is taken for rejected has a key here, and no links in the destination.
        guard !workedPairs.isEmpty, findings.report.compared.takenForRejected == 0 else { return }
        try part("the links of the source") {
            findings.report.sourceLinks = try SourceLinkCount(self, pairs: workedPairs).run()
        }
    }

    /// Sets the keys that the destination had before the run in the plan, if it was appended to.
    private func beginPlan(_ expected: ExpectedObjects) throws {
        let tables = plan.destination.schema.tables.count
        var (base, hasRows) = (plan.base, plan.hasRows)
        guard isAppended else { return }
        let work = try expected.work(isCounting: true)
        var unclear: [Int] = []
        for table in 0..<tables {
            let there = try destination.count(table: table, in: plan.destination)
            let highest = plan.destination.tables[table].maximumKey
            // Rejected objects took numbers too, also in previous runs. So the highest key shows where the new objects
            // begin, whichever were rejected. Policies may take numbers of their own; then the highest key proves
            // nothing unless objects may be rejected.
            guard there > work.made[table] || (mayReject || !hasPolicies) && highest != plan.highest[table] else {
                continue
            }
            // If the table was empty, the new objects kept the source's keys, which may also be keys of older objects.
            let greatest = try destination.greatestKey(table: table, in: plan.destination) ?? 0
            if there <= work.made[table], plan.isKept[table], greatest <= plan.highest[table] { unclear.append(table) }
            base[table] = max(0, highest - work.given[table])
            hasRows[table] = true
        }
        plan.begin(base: base, hasRows: hasRows)
        for table in unclear {
            plan.obstacles[table] = "no reject file tells which of its objects the append added"
        }
    }

    private func compare(_ pair: LinkPair) throws {
        if let line = self.links.line(of: pair) {
            equalPairs.insert(pair.index)
            return findings.report.relationships.append(line)
        }
        if let tally = memberLinks[pair.index], tally.isKnown {
            if tally.differing == 0 { equalPairs.insert(pair.index) }
            return findings.report.relationships.append(pair.line(tally))
        }
        let links = try ExpectedLinks(self, pair: pair)
        if let reason = try links.work() {
            findings.skip(pair.label, reason, isRerun: rerun != nil)
            rerun?.isOpen[pair.index] = true
            return findings.report.relationships.append(pair.line(isRecomputed: false))
        }
        if !links.knowsOrder {
            findings.skip("\(pair.label), its order", "an expression gives the members", isRerun: rerun != nil)
            rerun?.isOpen[pair.index] = true
        }
        let line = try LinkVerification(
            context: self, pair: pair, links: links.links, exchanged: links.exchanged, knowsOrder: links.knowsOrder
        ).run()
        workedPairs.append((pair, line.differing > 0))
        findings.report.relationships.append(line)
    }

    /// Checks the tables whose numbers a policy may have shifted: they are as expected if the highest key is.
    private func checkUncertain() throws {
        for table in plan.isUncertain.indices where plan.isUncertain[table] && plan.obstacles[table] == nil {
            let number = plan.destination.fileNumber(ofEntity: plan.destination.schema.tables[table].root)
            let found = destination.primaryKeys.first { $0.number == number }?.maximum ?? 0
            if found != plan.highest[table] {
                plan.obstacles[table] = "a policy may have taken keys of the table"
            }
        }
    }
}
