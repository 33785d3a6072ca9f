import SwiftTokens

extension PortStubs {
    /// The source of the stubs; nil if none is needed.
    var source: String? {
        let parts = parts.sorted().map { PlatformPart.all[$0].source }.filter { !$0.isEmpty }
        guard !missing.isEmpty || !parts.isEmpty else { return nil }
        let types = missing.values.sorted { $0.name < $1.name }.map { "\n" + Self.stub($0) }
        let members = cases.isEmpty ? "" : "\nextension Missing {\n\(Self.declarations(cases, in: "Missing"))}\n"
        let body = Self.base + members + (types + parts).joined()
        let head = "import Stagecoach\(PortTable.foundationImports(SwiftLexer.tokens(of: body)))\n\n"
        return head + (arePublic ? PublicStubs.text(of: body) : body)
    }

    private static func stub(_ type: MissingType) -> String {
        let place = "/// First used in \(type.file), line \(type.line).\n"
        switch type.kind {
        case .policy:
            let members = type.overridden.sorted { $0.key < $1.key }.map {
                "    \($0.value) { stop(\"\(type.name).\($0.key)\") }\n"
            }
            return place + "@dynamicMemberLookup\nclass \(type.name): NSEntityMigrationPolicy {\n\(members.joined())"
                + anyMembers(type.name).map { "    " + $0 + "\n" }.joined() + "}\n"
        case .protocol: return place + "protocol \(type.name) {}\n"
        case .function: return calls(type, place) { "func \(type.name)\($0)" }
        case .variable: return place + "let \(type.name) = \(isLog(type) ? "MessageLog" : "Missing")()\n"
        case .constant:
            // `CC_SHA256_DIGEST_LENGTH` is a number, `kSecClass` a text.
            let value = type.name.hasPrefix("k") || type.name.hasPrefix("NS") ? "\"\(type.name)\"" : "0"
            return place + "let \(type.name) = \(value)\n"
        case .member:
            return receivers(of: type).map { place + "extension \($0) {\n\(added(type, to: $0))}\n" }.joined()
        case .object:
            return place + """
                @dynamicMemberLookup
                class \(type.name): NSManagedObject {
                    subscript<Value>(dynamicMember key: String) -> Value {
                        get { value(forKey: key) as! Value }
                        set { setValue(newValue, forKey: key) }
                    }
                    @_disfavoredOverload subscript(dynamicMember member: String) -> Missing! { stop(member) }
                    static subscript(dynamicMember member: String) -> Missing { stop(member) }
                    static subscript<Value>(dynamicMember member: String) -> Value { stop(member) }
                }

                """
        case .other:
            let isPlain = type.isPlain || type.isValue || type.initialisers[[]] == true
            var body = members(type.name, type.initialisers, indent: "    ", isPlain: isPlain)
            for (name, initialisers) in type.nested.sorted(by: { $0.key < $1.key }) {
                let isPlain = type.plainNested.contains(name)
                let bases = isPlain ? "" : ": NSObject, NSSecureCoding"
                body += "\n    @dynamicMemberLookup\n    class \(name)\(bases) {\n"
                body += members("\(type.name).\(name)", initialisers, indent: "        ", isPlain: isPlain)
                body += declarations(type.cases, in: name) + "    }\n"
            }
            let list = (0..<type.arguments).map { "T\($0)" }.joined(separator: ", ")
            body += declarations(type.cases, in: type.name)
            for (member, text) in type.overridden.sorted(by: { $0.key < $1.key }) {
                body += "    \(text) { stop(\"\(type.name).\(member)\") }\n"
            }
            let head = type.name + (list.isEmpty ? "" : "<\(list)>")
            if type.isValue {
                return place
                    + "@dynamicMemberLookup\nstruct \(head): \(type.isThrown ? "Error" : "@unchecked Sendable") {\n"
                    + body + "}\n"
            }
            let bases =
                (isPlain ? [] : ["NSObject", "NSSecureCoding", "@unchecked Sendable"])
                + (type.isThrown ? isPlain ? ["Error", "@unchecked Sendable"] : ["Error"] : [])
            return place
                + "@dynamicMemberLookup\nclass \(head)\(bases.isEmpty ? "" : ": ")\(bases.joined(separator: ", ")) {\n"
                + "\(body)}\n"
        }
    }

