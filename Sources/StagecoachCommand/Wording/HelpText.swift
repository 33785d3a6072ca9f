import CCrashNote
import Foundation

/// The texts of `--help`, `-h` and `--version`.
package struct HelpText {
    /// The columns of a line. Command lines may be longer where they cannot be broken.
    private let width: Int

    /// - Parameter width: the columns that there are. Fewer than 40 are taken for 40, and more than 100, which nobody likes to
    ///   read, for 100.
    package init(width: Int = 80) { self.width = min(max(width, 40), 100) }

    package static var version: String {
        let build = built_commit().map { "commit \(String(cString: $0))" } ?? "development build"
        return "stagecoach \(CommandCatalog.version) (\(build))\n"
    }

    /// Returns help on all commands.
    package func overview(_ commands: [CommandSpecification]) -> String {
        var lines = ["Usage: stagecoach COMMAND [OPTION]... [OPERAND]...", ""]
        lines += folded(
            "Migrates Core Data stores from one model version to the next, out of core, within a memory limit.")
        lines += ["", "Commands:"]
        let names = (commands.map(\.name.count).max() ?? 0) + 4
        for command in commands { lines += entry("  " + command.name, command.summary, at: names) }
        lines.append("")
        lines += entry("  -h, --help", "Show help. After a command, -h fits on a screen and --help tells all", at: 17)
        lines += entry("  -v, --version", "Show version and commit (-V, too)", at: 17)
        lines.append("")
        lines += folded(
            "Exit codes: 0 done, 64 usage, 65 data, 66 no input, 70 internal, 73 cannot create, 74 input or output, "
                + "75 interrupted or busy, 77 permission, 78 model, mapping or plan.")
        return lines.joined(separator: "\n") + "\n"
    }

    /// Returns help on one command, with all that there is to say.
    package func command(_ command: CommandSpecification) -> String {
        var lines = usage(command) + [""]
        lines += command.discussion.split(separator: "\n\n").map { folded(String($0)) }.joined(separator: [""])
        let headed = command.headedOptions
        for (title, options) in headed {
            lines += ["", title + ":"]
            for option in options { lines += entry(Self.name(option), option.help) }
        }
        if headed.count > 1 { lines.append("") }
        lines += entry("  -h, --help", "Show help: -h fits on a screen, --help explains every option.")
        lines += ["", command.examples.count == 1 ? "Example:" : "Examples:"]
        for example in command.exampleLines { lines += broken(example.line) + ["      \(example.effect)"] }
        return lines.joined(separator: "\n") + "\n"
    }

    /// Returns help on one command that fits on a screen: its common options with a line each, the names of the others.
    package func brief(_ command: CommandSpecification) -> String {
        var lines = usage(command) + [""] + folded(command.summary + ".")
        for (index, (title, options)) in command.headedOptions.enumerated() {
            guard index == 0 else {
                lines += entry(title + ":", options.map { "--" + $0.name }.joined(separator: ", "), at: 20)
                continue
            }
            lines.append("")
            for option in options {
                lines += entry(Self.name(option), cut(option.shortHelp, to: width - Self.column))
            }
        }
        lines += ["", "Example:"] + (command.exampleLines.first.map { broken($0.line) } ?? [])
        lines += folded("'stagecoach \(command.name) --help' explains every option.")
        return lines.joined(separator: "\n") + "\n"
    }

    private func usage(_ command: CommandSpecification) -> [String] {
        folded("Usage: stagecoach \(command.name)\(command.usage) [OPTION]...", indent: "         ")
    }
}

extension HelpText {
    /// The column where the help of an option begins.
    private static let column = 28

    private static func name(_ option: OptionSpecification) -> String {
        (option.letter == nil ? "      " : "  ") + option.usage
    }

    /// Returns a name and, from a column on, its help. A narrow terminal has the help below the name.
    private func entry(_ name: String, _ help: String, at column: Int = Self.column) -> [String] {
        let column = width < 2 * column ? 8 : column
        let indent = String(repeating: " ", count: column)
        guard name.count + 2 <= column else { return [name] + folded(indent + help, indent: indent) }
        return folded(name.padded(to: column) + help, indent: indent, from: column)
    }

    /// Returns a text in lines that fit, broken at blanks.
    ///
    /// - Parameters:
    ///   - indent: the beginning of all lines but the first.
    ///   - start: the number of characters of the first line that are not broken.
    private func folded(_ text: String, indent: String = "", from start: Int? = nil) -> [String] {
        let start = start ?? (text.prefix { $0 == " " }).count
        var lines: [String] = []
        var line = String(text.prefix(start))
        var isFresh = true
        for word in text.dropFirst(start).split(whereSeparator: \.isWhitespace) {
            if !isFresh, line.count + 1 + word.count > width {
                lines.append(line)
                line = indent
                isFresh = true
            }
            line += isFresh ? String(word) : " \(word)"
            isFresh = false
        }
        return lines + [line]
    }

    /// Returns a command line in lines that a shell joins again, broken before options.
    private func broken(_ command: String) -> [String] {
        var lines: [String] = []
        var line = "  "
        for (index, part) in command.split(separator: " --").enumerated() {
            let part = index == 0 ? String(part) : "--" + part
            if line.count + 1 + part.count + 2 > width, index > 0 {
                lines.append(line + " \\")
                line = "      " + part
            } else {
                line += index == 0 ? part : " " + part
            }
        }
        return lines + [line]
    }

    /// Returns a text, or its beginning up to a sign or a blank, that fits into some columns.
    private func cut(_ text: String, to room: Int) -> String {
        guard text.count > room else { return text }
        // The sign belongs to the part that is cut off.
        let beginning = text.prefix(room + 1)
        for sign in ["; ", ": ", ", ", " ("] {
            if let end = beginning.range(of: sign, options: .backwards) { return String(text[..<end.lowerBound]) }
        }
        return text.prefix(room - 2).lastIndex(of: " ").map { text[..<$0] + " …" } ?? text
    }
}
