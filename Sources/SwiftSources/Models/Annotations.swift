import ManagedModel

/// The arguments of `@Attribute`.
struct AttributeOptions {
    private(set) var isUnique = false
    private(set) var isExternal = false
    private(set) var isEphemeral = false
    private(set) var isPreserved = false
    private(set) var isEncrypted = false
    private(set) var isSpotlight = false
    /// The class or the name of the value transformer.
    private(set) var transformer: String?
    private(set) var originalName: String?
    private(set) var hashModifier: String?
    private(set) var unknown: [String] = []
    /// An argument that cannot be read, as a sentence; nil if all can.
    private(set) var problem: String?

    init(_ annotation: AttributeSyntax?) {
        for argument in annotation?.arguments ?? [] {
            switch argument.label {
            case "originalName": originalName = text(argument)
            case "hashModifier": hashModifier = text(argument)
            default: readOption(argument.value)
            }
        }
    }

    private mutating func text(_ argument: CallArgument) -> String? {
        if argument.value.count == 1, argument.value.first?.isWord("nil") == true { return nil }
        if case .text(let text)? = InitialValueReader.literal(argument.value) { return text }
        problem = "The argument \(argument.label ?? "") is no literal: \(argument.value.text)"
        return nil
    }

    private mutating func readOption(_ tokens: ArraySlice<SwiftToken>) {
        let head = tokens.prefix { !$0.isMark("(") }
        let name = head.last { $0.kind == .word }?.text ?? tokens.text
        switch name {
        case "unique": isUnique = true
        case "externalStorage": isExternal = true
        case "ephemeral": isEphemeral = true
        case "preserveValueOnDeletion": isPreserved = true
        case "allowsCloudEncryption": isEncrypted = true
        case "spotlight": isSpotlight = true
        case "transformable":
            guard let argument = CallArgument.list(tokens.dropFirst(head.count + 1).dropLast()).first else { return }
            let words = argument.value.filter { $0.kind == .word && $0.text != "self" }.map(\.text)
            transformer = argument.value.first.flatMap(InitialValueReader.text) ?? words.joined(separator: ".")
        default: unknown.append(name)
        }
    }
}

/// The arguments of `@Relationship`.
struct RelationshipOptions {
    private(set) var deleteRule = DeleteRule.nullify
    private(set) var minimum: Int?
    private(set) var maximum: Int?
    private(set) var originalName: String?
    private(set) var hashModifier: String?
    /// The property that `inverse:` names.
    private(set) var inverse: String?
    private(set) var isUnique = false
    /// An argument that cannot be read, as a sentence; nil if all can.
    private(set) var problem: String?

    init(_ annotation: AttributeSyntax?) {
        for argument in annotation?.arguments ?? [] { read(argument) }
    }

    private mutating func read(_ argument: CallArgument) {
        let words = argument.value.filter { $0.kind == .word }.map(\.text)
        if words == ["nil"] { return }
        let literal = InitialValueReader.literal(argument.value)
        switch (argument.label, literal) {
        case ("deleteRule", _):
            let rules: [String: DeleteRule] = [
                "cascade": .cascade, "nullify": .nullify, "deny": .deny, "noAction": .noAction,
            ]
            if let rule = words.last.flatMap({ rules[$0] }) {
                deleteRule = rule
                return
            }
        case ("minimumModelCount", .integer(let count)?):
            minimum = Int(count)
            return
        case ("maximumModelCount", .integer(let count)?):
            maximum = Int(count)
            return
        case ("originalName", .text(let text)?):
            originalName = text
            return
        case ("hashModifier", .text(let text)?):
            hashModifier = text
            return
        case ("inverse", _):
            if argument.value.first?.isMark("\\") == true, let name = words.last {
                inverse = name
                return
            }
        case (nil, _):
            if words.last == "unique" {
                isUnique = true
                return
            }
        default: break
        }
        problem =
            "The argument \(argument.label.map { "\($0): " } ?? "")\(argument.value.text) of @Relationship is not known"
    }
}
