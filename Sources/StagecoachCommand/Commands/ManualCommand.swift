/// `stagecoach man`.
enum ManualCommand {
    /// Returns the manual page of the program or of one command.
    static func page(_ arguments: ParsedArguments) throws(UsageError) -> String {
        guard let name = arguments.operands.first else { return ManualPage.program(CommandCatalog.all) }
        guard let command = CommandCatalog.all.first(where: { $0.name == name }) else {
            throw .unknownCommand(name, of: CommandCatalog.all)
        }
        return ManualPage.command(command)
    }
}
