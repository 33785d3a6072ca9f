import Diagnostics
import Foundation

/// A `.momd` folder: one `Version.mom` per version, and `VersionInfo.plist`, which names the current version and has the
/// version hashes of all (SampleModel.momd). The `.omo` beside a `.mom` is a private copy of it and is not read. No file is
/// kept open.
package struct CompiledBundle: Sendable {
    static let suffix = ".momd"
    static let versionSuffix = ".mom"
    /// Core Data's private form of a compiled model.
    static let optimizedSuffix = ".omo"

    /// The path of the folder.
    package let path: String
    /// The names of the versions without extension, sorted with numbers in them compared as numbers.
    package let versions: [String]
    /// The content of `VersionInfo.plist`; nil if there is none.
    package let info: CompiledVersionInfo?

    /// - Parameter path: the `.momd` folder.
    /// - Throws: `model.notFound` (66) if it is not a folder, `model.noVersion`, `model.versionInfo` (78),
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

    /// Returns the path of a version's file.
    package func file(of version: String) -> String { "\(path)/\(version)\(Self.versionSuffix)" }

    /// Returns the version with a name, given with or without extension.
    ///
    /// - Throws: `model.unknownVersion` (66), naming the existing versions.
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

    /// Returns the current version: the one that `VersionInfo.plist` names, or the only one.
    ///
    /// - Throws: `model.currentVersion` (78) if the named version does not exist, `model.ambiguousVersion` (78) if there are
    ///   several and none is named.
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
