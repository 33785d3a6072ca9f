import SwiftTokens

/// A type that ported sources use, and that neither they nor Swift on Linux declare.
struct MissingType: Encodable {
    enum Kind: String, Encodable {
        /// A superclass of policies.
        case policy
        /// A class of managed objects.
        case object
        case `protocol`
        /// A function of the app or of a framework.
        case function
        /// A global variable of the app, as of its log.
        case variable
        /// A constant of a framework, which is taken for a text.
        case constant
        /// A member that an extension of the app adds to a known type.
        case member
        case other
    }

    let name: String
    let file: String
    /// The line of the first use, from 1.
    let line: Int
    fileprivate(set) var kind = Kind.other
    /// The labels of each call of an initialiser; true if its result is optional somewhere.
    fileprivate(set) var initialisers: [[String]: Bool] = [:]
    /// True for initialisers that the app adds to a known type.
    fileprivate(set) var isInitialiser = false
    /// True for a member that some source sets.
    fileprivate(set) var isAssigned = false
    /// The overridden methods and properties of its subclasses, as they declare them.
    fileprivate(set) var overridden: [String: String] = [:]
    /// True if it is used otherwise than by a call.
    fileprivate(set) var isType = false
    /// True if a finding names each use.
    fileprivate(set) var isFound = false
    /// The types to which the app adds a member.
    fileprivate(set) var receivers: Set<String> = []
    /// True if it has a member that NSObject has with another type.
    fileprivate(set) var isPlain = false
    /// Such types among those that are named as members: `Insecure.MD5.hash(data:)`.
    fileprivate(set) var plainNested: Set<String> = []
    /// The number of generic arguments.
    fileprivate(set) var arguments = 0
    /// The members that its sources name without a type, as `.running`: each may be a case of it.
    fileprivate(set) var cases: Set<ImplicitMember> = []
    /// True if a source throws a value of it.
    fileprivate(set) var isThrown = false
    /// True if an extension declares an initialiser that is not `convenience`. A class cannot have one in an extension, so the stub
    /// is a structure.
    fileprivate(set) var isValue = false
    /// The types that are named as members.
    fileprivate(set) var nested: [String: [[String]: Bool]] = [:]

    private enum CodingKeys: CodingKey { case name, file, line, kind }
}

/// Finds the types that nobody declares, and writes stubs that compile.
///
/// A stub has every member. Whoever calls one ends the process with its name: nothing is migrated by a stub.
struct PortStubs {
    let declarations: SourceDeclarations
    private(set) var missing: [String: MissingType] = [:]
    /// The variables of the Swift source that is being read, with their types.
    private var variables = VariableTypes([])
    private var names = SourceNames([])
    /// The places in `PlatformPart.all` of the parts that sources use.
    private(set) var parts: Set<Int> = []
    /// The members that sources name without a type.
    private(set) var cases: Set<ImplicitMember> = []
    /// True if a source has public declarations: stubs in their types have to be public, too.
    private(set) var arePublic = false
    /// The names of classes of managed objects, those of sources that are read only among them.
    private let objectClasses: Set<String>

    /// - Parameters:
    ///   - declarations: those of the sources that are copied.
    ///   - objectClasses: the classes of managed objects of all sources that were read.
    init(_ sources: [PortedSource], _ declarations: SourceDeclarations, objectClasses: Set<String>) {
        self.declarations = declarations
        self.objectClasses = objectClasses
        for source in sources {
            let ported = SwiftLexer.tokens(of: source.ported)
            // The lines are the original's.
            var lines: [String: Int] = [:]
            for token in SwiftLexer.tokens(of: source.source) where lines[token.text] == nil {
                lines[token.text] = token.line
            }
            variables = VariableTypes(ported)
            arePublic =
                arePublic
                || ported.indices.contains {
                    ["public", "open"].contains(ported[$0].text) && ported.isWord($0) && !ported.isMark($0 - 1, ".")
                }
            names = (declarations.names[source.file] ?? SourceNames([])).union(SourceNames(ported))
            for index in ported.indices { examine(ported, index, source.file, lines) }
            let found = Set(ported.indices.compactMap { ImplicitMember(ported, $0) })
            cases.formUnion(found)
            let words = Set(ported.lazy.filter { $0.kind == .word }.map(\.text))
            for name in missing.keys where words.contains(name) { missing[name]?.cases.formUnion(found) }
        }
        let names = Set(missing.keys)
        for (name, type) in missing {
            if type.isFunctionOfApple { missing[name]?.kind = .function }
            // Stubs have all members.
            missing[name]?.receivers = type.receivers.subtracting(names)
        }
    }

