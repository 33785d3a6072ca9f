import SwiftTokens

extension PortRules {
    /// Names of UIKit and AppKit that no common prefix identifies.
    static let appKitNames: Set<String> = ["NSColor", "NSImage", "NSFont", "NSView", "NSApplication", "CIColor"]

    /// Applies the rules to a word.
    mutating func word(at index: Int) -> Int {
        let token = tokens[index]
        let isMember = isMark(index - 1, ".")
        let isCall = isMark(index + 1, "(")
        if let next = mainBundle(at: index) { return next }
        if isSwift2, swift2(at: index) { return index + 1 }
        switch token.text {
        case "autoreleasepool" where !isMember:
            note(.hint, token, "Linux has no autorelease pools; Stagecoach's function of this name runs the closure")
        case "Selector" where !isMember && isCall, "NSSelectorFromString" where isCall: selectorCall(at: index)
        case "ValueTransformer", "NSValueTransformer":
            note(.hint, token, "Stagecoach's own serves: register it in stagecoach_register_policies")
        case "NSKeyedUnarchiver":
            note(.hint, token, "On Linux an archive of an unknown class ends the process; decode with care")
        case "NSClassFromString":
            note(.hint, token, "Linux finds only classes of Swift by their mangled or qualified name")
        case "URLSession" where !isMember:
            note(.hint, token, "On Linux this is in FoundationNetworking, which ported copies import")
        case _ where Self.appKitNames.contains(token.text) || Self.isUIKitName(token.text):
            note(.manual, token, "Linux has no \(token.text): convert with Foundation's types")
        case "as" where index + 2 < tokens.count: cast(at: index)
        case "catch": if let next = foundationError(at: index) { return next }
        case "CVarArg": listOfArguments(at: index)
        case "NSObject", "AnyObject": namedObject(at: index)
        case "var", "let": sharedVariable(at: index)
        case "super": if let next = absentSuperCall(at: index) { return next }
        case "optional" where isWord(index + 1, "func") || isWord(index + 1, "var"):
            note(
                .manual, token, replacement: "",
                "Linux has no optional requirements: give the protocol an extension with a default")
            edit(token.range.lowerBound..<tokens[index + 1].range.lowerBound, "")
        case "override": return overriddenInit(at: index)
        case "class" where !isMember && index + 1 < tokens.count && tokens[index + 1].kind == .word:
            declaredClass(at: index + 1)
        case "fetchRequest" where isMember && isCall: return fetchRequest(at: index)
        case "NSFetchRequest" where isCall: untypedRequest(at: index)
        case _ where isCall: renamedCall(at: index)
        default: renamedName(at: index)
        }
        collectionValue(at: index)
        if let type = variables.types[token.text], !isMember,
            ["NSSet", "NSMutableSet", "NSCountedSet", "NSOrderedSet"].contains(type)
        {
            setDefault(at: index + 1, type: type)
        }
        platformPart(at: index)
        if findings.last.map({ ($0.line, $0.column) == (token.line, token.column) }) != true { unknownName(at: index) }
        return index + 1
    }

    /// Reports the use of a part that only Apple's systems have.
    private mutating func platformPart(at index: Int) {
        let first = isMark(index - 1, ".") ? index - 1 : index
        guard let found = PlatformPart.used(tokens, at: first), !declarations.declares(tokens[index].text) else {
            return
        }
        let part = PlatformPart.all[found]
        if let kind = part.kind { note(kind, tokens[index], part.message) }
    }

    private static func isUIKitName(_ name: String) -> Bool {
        let scalars = Array(name.unicodeScalars)
        guard scalars.count > 3, name.hasPrefix("UI") else { return false }
        return ("A"..."Z").contains(scalars[2]) && ("a"..."z").contains(scalars[3])
    }

    private mutating func selectorCall(at index: Int) {
        let close = closing(index + 1)
        guard close == index + 3, tokens[index + 2].kind == .string else {
            note(
                .manual, tokens[index], text: text(from: index, to: close),
                "Linux has no Selector: call the method itself")
            return
        }
        change(from: index, to: close, tokens[index + 2].text, "Linux has no Selector: the selector as a string")
    }

