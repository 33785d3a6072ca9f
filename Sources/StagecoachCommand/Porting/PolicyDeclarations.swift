/// A class declared in a Swift source, with its inheritance and its methods.
struct DeclaredClass {
    let name: String
    let file: String
    let line: Int
    /// The first name after the colon; nil if there is none.
    let superclass: String?
    /// The name given by `@objc(Name)`.
    let objectiveCName: String?
    let isObjcMembers: Bool
    /// True for `private` or `fileprivate`: another file cannot register it.
    let isPrivate: Bool
    /// The tokens between the braces.
    let body: Range<Int>
    var methods: [DeclaredMethod] = []
    var properties: [DeclaredProperty] = []
}

/// An extension declared in a Swift source.
struct DeclaredExtension {
    /// The name of the extended type.
    let type: String
    let isObjcMembers: Bool
    let body: Range<Int>
    let methods: [DeclaredMethod]
    let properties: [DeclaredProperty]
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
    let file: String
    private(set) var classes: [DeclaredClass] = []
    private(set) var extensions: [DeclaredExtension] = []
    /// The names of all types, also of protocols, aliases and generic parameters.
    private(set) var typeNames: Set<String> = []

    init(tokens: [SwiftToken], file: String) {
        self.tokens = tokens
        self.file = file
    }

    /// Reads the whole source.
    ///
    /// - Complexity: O(tokens).
    mutating func run() {
        readTypes(in: 0..<tokens.count)
        readTypeNames()
    }

    private mutating func readTypeNames() {
        let types: Set<String> = ["class", "struct", "enum", "protocol", "typealias", "associatedtype", "actor"]
        for index in tokens.indices.dropLast() where tokens[index].kind == .word && tokens[index + 1].kind == .word {
            let isType = types.contains(tokens[index].text)
            if isType { typeNames.insert(tokens[index + 1].text) }
            guard isType || tokens[index].isWord("func"), index + 2 < tokens.count, tokens[index + 2].isMark("<") else {
                continue
            }
            for position in index + 2..<closing(index + 2, "<", ">")
            where tokens[position].isMark("<") || tokens[position].isMark(",") {
                if position + 1 < tokens.count { typeNames.insert(tokens[position + 1].text) }
            }
        }
    }

