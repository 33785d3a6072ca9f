import AtomicStores
import Diagnostics
import Stagecoach

/// `stagecoach verify`.
struct VerifyCommand {
    private let work: MigrationWork
    private let limit: Int?
    private let runsPolicies: Bool
    /// The type that the destination must have; nil for any.
    private let type: String?

    init(_ arguments: ParsedArguments, console: Console) throws(UsageError) {
        work = try MigrationWork(arguments, console: console)
        limit = arguments.number("limit")
        runsPolicies = arguments.has("run-policies")
        type = arguments[option: "destination-type"]
    }

    func run() throws {
        let counter = work.request.counter
        try work.measured("verify", counter) { _ in try verify(counter) }
    }

    private func verify(_ counter: ProgressCounter) throws {
        let (inputs, report) = try work.run(
            counter: counter, preparing: { _, _ in }, outcome: "not all was compared",
            { migration in
                let request = work.request
                if type != nil {
                    _ = try AtomicSource.format(request.destinationType.rawValue, of: request.destination)
                }
                let report = try compare(migration, countsByTable: false)
                // Where tables have the same keys, the numbers of an XML or binary store are not those.
                guard !report.isEqual, StoreFormat.of(request.destination) != .sqlite else { return report }
                let other = try compare(migration, countsByTable: true)
                return other.differenceCount < report.differenceCount ? other : report
            })
        var noted = report
        noted.notes += inputs.notes
        let names = inputs.names
        work.console.output.write(
            work.printsJSON
                ? try JSONText.text(VerifyOutline(report: noted, names: names)) : VerifyWording.text(noted, names))
        guard !report.isEqual else { return }
        throw MigrationError("verify.differences", .data, VerifyWording.verdict(report))
    }

    private func compare(_ migration: ChainedMigration, countsByTable: Bool) throws -> VerificationReport {
        let request = work.request
        return try AtomicArgument.during(
            request.destination, model: request.to, memoryLimit: request.options.memoryLimit,
            countsByTable: countsByTable
        ) {
            let verification = StoreVerification(migration)
            if let limit { verification.limit = limit }
            verification.runsPolicies = runsPolicies
            return try verification.run()
        }
    }
}

/// The encodable result of a verification, with facts that only the command knows.
private struct VerifyOutline: Encodable {
    let report: VerificationReport
    let names: MigrationNames

    func encode(to encoder: any Encoder) throws {
        try report.encode(to: encoder)
        try names.encode(to: encoder)
    }
}
