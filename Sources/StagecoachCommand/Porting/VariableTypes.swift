import SwiftTokens

/// The types that a source's declarations and casts give its variables, by name: the last one found.
struct VariableTypes {
    private(set) var types: [String: String] = [:]
    /// The variables with declarations that show no type, or several.
    private var unclear: Set<String> = []
    /// The variables that are asked for values by key.
    private(set) var asked: Set<String> = []
    /// The variables that are given to the manager as objects of the source or the destination.
    private(set) var managed: Set<String> = []
    /// True if the elements of a collection are asked for values by key.
    private(set) var asksElements = false

    /// True if a variable or parameter of type NSObject or AnyObject is asked for values by key.
    var asksObjects: Bool { asked.contains { types[$0] == "NSObject" || types[$0] == "AnyObject" } }

    init(_ tokens: [SwiftToken]) {
        var elements: Set<String> = ["$0", "$1"]
        for index in tokens.indices {
            let token = tokens[index]
            guard token.kind == .word, token.text.first?.isUppercase == false else { continue }
            if ["sourceInstance", "withDestinationInstance"].contains(token.text), tokens.isMark(index + 1, ":"),
                tokens.isWord(index + 2)
            {
                managed.insert(tokens[index + 2].text)
            }
            if token.isWord("for"), tokens.isWord(index + 2, "in") { elements.insert(tokens[index + 1].text) }
            // An argument's value begins with a small letter.
            if tokens.isMark(index + 1, ":"), tokens.isWord(index + 2),
                tokens[index + 2].text.first?.isUppercase == true
            {
                declare(token.text, tokens[index + 2].text)
            }
            let isVariable = index > 0 && ["let", "var", "for", "in", "case"].contains(tokens[index - 1].text)
            if isVariable, !tokens.isMark(index + 1, ":") { declare(token.text, Self.initialType(tokens, index)) }
            if tokens.isWord(index + 1, "in") || tokens.isMark(index + 1, ","), index > 0,
                "{,(".contains(tokens[index - 1].text),
                types[token.text] == nil
            {
                unclear.insert(token.text)
            }
            if token.isWord("as"), let name = Self.assigned(tokens, index) {
                let type = index + (index + 1 < tokens.count && tokens[index + 1].kind == .mark ? 2 : 1)
                if type < tokens.count { types[name] = tokens[type].text }
                unclear.remove(name)
            }
            if Self.asksByKey(tokens, index + 1) { asked.insert(token.text) }
        }
        asksElements = !elements.isDisjoint(with: asked)
    }

    private mutating func declare(_ name: String, _ type: String?) {
        if type == nil || types[name].map({ $0 != type }) == true { unclear.insert(name) }
        if let type { types[name] = type }
    }

    /// Returns the type that a variable's initial value shows; nil if it shows none.
    private static func initialType(_ tokens: [SwiftToken], _ index: Int) -> String? {
        guard tokens.isMark(index + 1, "=") else { return nil }
        let line = tokens[(index + 2)...].prefix { $0.line == tokens[index].line }
        if line.contains(where: { $0.isWord("insertNewObject") }) { return "NSManagedObject" }
        if tokens.isMark(index + 3, "("), let first = line.first, first.text.first?.isUppercase == true,
            tokens.closing(index + 3) == index + 1 + line.count
        {
            return first.text
        }
        guard let last = line.last, line.allSatisfy({ $0.kind == .word || $0.isMark(".") }) else { return nil }
        return properties[last.text]
    }

    /// The types of properties with which policies begin.
    private static let properties = [
        "destinationContext": "NSManagedObjectContext", "sourceContext": "NSManagedObjectContext",
        "managedObjectContext": "NSManagedObjectContext", "persistentStoreCoordinator": "NSPersistentStoreCoordinator",
    ]

    /// The types of arguments by their labels, where apps like to extend the type.
    private static let argumentTypes = [
        "name": "NSNotification.Name", "forName": "NSNotification.Name", "log": "OSLog", "forKey": "String",
        "suiteName": "String", "subsystem": "String", "category": "String", "entityName": "String",
    ]

