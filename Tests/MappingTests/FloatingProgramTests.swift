import Diagnostics
import ManagedModel
import Rows
import TestSupport
import Testing

@testable import Mapping

/// Programs of floating arithmetic over many rows at once: the values are those of each row alone.
@Suite("Floating programs")
struct FloatingProgramTests {
    /// Four columns of doubles.
    private struct Columns: KeyPathResolver {
        func slot(forKeyPath path: [String], level: Int) throws(MigrationError) -> (slot: Int, type: AttributeType) {
            guard let slot = ["a", "b", "c", "d"].firstIndex(of: path.joined(separator: ".")) else {
                throw MigrationError("test.unknown", .configuration, "no attribute \(path)")
            }
            return (slot, .double)
        }
    }

    private func program(_ format: String, _ type: AttributeType = .double) throws -> ExpressionProgram {
        var columns = Columns()
        return try ExpressionProgram(
            compiling: ValueExpression(parsing: format), to: type, resolver: &columns, context: .init())
    }

    private static func expression(_ random: inout SeededGenerator, depth: Int) -> String {
        guard depth > 0, !random.chance(4) else {
            return random.chance(3)
                ? ["2.5", "-1.0", "1e300", "0.0", "nil"][random.below(5)]
                : "$source.\(["a", "b", "c", "d"][random.below(4)])"
        }
        let sign = ["+", "-", "*", "/"][random.below(4)]
        return "(\(expression(&random, depth: depth - 1)) \(sign) \(expression(&random, depth: depth - 1)))"
    }

    private static func batch(_ rows: Int, _ random: inout SeededGenerator, isTame: Bool) -> RowBatch {
        var batch = RowBatch(slots: 4, rowCapacity: max(1, rows), byteTarget: 1 << 10)
        for key in 0..<rows {
            let row = batch.appendRow(key: Int64(key))
            for slot in 0..<4 {
                batch[row, slot] =
                    switch random.below(isTame ? 8 : 40) {
                    case 0: .null
                    case 1: .integer(Int64(1 + random.below(1000)))
                    case 8: .real(0)
                    case 9: .real(.infinity)
                    case 10: .real(1e308)
                    default: .real(Double(1 + random.below(1_000_000)) / 7)
                    }
            }
        }
        return batch
    }

    @Test("Rows together give what each gives alone", arguments: RandomSeeds.seeds(300))
    func random(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let format = Self.expression(&random, depth: 1 + random.below(4))
        let program = try? program(format)
        // An expression that is refused when it is compiled is no program.
        guard let program else { return }
        let rows = [1, 2, 63, 64, 65, 200][random.below(6)]
        let source = Self.batch(rows, &random, isTame: random.chance(2))
        var together = RowBatch(slots: 2, rowCapacity: rows + 1, byteTarget: 1 << 10)
        var single = RowBatch(slots: 2, rowCapacity: rows + 1, byteTarget: 1 << 10)
        for key in 0...rows {
            together.appendRow(key: Int64(key))
            single.appendRow(key: Int64(key))
        }
        var isComputed = true
        for row in 0..<rows {
            do {
                try program.evaluate(source, row: row, into: &single, destinationRow: row + 1, slot: 1)
            } catch {
                isComputed = false
            }
        }
        let found = program.evaluate(source, rows: 0..<rows, into: &together, from: 1, slot: 1)
        #expect(found == isComputed, "\(format), seed \(seed)")
        guard found else { return }
        for row in 0...rows {
            let (a, b) = (together[row, 1], single[row, 1])
            #expect(a.kind == b.kind && a.bits == b.bits, "\(format), row \(row), seed \(seed)")
        }
    }

    @Test("Programs of floating-point arithmetic alone are computed together")
    func which() throws {
        for format in ["($source.a - 32.0) / 1.8", "$source.a * $source.b + 1.5", "$source.a + nil"] {
            #expect(try program(format).code?.isFloating == true, "\(format)")
        }
        for format in ["$source.a ** 2.0", "sqrt($source.a)", "TERNARY($source.a > 1.0, $source.a, $source.b)"] {
            #expect(try program(format).code?.isFloating == false, "\(format)")
        }
        #expect(try program("$source.a * 2.0", .integer16).code?.isFloating == false)
    }
}
