extension PortRules {
    /// Replaces `override init()` of a policy: policies are made by their class.
    mutating func overriddenInit(at index: Int) -> Int {
        let modifiers: Set<String> = ["public", "open", "internal", "required", "convenience", "final"]
        var position = index + 1
        while position < tokens.count, modifiers.contains(tokens[position].text) { position += 1 }
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
        // `let request: NSFetchRequest<Book> = Book.fetchRequest()`
        if isMark(index - 3, "="), isMark(index - 4, ">"), isMark(index - 6, "<"), isWord(index - 7, "NSFetchRequest") {
            let declared = tokens[index - 5].text
            if declared == name || declarations.objectClasses.contains(declared) {
                change(
                    from: index - 5, to: index - 5, result,
                    "During a migration every object is a plain NSManagedObject")
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
        guard isMark(index - 1, "="), index > 2, isWord(index - 3, "let") || isWord(index - 3, "var") else { return }
        change(from: index, to: index, "NSFetchRequest<NSManagedObject>", "A fetch request has the type of its results")
    }

    // MARK: - Older versions of Swift

    /// Replaces a call or declaration by the name that Swift gives it today.
    mutating func renamedCall(at index: Int) {
        guard let candidates = RenamedCall.byName[tokens[index].text] else { return }
        let isDeclaration = isWord(index - 1, "func")
        let list = CallArguments(tokens, open: index + 1, isDeclaration: isDeclaration)
        let found = candidates.first { candidate in
            guard isDeclaration else {
                return candidate.labels == list.labels
                    && (candidate.isPolicyMethod || !declarations.declaresFunction(candidate.name))
            }
            guard candidate.isPolicyMethod, candidate.labels.count == list.arguments.count else { return false }
            // Swift 2 gave the first parameter no label.
            let isFirst = candidate.labels[0].isEmpty || candidate.labels[0] == list.labels[0]
            return isFirst && candidate.labels.dropFirst() == list.labels.dropFirst()
        }
        guard let found else { return }
        // `begin(_:manager:)` is the old name of `begin(_:with:)` on a policy only.
        if found.isPolicyMethod, found.name == found.newName, !isDeclaration, !isWord(index - 2, "super") { return }
        note(
            .change, tokens[index], text: tokens[index].text, replacement: found.reference,
            "The name in older versions of Swift")
        if found.newName != found.name { edit(tokens[index].range, found.newName) }
        for (argument, label) in zip(list.arguments, found.newLabels) {
            relabel(argument, label, isDeclaration: isDeclaration)
        }
    }

    private mutating func relabel(_ argument: CallArguments.Argument, _ label: String, isDeclaration: Bool) {
        let start = tokens[argument.start].range.lowerBound
        guard let colon = argument.colon else {
            if !label.isEmpty { edit(start..<start, "\(label): ") }
            return
        }
        if isDeclaration {
            let inner = argument.inner ?? label
            let names = label.isEmpty ? "_ \(inner)" : label == inner ? label : "\(label) \(inner)"
            edit(start..<tokens[colon].range.lowerBound, names)
        } else if label.isEmpty {
            edit(start..<tokens[colon + 1].range.lowerBound, "")
        } else if label != argument.label {
            edit(start..<tokens[colon].range.lowerBound, label)
        }
    }

    mutating func renamedProperty(at index: Int) {
        guard let name = RenamedCall.properties[tokens[index].text] else { return }
        change(from: index, to: index, name, "The name in older versions of Swift")
    }
}
