import Diagnostics
import Stagecoach

/// `stagecoach verify`.
struct VerifyCommand {
    private let work: MigrationWork
    private let limit: Int?
    private let runsPolicies: Bool

    init(_ arguments: ParsedArguments, console: Console) throws(UsageError) {
        work = try MigrationWork(arguments, console: console)
        limit = arguments.number("limit")
        runsPolicies = arguments.has("run-policies")
    }

    func run() throws {
        let (inputs, report) = try work.run(
            preparing: { _, _ in }, outcome: "not all was compared",
            { migration in
                let verification = StoreVerification(migration)
                if let limit { verification.limit = limit }
                verification.runsPolicies = runsPolicies
                return try verification.run()
            })
        var noted = report
        noted.notes += inputs.notes
        work.console.output.write(work.printsJSON ? try JSONText.text(noted) : VerifyWording.text(noted))
        guard !report.isEqual else { return }
        throw MigrationError("verify.differences", .data, VerifyWording.verdict(report))
    }
}
