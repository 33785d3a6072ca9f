/// A manual page under construction.
struct Roff {
    private(set) var output: String

    /// Starts a page of section 1.
    init(title: String, version: String, date: String) {
        output = ".TH \(Roff.escaped(title)) 1 \(date) \"stagecoach \(version)\" \"User Commands\"\n.nh\n.ad l\n"
    }

    mutating func section(_ name: String) { output += ".SH \(name)\n" }

    mutating func subsection(_ name: String) { output += ".SS \(Roff.escaped(name))\n" }

    mutating func bold(_ text: String) { output += ".B \(Roff.escaped(text))\n" }

    mutating func text(_ text: String) { output += Roff.line(text) + "\n" }

    /// Adds paragraphs, which blank lines separate.
    mutating func paragraphs(_ text: String) {
        var isFirst = true
        for paragraph in text.split(separator: "\n\n") {
            if !isFirst { output += ".PP\n" }
            isFirst = false
            for line in paragraph.split(separator: "\n") { output += Roff.line(String(line)) + "\n" }
        }
    }

    mutating func item(_ tag: String, _ text: String) {
        output += ".TP\n.B \(Roff.escaped(tag))\n\(Roff.line(text))\n"
    }

    /// Returns a line that cannot be taken for a request.
    private static func line(_ text: String) -> String {
        let escaped = escaped(text)
        return escaped.hasPrefix(".") || escaped.hasPrefix("'") ? "\\&" + escaped : escaped
    }

    /// Returns text with every character escaped so that it prints literally.
    private static func escaped(_ text: String) -> String {
        text.escaped(["\\": "\\e", "-": "\\-", "\"": "\\(dq", "'": "\\(aq", "`": "\\(ga", "^": "\\(ha", "~": "\\(ti"])
    }
}

extension String {
    /// Returns the text with some characters replaced.
    func escaped(_ escapes: [Character: String]) -> String {
        reduce(into: "") { $0 += escapes[$1] ?? String($1) }
    }
}