    private static func isLog(_ type: MissingType) -> Bool { type.name.lowercased().contains("log") }

    /// Foundation's types whose members are mostly of the same type, as a text without spaces is a text.
    private static let plainTypes: Set<String> = ["Data", "Date", "Double", "Int", "String", "URL"]

    /// Returns the types and protocols that get a member. A plain type's may be a value of this type, an optional one, or any
    /// other: the compiler takes what fits.
    private static func receivers(of type: MissingType) -> [String] {
        let isProperty = type.initialisers.isEmpty && !type.isAssigned && !type.isInitialiser
        let isAny = type.receivers.contains(PortStubs.anyPlainType)
        guard isProperty, !type.name.isQuestion || !isAny else { return (type.receivers.union(["Extended"])).sorted() }
        guard isProperty, isAny || !plainTypes.isDisjoint(with: type.receivers) else { return type.receivers.sorted() }
        return type.receivers.union(isAny ? plainTypes : []).union(["Extended", "ExtendedOptionally"]).sorted()
    }

    /// Returns a member that an extension of the app adds to a known type.
    private static func added(_ type: MissingType, to receiver: String) -> String {
        let end = "stop(\"\(receiver).\(type.name)\")"
        if type.isInitialiser {
            let isClass = receiver.hasPrefix("NS")
            return type.initialisers.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map { labels, isOptional in
                "    \(isClass ? "convenience " : "")init\(isOptional ? "?" : "")(\(parameters(labels))) { \(end) }\n"
            }.joined()
        }
        if receiver == "OSLog" { return "    static let \(type.name) = OSLog()\n" }
        if receiver == "NSNotification.Name" { return "    static let \(type.name) = Self(\"\(type.name)\")\n" }
        if type.isAssigned {
            let property = "    var \(type.name): Any? {\n        get { \(end) }\n        set { \(end) }\n    }\n"
            return property + calls(type, "") { "    func \(type.name)\($0)" }
        }
        guard type.initialisers.isEmpty else { return calls(type, "") { "    func \(type.name)\($0)" } }
        if type.name.isQuestion { return "    var \(type.name): Bool { \(end) }\n" }
        let result = receiver == "ExtendedOptionally" ? "Self?" : plainTypes.contains(receiver) ? receiver : "Missing"
        return ["", "static "].map { "    \($0)var \(type.name): \(result) { \(end) }\n" }.joined()
    }

    /// Returns functions for each list of labels, with a result of any type. A message of the app's log goes to standard error:
    /// it decides nothing.
    private static func calls(_ type: MissingType, _ place: String, _ head: (String) -> String) -> String {
        type.initialisers.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map { labels, isOptional in
            let values = labels.indices.map { "a\($0) ?? \"nil\"" }.joined(separator: ", ")
            let end = "stop(\"\(type.name)\")"
            let log = "NSLog(\"%@\", \"\\([\(values)] as [Any])\")\n    return Missing()"
            let list = "(\(parameters(labels)))"
            return place + "@discardableResult\n" + head("\(list) -> Missing\(isOptional ? "?" : "")")
                + " { \(isLog(type) ? log : end) }\n" + head("<Value>\(list) -> Value") + " { \(end) }\n"
        }.joined()
    }