    /// Returns the type whose member stands at an index behind a point, if the declarations leave no doubt.
    func receiver(_ tokens: [SwiftToken], _ index: Int) -> String? {
        var base = index - 2
        while tokens.isMark(base, "?") || tokens.isMark(base, "!") { base -= 1 }
        guard tokens.isWord(base) else {
            // `name: .saved` of a notification, `log: .migration`, `forKey: .lastCount`.
            guard tokens.isMark(base, ":"), tokens.isWord(base - 1) else { return nil }
            return Self.argumentTypes[tokens[base - 1].text]
        }
        let name = tokens[base].text
        if tokens.isMark(base - 1, ".") {
            if name == "standard", tokens.isWord(base - 2, "UserDefaults") { return "UserDefaults" }
            if name == "default", tokens.isWord(base - 2, "FileManager") { return "FileManager" }
            return tokens.isWord(base - 2, "self") ? nil : Self.properties[name]
        }
        if PortTable.knownTypes.contains(name) { return name }
        return unclear.contains(name) ? Self.nearestType(tokens, base) : types[name]
    }

    /// Returns the type of the variable at an index, as its nearest declaration before the index shows it; nil if that shows no
    /// type, or if there is none.
    private static func nearestType(_ tokens: [SwiftToken], _ index: Int) -> String? {
        let declared = tokens[..<index].indices.last { position in
            tokens[position].isWord(tokens[index].text) && position > 0
                && (["let", "var"].contains(tokens[position - 1].text) || tokens.isMark(position + 1, ":"))
        }
        guard let declared else { return nil }
        if tokens.isMark(declared + 1, ":") {
            let type = tokens[declared + 2]
            return type.kind == .word && type.text.first?.isUppercase == true ? type.text : nil
        }
        let line = tokens[declared...].prefix { $0.line == tokens[declared].line }
        guard let cast = line.lastIndex(where: { $0.isWord("as") }) else { return initialType(tokens, declared) }
        let type = cast + (tokens.isMark(cast + 1, "?") || tokens.isMark(cast + 1, "!") ? 2 : 1)
        return tokens.isWord(type) ? tokens[type].text : nil
    }

    /// Returns the variable that the statement with a cast declares: `a` of `let a = b as? C`.
    static func assigned(_ tokens: [SwiftToken], _ index: Int) -> String? {
        var position = index
        while position > 1, tokens[position].line == tokens[index].line {
            if tokens[position].isMark("="), tokens[position - 1].kind == .word { return tokens[position - 1].text }
            position -= 1
        }
        return nil
    }

    /// Tells whether `.value(forKey:` or a call like it stands at an index, after marks of optional chaining.
    static func asksByKey(_ tokens: [SwiftToken], _ index: Int) -> Bool {
        var position = index
        while tokens.isMark(position, "?") || tokens.isMark(position, "!") { position += 1 }
        guard position + 3 < tokens.count, tokens.isMark(position, "."), tokens.isMark(position + 2, "(") else {
            return false
        }
        switch tokens[position + 1].text {
        case "value", "primitiveValue", "mutableSetValue", "mutableOrderedSetValue":
            return tokens.isWord(position + 3, "forKey") || tokens.isWord(position + 3, "forKeyPath")
        case "setValue", "setPrimitiveValue", "valueForKey", "valueForKeyPath": return true
        default: return false
        }
    }

    /// Tells whether the tokens from an index on use a variable as an optional: they unwrap it, call a member with `?`, give it a
    /// default with `??`, or compare it with nil.
    static func isOptional(_ tokens: [SwiftToken], _ name: String, after index: Int) -> Bool {
        (min(index, tokens.count)..<tokens.count).contains { position in
            guard tokens[position].isWord(name), !tokens.isMark(position - 1, ".") else { return false }
            let isBound =
                tokens.isMark(position - 1, "=") && ["let", "var"].contains(tokens[position - 3].text)
                && ["if", "guard", ","].contains(tokens[position - 4].text)
                && !tokens.isMark(position + 1, ".") && !tokens.isMark(position + 1, "(")
            let isShort =
                ["let", "var"].contains(tokens[position - 1].text)
                && ["if", "guard", ","].contains(tokens[position - 2].text) && !tokens.isMark(position + 1, "=")
            let isNil = tokens.isMark(position + 2, "=") && tokens.isWord(position + 3, "nil")
            let isChained =
                tokens.isMark(position + 1, "?") && !tokens.isMark(position + 2, ":")
                && position + 1 < tokens.count
                && tokens[position + 1].range.lowerBound == tokens[position].range.upperBound
            let isForced = tokens.isMark(position + 1, "!") && !tokens.isMark(position + 2, "=")
            let isDefaulted = tokens.isMark(position + 1, "?") && tokens.isMark(position + 2, "?")
            return isBound || isShort || isNil || isChained || isForced || isDefaulted
        }
    }
}
