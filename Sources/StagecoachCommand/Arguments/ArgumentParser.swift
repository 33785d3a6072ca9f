import Diagnostics
import SpillStorage

/// The meaning of a command line.
package enum ParsedCommandLine: Sendable {
    /// Help on one command, or on all commands if nil. Brief help fits on a screen.
    case help(CommandSpecification?, isBrief: Bool = false)
    case version
    case command(CommandSpecification, ParsedArguments)
}

/// The options and operands of one command, checked against its specification.
package struct ParsedArguments: Sendable {
    /// The operands, by position.
    package internal(set) var operands: [String] = []
    /// The values of each option that is present, in order; none for a flag.
    fileprivate var values: [String: [String]] = [:]
    fileprivate var numbers: [String: Int] = [:]

    /// Tells whether a flag is present.
    package func has(_ flag: String) -> Bool { values[flag] != nil }
    /// The value of an option as it was written; nil if the option is absent.
    package subscript(option option: String) -> String? { values[option]?.last }
    /// Returns the value of an option that takes one of an enumeration's words; nil if the option is absent.
    func choice<Choice: RawRepresentable<String>>(_ option: String) -> Choice? {
        self[option: option].flatMap(Choice.init(rawValue:))
    }
    /// Returns the values of an option that may be repeated, in order.
    package func all(_ option: String) -> [String] { values[option] ?? [] }
    /// Replaces the values of an option by one.
    mutating func replace(_ option: String, by value: String?) { values[option] = value.map { [$0] } }
    /// Returns the value of a count or size; nil if the option is absent.
    package func number(_ option: String) -> Int? { numbers[option] }
}