    /// Returns the members of a stub: initialisers with the labels that sources use, and any member by its name.
    private static func members(_ name: String, _ initialisers: [[String]: Bool], indent: String, isPlain: Bool = false)
        -> String
    {
        let coding = [
            "static var supportsSecureCoding: Bool { true }",
            "required init?(coder: NSCoder) { stop(\"\(name)\") }",
            "func encode(with coder: NSCoder) { stop(\"\(name)\") }",
        ]
        var lines = (isPlain ? [] : coding) + anyMembers(name)
        for (labels, isOptional) in initialisers.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) })
        where labels != ["coder"] {
            let head = labels.isEmpty && !isOptional && !isPlain ? "override init()" : "init\(isOptional ? "?" : "")"
            let list = labels.isEmpty && !isOptional && !isPlain ? "" : "(\(parameters(labels)))"
            lines.append("\(head)\(list) { stop(\"\(name)\") }")
        }
        return lines.map { indent + $0 + "\n" }.joined()
    }

    /// Returns the lines that give a type every member, of any type.
    private static func anyMembers(_ name: String) -> [String] {
        func property(_ head: String, _ value: String) -> [String] {
            ["\(head) {", "    get { \(value) }", "    set { \(value) }", "}"]
        }
        let (index, member) = ("stop(\"\(name)\")", "stop(\"\(name).\" + member)")
        return property("subscript(index: Any?) -> Missing", index)
            + property("@_disfavoredOverload subscript<Value>(index: Any?) -> Value", index)
            + property("static subscript<Value>(key: Missing) -> Value", index)
            + property("static subscript(key: Missing) -> Missing", index)
            + ["Missing", "Value"].map { result in
                let generic = result == "Value" ? "<Value>" : ""
                return "static subscript\(generic)(dynamicMember member: String) -> \(result) { \(member) }"
            } + property("subscript(dynamicMember member: String) -> Missing", member)
            + property("subscript<Value>(dynamicMember member: String) -> Value", member)
    }

    /// Returns the static members by which a stub answers `.name`. Of `.name` and `.name()` there is one.
    private static func declarations(_ cases: Set<ImplicitMember>, in type: String) -> String {
        let members = cases.filter { $0.labels != [] || !cases.contains($0.withoutArguments) }
        return members.sorted().map { "    \($0.declaration(in: type))\n" }.joined()
    }

    static func parameters(_ labels: [String]) -> String {
        labels.enumerated().map { "\($1.isEmpty ? "_" : $1) a\($0): Any?" }.joined(separator: ", ")
    }
}

extension String {
    /// True for the name of a member that answers a question: `isBlank`, `hasTags`.
    fileprivate var isQuestion: Bool {
        ["is", "has", "should", "can", "needs"].contains { prefix in
            hasPrefix(prefix) && dropFirst(prefix.count).first?.isUppercase == true
        }
    }
}

/// Makes the declarations of stubs public, and their classes open: public functions of the copies have them in their types.
enum PublicStubs {
    private enum Block {
        case type, protocolBody, code
    }

    /// Returns the text with each declaration of a type, and of a member of one, made public.
    static func text(of stubs: String) -> String {
        var blocks: [Block] = []
        return stubs.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            let words = line.drop { $0 == " " }
            let isVisible = blocks.allSatisfy { $0 == .type } && !words.hasPrefix("extension")
            let result = isVisible ? declaration(line) : String(line)
            if line.hasSuffix("{") {
                let names = line.split(whereSeparator: { " :<{".contains($0) })
                let isType = ["class", "struct", "enum", "extension"].contains(where: names.contains)
                let isMember = ["func", "var", "init", "subscript"].contains { word in
                    names.contains { $0.hasPrefix(word) }
                }
                blocks.append(isType && !isMember ? .type : names.contains("protocol") ? .protocolBody : .code)
            } else if words.hasPrefix("}"), !line.contains("{") {
                _ = blocks.popLast()
            }
            return result
        }.joined(separator: "\n")
    }

    private static func declaration(_ line: Substring) -> String {
        let pattern =
            /( *)((?:@[A-Za-z_]+ )*)((?:override |required |convenience |static |class |final |nonmutating |mutating |indirect )*)(func|var|let|subscript|init|struct|class|enum|protocol|typealias)\b(.*)/
        guard let match = line.wholeMatch(of: pattern) else { return String(line) }
        let access = match.4 == "class" && !match.3.contains("final") ? "open" : "public"
        // The compiler finds out for itself which internal values threads may share, and of public ones has to be told.
        var rest = String(match.5)
        if ["struct", "enum"].contains(match.4), let body = rest.firstRange(of: " {") {
            let head = rest[..<body.lowerBound]
            if !head.contains("Sendable") {
                rest.insert(contentsOf: (head.contains(":") ? ", " : ": ") + "@unchecked Sendable", at: body.lowerBound)
            }
        }
        return "\(match.1)\(match.2)\(access) \(match.3)\(match.4)\(rest)"
    }
}
