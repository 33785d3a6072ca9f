import SwiftTokens

/// A class or an extension declared in a Swift source, with its inheritance and its methods.
struct DeclaredType {
    /// The name; that of the extended type, for an extension.
    let name: String
    let isExtension: Bool
    let file: String
    let line: Int
    /// The first name after the colon; nil if there is none.
    let superclass: String?
    /// The name given by `@objc(Name)`.
    let objectiveCName: String?
    /// True for `@objcMembers`, and for `@objc` before an extension.
    let isObjcMembers: Bool
    /// True for `private` or `fileprivate`: another file cannot register it.
    let isPrivate: Bool
    /// The tokens between the braces.
    let body: Range<Int>
    let methods: [DeclaredMethod]
    let properties: [DeclaredProperty]

    /// Tells whether it declares a method or property of a name.
    func declares(_ member: String) -> Bool {
        methods.contains { $0.name == member } || properties.contains { $0.name == member }
    }
}

/// A stored or computed property of a class or of its extension.
struct DeclaredProperty {
    let name: String
    /// The name given by `@objc(name)`, which is the key in the model.
    let objectiveCName: String?
    /// The type's name without optionality, or the element's of an array or set; nil if the declaration shows none.
    let type: String?

    /// The name by which key-value coding finds the property.
    var key: String { objectiveCName ?? name }
}

/// A method of a class or of its extension.
struct DeclaredMethod {
    let line: Int
    let name: String
    /// The label of each parameter; empty for `_`.
    let labels: [String]
    let isOverride: Bool
    let isStatic: Bool
    let isPrivate: Bool
    /// True if the method is marked `@objc`.
    let isObjc: Bool
    /// True for generic or async methods and for inout or variadic parameters: no expression can call them.
    let isUncallable: Bool
    /// The selector given by `@objc(selector:)`.
    let givenSelector: String?

    /// The selector by which mapping models call the method.
    var selector: String { givenSelector ?? SelectorName.selector(base: name, labels: labels) }

    /// The method's Swift name: `isbn(forIsbn:)`; without parameters its bare name.
    var reference: String {
        guard !labels.isEmpty else { return name }
        return name + "(" + labels.map { ($0.isEmpty ? "_" : $0) + ":" }.joined() + ")"
    }
}

/// Finds the classes, extensions and methods of a source from its tokens.
struct DeclarationReader {
    let tokens: [SwiftToken]
    private let tree: TokenTree
    let file: String
    /// The classes and extensions.
    private(set) var types: [DeclaredType] = []
    /// The names of all types, also of protocols, aliases and generic parameters.
    private(set) var typeNames: Set<String> = []

    /// Reads the whole source.
    init(tokens: [SwiftToken], file: String) {
        self.tokens = tokens
        tree = TokenTree(tokens)
        self.file = file
        readTypes(in: 0..<tokens.count)
        readTypeNames()
    }

    private mutating func readTypeNames() {
        let types: Set<String> = ["class", "struct", "enum", "protocol", "typealias", "associatedtype", "actor"]
        for index in tokens.indices where tokens.isWord(index) && tokens.isWord(index + 1) {
            let isType = types.contains(tokens[index].text)
            if isType { typeNames.insert(tokens[index + 1].text) }
            guard isType || tokens[index].isWord("func"), tokens.isMark(index + 2, "<") else { continue }
            for position in index + 2..<min(tokens.closing(index + 2), tokens.count - 1)
            where tokens[position].isMark("<") || tokens[position].isMark(",") {
                typeNames.insert(tokens[position + 1].text)
            }
        }
    }

    private mutating func readTypes(in range: Range<Int>) {
        var index = range.lowerBound
        while index < range.upperBound {
            let token = tokens[index]
            let isType = ["class", "extension", "struct", "enum", "actor"].contains { token.isWord($0) }
            // `class func` is a method, and `.class` is a name.
            guard isType, index + 1 < range.upperBound, tokens.isWord(index + 1), !tokens.isWord(index + 1, "func"),
                !tokens.isWord(index + 1, "var"), !tokens.isMark(index - 1, "."), let body = body(after: index)
            else {
                index += 1
                continue
            }
            readType(at: index, body: body)
            index = body.upperBound + 1
        }
    }

    /// Returns the tokens between the braces that open after an index; nil if the declaration ends before a brace.
    private func body(after index: Int) -> Range<Int>? {
        let open = tokens[index...].firstIndex { $0.isMark("{") || $0.isMark("}") || $0.isMark(";") }
        guard let open, tokens[open].isMark("{") else { return nil }
        return open + 1..<max(open + 1, tree.closing(open))
    }

