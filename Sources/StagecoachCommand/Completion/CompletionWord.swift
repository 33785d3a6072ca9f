/// What a shell may offer for an option's value or an operand.
enum CompletionWord: Equatable {
    /// Some words.
    case words([String])
    case files
    case folders
    /// Numbers, sizes and names that no shell knows.
    case nothing

    /// What is offered for the value of an option; nil for a flag.
    init?(_ option: OptionSpecification) {
        switch option.value {
        case .flag: return nil
        case .choice(let words): self = .words(words)
        case .count, .size: self = .nothing
        case .file: self = .files
        case .text: self = CompletionWord(valueName: option.valueName)
        }
    }

    /// What is offered for the operands of a command: they are paths but where it names its words.
    init(operandsOf command: CommandSpecification) {
        if !command.operandWords.isEmpty {
            self = .words(command.operandWords)
        } else if command.operands.isEmpty {
            self = .nothing
        } else {
            self = command.operands.contains("DIR") ? .folders : .files
        }
    }

    private init(valueName: String?) {
        switch valueName {
        case "MODEL", "FILE", "LIBRARY", "STORE", "MANIFEST": self = .files
        case "DIR", "FOLDER": self = .folders
        default: self = .nothing
        }
    }
}

extension OptionSpecification {
    /// The first sentence of its help, without the full stop: shells show one line.
    var shortHelp: String {
        var text = help
        if let end = help.range(of: ". ") { text = String(help[..<end.lowerBound]) }
        if text.hasSuffix(".") { text.removeLast() }
        return text
    }
}
