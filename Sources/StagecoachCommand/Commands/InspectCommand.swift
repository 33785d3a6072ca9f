import AtomicStores
import Diagnostics
import ManagedModel
import Mapping

enum InspectCommand {
    /// Prints a store, a model or a mapping model. Its name and first bytes determine which it is.
    static func run(_ arguments: ParsedArguments, console: Console) throws {
        if arguments.has("fidelity") { return try FidelityCommand.run(arguments, console: console) }
        if arguments[option: "source"] != nil { throw UsageError.needsOption("--source", other: "--fidelity") }
        let path = arguments.operands[0]
        let json = arguments.has("json")
        func show(_ value: some Encodable, _ text: () -> String) throws {
            console.output.write(json ? try JSONText.text(value) : text())
        }
        if let sources = try SwiftModelArgument.admit(path, known: try arguments.all("like").map(LikeArgument.load)) {
            let description = try ModelDescription(argument: path, sources: sources)
            return try show(description) { InspectWording.text(description) }
        }
        switch try kind(of: path) {
        case .store:
            if let format = StoreFormat.of(path), format != .sqlite {
                let description = try StoreDescription(path, format: format, bundle: arguments[option: "model"])
                return try show(description) { InspectWording.text(description) }
            }
            let description = try StoreDescription(
                path: path, bundle: arguments[option: "model"], repairs: arguments.has("repair"))
            try show(description) { InspectWording.text(description) }
        case .model:
            let description = try ModelDescription(argument: path)
            try show(description) { InspectWording.text(description) }
        case .mapping:
            let outline = try MappingOutline.reading(try MappingFile(path: path))
            try show(outline) { InspectWording.text(outline, path: path) }
        }
    }

    private enum Kind {
        case store
        case model
        case mapping
    }

    /// Tells whether a file is an XML store, and not the mapping model that Xcode keeps in one.
    private static func isXMLStore(_ path: String) -> Bool {
        guard StoreFormat.of(path) == .xml, let header = try? AtomicStoreHeader.read(path, format: .xml) else {
            return false
        }
        return !header.metadata.versionHashes.keys.contains { $0.uppercased().hasPrefix("XDDEV") }
    }

    private static func kind(of path: String) throws(MigrationError) -> Kind {
        if try InputFile.isDatabase(path) { return .store }
        guard let beginning = try InputFile.beginning(of: path, count: 512) else {
            if MappingFile.isMappingModel(name: path, beginning: nil) { return .mapping }
            if ModelLocator.isModel(name: path) || InputFile.isFolder(path) { return .model }
            // The file is missing or not readable, and reading it gives the error that says which.
            _ = try InputFile.read(path, what: "store, model or mapping model")
            return .store
        }
        if isXMLStore(path) { return .store }
        if MappingFile.isMappingModel(name: path, beginning: beginning) { return .mapping }
        return ModelLocator.isModel(name: path) ? .model : .store
    }
}
