/// Markup under construction: well-formed XML that browsers read as HTML.
///
/// Texts come from strangers: nothing in them can begin an element, end an attribute, or reverse the page's direction. Memory:
/// the text so far.
struct Markup {
    private(set) var text = ""

    init() {}

    /// Adds an element with its content.
    ///
    /// - Parameter attributes: names with their values, which are escaped.
    mutating func element(
        _ name: String, _ attributes: KeyValuePairs<String, String> = [:], _ content: (inout Markup) -> Void
    ) {
        text += "<\(name)\(Self.written(attributes))>"
        content(&self)
        text += "</\(name)>\n"
    }

    /// Adds an element without attributes, containing a text.
    mutating func element(_ name: String, _ content: String) { element(name, [:], content) }

    /// Adds an element containing a text.
    mutating func element(_ name: String, _ attributes: KeyValuePairs<String, String>, _ content: String) {
        text += "<\(name)\(Self.written(attributes))>\(Self.escaped(content))</\(name)>\n"
    }

    /// Adds an empty element.
    mutating func empty(_ name: String, _ attributes: KeyValuePairs<String, String>) {
        text += "<\(name)\(Self.written(attributes))/>\n"
    }

    /// Adds a text, escaped.
    mutating func words(_ words: String) { text += Self.escaped(words) }

    /// Adds markup unchanged. Only for markup of this program.
    mutating func raw(_ markup: String) { text += markup }

    private static func written(_ attributes: KeyValuePairs<String, String>) -> String {
        attributes.map { " \($0.key)=\"\(escaped($0.value))\"" }.joined()
    }

    /// Returns a text escaped for any place: in an element or in an attribute in double quotes.
    ///
    /// Control characters become their pictures. Characters that change the text direction or that XML does not allow become
    /// U+FFFD.
    static func escaped(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar.value {
            case 0x26: result += "&amp;"
            case 0x3C: result += "&lt;"
            case 0x3E: result += "&gt;"
            case 0x22: result += "&quot;"
            case 0x27: result += "&#39;"
            case 0x0A: result += "\n"
            case 0x00...0x1F: result.unicodeScalars.append(Unicode.Scalar(0x2400 + scalar.value) ?? "\u{FFFD}")
            case 0x7F: result += "\u{2421}"
            case 0x80...0x9F, 0x2028...0x202E, 0x2066...0x2069, 0xFFFE, 0xFFFF: result += "\u{FFFD}"
            case let value where value & 0xFFFE == 0xFFFE: result += "\u{FFFD}"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}

// The elements that several pages have.
extension Markup {
    /// Adds a table that scrolls inside its box, below a title.
    ///
    /// - Parameters:
    ///   - header: the names of the columns; `#` begins that of a column of numbers.
    ///   - stacks: true for rows that a phone shows as blocks, a line for each cell with the name of its column.
    ///   - most: the greatest number of rows that are shown; a remark tells how many more there are.
    mutating func table(
        _ title: String, level: String = "h2", id: String, header: [String], rows: [[String]], most: Int = .max,
        footer: [String]? = nil, stacks: Bool = false
    ) {
        element(level, title)
        func isNumber(_ column: Int) -> Bool { header.indices.contains(column) && header[column].hasPrefix("#") }
        func words(_ column: Int) -> String { isNumber(column) ? String(header[column].dropFirst()) : header[column] }
        func row(_ cells: [String], _ rows: inout Markup) {
            rows.element("tr") { row in
                for (index, cell) in cells.enumerated() {
                    let kind = isNumber(index) ? "n" : index == 0 ? "name" : "word"
                    if stacks {
                        row.element("td", ["class": kind, "data-name": words(index)], cell)
                    } else {
                        row.element("td", ["class": kind], cell)
                    }
                }
            }
        }
        element("div", ["class": "scroll", "tabindex": "0"]) { box in
            box.element("table", stacks ? ["id": id, "class": "stacked"] : ["id": id]) { table in
                table.element("thead") { head in
                    head.element("tr") { line in
                        for index in header.indices {
                            line.element("th", ["class": isNumber(index) ? "n" : "word", "scope": "col"], words(index))
                        }
                    }
                }
                table.element("tbody") { body in for cells in rows.prefix(most) { row(cells, &body) } }
                if let footer { table.element("tfoot") { row(footer, &$0) } }
            }
        }
        if rows.count > most { remark("And \(Figures.count(rows.count - most)) more.") }
    }

    /// Adds a box of figures, each with its name.
    mutating func figures(_ figures: [(value: String, name: String)]) {
        element("div", ["class": "figures"]) { box in
            for figure in figures {
                box.element("div", ["class": "figure"]) { box in
                    box.element("b", figure.value)
                    box.element("span", figure.name)
                }
            }
        }
    }

    /// Adds a list of sentences, if there are any.
    mutating func list(_ sentences: [String], _ attributes: KeyValuePairs<String, String> = [:]) {
        element("ul", attributes) { list in for sentence in sentences { list.element("li", sentence) } }
    }

    /// Adds a paragraph in a soft colour.
    mutating func remark(_ words: String) { element("p", ["class": "soft"], words) }

    /// Adds the command line that makes the page again.
    mutating func again(_ command: [String]) {
        element("h2", "Run it again")
        element("div", ["class": "scroll"]) { box in box.element("pre", ["id": "command"], ShellCommand.text(command)) }
    }
}
