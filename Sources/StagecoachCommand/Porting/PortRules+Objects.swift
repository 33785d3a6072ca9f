import SwiftTokens

extension PortRules {
    /// Replaces `override init()` of a policy: policies are made by their class.
    mutating func overriddenInit(at index: Int) -> Int {
        let modifiers: Set<String> = [
            "public", "open", "internal", "required", "convenience", "final", "class", "static", "dynamic",
        ]
        var position = index + 1
        while position < tokens.count, modifiers.contains(tokens[position].text) { position += 1 }
        if isWord(position, "func"), tokens.isWord(position + 1) { return overridden(at: index, name: position + 1) }
        guard isWord(position, "init"), isMark(position + 1, "("), isMark(position + 2, ")"),
            let type = enclosingType(index), declarations.policyClasses.contains(type)
        else { return index + 1 }
        let isRequired = isWord(index - 1, "required") || tokens[index..<position].contains { $0.isWord("required") }
        let message = "A policy's init() is required here, because the registry makes policies by their class"
        guard isRequired else {
            change(from: index, to: index, "required", message)
            return index + 1
        }
        note(.change, tokens[index], replacement: "", message)
        edit(tokens[index].range.lowerBound..<tokens[index + 1].range.lowerBound, "")
        return index + 1
    }

    /// Replaces `override` of a method that no superclass has here, and the pointer of `validateValue(_:forKey:)`.
    private mutating func overridden(at index: Int, name: Int) -> Int {
        let method = tokens[name].text
        if PortTable.has(method, in: "absentOverrides") {
            note(.change, tokens[index], replacement: "", "NSObject on Linux has no \(method), and nothing calls it")
            edit(tokens[index].range.lowerBound..<tokens[index + 1].range.lowerBound, "")
        }
        guard method == "validateValue", isMark(name + 1, "("),
            let type = (name..<closing(name + 1)).first(where: {
                isWord($0, "AutoreleasingUnsafeMutablePointer")
            }), let parameter = CallArguments(tokens, open: name + 1, isDeclaration: true).arguments.first?.inner
        else { return index + 1 }
        let message = "The value is an inout parameter here"
        change(from: type, to: closing(type + 1), "inout AnyObject?", message)
        let body = (name..<tokens.count).first { isMark($0, "{") } ?? tokens.count - 1
        for position in body..<max(body, closing(body)) where isWord(position, parameter) {
            if isMark(position + 1, "."), isWord(position + 2, "pointee") || isWord(position + 2, "memory") {
                change(from: position, to: position + 2, parameter, message)
            } else if isMark(position - 1, "("), isWord(position - 2, "validateValue") {
                change(from: position, to: position, "&" + parameter, message)
            }
        }
        return closing(type + 1) + 1
    }

    /// Replaces the call of a superclass's method that is not here: `super.observeValue(…)`.
    mutating func absentSuperCall(at index: Int) -> Int? {
        guard isWord(index, "super"), isMark(index + 1, "."), isMark(index + 3, "("),
            PortTable.has(tokens[index + 2].text, in: "absentOverrides")
        else { return nil }
        let results = ["keyPathsForValuesAffectingValue": "Set<String>()", "automaticallyNotifiesObservers": "true"]
        let name = tokens[index + 2].text
        change(
            from: index, to: closing(index + 3), results[name] ?? "()",
            "NSObject on Linux has no \(name), and nothing calls it")
        return closing(index + 3) + 1
    }

    /// Reports a class of managed objects, and a policy that cannot be made by `init()`.
    mutating func declaredClass(at index: Int) {
        let name = tokens[index].text
        if declarations.objectClasses.contains(name) {
            note(
                .hint, tokens[index],
                "During a migration every object is a plain NSManagedObject: use value(forKey:), not this class")
        }
        guard declarations.policyClasses.contains(name), let body = bodies.first(where: { $0.type == name })?.body
        else { return }
        var initialisers = 0
        for position in body where tokens[position].isWord("init") && !isMark(position - 1, ".") {
            if isMark(position + 1, "("), isMark(position + 2, ")") { return }
            if isMark(position + 1, "("), enclosingType(position) == name { initialisers += 1 }
        }
        if initialisers > 0 {
            note(.manual, tokens[index], "The registry makes policies by init(): add required init()")
        }
    }

    /// Replaces `Book.fetchRequest()` by a request for plain objects of the entity.
    mutating func fetchRequest(at index: Int) -> Int {
        guard index > 1, tokens[index - 2].kind == .word, tokens[index - 2].text.first?.isUppercase == true,
            isMark(index + 2, ")")
        else { return index + 1 }
        let name = tokens[index - 2].text
        var result = "NSManagedObject"
        // `let request: NSFetchRequest<Book> = Book.fetchRequest()`, `Book.fetchRequest() as NSFetchRequest<Book>`
        let isTyped =
            isMark(index - 3, "=") && isMark(index - 4, ">") && isMark(index - 6, "<")
            && isWord(index - 7, "NSFetchRequest")
        let isCast = isWord(index + 3, "as") && isWord(index + 4, "NSFetchRequest") && tokens.isWord(index + 6)
        if isTyped || isCast {
            let type = isCast ? index + 6 : index - 5
            let declared = tokens[type].text
            if declarations.objectClasses.contains(declared) || isTyped && !isCast && declared == name {
                change(from: type, to: type, result, "During a migration every object is a plain NSManagedObject")
            } else {
                result = declared
            }
        }
        change(
            from: index - 2, to: index + 2, "NSFetchRequest<\(result)>(entityName: \"\(name)\")",
            "Linux has no generated fetchRequest(): the entity by its name")
        return index + 3
    }

    /// Gives `let request = NSFetchRequest(entityName: …)` its result, which Swift 2 did not write.
    mutating func untypedRequest(at index: Int) {
        let isVariable = isMark(index - 1, "=") && (isWord(index - 3, "let") || isWord(index - 3, "var"))
        let isArgument = isMark(index - 1, ":") || isMark(index - 1, "(")
        guard isVariable || isArgument && ["fetch", "count", "execute"].contains(enclosingCall(index) ?? "") else {
            return
        }
        change(from: index, to: index, "NSFetchRequest<NSManagedObject>", "A fetch request has the type of its results")
    }
}
