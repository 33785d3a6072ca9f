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
        let space = String(repeating: " ", count: indent)
        return lines(left, indent: indent + 2).titled(space + title(left)) + meant(left, space)
    }

    /// Returns a short line about the data that is meant to stay behind; none if there is none.
    private static func meant(_ left: LeftBehind, _ space: String) -> [String] {
        guard !left.meant.isEmpty else { return [] }
        let shown = left.meant.prefix(listed).map { line in line.name + (line.amounts.map { " (\($0))" } ?? "") }
        let more = left.meant.count - shown.count
        let names = shown.joined(separator: ", ") + (more > 0 ? " and \(Figures.count(more)) more" : "")
        return ["", "\(space)\(meantTitle): \(names)"]
    }

    static let meantTitle = "Left out on purpose"

    private static func lines(_ left: LeftBehind, indent: Int) -> [String] {
        let space = String(repeating: " ", count: indent)
        // Values that may still be read come last.
        let lines = left.lost + left.uncertain
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
    private static func cells(_ lines: [LeftBehind.Line]) -> [[String]] {
        lines.map { line in
            func count(_ value: Int?) -> String { value.map(Figures.count) ?? "–" }
            let remedies = (line.suggestions ?? []).map(\.text).joined(separator: "; ")
            return [line.name, count(line.objects), count(line.values), count(line.links)]
                + [line.why + (line.step.map { ", \($0)" } ?? ""), remedies]
        }
    }

    /// Adds the tables of losses to an HTML page: one of the data that is lost or may be, and one of the data that is meant to
    /// stay behind. A table without rows is left out.
    ///
    /// - Parameter most: the largest number of rows of a table that are shown.
    static func write(_ left: LeftBehind?, most: Int = .max, _ body: inout Markup) {
        guard let left else { return }
        let lost = cells(left.lost + left.uncertain)
        if !lost.isEmpty {
            body.table(title(left), id: "left-behind", header: header, rows: lost, most: most, stacks: true)
        }
        guard !left.meant.isEmpty else { return }
        body.table(
            meantTitle, id: "left-on-purpose", header: Array(header.dropLast()),
            rows: cells(left.meant).map { Array($0.dropLast()) }, most: most, stacks: true)
    }

    /// Returns a section about objects that pass no filter.
    static func section(_ gaps: [PassesNoFilter]?, indent: Int = 0) -> [String] {
        let space = String(repeating: " ", count: indent)
        return (gaps ?? []).map { space + "  " + $0.sentence }.titled(space + gapTitle)
    }

    /// The title of what is said about objects that pass no filter.
    static let gapTitle = "Filters of several entity mappings"

    /// Returns the objects that pass no filter and that nobody meant to lose, in a few words for a verdict; nil if there are none
    /// or they were allowed.
    static func warning(_ gaps: [PassesNoFilter]?) -> String? {
        let lost = (gaps ?? []).filter { $0.isLost && $0.isAllowed != true }.reduce(0) { $0 + ($1.objects ?? 0) }
        guard lost > 0 else { return nil }
        return lost == 1 ? "1 object passes no filter" : "\(Figures.count(lost)) objects pass no filter"
    }

    /// Returns links and orders that are lost and that nobody meant to lose, in a few words for a verdict; none if there are none.
    ///
    /// - Parameter tense: the words between what is lost and what became of it.
    static func warnings(
        _ links: [LinksNotMade]?, _ orders: [OrdersNotKept]?, _ tense: String = "not"
    ) -> [String] {
        let (lost, lists) = ((links ?? []).lost, (orders ?? []).lost)
        return (lost > 0 ? ["\(Figures.count(lost, "link")) \(tense) made"] : [])
            + (lists > 0 ? ["the order of \(Figures.count(lists, "list")) \(tense) kept"] : [])
    }

    /// Returns the numbers that were cut and that nobody meant to cut, in a few words for a verdict; none if there are none.
    ///
    /// - Parameter tense: the words between the values and what became of them.
    static func warnings(_ cuts: [ValuesCut]?, _ tense: String = "") -> [String] {
        let lost = (cuts ?? []).lost
        return lost > 0
            ? [[Figures.count(lost, "value"), tense, "cut short"].filter { !$0.isEmpty }.joined(separator: " ")] : []
    }

    /// Writes the list of a page.
    static func write(_ gaps: [PassesNoFilter]?, _ body: inout Markup) {
        guard let gaps, !gaps.isEmpty else { return }
        body.element("h2", gapTitle)
        body.element("div", ["class": "card", "id": "passes-no-filter"]) { $0.list(gaps.map(\.sentence)) }
    }

    static let header = ["source", "#objects", "#values", "#links", "why", "to keep it"]
}