    /// Replaces `Bundle.main.bundleIdentifier!`, and names what else the main bundle of a program on Linux does not have.
    ///
    /// - Returns: the index behind what was replaced.
    private mutating func mainBundle(at index: Int) -> Int? {
        let isOld = tokens[index].text == "NSBundle"
        let member = index + (isOld ? 6 : 4)
        guard isOld || tokens[index].text == "Bundle", isMark(index + 1, "."),
            isWord(index + 2, isOld ? "mainBundle" : "main"), isMark(member - 1, "."), member < tokens.count
        else { return nil }
        switch tokens[member].text {
        case "bundleIdentifier" where isMark(member + 1, "!"):
            change(
                from: index, to: member + 1, "(Bundle.main.bundleIdentifier ?? \"\")",
                "On Linux a program's bundle has no identifier: this is nil")
            return member + 2
        case "bundleIdentifier", "infoDictionary", "object", "url", "path", "urls", "paths":
            note(
                .hint, tokens[member],
                "On Linux a program's bundle has no identifier, no Info.plist and no resources of the app")
        default: break
        }
        return nil
    }

    // MARK: - Casts

    /// Reports casts that Linux refuses, and those that succeed on Apple's systems and fail on Linux.
    private mutating func cast(at index: Int) {
        let mark = tokens[index + 1].isMark("!") || tokens[index + 1].isMark("?") ? tokens[index + 1].text : ""
        let typeIndex = index + (mark.isEmpty ? 1 : 2)
        let type = tokens[typeIndex].text
        switch type {
        case "CVarArg": argumentCast(at: index, mark: mark, type: typeIndex)
        case "NSSet", "NSMutableSet", "NSCountedSet":
            setDefault(at: typeIndex + (isMark(typeIndex + 1, ")") ? 2 : 1), type: type)
        case "NSObject", "AnyObject": objectCast(at: index, mark: mark, type: typeIndex)
        case "Set", "[": elementCast(at: typeIndex)
        default: break
        }
        guard !mark.isEmpty else { return }
        let whole = text(from: index, to: typeIndex)
        if declarations.objectClasses.contains(type) {
            note(
                .hint, tokens[index], text: whole,
                "During a migration every object is a plain NSManagedObject: this cast fails")
        } else if ["Int", "Int16", "Int32", "Int64", "UInt", "Double", "Float"].contains(type) {
            note(
                .hint, tokens[index], text: whole,
                "An NSNumber, as value(forKey:) gives it, casts to \(type); on Linux another Swift number in Any does not"
            )
        }
    }

    /// Replaces `x as! CVarArg` among a predicate's arguments by `x`.
    private mutating func argumentCast(at index: Int, mark: String, type: Int) {
        let call = enclosingCall(index)
        guard call != "String", call != "NSString", call != "localizedStringWithFormat" else {
            note(
                .hint, tokens[index], text: text(from: index, to: type),
                "On Linux numbers are CVarArg, strings and objects are not: format them in the string instead")
            return
        }
        let message = "On Linux objects are no CVarArg: predicates and expressions here take any value"
        guard mark != "?", call == "NSPredicate" || call == "NSExpression" else {
            change(from: index, to: type, mark == "?" ? "as Any?" : "as Any", message)
            return
        }
        note(.change, tokens[index], text: text(from: index, to: type), replacement: "", message)
        // The space before the cast goes, too.
        edit(tokens[index - 1].range.upperBound..<tokens[type].range.upperBound, "")
    }

    /// Replaces `CVarArg` in a type, as in `[CVarArg]`.
    private mutating func listOfArguments(at index: Int) {
        guard !isWord(index - 1, "as"), !isWord(index - 2, "as") else { return }
        change(
            from: index, to: index, "Any",
            "On Linux objects are no CVarArg: predicates and expressions here take any value")
    }

