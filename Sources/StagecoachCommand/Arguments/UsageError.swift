import Diagnostics

/// An error of the command line, in words. Every usage error ends with exit code 64.
package struct UsageError: Error, Equatable, Sendable {
    /// The problem, without a full stop.
    let sentence: String

    private init(_ sentence: String) { self.sentence = sentence }

    /// Returns two lines: the problem, and where to find help.
    ///
    /// - Parameter command: the command that was named; nil if none was recognised.
    func text(command: String?) -> String {
        let program = command.map { "stagecoach \($0)" } ?? "stagecoach"
        return "stagecoach: \(sentence.printable)\nTry '\(program) --help'.\n"
    }

    private static func meant(_ nearest: String?) -> String { nearest.map { "; did you mean '\($0)'?" } ?? "" }
}

/// The errors. Options are named with their dashes.
extension UsageError {
    static func notUTF8(_ argument: String) -> Self {
        Self("the argument '\(argument)' is not UTF-8: rename the file, or name it by a link")
    }
    static let missingCommand = Self("a command is missing")

    static func unknownCommand(_ name: String, nearest: String?) -> Self {
        Self("unknown command '\(name)'\(meant(nearest))")
    }
    static func unknownCommand(_ name: String, of commands: [CommandSpecification]) -> Self {
        unknownCommand(name, nearest: EditDistance.nearest(to: name, among: commands.map(\.name)))
    }
    /// - Parameters:
    ///   - nearest: the option that was probably intended; nil if none is near.
    ///   - others: the commands that have the option.
    static func unknownOption(_ name: String, nearest: String?, others: [String] = []) -> Self {
        let place = others.isEmpty || nearest != nil ? "" : "; it is an option of \(others.joined(separator: ", "))"
        return Self("unknown option '\(name)'\(meant(nearest))\(place)")
    }
    static func missingValue(option: String, valueName: String) -> Self {
        Self("option '\(option)' needs a value: \(option) \(valueName)")
    }
    static func unexpectedValue(option: String) -> Self { Self("option '\(option)' takes no value") }
    static func repeatedOption(_ option: String) -> Self { Self("option '\(option)' is given twice") }
    static func missingOption(_ option: String) -> Self { Self("option '\(option)' is missing") }
    static func missingOperand(_ name: String) -> Self {
        // An operand in small letters stands for itself: `policies check LIBRARY`.
        Self(name.first?.isLowercase == true ? "the word '\(name)' is missing" : "operand \(name) is missing")
    }
    static func surplusOperand(_ text: String) -> Self { Self("unexpected operand '\(text)'") }
    static func emptyOperand(_ name: String) -> Self { Self("operand \(name) is empty") }
    static func notAnOperand(_ name: String, _ value: String, of choices: [String]) -> Self {
        let nearest = EditDistance.nearest(to: value, among: choices)
        return Self("\(name) is one of \(choices.joined(separator: ", ")), not '\(value)'\(meant(nearest))")
    }
    static func notACount(option: String, value: String, least: Int, orAll: Bool = false) -> Self {
        Self("option '\(option)' needs a whole number of at least \(least)\(orAll ? ", or all" : ""), not '\(value)'")
    }
    static func notASize(option: String, value: String) -> Self {
        Self("option '\(option)' needs a size such as 64M or 1G, not '\(value)'")
    }
    static func notAChoice(option: String, value: String, choices: [String], nearest: String?) -> Self {
        Self("option '\(option)' knows \(choices.joined(separator: ", ")), not '\(value)'\(meant(nearest))")
    }
    static func wrongEnding(option: String, value: String, endings: [String]) -> Self {
        let words = endings.dropLast().joined(separator: ", ") + (endings.count > 1 ? " or " : "")
        return Self("option '\(option)' needs a file name ending in \(words)\(endings.last ?? ""), not '\(value)'")
    }
    /// A value of `--passes` that is neither a number nor names of entity mappings.
    static func notACut(option: String, value: String) -> Self {
        Self("option '\(option)' needs a number or names of entity mappings as \"A,B;C\", not '\(value)'")
    }
    static func notAChange(option: String, value: String) -> Self {
        Self("option '\(option)' needs a line as Entity.property=EXPRESSION or Entity=SourceEntity, not '\(value)'")
    }
    static func notAMatch(option: String, value: String) -> Self {
        Self("option '\(option)' needs an entity and its attributes as Entity=key,key, not '\(value)'")
    }
    static func contradiction(_ first: String, _ second: String) -> Self {
        Self("options '\(first)' and '\(second)' exclude each other")
    }
    static func needsOption(_ option: String, other: String) -> Self { Self("option '\(option)' needs '\(other)'") }
    static func needsEntity(option: String, _ object: String) -> Self {
        Self("option '\(option)' needs an entity, and '\(object)' is one object")
    }
    static func notAShard(_ value: String) -> Self {
        Self("option '--shard' needs I/N with I from 0 to N - 1, not '\(value)'")
    }
    /// An environment variable of a scheduler with an invalid share.
    static func schedulerShard(_ name: String, other: String) -> Self {
        Self("\(name) and \(other) do not say which share of the batch this is; give --shard I/N")
    }
    /// Two paths that must differ but name the same file.
    static func samePath(_ first: String, _ second: String, what: String) -> Self {
        Self("\(what) are the same file: \(first)" + (first == second ? "" : " and \(second)"))
    }
}
