import ManagedModel
import SwiftTokens

/// The arguments of `@Attribute` and `@Relationship`.
struct PropertyOptions {
    /// The options without arguments.
    private(set) var flags: Set<String> = []
    /// The class or the name of the value transformer.
    private(set) var transformer: String?
    private(set) var originalName: String?
    private(set) var hashModifier: String?
    private(set) var deleteRule = DeleteRule.nullify
    private(set) var minimum: Int?
    private(set) var maximum: Int?
    /// The property that `inverse:` names.
    private(set) var inverse: String?
    /// The options that are not known.
    private(set) var unknown: [String] = []
    /// An argument that cannot be read, as a sentence; nil if all can.
    private(set) var problem: String?

    private static let knownFlags: Set<String> = [
        "unique", "externalStorage", "ephemeral", "preserveValueOnDeletion", "allowsCloudEncryption", "spotlight",
    ]
    private static let rules: [String: DeleteRule] = [
        "cascade": .cascade, "nullify": .nullify, "deny": .deny, "noAction": .noAction,
    ]

    init(_ variable: VariableDeclaration) {
        for attribute in variable.attributes where ["Attribute", "Relationship"].contains(attribute.name) {
            for argument in attribute.arguments where !isRead(argument) {
                let label = argument.label.map { "\($0): " } ?? ""
                problem = "The argument \(label)\(argument.value.text) of @\(attribute.name) is not known"
            }
        }
    }

    private mutating func isRead(_ argument: CallArgument) -> Bool {
        let words = argument.value.words
        if words == ["nil"] { return true }
        switch (argument.label, InitialValueReader.literal(argument.value)) {
        case ("originalName", .string(let text)?): originalName = text
        case ("hashModifier", .string(let text)?): hashModifier = text
        case ("minimumModelCount", .integer(let count)?): minimum = Int(count)
        case ("maximumModelCount", .integer(let count)?): maximum = Int(count)
        case ("deleteRule", _):
            guard let rule = words.last.flatMap({ Self.rules[$0] }) else { return false }
            deleteRule = rule
        case ("inverse", _):
            guard argument.value.first?.isMark("\\") == true, let name = words.last else { return false }
            inverse = name
        case (nil, _): readOption(argument.value)
        default: return false
        }
        return true
    }

    private mutating func readOption(_ tokens: ArraySlice<SwiftToken>) {
        let head = tokens.prefix { !$0.isMark("(") }
        let name = head.words.last ?? tokens.text
        guard name == "transformable", let value = CallArgument.list(tokens.dropFirst(head.count).enclosed).first?.value
        else {
            if Self.knownFlags.contains(name) { flags.insert(name) } else { unknown.append(name) }
            return
        }
        let words = value.words.filter { $0 != "self" }
        transformer = value.first?.literalText ?? words.joined(separator: ".")
    }
}
