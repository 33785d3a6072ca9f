/// The style of a page: light or dark as the reader's system, readable on a phone and on paper.
enum ReportStyle {
    /// Scripts, fonts and external resources are forbidden, not only absent.
    static let policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"

    /// The style sheet, without `<`, `&` and quotes: browsers read the text of a style element literally, XML does not.
    static let css = String(decoding: PackageResources.report_css.dropLast(), as: UTF8.self)
}
