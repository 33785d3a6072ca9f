import Diagnostics
import Foundation

/// A model as found on disk.
public struct LoadedModel: Sendable {
    public let model: ManagedObjectModel
    /// The file that was read.
    public let path: String
    /// Name of the version without extension, where the place of the file says it.
    public let versionName: String?
}

/// Finds and reads the model that a user's argument names.
public enum ModelLocator {
    /// Reads a model.
    ///
    /// - Parameter argument: An `.xcdatamodeld` folder (its current version), `Bundle.xcdatamodeld:Version` (the
    ///   version with or without extension), an `.xcdatamodel` folder, or a bare `contents` file.
    /// - Throws: `model.notFound`, `model.unknownVersion` (66), `model.permission` (77), `model.unreadable` (74),
    ///   `model.noVersion`, `model.currentVersion`, `model.ambiguousVersion`, `model.oldFormat`,
    ///   `model.unknownKind` (78), and what ``ModelXMLReader`` throws (78).
    /// - Complexity: O(file) time and memory.
    public static func load(_ argument: String) throws(MigrationError) -> LoadedModel {
        let (path, version) = split(argument)
        guard ModelFile.kind(at: path) != nil else { throw ModelFile.notFound(path) }
        switch ModelKind(name: lastComponent(path)) {
        case .versionedBundle?:
            let bundle = try ModelBundle(path: path)
            let name = if let version { try bundle.version(named: version) } else { try bundle.currentVersion() }
            return try load(versionFolder: bundle.folder(of: name))
        case .versionFolder?:
            return try load(versionFolder: path)
        case .contents?:
            let folder = lastComponent(String(path.dropLast(lastComponent(path).count)))
            return try load(contents: path, versionName: versionName(folder))
        case nil:
            throw MigrationError(
                "model.unknownKind", .configuration, "The name does not say that this is a model",
                remedy: "Name an .xcdatamodeld or .xcdatamodel folder, or its contents file",
                context: .init(path: path))
        }
    }

    /// Names of the versions in an `.xcdatamodeld` folder, without extension, numbers in them compared as numbers.
    ///
    /// - Throws: `model.notFound` (66), `model.noVersion` (78), `model.permission` (77), `model.unreadable` (74).
    public static func versions(in bundle: String) throws(MigrationError) -> [String] {
        try ModelBundle(path: withoutTrailingSlashes(bundle)).versions
    }

    /// Cuts `Bundle.xcdatamodeld:Version` in two; a path that exists as it stands is left whole.
    private static func split(_ argument: String) -> (path: String, version: String?) {
        let whole = withoutTrailingSlashes(argument)
        guard ModelFile.kind(at: whole) == nil,
            let colon = argument.range(of: ModelBundle.suffix + ":", options: .backwards)
        else { return (whole, nil) }
        let path = String(argument[..<argument.index(before: colon.upperBound)])
        return (path, withoutTrailingSlashes(String(argument[colon.upperBound...])))
    }

    private static func load(versionFolder folder: String) throws(MigrationError) -> LoadedModel {
        guard ModelFile.isFolder(folder) else { throw ModelFile.notFound(folder) }
        let contents = "\(folder)/\(ModelBundle.contentsName)"
        if !ModelFile.isFile(contents), ModelFile.isFile("\(folder)/elements") {
            throw MigrationError(
                "model.oldFormat", .configuration, "The model is in the binary form of Xcode 3",
                remedy: "Open and save it once in Xcode 4 or later", context: .init(path: folder))
        }
        return try load(contents: contents, versionName: versionName(lastComponent(folder)))
    }

    private static func load(contents: String, versionName: String?) throws(MigrationError) -> LoadedModel {
        let model = try ModelXMLReader.readModel(try ModelFile.read(contents), path: contents)
        return LoadedModel(model: model, path: contents, versionName: versionName)
    }

    /// The name of a version by its folder's name; nil where the folder is none of a version.
    private static func versionName(_ folder: String) -> String? {
        guard folder.hasSuffix(ModelBundle.versionSuffix) else { return nil }
        return String(folder.dropLast(ModelBundle.versionSuffix.count))
    }

    private static func lastComponent(_ path: String) -> String {
        let whole = withoutTrailingSlashes(path)
        return whole.lastIndex(of: "/").map { String(whole[whole.index(after: $0)...]) } ?? whole
    }

    private static func withoutTrailingSlashes(_ path: String) -> String {
        var path = path
        while path.count > 1, path.hasSuffix("/") { path.removeLast() }
        return path
    }
}
