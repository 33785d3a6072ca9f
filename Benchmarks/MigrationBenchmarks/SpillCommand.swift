import CoreDataStore
import Diagnostics
import Foundation
import Glibc
import ManagedModel
import Rows
import SpillStorage

/// `spill --store FILE [--model MODEL]`: spills every row of a store, reads all of them again, and prints for each table
/// the bytes of its rows, those on disk, and megabytes a second of processor time each way.
enum SpillCommand {
    static func run(_ list: [String]) throws {
        let arguments = try Arguments(list, options: ["store", "model", "memory"])
        let path = try arguments.required("store")
        let store = try SourceStore(
            path: path, cacheBytes: 2 << 20, valueLimit: 8 << 20, temporaryDirectory: nil)
        let model: ManagedObjectModel
        if let given = arguments.text("model") {
            model = try ModelLocator.load(given).model
        } else if let cached = try store.cachedModel() {
            model = cached
        } else {
            throw Arguments.usage("The store caches no model: name it with --model")
        }
        let layout = try store.layout(for: model)
        let memory = try arguments.bytes("memory") ?? 4 << 20
        let directory = try WorkDirectory(path: "spill-\(getpid()).bench")
        defer { try? directory.remove() }
        print("table                     rows     row bytes    disk bytes  ratio  write MB/s  read MB/s")
        var sum = (rows: 0, raw: 0, disk: 0)
        for index in layout.tables.indices {
            let columns = layout.tables[index].columns.indices.map { SelectedColumn.own($0) }
            let name = layout.tables[index].name
            let measured = try measure(
                store.rows(RowSelection(table: index, columns: columns), in: layout), slots: columns.count, name: name,
                memory: memory, directory: directory)
            guard measured.rows > 0 else { continue }
            line(name, measured.rows, measured.raw, measured.disk, measured.writing, measured.reading)
            sum.rows += measured.rows
            sum.raw += measured.raw
            sum.disk += measured.disk
        }
        line("all", sum.rows, sum.raw, sum.disk, nil, nil)
        print("VmHWM \(String(format: "%.1f", Double(ProcessMemory.peakResident() ?? 0) / 1_048_576)) MiB")
    }

    private static func measure(
        _ reader: any RowReader, slots: Int, name: String, memory: Int, directory: WorkDirectory
    ) throws -> (rows: Int, raw: Int, disk: Int, writing: Double, reading: Double) {
        let before = directory.bytesHeld
        let spill = RowSpill(directory: directory, name: name, slots: slots, memory: memory)
        var batch = RowBatch(slots: slots, rowCapacity: 512, byteTarget: 512 << 10)
        var (writing, reading) = (0.0, 0.0)
        var (written, read): (UInt64, UInt64) = (0, 0)
        while try reader.next(into: &batch) {
            let start = seconds()
            for row in 0..<batch.count { try spill.append(row: row, of: batch) }
            writing += seconds() - start
            written &+= digest(batch)
        }
        try spill.seal()
        let disk = directory.bytesHeld - before
        let back = spill.makeReader()
        batch.removeAll()
        var rows = 0
        while true {
            let start = seconds()
            let isMore = try back.next(into: &batch)
            reading += seconds() - start
            guard isMore else { break }
            rows += batch.count
            read &+= digest(batch)
            batch.removeAll()
        }
        guard rows == spill.appended, read == written else {
            throw MigrationError("benchmark.failed", .internal, "The rows of \(name) are not those that were spilled")
        }
        return (rows, spill.rawBytes, disk, writing, reading)
    }

    /// A sum over all cells that does not depend on how rows come in batches.
    private static func digest(_ batch: borrowing RowBatch) -> UInt64 {
        var sum: UInt64 = 0
        for row in 0..<batch.count {
            for slot in 0..<batch.slots {
                let cell = batch[row, slot]
                var value = UInt64(bitPattern: batch.key(row)) &* 31 &+ UInt64(slot)
                switch cell.kind {
                case .text, .blob: for byte in batch.bytes(cell) { value = value &* 0x100_0000_01B3 ^ UInt64(byte) }
                case .integer, .real: value ^= cell.bits &* 0x9E37_79B9
                default: value &+= UInt64(cell.kind.rawValue)
                }
                sum &+= value
            }
        }
        return sum
    }

    private static func line(
        _ name: String, _ rows: Int, _ raw: Int, _ disk: Int, _ writing: Double?, _ reading: Double?
    ) {
        func padded(_ text: String, _ width: Int) -> String {
            String(repeating: " ", count: max(1, width - text.count)) + text
        }
        func speed(_ time: Double?) -> String {
            time.map { String(format: "%.0f", Double(raw) / max($0, 1e-9) / 1e6) } ?? ""
        }
        print(
            name.padding(toLength: 22, withPad: " ", startingAt: 0) + padded("\(rows)", 8) + padded("\(raw)", 14)
                + padded("\(disk)", 14) + padded(String(format: "%.2f", Double(disk) / Double(max(1, raw))), 7)
                + padded(speed(writing), 12) + padded(speed(reading), 11))
    }

    /// Processor time of the process.
    private static func seconds() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
