import Diagnostics

/// The outcome of a batch, or of several shares of one.
struct BatchSummary: Encodable, Equatable {
    var schema = 1
    var done = 0
    var skipped = 0
    var failed = 0
    var postponed = 0
    /// The number of objects made by the migrations, those of skipped stores included.
    var objects = 0
    var rejected = 0
    /// The number of stores, skipped ones included, from which something was left out.
    var storesWithLosses = 0
    var leftOutObjects = 0
    var leftOutValues = 0
    var leftOutLinks = 0
    /// The number of references that became nil.
    var nilReferences = 0
    var destinationBytes = 0
    var spilledBytes = 0
    var rows = 0
    /// The number of stores, skipped ones included, that were of the target version before.
    var atTarget = 0
    /// The time from the beginning to the end of the batch; nil for results that were merged.
    var wallSeconds: Double?
    /// Sums over the stores.
    var seconds = 0.0
    var processorSeconds = 0.0
    var phaseSeconds: [String: Double] = [:]
    /// The greatest peak of all processes.
    var peakMemory = 0
    /// The stores that failed or were postponed.
    var failures: [BatchResult] = []
    /// The sources of manifest entries without any result.
    var missing: [String] = []

    /// The number of stores that were migrated, failed, postponed or skipped.
    var stores: Int { done + skipped + failed + postponed }

    mutating func add(_ result: BatchResult) {
        switch result.status {
        case .started: return
        case .done: done += 1
        case .skipped: skipped += 1
        case .failed, .crashed: failed += 1
        case .postponed: postponed += 1
        }
        if result.isUnfinished { failures.append(result) }
        objects += result.objects ?? 0
        rejected += result.rejected ?? 0
        if result.losses != nil { storesWithLosses += 1 }
        if result.isAtTarget == true { atTarget += 1 }
        leftOutObjects += result.leftOutObjects ?? 0
        leftOutValues += result.leftOutValues ?? 0
        leftOutLinks += result.leftOutLinks ?? 0
        nilReferences += result.nilReferences ?? 0
        destinationBytes += result.destinationBytes ?? 0
        spilledBytes += result.spilledBytes ?? 0
        rows += result.rows ?? 0
        phaseSeconds.merge(result.phaseSeconds ?? [:]) { $0 + $1 }
        seconds += result.seconds ?? 0
        processorSeconds += result.processorSeconds ?? 0
        peakMemory = max(peakMemory, result.peakMemory ?? 0)
    }

    /// `5 objects, 7 values left out`; nil if nothing was left out.
    var losses: String? { BatchResult.losses(leftOutObjects, leftOutValues, leftOutLinks) }

    /// The exit code: 0 if all stores are done, 65 if one failed, else 75, because another run can finish the rest.
    var exitCode: Int32 {
        if failed > 0 { return MigrationError.Category.data.rawValue }
        return postponed > 0 || !missing.isEmpty ? MigrationError.Category.temporary.rawValue : 0
    }
}
