import Foundation
import TestSupport

/// The environment in which the built command runs with the fault injector: the library is preloaded, and reads its plan from
/// variables (`FaultPlan.c`).
enum FaultInjection {
    /// Returns the environment of a run that saves its state after each batch.
    ///
    /// - Parameters:
    ///   - clock: the milliseconds that pass whenever the run reads the clock. A second makes each state due.
    ///   - plan: the injector's other variables.
    static func environment(clock: Int = 1000, _ plan: [String: String] = [:]) -> [String: String] {
        var environment = plan
        environment["FAULT_CLOCK"] = String(clock)
        environment["LD_PRELOAD"] = PreloadedLibrary.faultInjector
        if Instrumentation.isSanitized {
            // The library would be preloaded into the program that names the places of leaks.
            let asked = ProcessInfo.processInfo.environment["ASAN_OPTIONS"].map { $0 + ":" } ?? ""
            environment["ASAN_OPTIONS"] = asked + "detect_leaks=0"
        }
        return environment
    }

    /// Returns the environment of a run that saves its state after each batch, and is killed once a record of its journal is
    /// written.
    ///
    /// - Parameters:
    ///   - record: the number of the record, from 1.
    ///   - isResumed: true if the run continues a journal, which it syncs once before its first record.
    ///   - wait: the milliseconds from the record to the kill. The run goes on meanwhile, but writes no other record.
    ///   - folder: the folder of the destination.
    static func kill(
        atRecord record: Int, isResumed: Bool = false, after wait: Int = 0, in folder: String
    ) -> [String: String] {
        environment([
            "FAULT_WAIT": String(wait),
            "FAULT_ROOTS": folder, "FAULT_NAME": "run.journal", "FAULT_DO": "kill", "FAULT_KINDS": "sync",
            "FAULT_AT": String(isResumed ? record + 1 : record),
        ])
    }
}
