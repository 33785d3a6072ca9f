import Foundation

/// The output of `stagecoach port` for people.
enum PortWording {
    /// Returns the findings, a line each, as compilers print them, then the registrations.
    static func text(_ port: PolicyPort, output: String?) -> String {
        var text = ""
        for finding in port.findings { text += line(finding) + "\n" }
        func manual(_ place: String, _ sentence: String) { text += "\(place): manual: \(sentence)\n" }
        for policy in port.objectiveCPolicies {
            manual(
                "\(policy.file):\(policy.line):1", "\(policy.className) is an Objective-C policy: rewrite it in Swift")
        }
        let missingTypes = port.missingTypes.filter { !$0.isFound }
        for type in missingTypes {
            manual(
                "\(type.file):\(type.line):1", "No source declares \(type.name): write it; ported copies have a stub")
        }
        for call in port.missingFunctions {
            let caller = "which \(call.entityMapping) calls for \(call.property)"
            manual(call.file, "No source has the function \(call.selector) of \(call.policy), \(caller)")
        }
        let counts = [PortFinding.Kind.change, .manual, .hint].map { kind in
            port.findings.filter { $0.kind == kind }.count
        }
        let manual = counts[1] + port.objectiveCPolicies.count + missingTypes.count + port.missingFunctions.count
        if !text.isEmpty { text += "\n" }
        text += "\(counts[0]) to change, \(manual) to rewrite by hand, \(counts[2]) to know\n"
        for policy in port.objectiveCPolicies {
            text += "\nIn Swift, \(policy.className) has this to do:\n\n"
            text += policy.skeleton.split(separator: "\n", omittingEmptySubsequences: false).map {
                $0.isEmpty ? "\n" : "    \($0)\n"
            }.joined()
        }
        let registrations = port.registrations + port.objectiveCPolicies.map(\.registration)
        if !registrations.isEmpty {
            text += "\nRegister before the migration:\n\n"
            for registration in registrations {
                text += registration.statement.split(separator: "\n").map { "    \($0)\n" }.joined()
                if registration.isPrivate {
                    text += "    // \(registration.className) is private to \(registration.file): make it internal\n"
                }
            }
        }
        if let output { text += "\nPorted copies and RegisterPolicies.swift are in \(output)\n" }
        return text
    }

    private static func line(_ finding: PortFinding) -> String {
        var line = "\(finding.file):\(finding.line):\(finding.column): \(finding.kind.rawValue): \(finding.message): "
        line += finding.text.replacingOccurrences(of: "\n", with: " ")
        if let replacement = finding.replacement, finding.kind == .change {
            line += replacement.isEmpty ? " → (remove)" : " → \(replacement)"
        }
        return line
    }
}
