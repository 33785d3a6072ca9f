import Diagnostics
import Glibc
import ManagedModel
import Mapping
import Rows

/// `expressions [--rows 1000000]`: evaluates compiled value expressions over batches of rows; prints nanoseconds of
/// processor time an evaluation.
///
/// For instruction counts that no other work disturbs, run it under `valgrind --tool=callgrind`.
enum ExpressionsCommand {
    /// A book's columns.
    private struct Columns: KeyPathResolver {
        static let all: [(name: String, type: AttributeType)] = [
            ("tempF", .double), ("pages", .integer32), ("title", .string), ("subtitle", .string), ("addedAt", .date),
        ]

        mutating func slot(forKeyPath path: [String], level: Int) throws(MigrationError) -> (
            slot: Int, type: AttributeType
        ) {
            guard let slot = Self.all.firstIndex(where: { [$0.name] == path }) else {
                throw Arguments.usage("The row has no \(path.joined(separator: "."))")
            }
            return (slot, Self.all[slot].type)
        }
    }

    private static let expressions: [(name: String, format: String, type: AttributeType)] = [
        ("copy", "$source.title", .string),
        ("constant", "'draft'", .string),
        ("arithmetic of reals", "($source.tempF - 32.0) * 5.0 / 9.0", .double),
        ("arithmetic of integers", "$source.pages * 2 + 1", .integer32),
        ("text from two", "FUNCTION($source.title, 'stringByAppendingString:', $source.subtitle)", .string),
        ("upper case", "uppercase:($source.title)", .string),
        ("condition", "TERNARY($source.pages > 300, 'long', 'short')", .string),
    ]

    static func run(_ list: [String]) throws {
        let arguments = try Arguments(list, options: ["rows"])
        let rows = try arguments.number("rows") ?? 1_000_000
        let source = filled()
        print("expression                 evaluations    ns each")
        for (name, format, type) in expressions {
            var columns = Columns()
            let program = try ExpressionProgram(
                compiling: try ValueExpression(parsing: format), to: type, resolver: &columns,
                context: .init(entity: "Book", property: name, expression: format))
            var made = RowBatch(slots: 1, rowCapacity: source.count, byteTarget: 1 << 20)
            let start = seconds()
            var count = 0
            while count < rows {
                made.removeAll()
                for row in 0..<source.count {
                    let target = made.appendRow(key: Int64(row))
                    try program.evaluate(source, row: row, into: &made, destinationRow: target, slot: 0)
                }
                count += source.count
            }
            let spent = (seconds() - start) * 1e9 / Double(count)
            print(padded(name, 24) + padded("\(count)", -14) + padded("\(Int(spent.rounded()))", -11))
        }
    }

    private static func filled() -> RowBatch {
        var generator = BenchmarkGenerator(seed: 1)
        var text = RandomText(&generator)
        var batch = RowBatch(slots: Columns.all.count, rowCapacity: 500, byteTarget: 1 << 20)
        while !batch.isFull {
            let row = batch.appendRow(key: Int64(batch.count))
            batch[row, 0] = .real(generator.unit() * 100)
            batch[row, 1] = .integer(Int64(generator.below(1000)))
            for slot in 2...3 {
                text.make(10...60, &generator)
                text.bytes.withUnsafeBytes { batch.setBytes($0, kind: .text, row: row, slot: slot) }
            }
            batch[row, 4] = .real(generator.unit() * 1e9)
        }
        return batch
    }

    /// A text with spaces behind it, or before it where the width is negative.
    private static func padded(_ text: String, _ width: Int) -> String {
        let space = String(repeating: " ", count: max(0, abs(width) - text.count))
        return width < 0 ? space + text : text + space
    }

    /// Processor time of the process.
    private static func seconds() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
