import Diagnostics

/// `stagecoach policies check`.
enum PoliciesCommand {
    static let action = "check"

    /// Refuses any other word than `check`.
    static func requireAction(_ arguments: ParsedArguments) throws(UsageError) {
        let word = arguments.operands[0]
        if word != action { throw .notAnOperand("ACTION", word, of: [action]) }
    }

    /// Prints what a library of policies registers and needs.
    ///
    /// - Throws: the reason why a migration cannot use the library (66, 74, 77, 78).
    static func run(_ arguments: ParsedArguments, console: Console) throws {
        let check = try PolicyLibraryCheck(arguments.operands[1])
        console.output.write(arguments.has("json") ? try JSONText.text(check) : PolicyLibraryWording.text(check))
        if let problem = check.problem { throw problem }
    }
}
