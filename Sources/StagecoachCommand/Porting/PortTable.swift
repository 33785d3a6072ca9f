import SwiftTokens

/// The tables of `port`: lines of words, and comments behind `#`.
enum PortTable {
    /// Returns the words of each line of a table.
    static func lines(_ text: String) -> [[String]] {
        text.split(separator: "\n").filter { !$0.hasPrefix("#") }.map { $0.split(separator: " ").map(String.init) }
    }

    /// The names of types that need no stub: Swift's and Foundation's on Linux, and Stagecoach's.
    static let knownTypes = Set(lines(knownTypesText).joined())

    /// Tells whether a name with a capital letter is Linux's or Stagecoach's, as a type or otherwise.
    static func isKnown(_ name: String) -> Bool {
        knownTypes.contains(name) || name.hasPrefix("NS") && knownNames.contains(name) || has(name, in: "typeWords")
            || has(name, in: "presentModules") || foundationModules.contains { has(name, in: $0) }
    }

    /// The modules that have parts of Foundation on Linux. Each has a list of its types in `wordsText`.
    static let foundationModules = ["FoundationNetworking", "FoundationXML"]

    /// Returns the import statements of the modules that have parts of Foundation which a source uses, each on its own line.
    static func foundationImports(_ tokens: [SwiftToken]) -> String {
        foundationModules.filter { module in
            !tokens.imports(module) && tokens.contains { $0.kind == .word && has($0.text, in: module) }
        }.map { "\nimport \($0)" }.joined()
    }

    /// The names of members, functions and constants that Linux and Stagecoach have.
    static let knownNames = Set(lines(knownNamesText).joined()).union(PlatformPart.names)

    /// The names that can be seen in a policy's functions: functions and constants of Swift, Foundation and the C library, and
    /// the members of every policy.
    static let visibleNames = words["globals", default: []].union(PolicyMethod.all.map(\.name))
        .union(PlatformPart.globals)

    /// The members of the types that policies use most, by type.
    static let knownMembers: [String: Set<String>] = lines(knownMembersText)
        .reduce(into: [:]) { $0[$1[0]] = Set($1.dropFirst()).union(words["partMembers", default: []]) }

    /// The lists of `wordsText`, by name.
    static let words: [String: Set<String>] = lines(wordsText)
        .reduce(into: [:]) { $0[$1[0]] = Set($1.dropFirst()) }

    /// Tells whether a list has a word.
    static func has(_ word: String, in list: String) -> Bool { words[list]?.contains(word) == true }
}
