import Diagnostics

/// The attributes of a tag, read by type, with errors that name the entity and the property.
struct TagValues {
    let tag: XMLTag
    /// The name of the entity for errors; ``property`` is that of the property.
    var entity: String?
    var property: String?

    /// Makes the values of a tag that has to name a property of an entity.
    static func named(_ tag: XMLTag, in entity: String) throws(MigrationError) -> (name: String, values: TagValues) {
        let name = try TagValues(tag: tag, entity: entity).required("name")
        return (name, TagValues(tag: tag, entity: entity, property: name))
    }

    /// Makes an error that names the entity and the property.
    func failure(_ code: MigrationError.Code, _ message: String, remedy: String) -> MigrationError {
        MigrationError(
            code, .configuration, message, remedy: remedy, context: .init(entity: entity, property: property))
    }

    /// Reads the renaming identifier, which Xcode calls `elementID` and models written by hand have under its own name, and the
    /// modifier of the version hash.
    func readNames(into definition: inout some NamedDefinition) {
        definition.renamingIdentifier = nonEmpty("elementID") ?? nonEmpty("renamingIdentifier")
        definition.versionHashModifier = nonEmpty("versionHashModifier")
    }

    /// Returns the text of an attribute; nil if it is absent.
    func text(_ name: String) -> String? { tag.attributes[name] }

    /// Returns the text of an attribute; nil if it is absent or empty, as Xcode leaves cleared fields.
    func nonEmpty(_ name: String) -> String? {
        tag.attributes[name].flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Returns the text of an attribute that is neither absent nor empty.
    func required(_ name: String) throws(MigrationError) -> String {
        if let text = nonEmpty(name) { return text }
        throw failure(
            "model.missingAttribute", "A <\(tag.name)> has no \(name)",
            remedy: "Add \(name)=\"…\", or open and save the model in Xcode")
    }

    /// Reads YES or NO; false if absent.
    func flag(_ name: String) throws(MigrationError) -> Bool { try optionalFlag(name) ?? false }

    /// Reads YES or NO; nil if absent.
    func optionalFlag(_ name: String) throws(MigrationError) -> Bool? {
        guard let text = nonEmpty(name) else { return nil }
        if let flag = ModelValueText.flag(text) { return flag }
        throw failure("model.invalidFlag", "\(name)=\"\(text)\" is neither YES nor NO", remedy: "Write YES or NO")
    }

    /// Reads a whole number; nil if absent.
    func integer(_ name: String) throws(MigrationError) -> Int? {
        try number(name) { ModelValueText.integer($0).flatMap { Int(exactly: $0) } }
    }

    /// Reads a number of seconds; nil if absent.
    func seconds(_ name: String) throws(MigrationError) -> Double? {
        try number(name, ModelValueText.double)
    }

    private func number<Value>(_ name: String, _ parse: (String) -> Value?) throws(MigrationError) -> Value? {
        guard let text = nonEmpty(name) else { return nil }
        if let value = parse(text) { return value }
        throw failure(
            "model.invalidNumber", "\(name)=\"\(text)\" is no number in range",
            remedy: "Write a number with a point as decimal sign")
    }

    /// Reads one of a set of words; nil if absent.
    func choice<Value>(_ name: String, _ choices: KeyValuePairs<String, Value>) throws(MigrationError) -> Value? {
        guard let text = nonEmpty(name) else { return nil }
        for (word, value) in choices where word == text { return value }
        throw failure(
            "model.invalidChoice", "\(name)=\"\(text)\" is not known",
            remedy: "Write one of: \(choices.map(\.key).joined(separator: ", "))")
    }
}
