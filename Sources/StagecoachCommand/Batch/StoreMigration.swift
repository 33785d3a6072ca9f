import Diagnostics
import Foundation
import Glibc
import Stagecoach

/// The migration of one store of a batch, in this process.
struct StoreMigration {
    let entry: BatchEntry
    let request: MigrationRequest
    let cancellation: CancellationFlag
    /// Whether the destination's folder is made where it is missing.
    let makesFolder: Bool

    /// Migrates, and tells what became of it. No error ends the batch.
    func run() -> BatchResult {
        var result = BatchResult(status: .done, source: entry.source, destination: entry.destination)
        let begin = ContinuousClock.now
        let processor = Self.processorSeconds()
        do {
            let report = try migrate()
            result.objects = report.counts.created.values.reduce(0, +)
            if report.counts.created.isEmpty { result.objects = report.counts.mappings.reduce(0) { $0 + $1.created } }
            result.rejected = report.rejects?.objects
            result.destinationBytes = report.destinationBytes
            result.peakMemory = report.peakMemory
            result.result = BatchConfiguration.result(entry.destination)
        } catch {
            result.fail(error)
        }
        let passed = begin.duration(to: .now).components
        result.seconds = Double(passed.seconds) + (Double(passed.attoseconds) / 1e15).rounded() / 1000
        result.processorSeconds = ((Self.processorSeconds() - processor) * 1e4).rounded() / 1e4
        return result
    }

    private func migrate() throws -> MigrationReport {
        let inputs = try MigrationInputs(request)
        let migration = inputs.migration(cancellation: cancellation)
        if let file = request.report { try OutputFile.check(file) }
        if makesFolder, let slash = entry.destination.lastIndex(of: "/") {
            let folder = String(entry.destination[..<slash])
            do {
                try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            } catch {
                throw MigrationError(
                    "destination.folder", .cannotCreate,
                    "The folder cannot be created: \(String(cString: strerror(errno)))",
                    context: .init(path: folder))
            }
        }
        var report = try migration.run()
        report.notes += inputs.notes
        if let file = request.report {
            let text = try MigrationResult(inputs: inputs, report: report).json()
            do throws(MigrationError) {
                try OutputFile.create(file, text)
            } catch {
                var error = error
                error.message += "; the migration itself succeeded"
                throw error
            }
        }
        return report
    }

    private static func processorSeconds() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}

extension BatchResult {
    /// Takes an error over: what may go well the next time is postponed, all else failed.
    mutating func fail(_ error: any Error) {
        let known = error as? MigrationError
        status = known?.category == .temporary ? .postponed : .failed
        exitCode = ErrorWording.exitCode(error)
        self.error = known?.code.rawValue
        message = (known.map(\.description) ?? "\(error)").printable
    }
}
