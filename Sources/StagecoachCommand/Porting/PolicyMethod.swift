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

    static let all = [
        PolicyMethod(
            "begin", "_ mapping, with manager",
            "beginEntityMapping:manager:",
            "once, before the first object is created"),
        PolicyMethod(
            "createDestinationInstances", "forSource sInstance, in mapping, manager",
            "createDestinationInstancesForSourceInstance:entityMapping:manager:",
            "once for each source object"),
        PolicyMethod(
            "endInstanceCreation", "forMapping mapping, manager",
            "endInstanceCreationForEntityMapping:manager:",
            "once, after the last object is created"),
        PolicyMethod(
            "createRelationships", "forDestination dInstance, in mapping, manager",
            "createRelationshipsForDestinationInstance:entityMapping:manager:",
            "once for each destination object, when all entity mappings have created theirs"),
        PolicyMethod(
            "endRelationshipCreation", "forMapping mapping, manager",
            "endRelationshipCreationForEntityMapping:manager:",
            "once, after the last object is related"),
        PolicyMethod(
            "performCustomValidation", "forMapping mapping, manager",
            "performCustomValidationForEntityMapping:manager:",
            "once, before the model's rules are checked"),
        PolicyMethod(
            "end", "_ mapping, manager",
            "endEntityMapping:manager:",
            "once, at the very end"),
    ]

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
