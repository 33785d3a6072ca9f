/// `stagecoach port`.
enum PortCommand {
    /// Lists the changes that policy sources need for Linux, and prints the registrations.
    static func run(_ arguments: ParsedArguments, console: Console) throws {
        let port = try PolicyPort(
            path: arguments.operands[0], mappings: arguments.all("mapping"), context: arguments.all("context"))
        let output = arguments[option: "apply"]
        if let output {
            try PolicySourceFiles.makeFolder(output)
            try port.write(to: output)
        }
        console.output.write(arguments.has("json") ? try JSONText.text(port) : PortWording.text(port, output: output))
    }
}
