import Diagnostics

/// A `.momd` folder: one `Version.mom` per version, and `VersionInfo.plist`, which names the current version and has the
/// version hashes of all (SampleModel.momd). The `.omo` beside a `.mom` is a private copy of it and is not read. No file is
/// kept open.
package struct CompiledBundle: VersionedBundle {
    static let suffix = ".momd"
    package static let versionSuffix = ".mom"
    package static let title = "compiled bundle"
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
        self.path = path
        versions = try Self.versions(in: path, ModelFile.isFile)
        info = try CompiledVersionInfo(folder: path)
        if versions.isEmpty {
            throw failure(
                "model.noVersion", "The compiled bundle holds no \(Self.versionSuffix) file",
                remedy: "Name the .momd of a built app, or the .xcdatamodeld it is compiled from")
        }
    }

    /// Returns the path of a version's file.
    package func file(of version: String) -> String { "\(path)/\(version)\(Self.versionSuffix)" }

    /// Returns the current version: the one that `VersionInfo.plist` names, or the only one.
    ///
    /// - Throws: `model.currentVersion` (78) if the named version does not exist, `model.ambiguousVersion` (78) if there are
    ///   several and none is named.
    package func currentVersion() throws(MigrationError) -> String {
        if let name = info?.currentVersion {
            if versions.contains(name) { return name }
            throw failure("model.currentVersion", "The current version \"\(name)\" is not in the bundle")
        }
        if versions.count == 1 { return versions[0] }
        throw failure(
            "model.ambiguousVersion", "The compiled bundle has several versions and names none as the current one")
    }
}
