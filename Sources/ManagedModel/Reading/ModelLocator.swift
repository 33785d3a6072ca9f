import Diagnostics
import Foundation

/// A model as found on disk.
public struct LoadedModel: Sendable {
    /// The loaded version.
    public let model: ManagedObjectModel
    /// The path of the file that was read.
    public let path: String
    /// The name of the version without extension; nil if the place of the file does not show it.
    public let versionName: String?
}

/// Finds and reads the model named by a user's argument.
///
/// ```swift
/// let current = try ModelLocator.load("Library.xcdatamodeld")
/// let older = try ModelLocator.load("Library.xcdatamodeld:Library")
/// print(older.versionName ?? "", older.model.entities.count, current.model.entities.count)
/// ```
public enum ModelLocator {
    /// Reads a model.
    ///
    /// The hashes of a compiled version are those in `VersionInfo.plist` beside it, written by the compiler, and are compared
    /// with the computed ones.
    ///
    /// - Parameter argument: an `.xcdatamodeld` or `.momd` folder (its current version), `Bundle.xcdatamodeld:Version` or
    ///   `Bundle.momd:Version` (the version with or without extension), an `.xcdatamodel` folder, a single `contents` file, or
    ///   a `.mom` file.
    /// - Throws: `model.notFound`, `model.unknownVersion` (66), `model.permission` (77), `model.unreadable` (74),
    ///   `model.noVersion`, `model.currentVersion`, `model.ambiguousVersion`, `model.oldFormat`, `model.unknownKind`,
    ///   `model.versionInfo`, `model.versionHash`, `model.archive` (78: the archive's error is the cause), and the errors of
    ///   the reader of Xcode's XML (`model.…`, 78).
    /// - Complexity: O(file) time and memory.
    public static func load(_ argument: String) throws(MigrationError) -> LoadedModel {
        if let (bundle, version) = DerivedBundle.named(argument) { return try bundle.load(version) }
        let (path, version) = try split(argument)
        guard try ModelFile.kind(at: path) != nil else { throw ModelFile.notFound(path) }
        switch ModelKind(name: lastComponent(path)) {
        case .versionedBundle?, .compiledBundle?:
            let bundle = try ModelBundle(path: path)
            let name = if let version { try bundle.version(named: version) } else { try bundle.currentVersion() }
            let file = bundle.file(of: name)
            return try bundle.isCompiled
                ? load(compiled: file, versionName: name, info: bundle.info) : load(versionFolder: file)
        case .versionFolder?:
            return try load(versionFolder: path)
        case .contents?:
            let folder = lastComponent(String(path.dropLast(lastComponent(path).count)))
            return try load(contents: path, versionName: versionName(folder))
        case .compiledVersion?:
            let name = lastComponent(path)
            let folder = String(path.dropLast(name.count)).withoutTrailingSlashes
            // Only in such a folder the two belong together.
            let isBundled = folder.hasSuffix(ModelBundle.Form.compiled.suffix)
            return try load(
                compiled: path, versionName: ModelBundle.Form.compiled.bare(name),
                info: isBundled ? try CompiledVersionInfo(folder: folder) : nil)
        case nil:
            throw MigrationError(
                "model.unknownKind", .configuration, "The name does not say that this is a model",
                remedy: path.hasSuffix(ModelBundle.optimizedSuffix)
                    ? "Name the .mom beside it: an .omo is Core Data's private copy of that"
                    : "Name an .xcdatamodeld or .xcdatamodel folder, its contents file, a .momd or a .mom",
                context: .init(path: path))
        }
    }

    /// Tells whether a path's name is that of a model, or of a version in a folder of versions.
    package static func isModel(name argument: String) -> Bool {
        let path = argument.withoutTrailingSlashes
        if DerivedBundle.named(argument) != nil { return true }
        return ModelKind(name: lastComponent(path)) != nil || path.hasSuffix(ModelBundle.optimizedSuffix)
            || bundle(of: path) != nil
    }

    /// The form of a model that a path's name says; nil if it says none.
    package static func form(ofName path: String) -> ModelKind? { ModelKind(name: lastComponent(path)) }

    /// The folder of versions that an argument names, alone, with a version, or by a version in it; nil if it names none.
    package static func bundle(of argument: String) -> String? {
        let whole = argument.withoutTrailingSlashes
        if let (bundle, _) = DerivedBundle.named(argument) { return bundle.path }
        if ModelBundle.Form.all.contains(where: { whole.hasSuffix($0.suffix) }) { return whole }
        if let parts = parts(whole) { return parts.path }
        let folder = String(whole.dropLast(lastComponent(whole).count)).withoutTrailingSlashes
        let isVersion = ModelBundle.Form.all.contains {
            folder.hasSuffix($0.suffix) && whole.hasSuffix($0.versionSuffix)
        }
        return isVersion ? folder : nil
    }

    /// Returns the names of the versions of an argument: all of the folder that it names, or that of a single model.
    ///
    /// - Throws: as ``versions(in:)``; for a single model as ``load(_:)``.
    package static func candidates(of argument: String) throws(MigrationError) -> [String] {
        if let bundle = bundle(of: argument) { return try versions(in: bundle) }
        return [try loneName(load(argument), argument)]
    }

