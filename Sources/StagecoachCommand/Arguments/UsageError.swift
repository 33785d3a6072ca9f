/// A command line that cannot be understood: data, worded by ``UsageWording``. Every one ends with exit code 64.
package enum UsageError: Error, Equatable, Sendable {
    case missingCommand
    case unknownCommand(String, nearest: String?)
    /// With its dashes.
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
    /// A cut that is neither a number nor names of entity mappings.
    case notACut(option: String, value: String)
    /// Two options that cannot be given together.
    case contradiction(String, String)
    /// An option that says nothing without another.
    case needsOption(String, other: String)
    /// A share of a batch that is not I/N.
    case notAShard(String)
    /// What a scheduler's environment says of the share makes no sense.
    case schedulerShard(String, other: String)
    /// Two paths that must be two files name one.
    case samePath(String, String, what: String)
}
