/// Manual pages in roff, with the man macros: for `man`, `groff -man` and `mandoc`.
enum ManualPage {
    /// Returns the page of the program or of one command, as `stagecoach man` prints it.
    static func text(_ arguments: ParsedArguments) throws(UsageError) -> String {
        guard let name = arguments.operands.first else { return program(CommandCatalog.all) }
        guard let command = CommandCatalog.all.first(where: { $0.name == name }) else {
            throw .unknownCommand(name, of: CommandCatalog.all)
        }
        return self.command(command)
    }

    /// `stagecoach(1)`.
    static func program(_ commands: [CommandSpecification]) -> String {
        var page = Roff(title: "STAGECOACH", version: CommandCatalog.version, date: CommandCatalog.date)
        page.section("NAME")
        page.text("stagecoach - migrate Core Data stores from one model version to the next")
        page.section("SYNOPSIS")
        page.bold("stagecoach")
        page.text("COMMAND [OPTION]... [OPERAND]...")
        page.section("DESCRIPTION")
        page.text(
            "Migrates Core Data stores by mapping models, value expressions and migration policies, out of core, within a memory limit, on Linux. Results go to standard output, messages to standard error."
        )
        page.section("COMMANDS")
        for command in commands {
            page.item("stagecoach \(command.name)\(command.operandUsage)", command.summary + ".")
        }
        page.text(
            "Each command has a page of its own: stagecoach man COMMAND. With --help a command prints its options.")
        page.section("OPTIONS")
        page.item("-h, --help", "Show help, also after a command: -h fits on a screen, --help explains every option.")
        page.item("-v, -V, --version", "Show the version, and the commit that the program was built from.")
        closing(&page)
        return page.output
    }

    /// Returns the manual page of a command, `stagecoach-NAME(1)`.
    static func command(_ command: CommandSpecification) -> String {
        var page = Roff(
            title: "STAGECOACH-\(command.name.uppercased())", version: CommandCatalog.version, date: CommandCatalog.date
        )
        page.section("NAME")
        let summary = command.summary.prefix(1).lowercased() + command.summary.dropFirst()
        page.text("stagecoach-\(command.name) - \(summary)")
        page.section("SYNOPSIS")
        page.bold("stagecoach \(command.name)")
        page.text(command.usage.trimmingPrefix(" ") + " [OPTION]...")
        page.section("DESCRIPTION")
        page.paragraphs(command.discussion)
        page.section("OPTIONS")
        let headed = command.headedOptions
        for (title, options) in headed {
            if headed.count > 1 { page.subsection(title) }
            for option in options { page.item(option.usage, option.help) }
        }
        page.item("-h, --help", "Show help: -h fits on a screen, --help explains every option.")
        page.section(command.examples.count == 1 ? "EXAMPLE" : "EXAMPLES")
        for example in command.exampleLines { page.item(example.line, example.effect) }
        closing(&page)
        return page.output
    }

    private static func closing(_ page: inout Roff) {
        page.section("EXIT STATUS")
        let codes = [
            ("0", "Done."), ("64", "The command line cannot be understood."),
            ("65", "The data is not valid: a store, rows that break the model's rules, more rejects than allowed."),
            ("66", "An input is not there."), ("70", "An internal error."), ("73", "An output cannot be created."),
            ("74", "Input or output failed, or the disk is full."),
            ("75", "Interrupted, or the store or the destination is in use."), ("77", "Permission denied."),
            ("78", "A model, mapping model, plan or limit that cannot be used."),
        ]
        for (code, meaning) in codes { page.item(code, meaning) }
        page.section("FILES")
        page.item(
            ".NAME.stagecoach",
            "The work directory of a run, beside the destination NAME: spill files and the store that is being built, and the journal. It is removed when the run ends, unless the same command can resume the run from it."
        )
        page.section("ENVIRONMENT")
        page.item("TERM", "With dumb, progress is not redrawn.")
        page.item("COLUMNS", "The columns that a line of progress or help may take; left out, what the terminal says.")
        page.item("NO_COLOR", "Nothing is ever coloured, with it or without.")
    }
}
