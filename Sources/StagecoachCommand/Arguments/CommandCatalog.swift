import Foundation

/// The commands of `stagecoach` with their options and examples.
package enum CommandCatalog {
    /// The program's version.
    package static let version = "0.1.0"
    /// The date of the version, shown in manual pages.
    package static let date = "2026-11-22"
    package static let all = CommandTable(text).commands
}

/// Reads `CommandCatalog.text`, whose comment explains its lines.
struct CommandTable {
    private(set) var commands: [CommandSpecification] = []
    private var groups: [String: [OptionSpecification]] = [:]
    /// The group that gets the options; nil if the last command does.
    private var group: String?
    private var heading = OptionHeading.common

    init(_ text: String) {
        var lines = text.split(separator: "\n", omittingEmptySubsequences: false)[...]
        while let line = lines.popFirst() {
            let words = line.split(separator: " ").map(String.init)
            func following() -> String { String(lines.popFirst()?.dropFirst(2) ?? "") }
            switch line.first {
            case "=":
                commands.append(CommandSpecification(name: words[1], summary: words[2...].joined(separator: " ")))
                (group, heading) = (nil, .common)
            case "&": (group, heading) = (words[1], .common)
            case "%": heading = OptionHeading(rawValue: words[1]) ?? .common
            case "<": edit { $0.read(operands: words.dropFirst()) }
            case "-": add([OptionSpecification(words[...], heading, help: following())])
            case "@":
                let names = words.dropFirst(2)
                let isAllBut = names.first == "but"
                add((groups[words[1]] ?? []).filter { names.isEmpty || names.contains($0.name) != isAllBut })
            case "$":
                let example = (arguments: String(line.dropFirst(2)), effect: following())
                edit { $0.examples.append(example) }
            default: edit { $0.discussion += line + "\n" }
            }
        }
        for index in commands.indices {
            commands[index].discussion = commands[index].discussion.trimmingCharacters(in: .newlines)
        }
    }

    /// Changes the last command.
    private mutating func edit(_ change: (inout CommandSpecification) -> Void) {
        if let last = commands.indices.last { change(&commands[last]) }
    }

    private mutating func add(_ options: [OptionSpecification]) {
        if let group { groups[group, default: []] += options } else { edit { $0.options += options } }
    }
}

extension CommandSpecification {
    fileprivate mutating func read(operands words: ArraySlice<String>) {
        operands = words.map { $0.trimmingCharacters(in: CharacterSet(charactersIn: "[].")) }
        optionalOperands = words.count { $0.hasPrefix("[") }
        repeatsLastOperand = words.last?.hasSuffix("...") == true
    }
}

extension OptionSpecification {
    fileprivate init(_ words: ArraySlice<String>, _ heading: OptionHeading, help: String) {
        var words = words
        let letter = words.first?.hasPrefix("--") == true ? nil : words.popFirst()?.dropFirst().first
        let name = words.popFirst()?.dropFirst(2) ?? ""
        let value = words.first.flatMap { $0.first?.isLowercase == true && !$0.contains("=") ? nil : OptionValue($0) }
        self.init(
            String(name), letter: letter, value ?? .flag, isRequired: words.contains("required"),
            isRepeatable: words.contains("repeatable"), heading: heading, help)
    }
}

extension OptionValue {
    fileprivate init(_ word: String) {
        let parts = word.split(separator: "=").map(String.init)
        let words = parts.dropFirst().joined().split(separator: "|").map(String.init)
        switch parts[0] {
        case "SIZE": self = .size
        case "N>": self = .count(least: Int(words[0]) ?? 0, takesAll: words.contains("all"))
        case "FILE" where !words.isEmpty: self = .file(endings: words)
        case let name: self = words.isEmpty ? .text(name) : .choice(words, name: name)
        }
    }
}
