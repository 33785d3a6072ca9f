import Diagnostics
import SwiftTokens

/// The findings of `stagecoach port` in a folder of policy sources.
struct PolicyPort: Encodable {
    let findings: [PortFinding]
    let registrations: [PolicyRegistration]
    let objectiveCPolicies: [ObjectiveCPolicy]
    /// The types that ported copies have stubs of, by name.
    let missingTypes: [MissingType]
    /// The functions that the given mapping models call.
    let calledFunctions: [CalledFunction]
    /// The called functions that no policy has.
    let missingFunctions: [CalledFunction]
    private let sources: [PortedSource]
    private let stubs: PortStubs

    private enum CodingKeys: CodingKey {
        case findings, registrations, objectiveCPolicies, missingTypes, calledFunctions, missingFunctions
    }

    /// Reads and examines all Swift and Objective-C sources below a folder, or one source.
    ///
    /// - Parameters:
    ///   - mappings: the files of mapping models whose expressions call functions of the policies.
    ///   - context: folders with sources of the app, which are read for what they declare, and neither examined nor copied.
    init(path: String, mappings: [String] = [], context: [String] = []) throws(MigrationError) {
        calledFunctions = try CalledFunction.calls(in: mappings)
        let (swift, objectiveC) = try Self.read(path)
        var others: [DeclarationReader] = []
        for (number, folder) in context.enumerated() {
            // Their names are not those of sources that are copied.
            others += try Self.read(folder, inside: "context \(number + 1)/").swift.map(\.reader)
        }
        let called = mappings.isEmpty ? nil : Set(calledFunctions.map(\.selector))
        objectiveCPolicies = ObjectiveCReader.policies(in: objectiveC, called: called)
        let skeletons = Set(objectiveCPolicies.map(\.className))
        let copied = SourceDeclarations(swift.map(\.reader), skeletons: skeletons)
        let declarations =
            others.isEmpty ? copied : SourceDeclarations(swift.map(\.reader) + others, skeletons: skeletons)
        sources = swift.map {
            PortRules.apply(file: $0.reader.file, source: $0.source, reader: $0.reader, declarations: declarations)
        }
        registrations = PolicyRegistration.registrations(of: copied)
        // Types that only the context declares are in no copy, so they get stubs.
        stubs = PortStubs(sources, copied, objectClasses: declarations.objectClasses)
        findings = sources.flatMap(\.findings)
        missingTypes = stubs.missing.values.sorted { $0.name < $1.name }
        let known = Set((registrations + objectiveCPolicies.map(\.registration)).flatMap(\.functions).map(\.selector))
        missingFunctions = calledFunctions.filter { !known.contains($0.selector) }
    }

    /// Reads all sources below a folder, or one source.
    ///
    /// - Parameter prefix: the beginning of their names.
    private static func read(
        _ path: String, inside prefix: String = ""
    ) throws(MigrationError) -> (
        swift: [(source: String, reader: DeclarationReader)], objectiveC: [(file: String, tokens: [SwiftToken])]
    ) {
        var swift: [(source: String, reader: DeclarationReader)] = []
        var objectiveC: [(file: String, tokens: [SwiftToken])] = []
        for file in try PolicySourceFiles.find(path) {
            let source = String(decoding: try InputFile.read(file.path, what: "source"), as: UTF8.self)
            let tokens = SwiftLexer.tokens(of: source)
            guard file.isSwift else {
                objectiveC.append((prefix + file.name, tokens))
                continue
            }
            swift.append((source, DeclarationReader(tokens: tokens, file: prefix + file.name)))
        }
        return (swift, objectiveC)
    }

    /// Writes ported copies, skeletons of Objective-C policies, `Stubs.swift` and `RegisterPolicies.swift` into a new or empty
    /// folder. A copy that would have the name of one of these files is refused.
    func write(to folder: String) throws(MigrationError) {
        for source in sources {
            try PolicySourceFiles.write(stubs.edited(source), to: folder + "/" + source.file)
        }
        for policy in objectiveCPolicies {
            try PolicySourceFiles.write(policy.skeleton, to: folder + "/" + policy.className + "Skeleton.swift")
        }
        if let stubs = stubs.source { try PolicySourceFiles.write(stubs, to: folder + "/Stubs.swift") }
        try PolicySourceFiles.write(
            PolicyRegistration.registrationSource(registrations + objectiveCPolicies.map(\.registration)),
            to: folder + "/RegisterPolicies.swift")
    }
}
