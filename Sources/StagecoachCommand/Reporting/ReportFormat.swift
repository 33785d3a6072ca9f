/// What a report is written as, by the ending of its file.
enum ReportFormat: String, CaseIterable {
    case html
    case json
    case csv

    /// The ending, with its point.
    var ending: String { "." + rawValue }

    static let endings = allCases.map(\.ending)
    /// For people: `.html, .json or .csv`.
    static let words = endings.dropLast().joined(separator: ", ") + " or " + (endings.last ?? "")

    /// - Parameter path: nil is the result where it has none of the endings.
    init?(path: String) {
        guard let format = Self.allCases.first(where: { path.hasSuffix($0.ending) }) else { return nil }
        self = format
    }
}
