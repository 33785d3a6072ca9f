import CCrashNote

/// The texts of `--help` and `--version`.
package enum HelpText {
    /// Returns help on all commands.
    package static func overview(_ commands: [CommandSpecification]) -> String {
        var lines = [
            "Usage: stagecoach COMMAND [OPTION]... [OPERAND]...", "",
            "Migrates Core Data stores from one model version to the next, out of core, within a memory limit.", "",
            "Commands:",
        ]
        lines += commands.map { [$0.name, $0.summary] }.lines()
        lines += [
            "", "  -h, --help     Show help, also after a command",
            "  -v, --version  Show version and commit (-V, too)",
            "",
            "Exit codes: 0 done, 64 usage, 65 data, 66 no input, 70 internal, 73 cannot create,",
            "74 input or output, 75 interrupted or busy, 77 permission, 78 model, mapping or plan.",
        ]
        return lines.joined(separator: "\n") + "\n"
    }

    /// Returns help on one command.
    package static func command(_ command: CommandSpecification) -> String {
        let usage = "Usage: stagecoach \(command.name)\(command.usage) [OPTION]..."
        var lines = [usage, "", command.discussion]
        let headed = command.headedOptions
        for (title, options) in headed {
            lines += ["", title + ":"]
            for option in options {
                lines += entry((option.letter == nil ? "      " : "  ") + option.usage, option.help)
            }
        }
        if headed.count > 1 { lines.append("") }
        lines += entry("  -h, --help", "Show this help.")
        lines += ["", command.examples.count == 1 ? "Example:" : "Examples:"]
        for example in command.exampleLines { lines += ["  \(example.line)", "      \(example.effect)"] }
        return lines.joined(separator: "\n") + "\n"
    }

    package static var version: String {
        let build = built_commit().map { "commit \(String(cString: $0))" } ?? "development build"
        return "stagecoach \(CommandCatalog.version) (\(build))\n"
    }

    /// Returns an option's name and, from column 28 on, its help, wrapped at 80 columns.
    private static func entry(_ name: String, _ help: String) -> [String] {
        let column = 28
        var lines: [String] = []
        var line = name.count + 2 <= column ? name.padded(to: column) : name
        if name.count + 2 > column {
            lines.append(line)
            line = String(repeating: " ", count: column)
        }
        var isFresh = true
        for word in help.split(separator: " ") {
            if !isFresh, line.count + 1 + word.count > 80 {
                lines.append(line)
                line = String(repeating: " ", count: column)
                isFresh = true
            }
            line += isFresh ? String(word) : " \(word)"
            isFresh = false
        }
        return lines + [line]
    }
}
