import CoreDataStore

/// Measures the progress of a verification by the rows that it reads, and where SQLite reads them by the steps of its
/// virtual machine.
///
/// Each part has a share of rows, about as many as it reads. The share is counted down, for steps at a measured pace, never
/// beyond its end, and is complete when the part ends. At the same steps the verification checks whether it has been
/// cancelled: a check of all pages has no rows at which to do so.
///
/// Memory: a few numbers.
final class VerificationProgress {
    /// The number of rows that 100,000 steps read: 40 to 80 steps a row, measured.
    private static let rowsPerPulse = 1700

    private let counter: ProgressCounter
    private let cancellation: CancellationFlag
    private var done = 0
    private var end = 0

    init(_ counter: ProgressCounter, cancellation: CancellationFlag) {
        self.counter = counter
        self.cancellation = cancellation
    }

    /// The closure that a connection calls every 100,000 steps, some milliseconds apart
    /// (``Connection/interrupt(when:)``).
    var pulse: () -> Bool {
        { [weak self] in
            guard let self else { return false }
            advance(rows: Self.rowsPerPulse)
            return cancellation.error != nil
        }
    }

    /// Counts rows that were read, up to the share of the part at work.
    func advance(rows: Int) {
        let counted = min(rows, end - done)
        guard counted > 0 else { return }
        done += counted
        counter.advance(rows: counted)
    }

    /// Sets the number of rows, and how many all parts together read.
    func begin(rows: Int, reads: Int) {
        counter.go(to: 0)
        counter.enter(pass: 0, of: 0)
        counter.begin(.verify)
        counter.expect(rows: rows, work: reads)
    }

    /// Runs a part with a share of rows.
    ///
    /// - Throws: the error of a cancellation, instead of the one that SQLite reports for it.
    func part<Result>(_ rows: Int, _ body: () throws -> Result) throws -> Result {
        end = done + rows
        defer {
            counter.advance(rows: end - done)
            done = end
        }
        do { return try body() } catch {
            throw cancellation.error ?? error
        }
    }
}

/// The estimated number of rows that each part of a verification reads, judged by the highest keys of the tables, which
/// are known before anything is counted.
struct VerificationShares {
    /// The shares of the checks of the file and of the schema.
    let file: Int
    let schema: Int
    /// The share of the source's objects, which are numbered.
    let expected: Int
    /// The share of each destination table's objects, compared attribute by attribute.
    let tables: [Int]
    /// The share of each relationship's links together with its inverse's, by ``LinkPair/index``.
    let links: [Int]

    var all: Int { file + schema + expected + tables.reduce(0, +) + links.reduce(0, +) }

    init(_ plan: VerificationPlan) {
        // A damaged file may give highest keys too large to be summed.
        func rows(_ table: SourceTable) -> Int { Int(clamping: min(max(0, table.maximumKey), 1 << 32)) }
        let keys = plan.destination.tables.map(rows)
        file = keys.reduce(0, +)
        schema = file / 4
        expected = plan.mappings.reduce(0) { $0 + (plan.sourceTable($1).map { rows(plan.source.tables[$0]) } ?? 0) }
        tables = keys.map { $0 * 3 }
        links = plan.linkPairs.map { keys[plan.destination.schema.tableIndex(of: $0.near.entity)] }
    }
}