    private mutating func readType(at index: Int, body: Range<Int>) {
        let modifiers = modifiers(before: index)
        var name = tokens[index + 1].text
        var next = index + 2
        // For an extension of `Outer.Inner`, use the last name.
        while tokens.isMark(next, "."), tokens.isWord(next + 1) {
            name = tokens[next + 1].text
            next += 2
        }
        if tokens.isMark(next, "<") { next = tokens.closing(next) + 1 }
        var superclass: String?
        if tokens.isMark(next, ":") {
            next += 1
            while tokens.isWord(next) {
                superclass = tokens[next].text
                guard tokens.isMark(next + 1, ".") else { break }
                next += 2
            }
        }
        let isExtension = tokens[index].isWord("extension")
        if isExtension || tokens[index].isWord("class") {
            let (methods, properties) = members(in: body)
            types.append(
                DeclaredType(
                    name: name, isExtension: isExtension, file: file, line: tokens[index].line, superclass: superclass,
                    objectiveCName: modifiers.objcName,
                    isObjcMembers: modifiers.words.contains(isExtension ? "@objc" : "@objcMembers"),
                    isPrivate: modifiers.isPrivate, body: body, methods: methods, properties: properties))
        }
        readTypes(in: body)
    }

    private struct Modifiers {
        var words: Set<String> = []
        var objcName: String?
        var isPrivate: Bool { words.contains("private") || words.contains("fileprivate") }
    }

    /// Returns the attributes and modifiers directly before a token.
    private func modifiers(before index: Int) -> Modifiers {
        let known: Set<String> = [
            "public", "private", "fileprivate", "internal", "open", "package", "final", "override", "static", "class",
            "dynamic", "mutating", "nonisolated", "required", "convenience", "indirect",
        ]
        var found = Modifiers()
        var position = index - 1
        while position >= 0 {
            let token = tokens[position]
            if token.kind == .attribute || token.kind == .word && known.contains(token.text) {
                found.words.insert(token.text)
                position -= 1
            } else if token.isMark(")"), let (open, attribute) = attribute(closedAt: position) {
                found.words.insert(attribute.text)
                if attribute.text == "@objc" {
                    found.objcName = tokens[open + 1..<position].map(\.text).joined()
                }
                position = open - 2
            } else {
                break
            }
        }
        return found
    }

    /// Returns the attribute whose arguments a parenthesis closes.
    private func attribute(closedAt index: Int) -> (open: Int, attribute: SwiftToken)? {
        var depth = 0
        for position in stride(from: index, to: 0, by: -1) {
            if tokens[position].isMark(")") { depth += 1 }
            if tokens[position].isMark("(") { depth -= 1 }
            guard depth == 0 else { continue }
            let before = tokens[position - 1]
            return before.kind == .attribute ? (position, before) : nil
        }
        return nil
    }

    /// Returns the methods and properties declared directly in a body.
    private func members(in body: Range<Int>) -> (methods: [DeclaredMethod], properties: [DeclaredProperty]) {
        var methods: [DeclaredMethod] = []
        var properties: [DeclaredProperty] = []
        var index = body.lowerBound
        while index < body.upperBound {
            if tokens[index].isMark("{") { index = tree.closing(index) }
            if tokens.isWord(index, "func"), let method = method(at: index) { methods.append(method) }
            if tokens.isWord(index, "var") || tokens.isWord(index, "let"), index + 1 < body.upperBound,
                tokens.isWord(index + 1)
            {
                properties.append(
                    DeclaredProperty(
                        name: tokens[index + 1].text, objectiveCName: modifiers(before: index).objcName,
                        type: type(ofPropertyAt: index)))
            }
            index += 1
        }
        return (methods, properties)
    }

    /// Returns the name of the type that is written for the property at a token, without optionality, or that of an array's or
    /// set's element; nil if none is written.
    private func type(ofPropertyAt index: Int) -> String? {
        var cursor = TokenCursor(tree, at: index + 2)
        var type = cursor.take(":") ? cursor.type()?.unwrapped : nil
        if case .array(let element)? = type { type = element.unwrapped }
        if case .set(let element)? = type { type = element.unwrapped }
        return if case .named(let names, _)? = type { names.last } else { nil }
    }

    private func method(at index: Int) -> DeclaredMethod? {
        guard tokens.isWord(index + 1) else { return nil }
        let modifiers = modifiers(before: index)
        var open = index + 2
        let isGeneric = tokens.isMark(open, "<")
        if isGeneric { open = tokens.closing(open) + 1 }
        guard tokens.isMark(open, "(") else { return nil }
        let list = CallArguments(tokens, open: open, isDeclaration: true)
        let isInoutOrVariadic = (open..<list.close).contains { position in
            tokens.isWord(position, "inout") || tokens.isMark(position, ".") && tokens.isMark(position + 1, ".")
        }
        return DeclaredMethod(
            line: tokens[index].line, name: tokens[index + 1].text, labels: list.labels,
            isOverride: modifiers.words.contains("override"),
            isStatic: !modifiers.words.isDisjoint(with: ["static", "class"]), isPrivate: modifiers.isPrivate,
            isObjc: modifiers.words.contains("@objc"),
            isUncallable: isGeneric || isInoutOrVariadic || tokens.isWord(list.close + 1, "async"),
            givenSelector: modifiers.objcName)
    }
}
