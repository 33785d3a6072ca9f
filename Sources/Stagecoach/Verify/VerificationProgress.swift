import PersistentStore

/// How far a verification is, told by the steps of SQLite's machine: all that it does reads and writes through SQLite.
///
/// Each part has its share of rows, about as many as it reads; it is worked off at the pace at which rows are read elsewhere,
/// never beyond, and done when the part is. The same steps are when a verification looks whether it is to end: a check of all
/// pages has no rows in between.
///
/// Memory: a few numbers.
final class VerificationProgress {
    /// Rows that 100,000 steps read: measured, 40 to 80 steps are a row's.
    private static let rowsPerPulse = 1700

    private let counter: ProgressCounter
    private let cancellation: CancellationFlag
    private var done = 0
    private var end = 0

    init(_ counter: ProgressCounter, cancellation: CancellationFlag) {
        self.counter = counter
        self.cancellation = cancellation
    }

    /// What a connection asks every 100,000 steps, some milliseconds apart (``Connection/interrupt(when:)``).
    var pulse: () -> Bool {
        { [weak self] in
            guard let self else { return false }
            if done < end {
                let rows = min(Self.rowsPerPulse, end - done)
                done += rows
                counter.advance(rows: rows)
            }
            return cancellation.error != nil
        }
    }

    /// Says how many rows all parts have together.
    func begin(rows: Int) {
        counter.go(to: 0)
        counter.enter(pass: 0, of: 0)
        counter.begin(.verify)
        counter.expect(rows: rows)
    }

    /// Does a part of so many rows.
    ///
    /// - Throws: what asked for the end, in the place of what SQLite says of it.
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

/// How many rows the parts of a verification read, about: by the highest keys of the tables, which are known before anything is
/// counted.
struct VerificationShares {
    /// Of SQLite's own check, of a look at the schema, and of the references.
    let file: Int
    let schema: Int
    let references: Int
    /// Of the source's objects, which are numbered.
    let expected: Int
    /// Of the objects of each of the destination's tables, attribute by attribute.
    let tables: [Int]
    /// Of each relationship's links with those of its inverse, by ``LinkPair/index``.
    let links: [Int]

    var all: Int { file + schema + references + expected + tables.reduce(0, +) + links.reduce(0, +) }

    init(_ plan: VerificationPlan) {
        // What a file says of its highest keys may be more than can be summed.
        func rows(_ table: SourceTable) -> Int { Int(clamping: min(max(0, table.maximumKey), 1 << 32)) }
        let keys = plan.destination.tables.map(rows)
        let objects = keys.reduce(0, +)
        file = objects
        schema = objects / 4
        references = objects
        expected = plan.mappings.reduce(0) { $0 + (plan.sourceTable($1).map { rows(plan.source.tables[$0]) } ?? 0) }
        tables = keys.map { $0 * 3 }
        let model = plan.destination.schema
        links = plan.linkPairs.map { pair in
            let near = keys[model.tableIndex(of: pair.near.entity)]
            return 2 * (near + (pair.far.map { keys[model.tableIndex(of: $0.entity)] } ?? 0))
        }
    }
}
