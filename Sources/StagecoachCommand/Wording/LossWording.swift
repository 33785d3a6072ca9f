import Stagecoach

/// The words for losses: objects, values and links that no entity mapping reads.
enum LossWording {
    private static let listed = 20

    static func title(_ left: LeftBehind) -> String {
        left.isEmpty
            ? "Perhaps left behind: read by no expression, and a policy may read it"
            : "Left behind, \(left.amounts)" + (left.isAllowed ? ", as --on-loss allow lets it" : "")
    }

    /// Returns the title and the list for people: a line for each loss, and below it the remedy.
    static func section(_ left: LeftBehind?, indent: Int = 0) -> [String] {
        guard let left else { return [] }
        return lines(left, indent: indent + 2).titled(String(repeating: " ", count: indent) + title(left))
    }

    private static func lines(_ left: LeftBehind, indent: Int) -> [String] {
        let space = String(repeating: " ", count: indent)
        // Values that may still be read come last.
        let lines = left.lost + left.lines.filter { !$0.isLost }
        let shown = Array(lines.prefix(listed))
        let table = shown.map(row).lines(indent: indent, right: [0])
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

    /// Returns the certain losses in a few words for a verdict; nil if there are none or they were allowed.
    static func warning(_ left: LeftBehind?) -> String? {
        guard let left, !left.isEmpty, !left.isAllowed else { return nil }
        return left.amounts
    }

    /// Returns the rows of a table: what, how much, why, and the remedy.
    static func cells(_ left: LeftBehind?) -> [[String]] {
        guard let left else { return [] }
        return (left.lost + left.lines.filter { !$0.isLost }).map { line in
            func count(_ value: Int?) -> String { value.map(Figures.count) ?? "–" }
            let remedies = (line.suggestions ?? []).map(\.text).joined(separator: "; ")
            return [line.name, count(line.objects), count(line.values), count(line.links)]
                + [line.why + (line.step.map { ", \($0)" } ?? ""), remedies]
        }
    }

    static let header = ["source", "#objects", "#values", "#links", "why", "to keep it"]
}
