extension [[String]] {
    /// Makes a row of each fact's name and value. Facts without a value are left out, as are those with an empty text.
    init(facts: KeyValuePairs<String, String?>) {
        self = facts.compactMap { name, value in (value ?? "").isEmpty ? nil : [name, value ?? ""] }
    }

    /// Returns the rows as lines with aligned columns, two spaces apart, without trailing spaces.
    ///
    /// - Parameters:
    ///   - indent: the number of spaces before each line.
    ///   - right: the columns that are aligned right.
    func lines(indent: Int = 2, right: Set<Int> = []) -> [String] {
        let columns: Int = map(\.count).max() ?? 0
        let widths: [Int] = (0..<columns).map { column in
            map { (row: [String]) -> Int in column < row.count ? row[column].count : 0 }.max() ?? 0
        }
        return map { row in
            var line = String(repeating: " ", count: indent)
            for (column, text) in row.enumerated() {
                let gap = String(repeating: " ", count: Swift.max(0, widths[column] - text.count))
                line += (column > 0 ? "  " : "") + (right.contains(column) ? gap + text : text + gap)
            }
            while line.last == " " { line.removeLast() }
            return line
        }
    }
}

extension [String] {
    /// The lines as one text, with a newline after each. Characters that control a terminal are replaced by spaces.
    var printableText: String { map(\.printable).joined(separator: "\n") + "\n" }

    /// Returns the lines, indented, with an empty line and a title before them. Returns no lines if there are none.
    func titled(_ title: String, indent: Int = 0) -> [String] {
        isEmpty ? [] : ["", title] + map { String(repeating: " ", count: indent) + $0 }
    }
}

extension String {
    /// Returns the text padded with spaces to a width.
    func padded(to width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }

    /// The text on one line, without characters that control a terminal, because names in files come from strangers.
    var printable: String {
        var result = ""
        for scalar in unicodeScalars {
            switch scalar.properties.generalCategory {
            case .control, .lineSeparator, .paragraphSeparator: result += " "
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}
