/// The forms of a mapping model on disk.
package enum MappingForm: String, Sendable, Encodable {
    /// Stagecoach's own.
    case json
    /// Xcode's `.xcmappingmodel` folder, or the `xcmapping.xml` in it.
    case xcode = "xcmappingmodel"
    /// The output of Xcode's compiler: `.cdm`.
    case compiled = "cdm"
}
