/// The kind of value that an option takes.
package enum OptionValue: Sendable, Equatable {
    /// No value: a flag.
    case flag
    /// Any text, with its placeholder in help.
    case text(String)
    /// A whole number not below a minimum; or the word `all`, for the greatest number that there is.
    case count(least: Int, takesAll: Bool = false)
    /// A number of bytes, such as `64M`.
    case size
    /// One of the listed words.
    case choice([String], name: String = "CHOICE")
    /// A file name with one of the listed endings.
    case file(endings: [String])

    /// The placeholder for the value in help, such as `MODEL`; nil for a flag.
    package var name: String? {
        switch self {
        case .flag: nil
        case .text(let name), .choice(_, let name): name
        case .count(_, let takesAll): takesAll ? "N|all" : "N"
        case .size: "SIZE"
        case .file: "FILE"
        }
    }
}

/// A heading under which help lists options, in this order.
package enum OptionHeading: String, CaseIterable, Sendable {
    case common, result, memory, rejects, reports, expert

    var title: String {
        switch self {
        case .common: "Common"
        case .result: "The result"
        case .memory: "Memory and disk"
        case .rejects: "Rejects, losses"
        case .reports: "Reports, progress"
        case .expert: "For experts"
        }
    }
}

/// An option of a command.
package struct OptionSpecification: Sendable {
    /// The name without the two dashes.
    package let name: String
    /// The one-letter form; nil if there is none.
    package let letter: Character?
    package let value: OptionValue
    package let help: String
    package let isRequired: Bool
    /// True if the option may be repeated, with a value each time.
    package let isRepeatable: Bool
    let heading: OptionHeading

    package init(
        _ name: String, letter: Character? = nil, _ value: OptionValue, isRequired: Bool = false,
        isRepeatable: Bool = false, heading: OptionHeading = .common, _ help: String
    ) {
        (self.name, self.letter, self.value, self.help) = (name, letter, value, help)
        (self.isRequired, self.isRepeatable, self.heading) = (isRequired, isRepeatable, heading)
    }

    /// The option with its placeholder, as in `-o, --output FILE`.
    var usage: String { (letter.map { "-\($0), " } ?? "") + "--\(name)" + (value.name.map { " \($0)" } ?? "") }
}

/// A command: its operands, options and help texts.
package struct CommandSpecification: Sendable {
    package let name: String
    /// One line for the list of commands.
    let summary: String
    /// The text above the options in help.
    var discussion = ""
    var operands: [String] = []
    /// The number of operands at the end that may be omitted.
    var optionalOperands = 0
    /// True if the last operand may be repeated.
    var repeatsLastOperand = false
    package var options: [OptionSpecification] = []
    /// Command lines, without the program's and the command's names, and their effects.
    var examples: [(arguments: String, effect: String)] = []

    /// The options below their headings; all below "Options" if they are few enough to read at once.
    var headedOptions: [(title: String, options: [OptionSpecification])] {
        guard options.count > 10 else { return [("Options", options)] }
        return OptionHeading.allCases.map { heading in
            (heading.title, options.filter { $0.heading == heading })
        }.filter { !$0.options.isEmpty }
    }

    /// The examples as command lines, with their effects.
    var exampleLines: [(line: String, effect: String)] {
        examples.map { ("stagecoach \(name) " + $0.arguments, $0.effect) }
    }

    /// The operands and the required options as shown in help: ` SOURCE [DESTINATION] --to MODEL`.
    var usage: String { operandUsage + options.filter(\.isRequired).map { " \($0.usage)" }.joined() }

    /// The operands as shown in help: ` SOURCE [DESTINATION]`, ` FILE...`.
    package var operandUsage: String {
        operands.enumerated().map { index, operand in
            let isLast = index == operands.count - 1
            let text = operand + (isLast && repeatsLastOperand ? "..." : "")
            return index < operands.count - optionalOperands ? " \(text)" : " [\(text)]"
        }.joined()
    }
}
