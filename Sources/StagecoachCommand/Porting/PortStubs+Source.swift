extension PortStubs {
    /// The source of the stubs; nil if none is needed.
    var source: String? {
        guard !missing.isEmpty || logs else { return nil }
        var text = "import Stagecoach\n"
        if !missing.isEmpty { text += "\n" + String(decoding: PackageResources.stubs_swift_txt, as: UTF8.self) }
        for type in missing.values.sorted(by: { $0.name < $1.name }) { text += "\n" + Self.stub(type) }
        if logs { text += "\n" + String(decoding: PackageResources.logging_swift_txt, as: UTF8.self) }
        return text
    }

    private static func stub(_ type: MissingType) -> String {
        let place = "/// First used in \(type.file), line \(type.line).\n"
        switch type.kind {
        case .policy: return place + "class \(type.name): NSEntityMigrationPolicy {}\n"
        case .protocol: return place + "protocol \(type.name) {}\n"
        case .function:
            // A message of the app's log goes to standard error: it decides nothing.
            let isLog = type.name.lowercased().contains("log")
            return type.initialisers.keys.sorted { $0.lexicographicallyPrecedes($1) }.map { labels in
                let names = labels.indices.map { "a\($0)" }
                let values = names.map { "\($0) ?? \"nil\"" }.joined(separator: ", ")
                let body = isLog ? "NSLog(\"%@\", \"\\([\(values)] as [Any])\")" : "stop(\"\(type.name)\")"
                return place + "func \(type.name)(\(parameters(labels))) { \(body) }\n"
            }.joined()
        case .object:
            return place + """
                @dynamicMemberLookup
                class \(type.name): NSManagedObject {
                    subscript<Value>(dynamicMember key: String) -> Value {
                        get { value(forKey: key) as! Value }
                        set { setValue(newValue, forKey: key) }
                    }
                }

                """
        case .other:
            var body = members(type.name, type.initialisers, indent: "    ")
            for (name, initialisers) in type.nested.sorted(by: { $0.key < $1.key }) {
                body += "\n    @dynamicMemberLookup\n    class \(name): NSObject, NSSecureCoding {\n"
                body += members("\(type.name).\(name)", initialisers, indent: "        ") + "    }\n"
            }
            return place + "@dynamicMemberLookup\nclass \(type.name): NSObject, NSSecureCoding {\n\(body)}\n"
        }
    }

    /// Returns the members of a stub: initialisers with the labels that sources use, and any member by its name.
    private static func members(_ name: String, _ initialisers: [[String]: Bool], indent: String) -> String {
        var lines = [
            "static var supportsSecureCoding: Bool { true }",
            "required init?(coder: NSCoder) { stop(\"\(name)\") }",
            "func encode(with coder: NSCoder) { stop(\"\(name)\") }",
            "static subscript(dynamicMember member: String) -> Missing { stop(\"\(name).\" + member) }",
            "static subscript<Value>(dynamicMember member: String) -> Value { stop(\"\(name).\" + member) }",
            "subscript(dynamicMember member: String) -> Missing { stop(\"\(name).\" + member) }",
            "subscript<Value>(dynamicMember member: String) -> Value { stop(\"\(name).\" + member) }",
        ]
        for (labels, isOptional) in initialisers.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) })
        where labels != ["coder"] {
            let head = labels.isEmpty && !isOptional ? "override init()" : "init\(isOptional ? "?" : "")"
            let list = labels.isEmpty && !isOptional ? "" : "(\(parameters(labels)))"
            lines.append("\(head)\(list) { stop(\"\(name)\") }")
        }
        return lines.map { indent + $0 + "\n" }.joined()
    }

    private static func parameters(_ labels: [String]) -> String {
        labels.enumerated().map { "\($1.isEmpty ? "_" : $1) a\($0): Any?" }.joined(separator: ", ")
    }
}
