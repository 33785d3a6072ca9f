import Diagnostics
import SwiftTokens

/// A place in a source.
package struct SourcePlace: Sendable, Hashable, CustomStringConvertible {
    package let file: String
    /// The line, from 1.
    package let line: Int

    package var description: String { "\(file):\(line)" }

    /// Returns a refusal of what stands here.
    func refusal(
        _ code: MigrationError.Code, _ message: String, remedy: String, entity: String? = nil, property: String? = nil
    ) -> MigrationError {
        let isKnown = !file.isEmpty
        return MigrationError(
            code, .configuration, message, remedy: remedy,
            context: .init(path: isKnown ? file : nil, line: isKnown ? line : nil, entity: entity, property: property))
    }
}

/// An attribute in front of a declaration, `@Attribute(.unique)`, or a macro in its place, `#Index<Book>([\.title])`.
struct AttributeSyntax: Sendable {
    /// The name without the sign, and without a module's name.
    let name: String
    let arguments: [CallArgument]
    let place: SourcePlace
}

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
