import Diagnostics
import SpillStorage
import TestSupport
import Testing

@testable import CoreDataStore
@testable import Stagecoach

@Suite("Records of a run's journal") struct RunRecordTests {
    /// A state with something in every field.
    private static func state(_ random: inout SeededGenerator) -> JournalRecord.State {
        func number() -> Int { Int.random(in: -3...1 << 40, using: &random) }
        func numbers() -> [Int] { (0..<Int.random(in: 0...3, using: &random)).map { _ in number() } }
        func keys() -> [Int64] { numbers().map(Int64.init) }
        func flags() -> [Bool] { numbers().map { $0 % 2 == 0 } }
        func text() -> String { ["", "a", "Größe", "\u{0}'\""].randomElement(using: &random) ?? "" }
        func named() -> [String: Int] { Dictionary(numbers().map { (text(), $0) }) { $1 } }
        func bytes() -> [UInt8]? { Bool.random(using: &random) ? numbers().map { UInt8(truncatingIfNeeded: $0) } : nil }
        var counts = MigrationCounts()
        counts.mappings = numbers().map { count in
            var mapping = MigrationCounts.Mapping(name: text(), sourceEntity: text(), destinationEntity: nil)
            mapping.sourceObjects = count
            mapping.filtered = number()
            mapping.migrated = number()
            mapping.droppedByPolicy = number()
            mapping.rejected = number()
            mapping.rejectedObjects = number()
            mapping.rejectedByRule = named()
            mapping.created = number()
            mapping.createdByPolicy = number()
            mapping.unassociated = number()
            return mapping
        }
        (counts.withoutMapping, counts.removed, counts.warnings, counts.created) = (named(), named(), named(), named())
        (counts.strays, counts.danglingReferences, counts.unmigratedReferences) = (number(), number(), number())
        (counts.surplusToOne, counts.links, counts.externalValues) = (number(), number(), number())
        (counts.externalFilesCreated, counts.missingExternalFiles) = (number(), number())
        func nilLines() -> [NilReferences] {
            NilReferences.Cause.allCases.filter { _ in Bool.random(using: &random) }.map {
                NilReferences(
                    relationship: text(), cause: $0, name: Bool.random(using: &random) ? text() : nil,
                    destinationEntity: text(), count: number(), samples: [text()])
            }
        }
        func furtherLines() -> [FurtherObjects] {
            numbers().map {
                FurtherObjects(
                    relationship: text(), inverse: Bool.random(using: &random) ? text() : nil,
                    kept: $0 % 2 == 0 ? .first : .lastLinked, count: $0)
            }
        }
        let (nilReferences, furtherObjects) = (nilLines(), furtherLines())
        counts.nilReferences = nilReferences.isEmpty ? nil : nilReferences
        counts.furtherObjects = furtherObjects.isEmpty ? nil : furtherObjects
        let missing = ExternalFiles.Missing(entity: text(), key: 7, attribute: text(), file: text())
        var knowledge = DestinationStore.Knowledge()
        (knowledge.indexed, knowledge.indexedJoins) = ([0, 300], [2])
        (knowledge.isAppending, knowledge.firstStamp) = (Bool.random(using: &random), Int64(number()))
        var state = JournalRecord.State(
            stamp: Int64(number()), unit: number(), pages: Bool.random(using: &random) ? number() : nil,
            progress: .init(
                counts: counts, rowsWritten: numbers(), linksWritten: numbers(), highest: keys(),
                missing: [3: [missing], 1: []], work: number()),
            knowledge: knowledge)
        if Bool.random(using: &random) {
            state.rejects = .init(
                made: number(), rounds: number(), skippedRows: number(), stamp: Int64(number()))
            state.appended = .init(
                identity: keys(), highestKeys: keys(), hasRows: flags(), rows: numbers(), links: numbers())
            state.before = .init(knowledge: knowledge, stamp: Int64(number()), pages: number())
        }
        (state.hasDuplicates, state.isComplete) = (Bool.random(using: &random), Bool.random(using: &random))
        state.modelProgress = .init(
            done: number(), hasRows: [flags(), flags()], isStaged: flags(), highestKeys: keys(),
            hasDeletions: Bool.random(using: &random), isAtBeginning: Bool.random(using: &random))
        if Bool.random(using: &random) {
            state.modelProgress.written = .init(counts: counts, rows: numbers(), links: numbers())
            var rejects = RejectReport()
            (rejects.objects, rejects.removedReferences, rejects.rounds) = (number(), number(), number())
            (rejects.byRule, rejects.byEntity, rejects.file) = (named(), named(), text())
            rejects.sample = numbers().map { number in
                RejectedObject(
                    entity: text(), id: text(), sourceID: nil, otherSourceIDs: number % 2 == 0 ? [text()] : nil,
                    property: text(), rule: .unique, value: text(), mapping: nil)
            }
            state.modelProgress.rejects = rejects
            state.modelProgress.rejectingTables = numbers()
        }
        (state.stages, state.models, state.references) = (bytes(), bytes(), bytes())
        return state
    }