    /// Stands for all of Foundation's plain types, among the receivers of a member: the protocol of the stubs for them.
    static let anyPlainType = "Extended"

    // MARK: - Finding

    private mutating func examine(_ tokens: [SwiftToken], _ index: Int, _ file: String, _ lines: [String: Int]) {
        let token = tokens[index]
        if let part = PlatformPart.used(tokens, at: index), !declarations.declares(token.text) {
            parts.insert(part)
            return
        }
        guard token.kind == .word else { return }
        if let unknown = UnknownName(tokens, index, declarations, names, variables) {
            return add(unknown, tokens, index, file, lines)
        }
        guard token.text.first?.isUppercase == true, !PortTable.isKnown(token.text),
            !declarations.declares(token.text), !Self.isSkipped(tokens, index)
        else { return }
        let isType = Self.isTypePosition(tokens, index)
        let isMemberBase = tokens.isMark(index + 1, ".") || tokens.isSubscript(index + 1)
        let isCall = tokens.isMark(index + 1, "(")
        let isGeneric =
            tokens.isMark(index + 1, "<") && tokens[index + 1].range.lowerBound == token.range.upperBound
        guard isType || isMemberBase || isCall || isGeneric else { return }
        var found =
            missing[token.text] ?? MissingType(name: token.text, file: file, line: lines[token.text] ?? token.line)
        if let call = Self.initialiser(tokens, index) { MissingType.add(tokens, call, to: &found.initialisers) }
        if tokens.isWord(index - 3, "typealias") {
            let alias = tokens[index - 2].text
            for place in tokens.indices where tokens.isWord(place, alias) && tokens.isMark(place + 1, "(") {
                MissingType.add(tokens, place, to: &found.initialisers)
            }
        }
        if isCall, tokens.isWord(index - 1, "throw") { found.isThrown = true }
        if tokens.isWord(index - 1, "extension") { found.add(extension: tokens, at: index) }
        found.isType = found.isType || isType || isMemberBase
        if tokens.isMark(index + 1, "<") { found.arguments = Self.genericArguments(tokens, index + 1) }
        if isMemberBase { found.add(member: tokens, at: index) }
        if found.kind == .other { found.kind = isMadeObject(tokens, index) ? .object : kind(tokens, index) }
        if [.policy, .other].contains(found.kind), Self.inheritance(tokens, index)?.place == 0 {
            found.addOverrides(tokens, index)
        }
        missing[token.text] = found
    }

    /// Returns the word before the arguments that make a value of a type: the type's own in `Book()`, `init` in `Book.init()` and in
    /// `let a: Book = .init()`.
    fileprivate static func initialiser(_ tokens: [SwiftToken], _ index: Int) -> Int? {
        if tokens.isMark(index + 1, "(") { return index }
        let isTyped = tokens.isMark(index + 1, "=") && tokens.isMark(index + 2, ".")
        let place = isTyped ? index + 3 : tokens.isMark(index + 1, ".") ? index + 2 : index
        return tokens.isWord(place, "init") && tokens.isMark(place + 1, "(") ? place : nil
    }

    private static func genericArguments(_ tokens: [SwiftToken], _ open: Int) -> Int {
        let close = min(tokens.closing(open), tokens.count - 1)
        return close - open > 40 ? 0 : tokens[open..<close].count { $0.isMark(",") } + 1
    }

    /// Tells whether a word is a member, a label, or stands where conditions of the compiler do.
    private static func isSkipped(_ tokens: [SwiftToken], _ index: Int) -> Bool {
        if index > 0, [".", "case", "import", "func", "let", "var"].contains(tokens[index - 1].text) { return true }
        return UnknownName.isCondition(tokens, index)
    }

    /// Adds the stub of a name that nobody declares.
    private mutating func add(
        _ unknown: UnknownName, _ tokens: [SwiftToken], _ index: Int, _ file: String, _ lines: [String: Int]
    ) {
        let type = tokens[index].text
        let name = unknown == .initialiser ? type + ".init" : type
        var found = missing[name] ?? MissingType(name: name, file: file, line: lines[type] ?? tokens[index].line)
        switch unknown {
        case .member:
            let isAssigned = tokens.isMark(index + 1, "=") && !tokens.isMark(index + 2, "=")
            if let receiver = variables.receiver(tokens, index) {
                found.receivers.insert(receiver == "TimeInterval" ? "Double" : receiver)
            } else {
                let root = UnknownName.root(tokens, index).map { tokens[$0].text } ?? ""
                guard !isAssigned, root != "self", root != "super" else { return }
                found.receivers.insert(Self.anyPlainType)
            }
            found.isAssigned = found.isAssigned || isAssigned
            found.kind = .member
        case .initialiser:
            found.receivers = [type]
            found.kind = .member
            found.isInitialiser = true
        case .function: found.kind = .function
        case .variable: found.kind = .variable
        case .constant: found.kind = tokens.isMark(index + 1, ".") ? .variable : .constant
        }
        found.isFound = true
        if tokens.isMark(index + 1, "(") { MissingType.add(tokens, index, to: &found.initialisers) }
        missing[name] = found
    }

