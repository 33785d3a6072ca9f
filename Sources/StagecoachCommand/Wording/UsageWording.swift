/// The words for usage errors.
package enum UsageWording {
    /// Returns two lines: the problem, and where to find help.
    ///
    /// - Parameter command: the command that was named; nil if none was recognised.
    package static func text(_ error: UsageError, command: String?) -> String {
        let program = command.map { "stagecoach \($0)" } ?? "stagecoach"
        return "stagecoach: \(sentence(error).printable)\nTry '\(program) --help'.\n"
    }

    /// Returns the problem, without a full stop.
    package static func sentence(_ error: UsageError) -> String {
        func meant(_ nearest: String?) -> String { nearest.map { "; did you mean '\($0)'?" } ?? "" }
        switch error {
        case .missingCommand: return "a command is missing"
        case .unknownCommand(let name, let nearest): return "unknown command '\(name)'\(meant(nearest))"
        case .unknownOption(let name, let nearest): return "unknown option '\(name)'\(meant(nearest))"
        case .missingValue(let option, let valueName): return "option '\(option)' needs a value: \(option) \(valueName)"
        case .unexpectedValue(let option): return "option '\(option)' takes no value"
        case .repeatedOption(let option): return "option '\(option)' is given twice"
        case .missingOption(let option): return "option '\(option)' is missing"
        case .missingOperand(let name): return "operand \(name) is missing"
        case .surplusOperand(let text): return "unexpected operand '\(text)'"
        case .emptyOperand(let name): return "operand \(name) is empty"
        case .notAnOperand(let name, let value, let choices, let nearest):
            return "\(name) is one of \(choices.joined(separator: ", ")), not '\(value)'\(meant(nearest))"
        case .notACount(let option, let value, let least):
            return "option '\(option)' needs a whole number of at least \(least), not '\(value)'"
        case .notASize(let option, let value):
            return "option '\(option)' needs a size such as 64M or 1G, not '\(value)'"
        case .notAChoice(let option, let value, let choices, let nearest):
            return "option '\(option)' knows \(choices.joined(separator: ", ")), not '\(value)'\(meant(nearest))"
        case .wrongEnding(let option, let value, let endings):
            let words = endings.dropLast().joined(separator: ", ") + (endings.count > 1 ? " or " : "")
            return "option '\(option)' needs a file name ending in \(words)\(endings.last ?? ""), not '\(value)'"
        case .notACut(let option, let value):
            return "option '\(option)' needs a number or names of entity mappings as \"A,B;C\", not '\(value)'"
        case .contradiction(let first, let second): return "options '\(first)' and '\(second)' exclude each other"
        case .needsOption(let option, let other): return "option '\(option)' needs '\(other)'"
        case .notAShard(let value):
            return "option '--shard' needs I/N with I from 0 to N - 1, not '\(value)'"
        case .schedulerShard(let name, let other):
            return "\(name) and \(other) do not say which share of the batch this is; give --shard I/N"
        case .samePath(let first, let second, let what):
            return first == second
                ? "\(what) are the same file: \(first)" : "\(what) are the same file: \(first) and \(second)"
        }
    }
}
