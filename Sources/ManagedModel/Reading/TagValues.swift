import Diagnostics

/// The attributes of a tag, read by type, with errors that name the entity and the property.
struct TagValues {
    let tag: XMLTag
    /// The name of the entity for errors; ``property`` is that of the property.
    let entity: String?
    let property: String?

    init(_ tag: XMLTag, entity: String? = nil, property: String? = nil) {
        self.tag = tag
        self.entity = entity
        self.property = property
    }

    private var context: MigrationError.Context { .init(entity: entity, property: property) }

    /// Returns the text of an attribute; nil if it is absent.
    func text(_ name: String) -> String? { tag.attributes[name] }

    /// Returns the text of an attribute; nil if it is absent or empty, as Xcode leaves cleared fields.
    func nonEmpty(_ name: String) -> String? {
        guard let text = tag.attributes[name], !text.isEmpty else { return nil }
        return text
    }

    /// - Throws: `model.missingAttribute` if the attribute is absent or empty.
    func required(_ name: String) throws(MigrationError) -> String {
        guard let text = nonEmpty(name) else {
            throw MigrationError(
                "model.missingAttribute", .configuration, "A <\(tag.name)> has no \(name)",
                remedy: "Add \(name)=\"…\", or open and save the model in Xcode", context: context)
        }
        return text
    }

    /// Reads YES or NO; false if absent.
    ///
    /// - Throws: `model.invalidFlag` for another word.
    func flag(_ name: String) throws(MigrationError) -> Bool { try optionalFlag(name) ?? false }

    /// Reads YES or NO; nil if absent.
    ///
    /// - Throws: `model.invalidFlag` for another word.
    func optionalFlag(_ name: String) throws(MigrationError) -> Bool? {
        guard let text = nonEmpty(name) else { return nil }
        guard let flag = ModelValueText.flag(text) else {
            throw MigrationError(
                "model.invalidFlag", .configuration, "\(name)=\"\(text)\" is neither YES nor NO",
                remedy: "Write YES or NO", context: context)
        }
        return flag
    }

    /// Reads a whole number; nil if absent.
    ///
    /// - Throws: `model.invalidNumber`.
    func integer(_ name: String) throws(MigrationError) -> Int? {
        guard let text = nonEmpty(name) else { return nil }
        guard let number = ModelValueText.integer(text), let value = Int(exactly: number) else {
            throw invalidNumber(name, text)
        }
        return value
    }

    /// Reads a number of seconds; nil if absent.
    ///
    /// - Throws: `model.invalidNumber`.
    func seconds(_ name: String) throws(MigrationError) -> Double? {
        guard let text = nonEmpty(name) else { return nil }
        guard let value = ModelValueText.double(text) else { throw invalidNumber(name, text) }
        return value
    }

    /// Reads one of a set of words; nil if absent.
    ///
    /// - Throws: `model.invalidChoice` for any other word.
    func choice<Value>(_ name: String, _ choices: KeyValuePairs<String, Value>) throws(MigrationError) -> Value? {
        guard let text = nonEmpty(name) else { return nil }
        for (word, value) in choices where word == text { return value }
        throw MigrationError(
            "model.invalidChoice", .configuration, "\(name)=\"\(text)\" is not known",
            remedy: "Write one of: \(choices.map(\.key).joined(separator: ", "))", context: context)
    }

    private func invalidNumber(_ name: String, _ text: String) -> MigrationError {
        MigrationError(
            "model.invalidNumber", .configuration, "\(name)=\"\(text)\" is no number in range",
            remedy: "Write a number with a point as decimal sign", context: context)
    }
}