    @Test("A state reads as it was written, and cut short at any byte it is none", arguments: 1...40)
    func states(seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed))
        let state = Self.state(&random)
        let record = JournalRecord.record(state)
        let read = try #require(JournalRecord.state(record))
        // Every field, dictionaries in any order.
        #expect(Self.fields(read) == Self.fields(state))
        #expect(JournalRecord.record(read) == record)
        for count in record.body.indices {
            #expect(JournalRecord.state(.init(kind: record.kind, body: Array(record.body.prefix(count)))) == nil)
        }
        #expect(JournalRecord.state(.init(kind: record.kind, body: record.body + [0])) == nil)
    }

    @Test("A header reads as it was written; one cut short at any byte is refused", arguments: 1...20)
    func headers(seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed))
        func text() -> String { ["", "a", "Größe", "\u{0}'\""].randomElement(using: &random) ?? "" }
        func texts() -> [String] { (0..<random.below(4)).map { _ in text() } }
        func named() -> [String: String] { Dictionary(texts().map { ($0, text()) }) { $1 } }
        func store() -> MigrationPlan.Store? {
            guard !random.chance(3) else { return nil }
            return .init(
                uuid: text(), size: Int64(random.below(1 << 40)), changeCounter: .max, schemaCookie: 7,
                logSize: random.chance(2) ? nil : 4096, logFrame: -1, logHash: text())
        }
        let header = JournalRecord.Header(
            inputs: .init(
                source: store(), destination: store(), sourceModel: named(), destinationModel: named(),
                mappingModels: texts().map { _ in texts().map { .init(name: $0, digest: text()) } }, options: named()),
            options: named(), policies: named(), policyCode: random.chance(2) ? nil : texts(), models: texts(),
            work: text(),
            sourceRows: texts().map { _ in Dictionary(texts().map { _ in (random.below(9), random.below(1000)) }) { $1 }
            },
            strays: random.below(3), destinationBytes: random.below(1 << 40), started: -0.1 * Double(seed), uuid: text()
        )
        let record = JournalRecord.record(header)
        let read = try #require(JournalRecord.header(record))
        #expect(Self.fields(read) == Self.fields(header))
        #expect(JournalRecord.record(read) == record)
        for count in record.body.indices {
            #expect(JournalRecord.header(.init(kind: record.kind, body: Array(record.body.prefix(count)))) == nil)
        }
        #expect(JournalRecord.header(.init(kind: record.kind, body: record.body + [0])) == nil)
    }

    @Test("The knowledge of absent indexes reads as it was written")
    func knowledge() throws {
        let folder = try TemporaryFolder()
        let connection = try Connection(path: folder.file("a"), flags: 6, vfs: nil)
        try connection.execute("CREATE TABLE t(a, b); CREATE UNIQUE INDEX i ON t(a, b DESC); CREATE INDEX j ON t(b)")
        var knowledge = DestinationStore.Knowledge()
        knowledge.indexed = [1]
        knowledge.absent["t"] = try AbsentIndexes(takingFrom: "t", connection)
        let bytes = StateCoder.bytes(of: knowledge)
        #expect(try StateCoder.value(DestinationStore.Knowledge.self, from: bytes) == knowledge)
    }

    /// All that a value holds, by name.
    private static func fields(_ value: Any) -> String {
        let mirror = Mirror(reflecting: value)
        guard !mirror.children.isEmpty else { return "\(value)" }
        // Neither has an order.
        if mirror.displayStyle == .dictionary || mirror.displayStyle == .set {
            return "[" + mirror.children.map { fields($0.value) }.sorted().joined(separator: ", ") + "]"
        }
        return "(" + mirror.children.map { "\($0.label ?? ""): \(fields($0.value))" }.joined(separator: ", ") + ")"
    }
}
