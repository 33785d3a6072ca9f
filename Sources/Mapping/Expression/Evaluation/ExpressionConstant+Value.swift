extension ExpressionConstant {
    /// Makes the constant with a value as policies see it; nil for a value that no constant has: an object, a collection, a
    /// UUID, a URL. A Float becomes the shortest number that reads as the same Float.
    package init?(scalar value: Any?) {
        switch EvaluatedValue(value) {
        case .null: self = .null
        case .boolean(let flag): self = .boolean(flag)
        case .integer(let number): self = .integer(number)
        case .float(let number): self = .double(Double("\(number)") ?? Double(number))
        case .real(let number): self = .double(number)
        case .decimal(let number): self = .decimal(number)
        case .text(let text): self = .string(text)
        case .date(let seconds): self = .date(seconds)
        case .data(let data): self = .data(data)
        case .uuid, .url, .collection, .dictionary, .object: return nil
        }
    }
}