    private static func isTypePosition(_ tokens: [SwiftToken], _ index: Int) -> Bool {
        guard index > 0 else { return false }
        let before = tokens[index - 1]
        if before.isWord("extension") || before.isMark("=") && tokens.isWord(index - 3, "typealias") { return true }
        if [":", "<", ">", "["].contains(before.text) || ["as", "is", "any", "some"].contains(before.text) {
            return before.isMark(">") ? index > 1 && tokens[index - 2].isMark("-") : true
        }
        if before.isMark("?") || before.isMark("!"), index > 1, tokens[index - 2].isWord("as") { return true }
        return inheritance(tokens, index) != nil
    }

    /// Returns the class whose list of superclass and protocols holds a word, and the word's place in it.
    private static func inheritance(_ tokens: [SwiftToken], _ index: Int) -> (type: String, kind: String, place: Int)? {
        var position = index - 1
        var place = 0
        while position > 1 {
            if tokens[position].isMark(",") {
                place += 1
            } else if tokens[position].isMark(":") {
                let kind = tokens[position - 2].text
                guard ["class", "struct", "enum", "extension", "protocol"].contains(kind) else { return nil }
                return (tokens[position - 1].text, kind, place)
            } else if tokens[position].kind != .word, !tokens[position].isMark(".") {
                return nil
            }
            position -= 1
        }
        return nil
    }

    /// Tells whether a call makes a managed object: `Book(entity: …, insertInto: …)`, or `Book(context: …)` for a variable that the
    /// manager gets.
    private func isMadeObject(_ tokens: [SwiftToken], _ index: Int) -> Bool {
        guard tokens.isMark(index + 1, "(") else { return false }
        let labels = CallArguments(tokens, open: index + 1, isDeclaration: false).labels
        let isManaged = VariableTypes.assigned(tokens, index).map(variables.managed.contains) == true
        return labels == ["entity", "insertInto"] || labels == ["context"] && isManaged
    }

    private func kind(_ tokens: [SwiftToken], _ index: Int) -> MissingType.Kind {
        let name = tokens[index].text
        if objectClasses.contains(name) { return .object }
        if let (type, kind, place) = Self.inheritance(tokens, index) {
            let isProtocol = ["Protocol", "able", "ible", "Delegate", "ing"].contains { name.hasSuffix($0) }
            if kind != "class" || place > 0 || isProtocol { return .protocol }
            return declarations.policyClasses.contains(type) ? .policy : .other
        }
        guard index > 1 else { return .other }
        let isCall = tokens.isMark(index + 1, "(")
        let before = tokens[index - 1].text
        let startsLine = tokens[index].isFirstOnLine && !["=", ",", "(", ":", "?", "return"].contains(before)
        // A value that is made to be asked something, `Migrator(name).start()`, is one of a type.
        let isAsked = isCall && tokens.isMark(tokens.closing(index + 1) + 1, ".")
        if isCall, !isAsked, startsLine || before == "{" || before == ";" { return .function }
        let isElement = tokens[index - 1].isMark("<") && ["NSFetchRequest", "Set"].contains(tokens[index - 2].text)
        let isCast = ["?", "!"].contains(tokens[index - 1].text) && tokens[index - 2].isWord("as")
        return (isElement || isCast) && !name.hasApplePrefix && !name.hasSuffix("Delegate") ? .object : .other
    }
}

extension String {
    /// True for a name with a prefix of Apple's frameworks: `CLLocation`.
    fileprivate var hasApplePrefix: Bool {
        PortTable.words["classPrefixes", default: []].contains { prefix in
            hasPrefix(prefix) && count > 3 && dropFirst(2).first?.isUppercase == true
        }
    }
}

