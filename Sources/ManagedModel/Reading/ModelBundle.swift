import Diagnostics
import Foundation

/// An `.xcdatamodeld` folder: one `Version.xcdatamodel` folder per version, and `.xccurrentversion`, which names the current
/// version. No file is kept open.
package struct ModelBundle: Sendable {
    static let suffix = ".xcdatamodeld"
    static let versionSuffix = ".xcdatamodel"
    static let contentsName = "contents"
    private static let currentVersionName = ".xccurrentversion"

    /// The path of the folder.
    package let path: String
    /// The names of the versions without extension, sorted with numbers in them compared as numbers.
    package let versions: [String]

    /// - Parameter path: the `.xcdatamodeld` folder.
    /// - Throws: `model.notFound` (66) if it is not a folder, `model.noVersion` (78) if it contains no version,
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

    /// Returns the path of a version's folder.
    package func folder(of version: String) -> String { "\(path)/\(version)\(Self.versionSuffix)" }

    /// Returns the version with a name, given with or without extension.
    ///
    /// - Throws: `model.unknownVersion` (66), naming the existing versions.
    package func version(named name: String) throws(MigrationError) -> String {
        let bare = name.hasSuffix(Self.versionSuffix) ? String(name.dropLast(Self.versionSuffix.count)) : name
        // The name of a version may itself end like this: "X.xcdatamodel" in a folder "X.xcdatamodel.xcdatamodel".
        if versions.contains(name) { return name }
        guard versions.contains(bare) else {
            throw MigrationError(
                "model.unknownVersion", .noInput, "The bundle has no version \"\(bare)\"",
                remedy: "It has \(list)", context: .init(path: path))
        }
        return bare
    }

    /// Returns the current version: the one that `.xccurrentversion` names, or the only one.
    ///
    /// - Throws: `model.currentVersion` (78) if `.xccurrentversion` names none, or one that does not exist;
    ///   `model.ambiguousVersion` (78) if there are several and no such file. Both name the versions.
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
