import SwiftTokens

struct VariableDeclaration: Sendable {
    /// The name; nil for a pattern of several names in parentheses.
    var name: String?
    var type: TypeSyntax?
    /// The expression behind `=`; empty if there is none.
    var initial: ArraySlice<SwiftToken> = []
    /// The tokens of a block with accessors, or of a computed value; empty if there is none.
    var body: ArraySlice<SwiftToken> = []
    var isComputed = false
    var isStatic = false
    var isLet = false
    var isLazy = false
    var attributes: [AttributeSyntax] = []
    let place: SourcePlace

    func attribute(_ name: String) -> AttributeSyntax? { attributes.first { $0.name == name } }

    /// The expression of its value: behind `=`, or in the block that computes it.
    var value: ArraySlice<SwiftToken> {
        guard initial.isEmpty else { return initial }
        let code = body.first?.isWord("get") == true ? body.dropFirst().enclosed : body
        return code.first?.isWord("return") == true ? code.dropFirst() : code
    }
}

struct EnumCase: Sendable {
    let name: String
    var rawValue: ArraySlice<SwiftToken> = []
    var hasPayload = false
}

/// A type, a protocol or an extension, with its members.
struct TypeDeclaration: Sendable {
    enum Kind: String, Sendable {
        case `class`, `struct`, `enum`, actor, `protocol`, `extension`
    }

    let kind: Kind
    /// The name; that of an extension may have several parts.
    let name: [String]
    let place: SourcePlace
    var attributes: [AttributeSyntax] = []
    var inherited: [TypeSyntax] = []
    var isGeneric = false
    /// False if the brace that ends it is missing.
    var isClosed = true
    /// True if only its own file sees it.
    var isPrivate = false
    var variables: [VariableDeclaration] = []
    var cases: [EnumCase] = []
    var aliases: [(name: String, target: TypeSyntax, file: String)] = []
    var types: [TypeDeclaration] = []
    /// `#Unique` and `#Index`.
    var macros: [AttributeSyntax] = []
    /// The names of its methods, with `init(from:)` as `init from`.
    var methods: Set<String> = []

    /// The variables with storage in each value.
    var stored: [VariableDeclaration] { variables.filter { !$0.isStatic && !$0.isComputed } }
}
