/// The completion script for zsh.
enum ZshCompletion {
    static func script(_ commands: [CommandSpecification]) -> String {
        var lines = [
            "#compdef stagecoach",
            "# Completions of stagecoach for zsh: put this file as _stagecoach into a folder of $fpath.",
            "_stagecoach() {",
            "    local context state state_descr line",
            "    typeset -A opt_args",
            "    local -a commands",
            "    commands=(",
        ]
        for command in commands { lines.append("        \(quoted(command.name + ":" + command.summary))") }
        lines += [
            "    )",
            "    _arguments -C '(- *)'{-h,--help}'[Show help]' '(- *)--version[Show the version]' \\",
            "        '1:command:->command' '*::argument:->arguments'",
            "    case $state in",
            "    command) _describe -t commands command commands ;;",
            "    arguments)",
            "        case $words[1] in",
        ]
        for command in commands {
            lines.append("        \(command.name))")
            var arguments = ["'(- *)'{-h,--help}'[Show help]'"]
            arguments += command.options.flatMap(arguments(of:))
            let operands = CompletionWord(operandsOf: command)
            if case .wordThenFiles(let word) = operands {
                arguments += [quoted("1:action:(\(word))"), quoted("*:file:_files")]
            } else if operands != .nothing {
                let name = command.operands.first?.lowercased() ?? "operand"
                arguments.append(quoted("*:\(name):\(action(operands))"))
            }
            lines.append("            _arguments -s \\")
            for (index, argument) in arguments.enumerated() {
                lines.append("                \(argument)\(index + 1 < arguments.count ? " \\" : " ;;")")
            }
        }
        lines += [
            "        esac ;;", "    esac", "}", "", "if [[ $funcstack[1] == _stagecoach ]]; then",
            "    _stagecoach \"$@\"",
        ]
        lines += ["else", "    compdef _stagecoach stagecoach", "fi"]
        return lines.joined(separator: "\n") + "\n"
    }

    private static func arguments(of option: OptionSpecification) -> [String] {
        let many = option.isRepeatable ? "*" : ""
        // Inside brackets these characters have a meaning.
        let help = "[\(option.shortHelp.escaped(["[": "\\[", "]": "\\]", ":": "\\:", "\\": "\\\\"]))]"
        var value = ""
        if let word = CompletionWord(option) { value = ":\(option.value.name ?? ""):\(action(word))" }
        let sign = value.isEmpty ? "" : "="
        var arguments = [quoted("\(many)--\(option.name)\(sign)\(help)\(value)")]
        if let letter = option.letter {
            arguments.append(quoted("\(many)-\(letter)\(value.isEmpty ? "" : "+")\(help)\(value)"))
        }
        return arguments
    }

    private static func action(_ word: CompletionWord) -> String {
        switch word {
        case .words(let words): "(\(words.joined(separator: " ")))"
        case .files, .wordThenFiles: "_files"
        case .folders: "_files -/"
        case .nothing: " "
        }
    }

    /// Returns a word in single quotes.
    private static func quoted(_ text: String) -> String {
        "'\(text.replacing("'", with: "'\\''"))'"
    }
}
