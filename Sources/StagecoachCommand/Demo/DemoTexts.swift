/// The models and the mapping model of `stagecoach demo`, embedded in the binary so that it runs anywhere.
///
/// The files are links to those of `Fixtures`.
enum DemoTexts {
    /// `Library.xcdatamodel/contents`.
    static let sourceModel = String(decoding: PackageResources.library_1_xml, as: UTF8.self)
    /// `Library 2.xcdatamodel/contents`.
    static let destinationModel = String(decoding: PackageResources.library_2_xml, as: UTF8.self)
    /// `library.json`.
    static let mapping = String(decoding: PackageResources.library_json, as: UTF8.self)
    /// `books.json`, the short mapping model of the article on mapping models.
    static let shortMapping = String(decoding: PackageResources.books_json, as: UTF8.self)
}
