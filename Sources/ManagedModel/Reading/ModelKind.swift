/// The forms in which a model stands on disk, told apart by name.
package enum ModelKind: Sendable, Equatable {
    /// `Name.xcdatamodeld`: a folder of versions.
    case versionedBundle
    /// `Version.xcdatamodel`: the folder of one version.
    case versionFolder
    /// A bare `contents` file, or any other XML file of that form.
    case contents
    /// `Name.momd`: a folder of compiled versions.
    case compiledBundle
    /// `Version.mom`: a compiled version.
    case compiledVersion

    /// The kind that a path's name says; nil where the name says nothing.
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
