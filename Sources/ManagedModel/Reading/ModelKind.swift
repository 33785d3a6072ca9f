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
        if name.hasSuffix(ModelBundle.suffix) {
            self = .versionedBundle
        } else if name.hasSuffix(ModelBundle.versionSuffix) {
            self = .versionFolder
        } else if name.hasSuffix(CompiledBundle.suffix) {
            self = .compiledBundle
        } else if name.hasSuffix(CompiledBundle.versionSuffix) {
            self = .compiledVersion
        } else if name == ModelBundle.contentsName || name.hasSuffix(".xml") {
            self = .contents
        } else {
            return nil
        }
    }
}