extension MissingType {
    /// True for a function of Apple's frameworks, as `MKMapRectUnion(a, b)`: it is only called, and its arguments have no labels.
    fileprivate var isFunctionOfApple: Bool {
        kind == .other && !isType && name.hasApplePrefix && !initialisers.isEmpty
            && initialisers.keys.allSatisfy { labels in !labels.isEmpty && labels.allSatisfy(\.isEmpty) }
    }

    /// Adds what the class with this superclass overrides, other than the methods of policies.
    fileprivate mutating func addOverrides(_ tokens: [SwiftToken], _ index: Int) {
        guard let open = tokens[index...].firstIndex(where: { $0.isMark("{") }) else { return }
        for position in open..<tokens.closing(open) where tokens.isWord(position, "override") {
            let isStatic = (position - 2..<position + 3).contains {
                tokens.isWord($0, "static") || tokens.isWord($0, "class") && !tokens.isWord($0 + 1, "override")
            }
            guard
                let start = (position..<position + 4).first(where: {
                    tokens.isWord($0, "func") || tokens.isWord($0, "var")
                }),
                tokens.isWord(start + 1), let body = tokens[start...].firstIndex(where: { $0.isMark("{") })
            else { continue }
            let list = CallArguments(tokens, open: start + 2, isDeclaration: true)
            let name = tokens[start + 1].text
            let isOwn =
                tokens.isWord(start, "var") ? name == "description" : PolicyMethod.isPolicyMethod(name, list.labels)
            guard !isOwn else { continue }
            // No space within `->`.
            let declaration = tokens[start..<body].reduce(into: "") { text, token in
                text += (text.isEmpty || token.kind == .mark ? "" : " ") + token.text
            }
            overridden[name] = (isStatic ? "class " : "") + declaration
        }
    }

    /// Adds the initialisers that an extension asks of the type itself, and learns from its own if the type is a class.
    fileprivate mutating func add(extension tokens: [SwiftToken], at index: Int) {
        guard let open = tokens[index...].firstIndex(where: { $0.isMark("{") }) else { return }
        var depth = 0
        for position in open..<min(tokens.closing(open), tokens.count) {
            depth += tokens[position].bracket
            guard tokens.isWord(position, "init") else { continue }
            if tokens.isMark(position - 1, ".") {
                guard tokens.isWord(position - 2, "self"), tokens.isMark(position + 1, "(") else { continue }
                let (labels, _) = Self.call(tokens, position)
                if labels == ["context"] { kind = .object }
                initialisers[labels] = initialisers[labels] ?? false
            } else if depth == 1 {
                let isConvenience = (1...4).contains { tokens.isWord(position - $0, "convenience") }
                if !isConvenience { isValue = true }
            }
        }
    }

    fileprivate mutating func add(member tokens: [SwiftToken], at index: Int) {
        guard tokens.isWord(index + 2), index + 3 < tokens.count else { return }
        let (name, next) = (tokens[index + 2].text, tokens[index + 3])
        if name == "hash" { isPlain = true }
        if next.isMark("."), tokens.isWord(index + 4, "hash") { plainNested.insert(name) }
        guard name.first?.isUppercase == true,
            next.isMark("(") || next.isMark(".") || tokens.isMark(index - 1, ":")
        else { return }
        var calls = nested[name] ?? [:]
        if let call = PortStubs.initialiser(tokens, index + 2) { Self.add(tokens, call, to: &calls) }
        nested[name] = calls
    }

    fileprivate static func add(_ tokens: [SwiftToken], _ index: Int, to initialisers: inout [[String]: Bool]) {
        let (labels, isOptional) = call(tokens, index)
        initialisers[labels] = initialisers[labels] == true || isOptional
    }

    /// Returns the labels of a call, and true if its result is taken for optional.
    private static func call(_ tokens: [SwiftToken], _ index: Int) -> ([String], Bool) {
        let list = CallArguments(tokens, open: index + 1, isDeclaration: false)
        let after = list.close + 1 < tokens.count ? tokens[list.close + 1].text : ""
        var isBound = false
        if tokens.isMark(index - 1, "="), index > 2, ["let", "var"].contains(tokens[index - 3].text) {
            isBound = VariableTypes.isOptional(tokens, tokens[index - 2].text, after: list.close)
        }
        if !isBound, let name = VariableTypes.assigned(tokens, index),
            let place = tokens[..<index].lastIndex(where: { $0.isWord(name) })
        {
            let isVariable = place > 1 && (tokens[place - 1].isWord("let") || tokens[place - 1].isWord("var"))
            isBound = isVariable && ["if", "guard", ",", "while"].contains(tokens[place - 2].text)
        }
        return (list.labels, isBound || after == "?" || after == "!")
    }
}
