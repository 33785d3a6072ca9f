import SwiftTokens

extension PortRules {
    mutating func directive(at index: Int) -> Int {
        let token = tokens[index]
        // `#if canImport(CoreData)`: Stagecoach takes its place.
        if ["#if", "#elseif"].contains(token.text),
            let name = (index..<min(index + 12, tokens.count)).first(where: {
                isWord($0, "CoreData") && isWord($0 - 2, "canImport") && tokens[$0].line == token.line
            })
        {
            change(from: name, to: name, "Stagecoach", "Stagecoach has Core Data's names")
        }
        guard token.text == "#keyPath" || token.text == "#selector", isMark(index + 1, "(") else { return index + 1 }
        let close = closing(index + 1)
        let inner = Array(tokens[index + 2..<max(index + 2, close)])
        if token.text == "#keyPath" {
            let (path, unknown) = keyPath(inner, at: index)
            guard let unknown else {
                change(from: index, to: close, "\"\(path)\"", "Linux has no #keyPath: the key path as a string")
                return close + 1
            }
            let text = "\"\(path)\""
            note(
                .manual, token, text: self.text(from: index, to: close), replacement: text,
                "No source declares \(unknown): the keys are written as Swift's names are, and @objc(name) may give others. "
                    + "Give its sources by --context")
            edit(token.range.lowerBound..<tokens[close].range.upperBound, text)
        } else {
            change(from: index, to: close, "\"\(selector(inner))\"", "Linux has no #selector: the selector as a string")
        }
        return close + 1
    }

    /// Returns the keys that `#keyPath(Type.name.name)` names, and the type if no source declares it.
    private func keyPath(_ inner: [SwiftToken], at index: Int) -> (path: String, unknown: String?) {
        var names = inner.filter { $0.kind == .word }.map(\.text)
        var type: String?
        // A type, or `Outer.Inner`: no key begins with a capital.
        while names.count > 1, names[0].first?.isUppercase == true { type = names.removeFirst() }
        if names.first == "self" || names.first == "Self" { names.removeFirst() }
        let path = declarations.keyPath(names, of: type ?? enclosingType(index))
        return (path, type.flatMap { declarations.declares($0) || PortTable.isKnown($0) ? nil : $0 })
    }

    /// Returns the selector that `#selector(Type.method(label:))` names.
    private func selector(_ inner: [SwiftToken]) -> String {
        let open = inner.firstIndex { $0.isMark("(") } ?? inner.count
        let base = inner[..<open].last { $0.kind == .word }?.text ?? ""
        let labels = inner[open...].filter { $0.kind == .word }.map { $0.isWord("_") ? "" : $0.text }
        return SelectorName.selector(base: base, labels: labels)
    }
}
