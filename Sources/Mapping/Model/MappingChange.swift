/// One change to a mapping model, written as a line:
///
/// | line | meaning |
/// |---|---|
/// | `Order.note=$source.memo` | the property of the destination entity, and of its subentities, gets this expression |
/// | `Customer=Client` | the destination entity is made from this source entity |
/// | `Order.memo=`, `Audit=` | the property, or the objects of the entity, are meant to stay behind |
package struct MappingChange: Hashable, Sendable {
    /// The line as it was given.
    package let line: String
    package let entity: String
    /// The property; nil if the line is about the entity.
    package let property: String?
    /// The text behind the equals sign; nil if there is none.
    package let value: String?

    /// Returns nil if the line has no equals sign, or no name before it.
    package init?(_ line: String) {
        guard let equals = line.firstIndex(of: "=") else { return nil }
        let name = line[..<equals].trimmingSpaces
        let parts = name.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard parts.allSatisfy({ !$0.isEmpty }), !name.isEmpty else { return nil }
        let value = line[line.index(after: equals)...].trimmingSpaces
        self.line = line
        (entity, property) = (parts[0], parts.count > 1 ? parts[1] : nil)
        self.value = value.isEmpty ? nil : value
    }

    /// The line as an option of the command, quoted for a shell.
    package var option: String { "--set '\(line.replacing("'", with: "'\\''"))'" }
}

extension Substring {
    fileprivate var trimmingSpaces: String {
        var text = self
        while text.first?.isWhitespace ?? false { text.removeFirst() }
        while text.last?.isWhitespace ?? false { text.removeLast() }
        return String(text)
    }
}
