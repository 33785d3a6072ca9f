import CoreDataStore
import TestSupport
import Testing

@testable import Stagecoach

/// The part of an interrupted run's row counts that a resumed run takes over.
@Suite("Census of the source") struct SourceCensusTests {
    private let fixture: PolicyFixture
    private let store: SourceStore
    private let layout: StoreLayout
    private let counted: SourceCensus

    init() throws {
        fixture = try PolicyFixture(persons: 7)
        store = try SourceStore(
            path: fixture.sourcePath, cacheBytes: 1 << 20, valueLimit: 1 << 20, temporaryDirectory: fixture.folder.path)
        layout = try store.layout(for: fixture.source)
        counted = try SourceCensus(source: store, layout: layout)
    }

    @Test("A count is taken over if it fits the tables, and is that of the source; others are not believed")
    func takenOver() throws {
        #expect(counted.rows.map { $0.values.reduce(0, +) }.sorted() == [1, 7, 7] && counted.strays == 0)
        let taken = try #require(SourceCensus(counted: counted.rows, strays: 2, layout: layout))
        #expect(taken.rows == counted.rows && taken.strays == 2)
        for entity in fixture.source.entities { #expect(taken.count(of: entity) == counted.count(of: entity)) }

        func census(_ change: (inout [[Int: Int]]) -> Void, strays: Int = 0) -> SourceCensus? {
            var rows = counted.rows
            change(&rows)
            return SourceCensus(counted: rows, strays: strays, layout: layout)
        }
        #expect(census { _ in } != nil)
        #expect(census { $0.removeLast() } == nil)
        #expect(census { $0.append([:]) } == nil)
        #expect(census { $0[0][99] = 1 } == nil)
        #expect(census { $0[0] = $0[0].mapValues { _ in -1 } } == nil)
        // Sums of these would be none.
        #expect(census { $0[0] = $0[0].mapValues { _ in .max } } == nil)
        #expect(census({ _ in }, strays: -1) == nil && census({ _ in }, strays: .max) == nil)
    }

    @Test("Counts are taken from a run over the unchanged source, and from no other")
    func sameSource() throws {
        var known = MigrationPlan.Store(store.fingerprint, uuid: store.metadata.uuid)
        func header() -> JournalRecord.Header {
            JournalRecord.Header(
                inputs: .init(
                    source: known, destination: nil, sourceModel: [:], destinationModel: [:], mappingModels: [],
                    options: [:]), options: [:], policies: [:], work: "", sourceRows: counted.rows, started: 0, uuid: ""
            )
        }
        #expect(header().census(of: store, layout)?.rows == counted.rows)
        known.changeCounter += 1
        #expect(header().census(of: store, layout) == nil)
    }
}
