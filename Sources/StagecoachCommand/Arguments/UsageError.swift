/// An error of the command line, as data; ``UsageWording`` words it. Every usage error ends with exit code 64.
package enum UsageError: Error, Equatable, Sendable {
    case missingCommand
    case unknownCommand(String, nearest: String?)
    /// An unknown option, with its dashes.
    case unknownOption(String, nearest: String?)
    case missingValue(option: String, valueName: String)
    case unexpectedValue(option: String)
    case repeatedOption(String)
    case missingOption(String)
    case missingOperand(String)
    case surplusOperand(String)
    case emptyOperand(String)
    case notAnOperand(name: String, value: String, choices: [String], nearest: String?)
    case notACount(option: String, value: String, least: Int)
    case notASize(option: String, value: String)
    case notAChoice(option: String, value: String, choices: [String], nearest: String?)
    case wrongEnding(option: String, value: String, endings: [String])
    /// A value of `--passes` that is neither a number nor names of entity mappings.
    case notACut(option: String, value: String)
    /// Two options that exclude each other.
    case contradiction(String, String)
    /// An option that has no meaning without another.
    case needsOption(String, other: String)
    /// A share of a batch that is not in the form I/N.
    case notAShard(String)
    /// An environment variable of a scheduler with an invalid share.
    case schedulerShard(String, other: String)
    /// Two paths that must differ but name the same file.
    case samePath(String, String, what: String)

    /// The error for an operand that is none of some words.
    static func notAnOperand(_ name: String, _ value: String, of choices: [String]) -> UsageError {
        .notAnOperand(
            name: name, value: value, choices: choices, nearest: EditDistance.nearest(to: value, among: choices))
    }

    /// The error for a word that is no command.
    static func unknownCommand(_ name: String, of commands: [CommandSpecification]) -> UsageError {
        .unknownCommand(name, nearest: EditDistance.nearest(to: name, among: commands.map(\.name)))
    }
}