    /// Replaces the array literal in `(x as? NSSet) ?? []`, which is an array on Linux.
    ///
    /// - Parameter index: the place behind the set.
    private mutating func setDefault(at index: Int, type: String) {
        guard isMark(index, "?"), isMark(index + 1, "?"), isMark(index + 2, "["), isMark(index + 3, "]") else { return }
        change(from: index + 2, to: index + 3, "\(type)()", "On Linux an empty array literal is no \(type) here")
    }

    /// Replaces `catch let error as NSError`, which matches no error of Swift on Linux, by a clause that catches every error and
    /// converts it.
    private mutating func foundationError(at index: Int) -> Int? {
        guard isWord(index + 1, "let") || isWord(index + 1, "var"), tokens.isWord(index + 2), isWord(index + 3, "as"),
            isWord(index + 4, "NSError")
        else { return nil }
        let name = tokens[index + 2].text
        guard let open = (index + 5..<tokens.count).first(where: { isMark($0, "{") }),
            open == index + 5 || isWord(index + 5, "where")
        else { return nil }
        let condition = (index + 5..<open).map { position in
            let space =
                position > index + 5 && tokens[position - 1].range.upperBound < tokens[position].range.lowerBound
            let isName = isWord(position, name) && !isMark(position - 1, ".")
            return (space ? " " : "") + (isName ? "(\(name) as NSError)" : tokens[position].text)
        }.joined()
        change(
            from: index, to: open,
            "catch let \(name)\(condition.isEmpty ? "" : " " + condition) { let \(name) = \(name) as NSError;",
            "On Linux no error of Swift matches 'as NSError' in a pattern: the error is converted behind it")
        return open + 1
    }

    private var objectMessage: String {
        "On Linux only NSManagedObject has values by key: cast to it"
    }

    /// Replaces the type in `(x as AnyObject).value(forKey: …)`, and in `let y = x as? NSObject` where y is asked later.
    private mutating func objectCast(at index: Int, mark: String, type: Int) {
        let isAskedHere = isMark(type + 1, ")") && VariableTypes.asksByKey(tokens, type + 2)
        let isAskedLater = VariableTypes.assigned(tokens, index).map(variables.asked.contains) == true
        // An argument for a parameter that becomes an NSManagedObject.
        let isArgument = variables.asksObjects && enclosingCall(index) != nil
        guard isAskedHere || isAskedLater || isArgument else { return }
        change(from: index, to: type, "as\(mark.isEmpty ? "!" : mark) NSManagedObject", objectMessage)
    }

    /// Replaces the element's type in `x as? Set<NSObject>` and `x as? [AnyObject]` where elements are asked for values.
    private mutating func elementCast(at index: Int) {
        let element = index + (tokens[index].isMark("[") ? 1 : 2)
        guard variables.asksElements, element < tokens.count,
            ["NSObject", "AnyObject", "AnyHashable"].contains(tokens[element].text),
            isMark(element + 1, "]") || isMark(element + 1, ">")
        else { return }
        change(from: element, to: element, "NSManagedObject", objectMessage)
    }

    /// Replaces the type of a variable or parameter that is asked for values by key: `item: NSObject`.
    private mutating func namedObject(at index: Int) {
        guard isMark(index - 1, ":"), index > 1, variables.asked.contains(tokens[index - 2].text) else { return }
        change(from: index, to: index, "NSManagedObject", objectMessage)
    }

    /// Reports `set.value(forKey:)`: Foundation on Linux has no key-value coding of collections.
    private mutating func collectionValue(at index: Int) {
        let collections: Set<String> = ["NSSet", "NSArray", "NSOrderedSet", "NSMutableSet", "NSMutableArray"]
        let token = tokens[index]
        let name = isMark(index + 1, ")") ? token.text : variables.types[token.text]
        let isCast = isMark(index + 1, ")") && (isWord(index - 1, "as") || isWord(index - 2, "as"))
        guard let name, collections.contains(name), isCast || !isMark(index + 1, ")"),
            VariableTypes.asksByKey(tokens, isCast ? index + 2 : index + 1)
        else { return }
        note(
            .manual, token,
            "On Linux \(name) has no values by key: ask the object by value(forKeyPath: \"relationship.name\"), or map")
    }
}
