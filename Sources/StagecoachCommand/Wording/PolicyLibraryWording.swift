import Diagnostics

/// The output of `stagecoach policies check` for people.
enum PolicyLibraryWording {
    static func text(_ check: PolicyLibraryCheck) -> String {
        let found = check.missing.isEmpty ? "all found" : "not found: \(check.missing.joined(separator: ", "))"
        let count = check.policies.map { $0.count.counted("policy", "policies") }
        let facts = [
            ["built by", compiler(check)],
            ["exports", check.registers ? PolicyLibrary.symbol : "no \(PolicyLibrary.symbol)"],
            [
                "needs",
                check.needed.map { "\($0.count.counted("library", "libraries")), \(found)" }
                    ?? "not known: the loader does not answer",
            ],
            ["registers", count ?? "not known: the library cannot be loaded"],
        ]
        var lines = [check.library] + facts.lines()
        for policy in check.policies ?? [] {
            let names = policy.names.isEmpty ? "" : " (\(policy.names.joined(separator: ", ")))"
            lines += ["    \(policy.className)\(names)"] + policy.functions.map { "      \($0)" }
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private static func compiler(_ check: PolicyLibraryCheck) -> String {
        guard let compiler = check.compiler else { return "a compiler that the file does not name" }
        guard let own = check.programCompiler else { return compiler }
        return compiler + (own == compiler ? ", as this program" : "; this program by \(own)")
    }
}
