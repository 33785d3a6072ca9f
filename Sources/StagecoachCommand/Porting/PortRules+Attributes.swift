import SwiftTokens

extension PortRules {
    private static let modifiers: Set<String> = [
        "public", "private", "fileprivate", "internal", "open", "package", "final", "override", "dynamic",
        "nonisolated", "weak", "unowned",
    ]

    mutating func attribute(at index: Int) -> Int {
        let token = tokens[index]
        switch token.text {
        case "@objc", "@objcMembers", "@nonobjc", "@IBAction", "@IBOutlet", "@NSApplicationMain", "@UIApplicationMain":
            let end = attributeEnd(index)
            let range = token.range.lowerBound..<tokens[end].range.upperBound
            let message =
                switch token.text {
                case "@objc" where end > index: "Linux has no Objective-C runtime: the name goes into the registration"
                case "@objc": "Linux has no Objective-C runtime: expression functions are registered by their selector"
                default: "Linux has no Objective-C runtime"
                }
            note(.change, token, text: text(range), replacement: "", message)
            remove(range)
            return end + 1
        case "@NSManaged": return managed(at: index)
        default: return propertyWrapper(at: index) ?? index + 1
        }
    }

    /// Returns the index of an attribute's last token: its closing parenthesis, if it has arguments.
    private func attributeEnd(_ index: Int) -> Int {
        guard isMark(index + 1, "("), tokens[index + 1].range.lowerBound == tokens[index].range.upperBound else {
            return index
        }
        return closing(index + 1)
    }

    /// Replaces `@Injected var name: Type` by a computed property, where no source declares the property wrapper.
    private mutating func propertyWrapper(at index: Int) -> Int? {
        let name = String(tokens[index].text.dropFirst())
        guard name.first?.isUppercase == true, !declarations.declares(name),
            !PortTable.has(name, in: "presentAttributes")
        else { return nil }
        var position = attributeEnd(index) + 1
        while position < tokens.count, Self.modifiers.contains(tokens[position].text) || isWord(position, "static") {
            position = (isMark(position + 1, "(") ? closing(position + 1) : position) + 1
        }
        guard tokens.isWord(position, "var"), tokens.isWord(position + 1) else { return nil }
        // Without a type nothing can be computed; its value stands there.
        if isMark(position + 2, "=") {
            let range = tokens[index].range.lowerBound..<tokens[attributeEnd(index)].range.upperBound
            note(
                .manual, tokens[index], text: text(range), replacement: "",
                "No source declares the property wrapper \(name): the property becomes a plain one")
            remove(range)
            return attributeEnd(index) + 1
        }
        guard isMark(position + 2, ":") else { return nil }
        var end = position + 3
        while end + 1 < tokens.count, !tokens[end + 1].isFirstOnLine, !isMark(end + 1, "="), !isMark(end + 1, "}") {
            end += 1
        }
        let declaration = text(from: attributeEnd(index) + 1, to: end)
        while end + 1 < tokens.count, !tokens[end + 1].isFirstOnLine, !isMark(end + 1, "}") { end += 1 }
        let stop = "fatalError(\"@\(name) is not ported\")"
        let replacement = "\(declaration) { get { \(stop) } set { \(stop) } }"
        note(
            .manual, tokens[index], text: text(from: index, to: end), replacement: replacement,
            "No source declares the property wrapper \(name): port it, or give the property a value")
        edit(tokens[index].range.lowerBound..<tokens[end].range.upperBound, replacement)
        return end + 1
    }

    /// Replaces `@NSManaged var name: Type` by a computed property over the object's value. `@objc(name)` names the key.
    private mutating func managed(at index: Int) -> Int {
        let token = tokens[index]
        var position = index + 1
        var words: [String] = []
        while position < tokens.count {
            let isModifier = Self.modifiers.contains(tokens[position].text)
            guard isModifier || tokens[position].kind == .attribute else { break }
            let end = isModifier && isMark(position + 1, "(") ? closing(position + 1) : attributeEnd(position)
            if isModifier { words.append(text(from: position, to: end)) }
            position = end + 1
        }
        if let end = accessor(at: index, function: position, words) { return end }
        guard position + 3 < tokens.count, tokens[position].isWord("var"), tokens[position + 2].isMark(":") else {
            note(.manual, token, "Linux generates no accessors: use value(forKey:), or mutableSetValue(forKey:)")
            edit(token.range.lowerBound..<token.range.lowerBound, "// ")
            return index + 1
        }
        let name = tokens[position + 1].text
        var end = position + 3
        while end + 1 < tokens.count, tokens[end + 1].line == tokens[position].line, !tokens[end + 1].isMark("}"),
            !tokens[end + 1].isMark(";")
        {
            end += 1
        }
        let type = text(from: position + 3, to: end)
        let isOptional = type.hasSuffix("?") || type.hasSuffix("!")
        let cast = isOptional ? "as? \(type.dropLast())" : "as! \(type)"
        let key = enclosingType(index).flatMap { declarations.property(name, of: $0)?.key } ?? name
        let declaration = (words + [text(from: position, to: end)]).joined(separator: " ")
        let accessors = "get { value(forKey: \"\(key)\") \(cast) } set { setValue(newValue, forKey: \"\(key)\") }"
        change(
            from: index, to: end, "\(declaration) { \(accessors) }",
            "Linux generates no accessors: the property reads and writes the object's value")
        return end + 1
    }

    /// Writes the body of a generated accessor: `addToBooks(_:)`, `removeFromBooks(_:)`, `insertIntoBooks(_:at:)`.
    ///
    /// - Parameter words: the modifiers before `func`.
    private mutating func accessor(at index: Int, function: Int, _ words: [String]) -> Int? {
        guard isWord(function, "func"), tokens.isWord(function + 1), isMark(function + 2, "(") else { return nil }
        let name = tokens[function + 1].text
        let list = CallArguments(tokens, open: function + 2, isDeclaration: true)
        guard let prefix = ["addTo", "removeFrom", "insertInto"].first(where: name.hasPrefix),
            let value = list.arguments.first?.inner, let colon = list.arguments.first?.colon,
            list.arguments.count == (prefix == "insertInto" ? 2 : 1)
        else { return nil }
        let property = name.dropFirst(prefix.count)
        let swiftName = property.prefix(1).lowercased() + property.dropFirst()
        let declared = enclosingType(index).flatMap { declarations.property(swiftName, of: $0) }
        let view =
            declared?.type == "NSOrderedSet" || prefix == "insertInto" ? "mutableOrderedSetValue" : "mutableSetValue"
        let members = "\(view)(forKey: \"\(declared?.key ?? swiftName)\")"
        let type = tokens[colon + 1].text
        let isSet = ["NSSet", "NSOrderedSet", "Set", "NSMutableSet"].contains(type)
        let verb = prefix == "addTo" ? "add" : "remove"
        let body: String
        switch prefix {
        case "insertInto":
            guard let place = list.arguments[1].inner, !isSet, type != "[" else { return nil }
            body = "\(members).insert(\(value), at: \(place))"
        case _ where isSet: body = "for member in \(value) { \(members).\(verb)(member) }"
        case _ where isWord(colon + 1, "Int"): body = "\(members).removeObject(at: \(value))"
        default: body = "\(members).\(verb)(\(value))"
        }
        let head = (words + [text(from: function, to: list.close)]).joined(separator: " ")
        change(
            from: index, to: list.close, "\(head) { \(body) }",
            "Linux generates no accessors: the function changes the object's set")
        return list.close + 1
    }
}
