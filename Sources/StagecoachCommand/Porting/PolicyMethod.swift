/// The methods of policies that Core Data calls, in the order of their calls.
struct PolicyMethod {
    let name: String
    /// The label and the name of each parameter; the label is empty for `_`.
    let parameters: [(label: String, name: String)]
    /// The selector in Objective-C, without the error parameter.
    let selector: String
    /// The time of the call, for people.
    let call: String

    var labels: [String] { parameters.map(\.label) }

    /// - Parameter head: the parameters as Swift declares them, without types.
    private init(_ name: String, _ head: String, _ selector: String, _ call: String) {
        (self.name, self.selector, self.call) = (name, selector, call)
        parameters = head.split(separator: ", ").map { words in
            let words = words.split(separator: " ").map(String.init)
            return (words[0] == "_" ? "" : words[0], words[words.count - 1])
        }
    }

    static let all = PortTable.lines(PackageResources.policy_methods_txt, cutAt: "|").map {
        PolicyMethod($0[0], $0[1], $0[2], $0[3])
    }

    /// The declaration's head, with Core Data's types.
    var declaration: String {
        let types = ["mapping": "NSEntityMapping", "manager": "NSMigrationManager"]
        let list = parameters.map { label, name in
            let external = label.isEmpty ? "_ " : label == name ? "" : label + " "
            return "\(external)\(name): \(types[name] ?? "NSManagedObject")"
        }
        return "func \(name)(\(list.joined(separator: ", "))) throws"
    }

    /// The call of the superclass's method with the same arguments.
    var superCall: String {
        let list = parameters.map { $0.label.isEmpty ? $0.name : "\($0.label): \($0.name)" }
        return "try super.\(name)(\(list.joined(separator: ", ")))"
    }

    /// Tells whether a method's name and labels are those of a policy's, in any version of Swift.
    static func isPolicyMethod(_ name: String, _ labels: [String]) -> Bool {
        all.contains { $0.name == name && $0.labels == labels }
            || RenamedCall.all.contains { $0.name == name && $0.isPolicyMethod }
    }
}
