import Diagnostics
import Foundation

/// A `.momd` folder: one `Version.mom` per version, and `VersionInfo.plist`, which names the current one and has the
/// version hashes of all (SampleModel.momd). The `.omo` beside a `.mom` is a private copy of it and is not read. Nothing
/// is held open.
package struct CompiledBundle: Sendable {
    static let suffix = ".momd"
    static let versionSuffix = ".mom"
    /// Core Data's private form of a compiled model.
    static let optimizedSuffix = ".omo"

    /// The folder.
    package let path: String
    /// Names of the versions without extension, numbers in them compared as numbers.
    package let versions: [String]
    /// What `VersionInfo.plist` says; nil where there is none.
    package let info: CompiledVersionInfo?

    /// - Parameter path: The `.momd` folder.
    /// - Throws: `model.notFound` (66) where it is no folder, `model.noVersion`, `model.versionInfo` (78),
    ///   `model.permission`, `model.unreadable`.
    package init(path: String) throws(MigrationError) {
        guard try ModelFile.isFolder(path) else { throw ModelFile.notFound(path) }
        self.path = path
        var found: [String] = []
        for name in try ModelFile.names(in: path) where name.hasSuffix(Self.versionSuffix) {
            guard try ModelFile.isFile("\(path)/\(name)") else { continue }
            found.append(String(name.dropLast(Self.versionSuffix.count)))
        }
        versions = found.sorted { $0.compare($1, options: .numeric) == .orderedAscending }
        guard !versions.isEmpty else {
            throw MigrationError(
                "model.noVersion", .configuration, "The compiled bundle holds no \(Self.versionSuffix) file",
                remedy: "Name the .momd of a built app, or the .xcdatamodeld it is compiled from",
                context: .init(path: path))
        }
        info = try CompiledVersionInfo(folder: path)
    }

    /// The file of a version.
    package func file(of version: String) -> String { "\(path)/\(version)\(Self.versionSuffix)" }

    /// The version of a name, given with or without extension.
    ///
    /// - Throws: `model.unknownVersion` (66), naming those there are.
    package func version(named name: String) throws(MigrationError) -> String {
        if versions.contains(name) { return name }
        let bare = name.hasSuffix(Self.versionSuffix) ? String(name.dropLast(Self.versionSuffix.count)) : name
        guard versions.contains(bare) else {
            throw MigrationError(
                "model.unknownVersion", .noInput, "The compiled bundle has no version \"\(bare)\"",
                remedy: "It has \(list)", context: .init(path: path))
        }
        return bare
    }

    /// The current version: the one that `VersionInfo.plist` names, or the only one.
    ///
    /// - Throws: `model.currentVersion` (78) where it names one that is not there, `model.ambiguousVersion` (78) where
    ///   there are several and none is named.
    package func currentVersion() throws(MigrationError) -> String {
        if let name = info?.currentVersion {
            if versions.contains(name) { return name }
            throw MigrationError(
                "model.currentVersion", .configuration, "The current version \"\(name)\" is not in the bundle",
                remedy: "Write \(path):VERSION; it has \(list)", context: .init(path: path))
        }
        if versions.count == 1 { return versions[0] }
        throw MigrationError(
            "model.ambiguousVersion", .configuration,
            "The compiled bundle has several versions and names none as the current one",
            remedy: "Write \(path):VERSION; it has \(list)", context: .init(path: path))
    }

    private var list: String { versions.map { "\"\($0)\"" }.joined(separator: ", ") }
}
