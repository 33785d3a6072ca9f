import Stagecoach

/// The words for what stays behind.
enum LossWording {
    /// Lines that a text lists.
    private static let listed = 20

    /// The title of the account.
    static func title(_ left: LeftBehind) -> String {
        left.isEmpty
            ? "Perhaps left behind: read by no expression, and a policy may read it"
            : "Left behind, \(left.amounts)" + (left.isAllowed ? ", as --on-loss allow lets it" : "")
    }

    /// The account for people: a line each, and below it how to keep what it names.
    static func lines(_ left: LeftBehind?, indent: Int = 2) -> [String] {
        guard let left, !left.lines.isEmpty else { return [] }
        let space = String(repeating: " ", count: indent)
        // What may be read comes last.
        let lines = left.lost + left.lines.filter { !$0.isLost }
        let shown = Array(lines.prefix(listed))
        let table = TextTable(rows: shown.map(row), alignments: [.right, .left, .left]).lines(indent: indent)
        var text: [String] = []
        for (row, line) in zip(table, shown) {
            text.append(row)
            for suggestion in line.suggestions ?? [] { text.append("\(space)    \(suggestion.text)") }
        }
        if lines.count > shown.count { text.append("\(space)and \(Figures.count(lines.count - shown.count)) more") }
        return text
    }

    private static func row(_ line: LeftBehind.Line) -> [String] {
        [line.amounts ?? "not counted", line.name, line.why + (line.step.map { ", \($0)" } ?? "")]
    }

    /// What is lost for certain, in a few words for a verdict; nil where nothing is, or where it was allowed.
    static func warning(_ left: LeftBehind?) -> String? {
        guard let left, !left.isEmpty, !left.isAllowed else { return nil }
        return left.amounts
    }

    /// Rows of a table: what, how much, why, how to keep it.
    static func cells(_ left: LeftBehind?) -> [[String]] {
        guard let left else { return [] }
        return (left.lost + left.lines.filter { !$0.isLost }).map { line in
            func count(_ value: Int?) -> String { value.map(Figures.count) ?? "–" }
            let remedies = (line.suggestions ?? []).map(\.text).joined(separator: "; ")
            return [line.name, count(line.objects), count(line.values), count(line.links)]
                + [line.why + (line.step.map { ", \($0)" } ?? ""), remedies]
        }
    }

    static let header: [(name: String, isNumber: Bool)] = [
        ("source", false), ("objects", true), ("values", true), ("links", true), ("why", false), ("to keep it", false),
    ]
}
