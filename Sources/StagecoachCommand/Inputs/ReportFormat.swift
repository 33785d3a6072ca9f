/// The formats of a report, by the ending of its file.
enum ReportFormat: String, CaseIterable {
    case html
    case json
    case csv

    /// The ending with its point.
    var ending: String { "." + rawValue }

    static let endings = allCases.map(\.ending)

    /// - Parameter path: the path; the result is nil if it has none of the endings.
    init?(path: String) {
        guard let format = Self.allCases.first(where: { path.hasSuffix($0.ending) }) else { return nil }
        self = format
    }
}
