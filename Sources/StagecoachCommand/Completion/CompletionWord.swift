/// The scripts of `stagecoach completions`.
enum CompletionScript {
    static let shells = ["bash", "zsh", "fish"]

    /// Returns the script for the shell that is named.
    static func text(_ arguments: ParsedArguments) throws(UsageError) -> String {
        switch arguments.operands[0] {
        case "bash": return BashCompletion.script(CommandCatalog.all)
        case "zsh": return ZshCompletion.script(CommandCatalog.all)
        case "fish": return FishCompletion.script(CommandCatalog.all)
        case let shell: throw .notAnOperand("SHELL", shell, of: shells)
        }
    }
}

/// The words that a shell offers for an option's value or an operand.
enum CompletionWord: Equatable {
    /// A list of words.
    case words([String])
    /// A word, then files.
    case wordThenFiles(String)
    case files
    case folders
    /// Nothing, for numbers, sizes and names unknown to a shell.
    case nothing

    /// Makes the words for the value of an option; nil for a flag.
    init?(_ option: OptionSpecification) {
        switch option.value {
        case .flag: return nil
        case .choice(let words, _): self = .words(words)
        case .text("MODEL"), .text("FILE"), .text("LIBRARY"), .text("STORE"), .file: self = .files
        case .text("DIR"), .text("FOLDER"): self = .folders
        case .count(_, takesAll: true): self = .words(["all"])
        case .count, .size, .text: self = .nothing
        }
    }

    /// Makes the words for the operands of a command: paths, unless their name says otherwise.
    init(operandsOf command: CommandSpecification) {
        switch command.operands.first {
        case nil: self = .nothing
        case "SHELL": self = .words(CompletionScript.shells)
        case "COMMAND": self = .words(CommandCatalog.all.map(\.name))
        case let word? where word.first?.isLowercase == true: self = .wordThenFiles(word)
        default: self = command.operands.contains("DIR") ? .folders : .files
        }
    }
}

extension OptionSpecification {
    /// The first sentence of the help without the full stop, because shells show one line.
    var shortHelp: String {
        var text = help
        if let end = help.range(of: ". ") { text = String(help[..<end.lowerBound]) }
        if text.hasSuffix(".") { text.removeLast() }
        return text
    }
}