/// Parses command lines in GNU's style: `--name value`, `--name=value`, `-n value`, `-nvalue`, options anywhere among the
/// operands, `--` before operands that begin with a dash.
///
/// A value may begin with a dash only after `=`. Otherwise an option without its value would swallow the next option.
package struct ArgumentParser: Sendable {
    package let commands: [CommandSpecification]

    package init(commands: [CommandSpecification]) { self.commands = commands }

    /// Parses the arguments after the program's name.
    package func parse(_ arguments: [String]) throws(UsageError) -> ParsedCommandLine {
        guard let first = arguments.first else { throw .missingCommand }
        switch first {
        case "-h", "--help": return .help(nil)
        case "help":
            // Like other programs: `help`, `help migrate`.
            guard arguments.count > 1 else { return .help(nil) }
            return .help(try command(named: arguments[1]))
        case "-v", "-V", "--version": return .version
        default: break
        }
        if first.hasPrefix("-") {
            let name = Self.name(ofLong: first)
            throw .unknownOption(
                first.hasPrefix("--") ? "--" + name : first,
                nearest: EditDistance.nearest(to: name, among: ["help", "version"]).map { "--" + $0 },
                others: first.hasPrefix("--") ? commands(with: name) : [])
        }
        return try parse(Array(arguments.dropFirst()), of: try command(named: first))
    }

    private func command(named name: String) throws(UsageError) -> CommandSpecification {
        guard let command = commands.first(where: { $0.name == name }) else {
            throw .unknownCommand(name, of: commands)
        }
        return command
    }

    /// Returns the names of the commands that have an option.
    private func commands(with option: String) -> [String] {
        commands.filter { $0.options.contains { $0.name == option } }.map(\.name)
    }

    private func parse(
        _ arguments: [String], of command: CommandSpecification
    ) throws(UsageError) -> ParsedCommandLine {
        var parsed = ParsedArguments()
        var seen: Set<String> = []
        var position = 0
        while position < arguments.count {
            let argument = arguments[position]
            position += 1
            if argument == "--" {
                parsed.operands += arguments[position...]
                break
            }
            if argument == "-" || !argument.hasPrefix("-") {
                parsed.operands.append(argument)
                continue
            }
            if argument == "-h" || argument == "--help" { return .help(command, isBrief: argument == "-h") }
            if argument == "--version" { return .version }
            let (option, joined) = try find(argument, in: command)
            guard seen.insert(option.name).inserted || option.isRepeatable else {
                throw .repeatedOption("--" + option.name)
            }
            if option.value == .flag {
                guard joined == nil else { throw .unexpectedValue(option: "--" + option.name) }
                parsed.values[option.name] = []
                continue
            }
            let value: String
            if let joined {
                value = joined
            } else if position < arguments.count,
                arguments[position] == "-" || !arguments[position].hasPrefix("-")
                    || Self.isNegativeNumber(arguments[position], for: option)
            {
                value = arguments[position]
                position += 1
            } else {
                throw .missingValue(option: "--" + option.name, valueName: option.value.name ?? "VALUE")
            }
            try store(value, of: option, in: &parsed)
        }
        for name in command.operands.dropLast(command.optionalOperands).dropFirst(parsed.operands.count) {
            throw .missingOperand(name)
        }
        if parsed.operands.count > command.operands.count, !command.repeatsLastOperand {
            throw .surplusOperand(parsed.operands[command.operands.count])
        }
        for (index, operand) in parsed.operands.enumerated() where operand.isEmpty {
            throw .emptyOperand(command.operands[min(index, command.operands.count - 1)])
        }
        for option in command.options where option.isRequired && !seen.contains(option.name) {
            throw .missingOption("--" + option.name)
        }
        return .command(command, parsed)
    }

    /// Tells whether an argument that begins with `-` is a negative number and the option takes a number. The argument is then the
    /// option's value, so that the error is about the number and not about an unknown option.
    private static func isNegativeNumber(_ argument: String, for option: OptionSpecification) -> Bool {
        switch option.value {
        case .count, .size: argument.dropFirst().first?.isNumber == true
        default: false
        }
    }

    private func find(
        _ argument: String, in command: CommandSpecification
    ) throws(UsageError) -> (OptionSpecification, joined: String?) {
        if argument.hasPrefix("--") {
            let name = Self.name(ofLong: argument)
            let joined = argument.firstIndex(of: "=").map { String(argument[argument.index(after: $0)...]) }
            guard let option = command.options.first(where: { $0.name == name }) else {
                let names = command.options.map(\.name) + ["help"]
                throw .unknownOption(
                    "--" + name, nearest: EditDistance.nearest(to: name, among: names).map { "--" + $0 },
                    others: commands(with: name))
            }
            return (option, joined)
        }
        let letter = argument[argument.index(after: argument.startIndex)]
        guard let option = command.options.first(where: { $0.letter == letter }) else {
            // `-to` for `--to` is a common mistake.
            let name = Self.name(ofLong: "-" + argument)
            let meant = command.options.contains { $0.name == name } ? "--" + name : nil
            throw .unknownOption(meant == nil ? "-\(letter)" : argument, nearest: meant)
        }
        let rest = argument.dropFirst(2)
        guard !rest.isEmpty else { return (option, nil) }
        return (option, String(rest.first == "=" ? rest.dropFirst() : rest))
    }

    private func store(
        _ value: String, of option: OptionSpecification, in parsed: inout ParsedArguments
    ) throws(UsageError) {
        let name = "--" + option.name
        guard !value.isEmpty else { throw .missingValue(option: name, valueName: option.value.name ?? "VALUE") }
        switch option.value {
        case .flag, .text: break
        case .count(_, takesAll: true) where value == "all": parsed.numbers[option.name] = .max
        case .count(let least, let takesAll):
            guard value.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }), let number = Int(value), number >= least else {
                throw .notACount(option: name, value: value, least: least, orAll: takesAll)
            }
            parsed.numbers[option.name] = number
        case .size:
            guard let bytes = try? MemoryLimit.parse(value) else { throw .notASize(option: name, value: value) }
            parsed.numbers[option.name] = bytes
        case .choice(let choices, _):
            guard choices.contains(value) else {
                throw .notAChoice(
                    option: name, value: value, choices: choices,
                    nearest: EditDistance.nearest(to: value, among: choices))
            }
        case .file(let endings):
            guard endings.contains(where: value.hasSuffix) else {
                throw .wrongEnding(option: name, value: value, endings: endings)
            }
        }
        parsed.values[option.name, default: []].append(value)
    }

    /// Returns the name in `--name` and `--name=value`.
    private static func name(ofLong argument: String) -> String {
        String(argument.drop { $0 == "-" }.prefix { $0 != "=" })
    }
}
