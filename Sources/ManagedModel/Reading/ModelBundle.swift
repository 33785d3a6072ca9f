import Diagnostics
import Foundation

/// An `.xcdatamodeld` folder: one `Version.xcdatamodel` folder per version, and `.xccurrentversion`, which names the current
/// version. No file is kept open.
package struct ModelBundle: VersionedBundle {
    static let suffix = ".xcdatamodeld"
    package static let versionSuffix = ".xcdatamodel"
    static let contentsName = "contents"
    package static let title = "bundle"
    private static let currentVersionName = ".xccurrentversion"

    /// The path of the folder.
    package let path: String
    /// The names of the versions without extension, sorted with numbers in them compared as numbers.
    package let versions: [String]

    /// - Parameter path: the `.xcdatamodeld` folder.
    /// - Throws: `model.notFound` (66) if it is not a folder, `model.noVersion` (78) if it contains no version,
    ///   `model.permission`, `model.unreadable`.
    package init(path: String) throws(MigrationError) {
        self.path = path
        versions = try Self.versions(in: path, ModelFile.isFolder)
        if versions.isEmpty {
            throw failure(
                "model.noVersion", "The bundle holds no version of a model",
                remedy: "It should have at least one \(Self.versionSuffix) folder")
        }
    }

    /// Returns the path of a version's folder.
    package func folder(of version: String) -> String { "\(path)/\(version)\(Self.versionSuffix)" }

    /// Returns the current version: the one that `.xccurrentversion` names, or the only one.
    ///
    /// - Throws: `model.currentVersion` (78) if `.xccurrentversion` names none, or one that does not exist;
    ///   `model.ambiguousVersion` (78) if there are several and no such file. Both name the versions.
    package func currentVersion() throws(MigrationError) -> String {
        let file = "\(path)/\(Self.currentVersionName)"
        guard try ModelFile.isFile(file) else {
            if versions.count == 1 { return versions[0] }
            throw failure(
                "model.ambiguousVersion",
                "The bundle has several versions and no \(Self.currentVersionName) that names the current one")
        }
        let name = try CurrentVersionFile.read(try ModelFile.read(file), path: file).map(Self.withoutSuffix)
        if let name, versions.contains(name) { return name }
        throw failure(
            "model.currentVersion",
            name.map { "The current version \"\($0)\" is not in the bundle" } ?? "The file names no version",
            remedy: "Write \(path):VERSION, or choose the version in Xcode; the bundle has \(list)", at: file)
    }
}

/// A folder of versions of a model, with a file or folder for each.
package protocol VersionedBundle: Sendable {
    /// The path of the folder.
    var path: String { get }
    /// The names of the versions without extension.
    var versions: [String] { get }
    /// The extension of a version, with the dot.
    static var versionSuffix: String { get }
    /// The kind of folder, for messages.
    static var title: String { get }
}

extension VersionedBundle {
    /// Returns the names of the versions in a folder without extension, sorted with numbers in them compared as numbers.
    ///
    /// - Parameter isVersion: tells whether a path is that of a version, apart from its extension.
    /// - Throws: `model.notFound` (66) if it is not a folder, `model.permission`, `model.unreadable`.
    static func versions(
        in path: String, _ isVersion: (String) throws(MigrationError) -> Bool
    ) throws(MigrationError) -> [String] {
        guard try ModelFile.isFolder(path) else { throw ModelFile.notFound(path) }
        var names: [String] = []
        for name in try ModelFile.names(in: path) where name.hasSuffix(versionSuffix) {
            if try isVersion("\(path)/\(name)") { names.append(withoutSuffix(name)) }
        }
        return names.sorted { $0.compare($1, options: .numeric) == .orderedAscending }
    }

    static func withoutSuffix(_ name: String) -> String {
        name.hasSuffix(versionSuffix) ? String(name.dropLast(versionSuffix.count)) : name
    }

    func failure(
        _ code: MigrationError.Code, _ message: String, remedy: String? = nil, at place: String? = nil
    ) -> MigrationError {
        MigrationError(
            code, .configuration, message, remedy: remedy ?? "Write \(path):VERSION; it has \(list)",
            context: .init(path: place ?? path))
    }

    /// The versions, for messages.
    var list: String { versions.map { "\"\($0)\"" }.joined(separator: ", ") }

    /// Returns the version with a name, given with or without extension.
    ///
    /// - Throws: `model.unknownVersion` (66), naming the existing versions.
    package func version(named name: String) throws(MigrationError) -> String {
        // The name of a version may itself end like this: "X.xcdatamodel" in a folder "X.xcdatamodel.xcdatamodel".
        if versions.contains(name) { return name }
        let bare = Self.withoutSuffix(name)
        guard versions.contains(bare) else {
            throw MigrationError(
                "model.unknownVersion", .noInput, "The \(Self.title) has no version \"\(bare)\"",
                remedy: "It has \(list)", context: .init(path: path))
        }
        return bare
    }
}

/// Reads `.xccurrentversion`: an XML property list with one key of interest, `_XCCurrentVersionName`.
enum CurrentVersionFile {
    /// Returns the folder name of the current version; nil if the file does not state it.
    ///
    /// - Throws: the errors of ``XMLSource`` and ``XMLTagParser`` for hostile or malformed XML.
    static func read(_ data: Data, path: String) throws(MigrationError) -> String? {
        let handler = Handler()
        // Property lists have a document type, but entities in it are still refused.
        try XMLTagParser.parse(try XMLSource(data, path: path, allowsDocumentType: true), into: handler)
        return handler.name
    }

    /// Reads the string that follows the key.
    private final class Handler: XMLTagHandler {
        private(set) var name: String?
        private var open: [String] = []
        private var piece = ""
        private var key: String?

        /// Starts a new text.
        func open(_ tag: XMLTag) throws(MigrationError) {
            open.append(tag.name)
            piece = ""
        }

        /// Collects the text of the innermost element.
        func text(_ piece: String) { self.piece += piece }

        /// Examines only the keys and strings of the outermost dictionary.
        func close() throws(MigrationError) {
            guard let element = open.popLast(), open == ["plist", "dict"] else { return }
            if element == "key" {
                key = piece
            } else {
                if element == "string", key == "_XCCurrentVersionName", !piece.isEmpty { name = piece }
                key = nil
            }
        }
    }
}
