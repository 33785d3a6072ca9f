import Foundation

/// The output of `stagecoach policies check` for people.
enum PolicyLibraryWording {
    static func text(_ check: PolicyLibraryCheck) -> String {
        var text = "\(check.library)\n"
        func line(_ name: String, _ value: String) {
            text += "  " + name.padding(toLength: 11, withPad: " ", startingAt: 0) + value + "\n"
        }
        line("built by", compiler(check))
        line("exports", check.registers ? PolicyLibrary.symbol : "no \(PolicyLibrary.symbol)")
        if let needed = check.needed {
            line(
                "needs",
                "\(needed.count) libraries, "
                    + (check.missing.isEmpty ? "all found" : "not found: \(check.missing.joined(separator: ", "))"))
        } else {
            line("needs", "not known: the loader does not answer")
        }
        guard let policies = check.policies else {
            line("registers", "not known: the library cannot be loaded")
            return text
        }
        line("registers", policies.count == 1 ? "1 policy" : "\(policies.count) policies")
        for policy in policies {
            text += "    \(policy.className)"
            if !policy.names.isEmpty { text += " (\(policy.names.joined(separator: ", ")))" }
            text += "\n" + policy.functions.map { "      \($0)\n" }.joined()
        }
        return text
    }

    private static func compiler(_ check: PolicyLibraryCheck) -> String {
        guard let compiler = check.compiler else { return "a compiler that the file does not name" }
        guard let own = check.programCompiler else { return compiler }
        return compiler + (own == compiler ? ", as this program" : "; this program by \(own)")
    }
}