    /// Reads one of the ``candidates(of:)``.
    package static func candidate(_ name: String, of argument: String) throws(MigrationError) -> ManagedObjectModel {
        try load(bundle(of: argument).map { "\($0):\(name)" } ?? argument).model
    }

    private static func loneName(_ loaded: LoadedModel, _ argument: String) -> String {
        loaded.versionName ?? lastComponent(argument)
    }

    /// Returns the names of the versions in an `.xcdatamodeld` or `.momd` folder, without extension, sorted with numbers in
    /// them compared as numbers.
    ///
    /// - Throws: `model.notFound` (66), `model.noVersion`, `model.versionInfo` (78), `model.permission` (77),
    ///   `model.unreadable` (74).
    public static func versions(in bundle: String) throws(MigrationError) -> [String] {
        if let (derived, _) = DerivedBundle.named(bundle) { return derived.versions.map(\.name) }
        return try ModelBundle(path: bundle.withoutTrailingSlashes).versions
    }

    /// Splits `Bundle.xcdatamodeld:Version` and `Bundle.momd:Version` into two. An existing path is not split.
    ///
    /// - Throws: as ``ModelFile/kind(at:)``.
    private static func split(_ argument: String) throws(MigrationError) -> (path: String, version: String?) {
        let whole = argument.withoutTrailingSlashes
        guard try ModelFile.kind(at: whole) == nil, let (path, version) = parts(argument) else { return (whole, nil) }
        return (path, version.withoutTrailingSlashes)
    }

    /// Returns the two parts of `Bundle.xcdatamodeld:Version` and `Bundle.momd:Version`; nil for other texts.
    private static func parts(_ argument: String) -> (path: String, version: String)? {
        let bytes = Array(argument.utf8)
        for form in ModelBundle.Form.all {
            let mark = Array((form.suffix + ":").utf8)
            guard let start = bytes.indices.last(where: { bytes[$0...].starts(with: mark) }) else { continue }
            let (path, version) = (bytes[..<(start + mark.count - 1)], bytes[(start + mark.count)...])
            return (String(decoding: path, as: UTF8.self), String(decoding: version, as: UTF8.self))
        }
        return nil
    }

    private static func load(
        compiled path: String, versionName: String, info: CompiledVersionInfo?
    ) throws(MigrationError) -> LoadedModel {
        let bytes = Array(try ModelFile.read(path, limit: ModelArchive.greatestByteCount))
        let definition: ModelDefinition
        do throws(MigrationError) { definition = try ModelArchive.decode(bytes) } catch {
            throw MigrationError(
                "model.archive", .configuration, "The compiled model cannot be read",
                remedy: "Name a .mom that Xcode's compiler made",
                context: error.context.filled(from: .init(path: path)),
                cause: error)
        }
        do throws(MigrationError) {
            let model = try ManagedObjectModel(definition)
            try info?.apply(to: model, version: versionName)
            return LoadedModel(model: model, path: path, versionName: versionName)
        } catch { throw error.inside(.init(path: path)) }
    }

    private static func load(versionFolder folder: String) throws(MigrationError) -> LoadedModel {
        guard try ModelFile.isFolder(folder) else { throw ModelFile.notFound(folder) }
        let contents = "\(folder)/\(ModelBundle.contentsName)"
        if try !ModelFile.isFile(contents), try ModelFile.isFile("\(folder)/elements") {
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

    /// Returns the name of a version from its folder's name; nil if the folder is not that of a version.
    private static func versionName(_ folder: String) -> String? {
        let form = ModelBundle.Form.source
        return folder.hasSuffix(form.versionSuffix) ? form.bare(folder) : nil
    }

    private static func lastComponent(_ path: String) -> String {
        let whole = path.withoutTrailingSlashes
        return whole.lastIndex(of: "/").map { String(whole[whole.index(after: $0)...]) } ?? whole
    }
}

extension String {
    /// The path without slashes at its end.
    package var withoutTrailingSlashes: String {
        var path = self
        while path.count > 1, path.hasSuffix("/") { path.removeLast() }
        return path
    }
}

/// The forms of a model on disk, identified by name.
package enum ModelKind: Sendable, Equatable {
    /// `Name.xcdatamodeld`: a folder of versions.
    case versionedBundle
    /// `Version.xcdatamodel`: the folder of one version.
    case versionFolder
    /// A single `contents` file, or any other XML file in that form.
    case contents
    /// `Name.momd`: a folder of compiled versions.
    case compiledBundle
    /// `Version.mom`: a compiled version.
    case compiledVersion

    /// Finds the kind for a path's name; nil if the name does not show it.
    init?(name: String) {
        let bySuffix: [(String, ModelKind)] = [
            (".xcdatamodeld", .versionedBundle), (".xcdatamodel", .versionFolder), (".momd", .compiledBundle),
            (".mom", .compiledVersion), (".xml", .contents),
        ]
        if let found = bySuffix.first(where: { name.hasSuffix($0.0) }) {
            self = found.1
        } else if name == ModelBundle.contentsName {
            self = .contents
        } else {
            return nil
        }
    }
}
