import Diagnostics
import Foundation

/// An `.xcdatamodeld` folder: one `Version.xcdatamodel` folder per version, and `.xccurrentversion`, which names the
/// current one. Nothing is held open.
package struct ModelBundle: Sendable {
    static let suffix = ".xcdatamodeld"
    static let versionSuffix = ".xcdatamodel"
    static let contentsName = "contents"
    private static let currentVersionName = ".xccurrentversion"

    /// The folder.
    package let path: String
    /// Names of the versions without extension, numbers in them compared as numbers.
    package let versions: [String]

    /// - Parameter path: The `.xcdatamodeld` folder.
    /// - Throws: `model.notFound` (66) where it is no folder, `model.noVersion` (78) where it holds no version,
    ///   `model.permission`, `model.unreadable`.
    package init(path: String) throws(MigrationError) {
        guard try ModelFile.isFolder(path) else { throw ModelFile.notFound(path) }
        self.path = path
        var found: [String] = []
        for name in try ModelFile.names(in: path) where name.hasSuffix(Self.versionSuffix) {
            guard try ModelFile.isFolder("\(path)/\(name)") else { continue }
            found.append(String(name.dropLast(Self.versionSuffix.count)))
        }
        versions = found.sorted { $0.compare($1, options: .numeric) == .orderedAscending }
        guard !versions.isEmpty else {
            throw MigrationError(
                "model.noVersion", .configuration, "The bundle holds no version of a model",
                remedy: "It should have at least one \(Self.versionSuffix) folder", context: .init(path: path))
        }
    }

    /// The folder of a version.
    package func folder(of version: String) -> String { "\(path)/\(version)\(Self.versionSuffix)" }

    /// The version of a name, given with or without extension.
    ///
    /// - Throws: `model.unknownVersion` (66), naming those there are.
    package func version(named name: String) throws(MigrationError) -> String {
        let bare = name.hasSuffix(Self.versionSuffix) ? String(name.dropLast(Self.versionSuffix.count)) : name
        // A version may itself be called "X.xcdatamodel" (as a folder "X.xcdatamodel.xcdatamodel").
        if versions.contains(name) { return name }
        guard versions.contains(bare) else {
            throw MigrationError(
                "model.unknownVersion", .noInput, "The bundle has no version \"\(bare)\"",
                remedy: "It has \(list)", context: .init(path: path))
        }
        return bare
    }

    /// The current version: the one that `.xccurrentversion` names, or the only one.
    ///
    /// - Throws: `model.currentVersion` (78) where `.xccurrentversion` names none, or one that is not there;
    ///   `model.ambiguousVersion` (78) where there are several and no such file; both name the versions.
    package func currentVersion() throws(MigrationError) -> String {
        let file = "\(path)/\(Self.currentVersionName)"
        guard try ModelFile.isFile(file) else {
            if versions.count == 1 { return versions[0] }
            throw MigrationError(
                "model.ambiguousVersion", .configuration,
                "The bundle has several versions and no \(Self.currentVersionName) that names the current one",
                remedy: "Write \(path):VERSION; it has \(list)", context: .init(path: path))
        }
        guard let name = try CurrentVersionFile.read(try ModelFile.read(file), path: file) else {
            throw currentVersionError(file, "The file names no version")
        }
        let bare = name.hasSuffix(Self.versionSuffix) ? String(name.dropLast(Self.versionSuffix.count)) : name
        guard versions.contains(bare) else {
            throw currentVersionError(file, "The current version \"\(bare)\" is not in the bundle")
        }
        return bare
    }

    private var list: String { versions.map { "\"\($0)\"" }.joined(separator: ", ") }

    private func currentVersionError(_ file: String, _ message: String) -> MigrationError {
        MigrationError(
            "model.currentVersion", .configuration, message,
            remedy: "Write \(path):VERSION, or choose the version in Xcode; the bundle has \(list)",
            context: .init(path: file))
    }
}
