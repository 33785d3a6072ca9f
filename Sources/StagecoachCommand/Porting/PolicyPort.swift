import Diagnostics

/// The findings of `stagecoach port` in a folder of policy sources.
struct PolicyPort: Encodable {
    /// An Objective-C policy, which no rule can port.
    struct ObjectiveCPolicy: Encodable {
        let className: String
        let file: String
        let line: Int
    }

    let sources: [PortedSource]
    let registrations: [PolicyRegistration]
    let objectiveCPolicies: [ObjectiveCPolicy]

    var findings: [PortFinding] { sources.flatMap(\.findings) }

    /// Reads and examines all Swift and Objective-C sources below a folder, or one source.
    ///
    /// - Throws: `port.notFound` (66), `input.…` for a file that cannot be read; `port.noSources` (66).
    /// - Complexity: O(bytes) time and memory.
    init(path: String) throws(MigrationError) {
        let files = try PolicySourceFiles.find(path)
        var swift: [(file: String, source: String, tokens: [SwiftToken])] = []
        var objectiveC: [ObjectiveCPolicy] = []
        var declarations: [DeclarationReader] = []
        for file in files {
            let source = String(decoding: try InputFile.read(file.path, what: "source"), as: UTF8.self)
            guard file.isSwift else {
                objectiveC += ObjectiveCPolicies.policies(in: source, file: file.name)
                continue
            }
            let tokens = SwiftLexer.tokens(of: source)
            var reader = DeclarationReader(tokens: tokens, file: file.name)
            reader.run()
            declarations.append(reader)
            swift.append((file.name, source, tokens))
        }
        let classes = declarations.flatMap(\.classes)
        let byName = Dictionary(classes.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        let objects = classes.filter {
            PolicyRegistration.inherits($0, from: ["NSManagedObject", "ManagedObject"], in: byName)
        }
        let objectNames = Set(objects.map(\.name))
        sources = swift.map {
            PortRules.apply(file: $0.file, source: $0.source, tokens: $0.tokens, objectClasses: objectNames)
        }
        registrations = PolicyRegistration.registrations(of: declarations)
        objectiveCPolicies = objectiveC
    }

    private enum Key: String, CodingKey { case findings, registrations, objectiveCPolicies }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(findings, forKey: .findings)
        try container.encode(registrations, forKey: .registrations)
        try container.encode(objectiveCPolicies, forKey: .objectiveCPolicies)
    }

    /// Writes ported copies and `RegisterPolicies.swift` into a new or empty folder.
    ///
    /// - Throws: `output.…` (73, 74, 77).
    func write(to folder: String) throws(MigrationError) {
        for source in sources {
            try PolicySourceFiles.write(source.ported, to: folder + "/" + source.file)
        }
        try PolicySourceFiles.write(
            PolicyRegistration.registrationSource(registrations), to: folder + "/RegisterPolicies.swift")
    }
}

/// Searches Objective-C sources for policies; they are not ported.
enum ObjectiveCPolicies {
    /// Returns the classes that a source declares as policies: `@interface X : NSEntityMigrationPolicy`.
    static func policies(in source: String, file: String) -> [PolicyPort.ObjectiveCPolicy] {
        let tokens = SwiftLexer.tokens(of: source)
        var found: [PolicyPort.ObjectiveCPolicy] = []
        for index in tokens.indices.dropLast(3) where tokens[index].text == "@interface" {
            guard tokens[index + 2].isMark(":"), tokens[index + 3].isWord("NSEntityMigrationPolicy") else { continue }
            found.append(
                PolicyPort.ObjectiveCPolicy(
                    className: tokens[index + 1].text, file: file, line: tokens[index].line))
        }
        return found
    }
}
