/// The completion script for bash, 4.0 or newer. It does not need the bash-completion package.
enum BashCompletion {
    static func script(_ commands: [CommandSpecification]) -> String {
        let names = commands.map(\.name)
        var lines = [
            "# Completions of stagecoach for bash: source this file, or put it into",
            "# ~/.local/share/bash-completion/completions/stagecoach",
            "_stagecoach() {",
            "    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} command= word",
            "    COMPREPLY=()",
            "    # bash takes --option=value for three words.",
            "    if [[ $current == = ]]; then current=",
            "    elif [[ $previous == = ]]; then previous=${COMP_WORDS[COMP_CWORD-2]}; fi",
            "    for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do",
            "        case $word in \(names.joined(separator: "|"))) command=$word; break ;; esac",
            "    done",
            "    case \"$command $previous\" in",
        ]
        for command in commands {
            for option in command.options {
                guard let word = CompletionWord(option) else { continue }
                var patterns = ["\"\(command.name) --\(option.name)\""]
                if let letter = option.letter { patterns.append("\"\(command.name) -\(letter)\"") }
                lines.append("        \(patterns.joined(separator: "|"))) \(action(word)); return ;;")
            }
        }
        lines += [
            "    esac",
            "    case \"$command $current\" in",
            "        \" \"*) \(reply(names + ["--help", "--version"])) ;;",
        ]
        for command in commands {
            let options = command.options.map { "--\($0.name)" } + ["--help"]
            lines.append("        \"\(command.name) -\"*) \(reply(options)) ;;")
            lines.append("        \"\(command.name) \"*) \(action(CompletionWord(operandsOf: command))) ;;")
        }
        lines += ["    esac", "}", "complete -o default -F _stagecoach stagecoach"]
        return lines.joined(separator: "\n") + "\n"
    }

    private static func reply(_ words: [String]) -> String {
        "COMPREPLY=($(compgen -W \"\(words.joined(separator: " "))\" -- \"$current\"))"
    }

    private static func action(_ word: CompletionWord) -> String {
        switch word {
        case .words(let words): reply(words)
        case .wordThenFiles(let word): reply([word])
        // Without a reply, readline completes paths itself, and quotes them.
        case .files: ":"
        case .folders: "compopt -o dirnames +o default"
        case .nothing: "compopt +o default"
        }
    }
}
