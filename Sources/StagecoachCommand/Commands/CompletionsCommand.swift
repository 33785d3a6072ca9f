/// `stagecoach completions`.
enum CompletionsCommand {
    static let shells = ["bash", "zsh", "fish"]

    /// Returns the completion script for a shell.
    static func script(_ arguments: ParsedArguments) throws(UsageError) -> String {
        let shell = arguments.operands[0]
        let commands = CommandCatalog.all
        switch shell {
        case "bash": return BashCompletion.script(commands)
        case "zsh": return ZshCompletion.script(commands)
        case "fish": return FishCompletion.script(commands)
        default:
            throw .notAnOperand("SHELL", shell, of: shells)
        }
    }
}
