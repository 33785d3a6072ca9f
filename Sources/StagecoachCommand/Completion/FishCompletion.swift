/// The completion script for fish.
enum FishCompletion {
    static func script(_ commands: [CommandSpecification]) -> String {
        var lines = [
            "# Completions of stagecoach for fish: put this file as stagecoach.fish into ~/.config/fish/completions.",
            "complete -c stagecoach -n __fish_use_subcommand -f",
            "complete -c stagecoach -s h -l help -d 'Show help'",
            "complete -c stagecoach -n __fish_use_subcommand -l version -d 'Show the version'",
        ]
        for command in commands {
            let condition = quoted("__fish_seen_subcommand_from \(command.name)")
            lines.append(
                "complete -c stagecoach -n __fish_use_subcommand -a \(command.name) -d \(quoted(command.summary))")
            lines.append("complete -c stagecoach -n \(condition) \(flags(CompletionWord(operandsOf: command)))")
            for option in command.options {
                let letter = option.letter.map { " -s \($0)" } ?? ""
                let value = CompletionWord(option).map { " -r " + flags($0) } ?? ""
                lines.append(
                    "complete -c stagecoach -n \(condition)\(letter) -l \(option.name)\(value) -d \(quoted(option.shortHelp))"
                )
            }
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private static func flags(_ word: CompletionWord) -> String {
        switch word {
        case .words(let words): "-f -a \(quoted(words.joined(separator: " ")))"
        case .wordThenFiles(let word): "-F -a \(quoted(word))"
        case .files: "-F"
        case .folders: "-f -a '(__fish_complete_directories)'"
        case .nothing: "-f"
        }
    }

    /// Returns a word in single quotes, with backslashes and quotes escaped.
    private static func quoted(_ text: String) -> String {
        "'\(text.replacing("\\", with: "\\\\").replacing("'", with: "\\'"))'"
    }
}
