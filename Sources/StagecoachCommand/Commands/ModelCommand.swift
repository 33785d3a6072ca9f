import Diagnostics
import ManagedModel

/// `stagecoach model`.
enum ModelCommand {
    /// A version in Xcode's form.
    private struct Version {
        let name: String?
        let model: ManagedObjectModel
        let contents: String
    }

    /// Writes the model of a store, or a model of any form, as Xcode keeps it.
    ///
    /// The text is read again: what comes back otherwise is what Xcode's form has no place for, and is named.
    static func run(_ arguments: ParsedArguments, console: Console) throws {
        let argument = arguments.operands[0]
        let path = arguments[option: "output"].map(PathIdentity.withoutSlash)
        // Nothing is read for an output that cannot be made.
        if let path { try OutputFile.check(path) }
        let sources = try SwiftModelArgument.admit(argument, known: try arguments.all("like").map(LikeArgument.load))
        for name in sources?.chosen?.unchecked ?? [] {
            console.messages.write("stagecoach: No version hash at hand confirms the entity \(name)\n")
        }
        let form = path.map(ModelLocator.form(ofName:)) ?? .contents
        if let path, form == .versionedBundle { return try writeBundle(argument, path, console) }
        guard form == .versionFolder || form == .contents else {
            throw MigrationError(
                "model.output", .configuration, "The output's name does not say a form of a model that can be written",
                remedy: "Name an .xcdatamodel, an .xcdatamodeld, or a file called contents",
                context: .init(path: path ?? ""))
        }
        let version = try version(ModelArgument.load(argument))
        if let path, form == .versionFolder {
            try OutputFolder.create(path, [("contents", version.contents)])
        } else {
            try OutputFile.deliver(version.contents, to: path, console)
        }
        try warn(version, console)
    }

    /// Writes all versions of a folder of versions, else the one, into a new folder of versions.
    private static func writeBundle(_ argument: String, _ path: String, _ console: Console) throws {
        let name = String(PathIdentity.name(of: path).dropLast(".xcdatamodeld".count))
        let bundle = PathIdentity.withoutSlash(argument)
        var versions: [Version] = []
        var current = name
        if ModelLocator.bundle(of: argument) == bundle {
            for version in try ModelLocator.versions(in: argument) {
                versions.append(try self.version(ModelArgument.load("\(bundle):\(version)")))
            }
            current = try ModelArgument.load(argument).name ?? name
        } else {
            versions = [try version(ModelArgument.load(argument), as: name)]
        }
        var files = versions.map { (path: "\($0.name ?? name).xcdatamodel/contents", content: $0.contents) }
        files.append((path: ".xccurrentversion", content: currentVersion("\(current).xcdatamodel")))
        try OutputFolder.create(path, files)
        for version in versions { try warn(version, console) }
    }

    private static func version(_ named: NamedModel, as name: String? = nil) throws(MigrationError) -> Version {
        Version(
            name: name ?? named.name, model: named.model,
            contents: ModelXMLWriter.contents(of: named.model.whole.definition))
    }

    /// Names what the text does not say, and entities whose version hashes it changes.
    private static func warn(_ version: Version, _ console: Console) throws {
        let written = try ModelXMLReader.readModel(version.contents)
        let label = version.name.map { " of \($0)" } ?? ""
        let definition = version.model.whole.definition
        for difference in ModelComparison.parts(of: definition, missingIn: written.definition) {
            console.messages.write(
                "stagecoach: Xcode's form has no place for a part\(label): \(difference.part) (\(difference.value))\n")
        }
        let hashes = VersionHash.entityHashes(of: version.model.whole)
        for (name, hash) in VersionHash.entityHashes(of: written).sorted(by: { $0.key < $1.key }) {
            guard let old = hashes[name]?.bytes, let new = hash.bytes, old != new else { continue }
            console.messages.write("stagecoach: The version hash\(label) of the entity \(name) differs\n")
        }
    }

    /// Returns the `.xccurrentversion` that names a version's folder.
    static func currentVersion(_ folder: String) -> String {
        let escaped = folder.replacing("&", with: "&amp;").replacing("<", with: "&lt;")
        return """
            <?xml version="1.0" encoding="UTF-8"?>
            <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
            <plist version="1.0">
            <dict>
            \t<key>_XCCurrentVersionName</key>
            \t<string>\(escaped)</string>
            </dict>
            </plist>

            """
    }
}
