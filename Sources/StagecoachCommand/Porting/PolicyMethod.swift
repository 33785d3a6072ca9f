/// The methods of policies that Core Data calls, in the order of their calls.
struct PolicyMethod {
    let name: String
    let labels: [String]
    /// The names of the parameters inside the method.
    let parameters: [String]
    /// The selector in Objective-C, without the error parameter.
    let selector: String
    /// The time of the call, for people.
    let call: String

    static let all: [PolicyMethod] = [
        PolicyMethod(
            name: "begin", labels: ["", "with"], parameters: ["mapping", "manager"],
            selector: "beginEntityMapping:manager:", call: "once, before the first object is created"),
        PolicyMethod(
            name: "createDestinationInstances", labels: ["forSource", "in", "manager"],
            parameters: ["sInstance", "mapping", "manager"],
            selector: "createDestinationInstancesForSourceInstance:entityMapping:manager:",
            call: "once for each source object"),
        PolicyMethod(
            name: "endInstanceCreation", labels: ["forMapping", "manager"], parameters: ["mapping", "manager"],
            selector: "endInstanceCreationForEntityMapping:manager:", call: "once, after the last object is created"),
        PolicyMethod(
            name: "createRelationships", labels: ["forDestination", "in", "manager"],
            parameters: ["dInstance", "mapping", "manager"],
            selector: "createRelationshipsForDestinationInstance:entityMapping:manager:",
            call: "once for each destination object, when all entity mappings have created theirs"),
        PolicyMethod(
            name: "endRelationshipCreation", labels: ["forMapping", "manager"], parameters: ["mapping", "manager"],
            selector: "endRelationshipCreationForEntityMapping:manager:",
            call: "once, after the last object is related"),
        PolicyMethod(
            name: "performCustomValidation", labels: ["forMapping", "manager"], parameters: ["mapping", "manager"],
            selector: "performCustomValidationForEntityMapping:manager:",
            call: "once, before the model's rules are checked"),
        PolicyMethod(
            name: "end", labels: ["", "manager"], parameters: ["mapping", "manager"],
            selector: "endEntityMapping:manager:", call: "once, at the very end"),
    ]

    /// The declaration's head, with Core Data's types.
    var declaration: String {
        let types = ["mapping": "NSEntityMapping", "manager": "NSMigrationManager"]
        let list = zip(labels, parameters).map { label, parameter in
            let external = label.isEmpty ? "_ " : label == parameter ? "" : label + " "
            return "\(external)\(parameter): \(types[parameter] ?? "NSManagedObject")"
        }
        return "func \(name)(\(list.joined(separator: ", "))) throws"
    }

    /// The call of the superclass's method with the same arguments.
    var superCall: String {
        let list = zip(labels, parameters).map { $0.isEmpty ? $1 : "\($0): \($1)" }
        return "try super.\(name)(\(list.joined(separator: ", ")))"
    }

    /// Tells whether a method's name and labels are those of a policy's, in any version of Swift.
    static func isPolicyMethod(_ name: String, _ labels: [String]) -> Bool {
        all.contains { $0.name == name && $0.labels == labels }
            || RenamedCall.all.contains { $0.name == name && $0.isPolicyMethod }
    }
}
