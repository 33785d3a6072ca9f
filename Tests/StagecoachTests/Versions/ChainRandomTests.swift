import CSQLite
import CoreDataStore
import Diagnostics
import Foundation
import ManagedModel
import Mapping
import Stagecoach
import Synchronization
import TestSupport
import Testing

@Suite("Random chains of versions, fused and step by step")
struct ChainRandomTests {
    static let seeds = RandomSeeds.seeds(24)

    private static let tally = Mutex((steps: 0, runs: 0, failed: 0))

    @Test("Inferred steps give the same rows, keys and object ids, fused or one by one", arguments: seeds)
    func inferred(seed: UInt64) throws {
        #expect(try differences(try RandomChain(seed: seed)) == [])
    }

    @Test("So do steps with explicit mapping models", arguments: seeds)
    func explicit(seed: UInt64) throws {
        #expect(try differences(try RandomChain(seed: seed, hasMappings: true)) == [])
    }

    /// Returns the differences between a fused chain's result and that of its steps one by one.
    private func differences(_ chain: RandomChain) throws -> [String] {
        var steps: [MigrationStep] = []
        for (index, explicit) in chain.mappings.enumerated() {
            let (from, to) = (chain.versions[index], chain.versions[index + 1])
            guard let mapping = explicit ?? (try? MappingModel.inferred(from: from, to: to)) else { break }
            steps.append(
                MigrationStep(
                    from: ModelVersion(name: "\(index + 1)", model: from),
                    to: ModelVersion(name: "\(index + 2)", model: to), mappingModels: [mapping]))
        }
        guard steps.count > 1 else { return [] }
        let folder = try TemporaryFolder()
        let source = folder.file("source.sqlite")
        try chain.store.write(path: source)
        let before = try Data(contentsOf: URL(fileURLWithPath: source))
        let fused = try outcome(steps, source, folder, fuses: true)
        let apart = try outcome(steps, source, folder, fuses: false)
        var lines: [String] = []
        if try Data(contentsOf: URL(fileURLWithPath: source)) != before { lines.append("the source was changed") }
        let runs = fused.runs
        Self.tally.withLock { tally in
            tally.steps += steps.count
            tally.runs += runs
            if fused.error != nil { tally.failed += 1 }
            print("chains so far: \(tally.steps) steps in \(tally.runs) runs, \(tally.failed) chains with invalid rows")
        }
        switch (fused.store, apart.store) {
        case (let one?, let other?):
            lines += one.differences(from: other) + other.differences(from: one).map { "the other way: \($0)" }
            if fused.ids != apart.ids {
                lines.append("id maps: \(Set(fused.ids).symmetricDifference(apart.ids).sorted().prefix(4))")
            }
        case (nil, nil):
            if fused.error?.code != apart.error?.code { lines.append("\(fused.error!) and \(apart.error!)") }
            if fused.error?.category == .internal { lines.append("\(fused.error!)") }
        default:
            lines.append("fused: \(fused.error?.description ?? "done"), apart: \(apart.error?.description ?? "done")")
        }
        if !lines.isEmpty { print("\(chain), \(runs) runs of \(steps.count) steps: \(lines.prefix(8))") }
        return Array(lines.prefix(12))
    }

    private struct Outcome {
        var store: ReferenceStore?
        var ids: [String] = []
        var error: MigrationError?
        var runs = 0
    }

    private func outcome(
        _ steps: [MigrationStep], _ source: String, _ folder: TemporaryFolder, fuses: Bool
    ) throws -> Outcome {
        let name = fuses ? "fused" : "apart"
        let path = folder.file(name + ".sqlite")
        var options = MigrationOptions()
        options.memoryRoom = 48 << 20
        options.fullCheck = true
        options.idMap = folder.file(name + ".csv")
        let chain = ChainedMigration(from: source, steps: steps, to: path, options: options)
        chain.fusesSteps = fuses
        var outcome = Outcome()
        do {
            outcome.runs = try chain.plan().runs.count
            let report = try chain.run()
            #expect(report.steps?.count == outcome.runs && report.source == source)
            outcome.store = try ReferenceStore.read(path: path, model: steps[steps.count - 1].destination.model)
            outcome.ids = try String(contentsOfFile: folder.file(name + ".csv"), encoding: .utf8)
                .split(separator: "\n").map(String.init).sorted()
        } catch let error as MigrationError {
            outcome.error = error
            #expect(!FileManager.default.fileExists(atPath: path))
        }
        let left = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasPrefix(".") }
        #expect(left == [], "private files stay: \(left)")
        return outcome
    }
}