    private mutating func readTypes(in range: Range<Int>) {
        var index = range.lowerBound
        while index < range.upperBound {
            let token = tokens[index]
            let isType = ["class", "extension", "struct", "enum", "actor"].contains { token.isWord($0) }
            // `class func` is a method, and `.class` is a name.
            guard isType, index + 1 < range.upperBound, tokens[index + 1].kind == .word,
                !tokens[index + 1].isWord("func"), !tokens[index + 1].isWord("var"),
                index == 0 || !tokens[index - 1].isMark("."), let body = body(after: index)
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
        var open = index
        while open < tokens.count, !tokens[open].isMark("{") {
            if tokens[open].isMark("}") || tokens[open].isMark(";") { return nil }
            open += 1
        }
        guard open < tokens.count else { return nil }
        let close = closing(open, "{", "}")
        return open + 1..<close
    }

    /// Returns the index of the mark that closes the one at an index; the end if none does.
    private func closing(_ index: Int, _ open: String, _ close: String) -> Int {
        var depth = 0
        for position in index..<tokens.count {
            if tokens[position].isMark(open) { depth += 1 }
            if tokens[position].isMark(close) {
                depth -= 1
                if depth == 0 { return position }
            }
        }
        return tokens.count
    }

    private mutating func readType(at index: Int, body: Range<Int>) {
        let modifiers = modifiers(before: index)
        var name = tokens[index + 1].text
        var next = index + 2
        // For an extension of `Outer.Inner`, use the last name.
        while next + 1 < tokens.count, tokens[next].isMark("."), tokens[next + 1].kind == .word {
            name = tokens[next + 1].text
            next += 2
        }
        if next < tokens.count, tokens[next].isMark("<") { next = closing(next, "<", ">") + 1 }
        var superclass: String?
        if next + 1 < tokens.count, tokens[next].isMark(":") {
            next += 1
            while next < tokens.count, tokens[next].kind == .word {
                superclass = tokens[next].text
                guard next + 1 < tokens.count, tokens[next + 1].isMark(".") else { break }
                next += 2
            }
        }
        let methods = methods(in: body)
        if tokens[index].isWord("class") {
            classes.append(
                DeclaredClass(
                    name: name, file: file, line: tokens[index].line, superclass: superclass,
                    objectiveCName: modifiers.objcName, isObjcMembers: modifiers.words.contains("@objcMembers"),
                    isPrivate: modifiers.isPrivate, body: body, methods: methods, properties: properties(in: body)))
        } else if tokens[index].isWord("extension") {
            extensions.append(
                DeclaredExtension(
                    type: name, isObjcMembers: modifiers.words.contains("@objc"), body: body, methods: methods,
                    properties: properties(in: body)))
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
            if token.kind == .attribute {
                found.words.insert(token.text)
                position -= 1
            } else if token.kind == .word, known.contains(token.text) {
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
        var position = index
        while position > 0 {
            if tokens[position].isMark(")") { depth += 1 }
            if tokens[position].isMark("(") {
                depth -= 1
                if depth == 0 {
                    let before = tokens[position - 1]
                    return before.kind == .attribute ? (position, before) : nil
                }
            }
            position -= 1
        }
        return nil
    }

    /// Returns the methods declared directly in a body.
    private func methods(in body: Range<Int>) -> [DeclaredMethod] {
        var found: [DeclaredMethod] = []
        var index = body.lowerBound
        while index < body.upperBound {
            if tokens[index].isMark("{") {
                index = closing(index, "{", "}") + 1
            } else if tokens[index].isWord("func"), let method = method(at: index) {
                found.append(method)
                index += 2
            } else {
                index += 1
            }
        }
        return found
    }

    /// Returns the properties declared directly in a body.
    private func properties(in body: Range<Int>) -> [DeclaredProperty] {
        var found: [DeclaredProperty] = []
        var index = body.lowerBound
        while index < body.upperBound {
            if tokens[index].isMark("{") {
                index = closing(index, "{", "}") + 1
                continue
            }
            let isProperty = tokens[index].isWord("var") || tokens[index].isWord("let")
            if isProperty, index + 1 < body.upperBound, tokens[index + 1].kind == .word {
                var type: String?
                var position = index + 2
                if position < body.upperBound, tokens[position].isMark(":") {
                    while position + 1 < body.upperBound, tokens[position + 1].kind != .word { position += 1 }
                    position += 1
                    let isSet = position + 2 < body.upperBound && tokens[position].isWord("Set")
                    if isSet, tokens[position + 1].isMark("<") { position += 2 }
                    if position < body.upperBound, tokens[position].line == tokens[index].line {
                        type = tokens[position].text
                    }
                }
                found.append(
                    DeclaredProperty(
                        name: tokens[index + 1].text, objectiveCName: modifiers(before: index).objcName, type: type))
            }
            index += 1
        }
        return found
    }

    private func method(at index: Int) -> DeclaredMethod? {
        guard index + 2 < tokens.count, tokens[index + 1].kind == .word else { return nil }
        let modifiers = modifiers(before: index)
        var open = index + 2
        let isGeneric = tokens[open].isMark("<")
        if isGeneric { open = closing(open, "<", ">") + 1 }
        guard open < tokens.count, tokens[open].isMark("(") else { return nil }
        let close = closing(open, "(", ")")
        var labels: [String] = []
        var isUncallable = isGeneric || close + 1 < tokens.count && tokens[close + 1].isWord("async")
        var depth = 0
        var isStart = true
        for position in open + 1..<max(open + 1, close) {
            let token = tokens[position]
            if isStart, token.kind == .word {
                labels.append(token.isWord("_") ? "" : token.text)
                isStart = false
            }
            if token.isMark("(") || token.isMark("[") || token.isMark("<") { depth += 1 }
            // The arrow of a function type is not a closing mark.
            let isArrow = token.isMark(">") && tokens[position - 1].isMark("-")
            if token.isMark(")") || token.isMark("]") || token.isMark(">") && !isArrow { depth -= 1 }
            if depth == 0, token.isMark(",") { isStart = true }
            if token.isWord("inout") || token.isMark("."), position + 1 < close, tokens[position + 1].isMark(".") {
                isUncallable = true
            }
            if token.isWord("inout") { isUncallable = true }
        }
        return DeclaredMethod(
            line: tokens[index].line, name: tokens[index + 1].text, labels: labels,
            isOverride: modifiers.words.contains("override"),
            isStatic: modifiers.words.contains("static") || modifiers.words.contains("class"),
            isPrivate: modifiers.isPrivate, isObjc: modifiers.words.contains("@objc"), isUncallable: isUncallable,
            givenSelector: modifiers.objcName)
    }
}
