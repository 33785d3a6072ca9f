import Diagnostics

/// The command line: parses the arguments, runs one command and words its errors.
package enum Command {
    /// Runs a command.
    ///
    /// - Parameter arguments: the arguments without the program's name.
    /// - Returns: the exit code: 0, or the category of the error.
    package static func run(_ arguments: [String], console: Console) -> Int32 {
        var name: String?
        do throws(UsageError) {
            if let first = arguments.first, CommandCatalog.all.contains(where: { $0.name == first }) { name = first }
            switch try ArgumentParser(commands: CommandCatalog.all).parse(arguments) {
            case .help(let command, let isBrief):
                let help = HelpText(width: console.lineWidth)
                console.output.write(
                    command.map(isBrief ? help.brief : help.command) ?? help.overview(CommandCatalog.all))
                return 0
            case .version:
                console.output.write(HelpText.version)
                return 0
            case .command(let command, let parsed):
                return try run(command.name, parsed, commandLine: arguments, console)
            }
        } catch {
            console.messages.write(error.text(command: name))
            return MigrationError.Category.usage.rawValue
        }
    }

    private static func run(
        _ name: String, _ arguments: ParsedArguments, commandLine: [String], _ console: Console
    ) throws(UsageError) -> Int32 {
        let work: () throws -> Void
        let arguments = arguments.mergingModels(operands: name == "inspect" || name == "model")
        switch name {
        case "migrate": work = try MigrateCommand(arguments, commandLine: commandLine, console: console).run
        case "plan": work = try PlanCommand(arguments, console: console).run
        case "check": work = try CheckCommand(arguments, console: console).run
        case "explain": work = try ExplainCommand(arguments, console: console).run
        case "verify": work = try VerifyCommand(arguments, console: console).run
        case "batch": work = try BatchCommand(arguments, commandLine: commandLine, console: console).run
        case "merge-reports":
            work = { try MergeReportsCommand.run(arguments, commandLine: commandLine, console: console) }
        case "infer": work = { try InferCommand.run(arguments, console: console) }
        case "port": work = { try PortCommand.run(arguments, console: console) }
        case "policies":
            try PoliciesCommand.requireAction(arguments)
            work = { try PoliciesCommand.run(arguments, console: console) }
        case "convert": work = { try ConvertCommand.run(arguments, console: console) }
        case "model": work = { try ModelCommand.run(arguments, console: console) }
        case "inspect": work = { try InspectCommand.run(arguments, console: console) }
        case "show": work = try ShowCommand(arguments, console: console).run
        case "completions", "man":
            let text = try name == "man" ? ManualPage.text(arguments) : CompletionScript.text(arguments)
            work = { console.output.write(text) }
        default: work = DemoCommand(arguments, console: console).run
        }
        do {
            try work()
            return 0
        } catch let told as ToldFailure {
            return told.exitCode
        } catch let usage as UsageError {
            // Options that exclude each other may be noticed only where they are read.
            console.messages.write(usage.text(command: name))
            return MigrationError.Category.usage.rawValue
        } catch {
            console.messages.write(ErrorWording.text(error))
            return ErrorWording.exitCode(error)
        }
    }
}
