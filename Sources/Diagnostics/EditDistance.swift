/// The distance between two words: inserted, deleted, replaced and swapped letters. Errors use it for suggestions.
package enum EditDistance {
    package static func between(_ first: String, _ second: String) -> Int {
        let a = Array(first)
        let b = Array(second)
        var beforeLast = [Int](repeating: 0, count: b.count + 1)
        var last = Array(0...b.count)
        for i in 0..<a.count {
            var row = [i + 1] + [Int](repeating: 0, count: b.count)
            for j in 0..<b.count {
                row[j + 1] = min(row[j] + 1, last[j + 1] + 1, last[j] + (a[i] == b[j] ? 0 : 1))
                if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] {
                    row[j + 1] = min(row[j + 1], beforeLast[j - 1] + 1)
                }
            }
            beforeLast = last
            last = row
        }
        return last[b.count]
    }

    /// Returns the word that was probably intended; nil if no word is near. The nearest is the only one with the same letters and
    /// digits, whatever their case and the blanks and signs between them: `Shop 2` for `shop2`. Near, too, is the only word that begins with the given
    /// one, of at least three letters, or that has it within, of at least four: `filter` for `sourceFilter`.
    package static func nearest(to word: String, among words: [String]) -> String? {
        // A hostile argument may be a megabyte long, and no command word is near such a text.
        guard word.count <= 40 else { return nil }
        func plain(_ word: String) -> String { word.lowercased().filter { $0.isLetter || $0.isNumber } }
        let wanted = plain(word)
        let same = wanted.isEmpty ? [] : words.filter { plain($0) == wanted }
        if same.count == 1 { return same[0] }
        let ranked = words.map { (distance: between(word, $0), word: $0) }
            .sorted { ($0.distance, $0.word) < ($1.distance, $1.word) }
        if let best = ranked.first, best.distance <= max(1, word.count / 3) { return best.word }
        guard word.count >= 3 else { return nil }
        let beginning = words.filter { $0.hasPrefix(word) }
        if beginning.count == 1 { return beginning[0] }
        let part = word.lowercased()
        let holders = word.count < 4 ? [] : words.filter { $0.lowercased().contains(part) }
        return holders.count == 1 ? holders[0] : nil
    }

    /// Returns a remedy for an unknown name: the known name that was probably intended; nil if none is near.
    package static func question(_ name: String, among known: [String]) -> String? {
        nearest(to: name, among: known).map { "Did you mean '\($0)'?" }
    }

    /// Returns a remedy for a name that something does not have: the name that was probably intended, else all that it has;
    /// nil if it has none, or too many to read.
    package static func remedy(for name: String, among known: [String]) -> String? {
        if let question = question(name, among: known) { return question }
        return known.isEmpty || known.count > 40 ? nil : "It has \(known.sorted().joined(separator: ", "))"
    }
}
