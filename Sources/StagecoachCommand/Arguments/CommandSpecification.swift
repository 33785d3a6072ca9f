/// What an option may carry.
package enum OptionValue: Sendable, Equatable {
    /// None: the option's presence says all.
    case flag
    /// Any text.
    case text
    /// A whole number of at least so much.
    case count(least: Int)
    /// A number of bytes, as `64M`.
    case size
    /// One of some words.
    case choice([String])
    /// A file name of one of some endings.
    case file(endings: [String])
}

/// An option of a command.
package struct OptionSpecification: Sendable {
    /// Without the two dashes.
    package let name: String
    /// A one-letter form.
    package let letter: Character?
    package let value: OptionValue
    /// The word for the value in help, `MODEL`; nil for a flag.
    package let valueName: String?
    package let help: String
    package let isRequired: Bool
    /// Whether it may be given several times, each with a value of its own.
    package let isRepeatable: Bool

    package init(
        _ name: String, letter: Character? = nil, _ value: OptionValue, _ valueName: String? = nil,
        isRequired: Bool = false, isRepeatable: Bool = false, help: String
    ) {
        self.name = name
        self.letter = letter
        self.value = value
        self.valueName = valueName
        self.isRequired = isRequired
        self.isRepeatable = isRepeatable
        self.help = help
    }
}

/// A command: its operands, options and what help says of it.
package struct CommandSpecification: Sendable {
    package let name: String
    /// One line for the list of commands.
    package let summary: String
    /// What stands above the options in help.
    package let discussion: String
    package let operands: [String]
    /// How many of the last operands may be left out.
    package let optionalOperands: Int
    /// Whether the last operand may be given several times.
    package let repeatsLastOperand: Bool
    /// What an operand may be, where it is no path.
    package let operandWords: [String]
    package let options: [OptionSpecification]
    /// Command line and what it does.
    package let examples: [(line: String, effect: String)]

    package init(
        _ name: String, summary: String, discussion: String, operands: [String], optionalOperands: Int = 0,
        repeatsLastOperand: Bool = false, operandWords: [String] = [], options: [OptionSpecification],
        examples: [(line: String, effect: String)]
    ) {
        self.name = name
        self.summary = summary
        self.discussion = discussion
        self.operands = operands
        self.optionalOperands = optionalOperands
        self.repeatsLastOperand = repeatsLastOperand
        self.operandWords = operandWords
        self.options = options
        self.examples = examples
    }

    /// The operands as help writes them: ` SOURCE [DESTINATION]`, ` FILE...`.
    package var operandUsage: String {
        operands.enumerated().map { index, operand in
            let isLast = index == operands.count - 1
            let text = operand + (isLast && repeatsLastOperand ? "..." : "")
            return index < operands.count - optionalOperands ? " \(text)" : " [\(text)]"
        }.joined()
    }
}
