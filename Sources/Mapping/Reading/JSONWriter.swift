/// Writes JSON for people: two spaces a level, one member a line, keys in the order given.
struct JSONWriter {
    /// The text so far.
    private(set) var text = ""
    /// For each depth, true if the object or array already has a member.
    private var hasMembers: [Bool] = []

    /// Writes an object or array, with its members written by `body`. Without members it is `{}` or `[]`.
    mutating func container(
        _ opening: Character, _ closing: Character, _ body: (inout JSONWriter) -> Void
    ) {
        text.append(opening)
        hasMembers.append(false)
        body(&self)
        if hasMembers.removeLast() { newLine() }
        text.append(closing)
    }

    /// Begins a member of the open object.
    mutating func key(_ key: String) {
        element()
        string(key)
        text += ": "
    }

    /// Begins an element of the open array.
    mutating func element() {
        if hasMembers.last == true { text.append(",") }
        if !hasMembers.isEmpty { hasMembers[hasMembers.count - 1] = true }
        newLine()
    }

    /// Writes a word that is valid JSON: a number, `null`, `true`.
    mutating func literal(_ word: String) { text += word }

    /// Writes a string, with the necessary escapes only.
    mutating func string(_ value: String) { text += ExpressionConstant.quoted(value, "\"", escapesDelete: false) }

    /// Writes a member with a string; nothing for nil.
    mutating func member(_ name: String, _ value: String?) {
        guard let value else { return }
        key(name)
        string(value)
    }

    /// Writes a member with an array of strings.
    mutating func strings(_ name: String, _ values: [String]) {
        key(name)
        container("[", "]") { writer in
            for value in values {
                writer.element()
                writer.string(value)
            }
        }
    }

    private mutating func newLine() {
        text += "\n" + String(repeating: "  ", count: hasMembers.count)
    }
}
