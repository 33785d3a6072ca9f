import Diagnostics

/// Reads an `<attribute>` of an entity or a composite.
enum AttributeTag {
    /// The types by the words in `attributeType`.
    private static let types: [String: AttributeType] = {
        var types = Dictionary(uniqueKeysWithValues: AttributeType.allCases.map { ($0.label, $0) })
        types["ObjectID"] = .objectID
        return types
    }()

    /// - Parameter owner: the name of the entity or composite, for errors.
    static func read(_ tag: XMLTag, owner: String) throws(MigrationError) -> AttributeDefinition {
        let (name, values) = try TagValues.named(tag, in: owner)
        let isTransient = try values.flag("transient")
        var attribute = AttributeDefinition(name: name, type: try type(values, isTransient: isTransient))
        attribute.isOptional = try values.flag("optional")
        attribute.isTransient = isTransient
        attribute.isIndexed = try values.flag("indexed")
        attribute.valueTransformerName = values.nonEmpty("valueTransformerName")
        attribute.valueClassName = values.nonEmpty("customClassName")
        attribute.allowsExternalBinaryDataStorage = try values.flag("allowsExternalBinaryDataStorage")
        attribute.preservesValueInHistoryOnDeletion = try values.flag("preserveAfterDeletion")
        attribute.allowsCloudEncryption = try values.flag("allowsCloudEncryption")
        attribute.isIndexedBySpotlight = try values.flag("spotlightIndexingEnabled")
        attribute.isStoredInExternalRecord = try values.flag("storedInTruthFile")
        if try values.flag("derived") { attribute.derivationExpression = try values.required("derivationExpression") }
        if attribute.type == .composite { attribute.compositeName = try values.required("composite") }
        values.readNames(into: &attribute)
        attribute.usesScalarValueType = try values.optionalFlag("usesScalarValueType")
        attribute.defaultValue = try defaultValue(values, attribute.type)
        try readBounds(values, into: &attribute)
        return attribute
    }

    private static func type(_ values: TagValues, isTransient: Bool) throws(MigrationError) -> AttributeType {
        guard let word = values.nonEmpty("attributeType") else {
            // For example wire's User.imageCorrelationIdentifier: no type, transient.
            guard isTransient else {
                throw values.failure(
                    "model.untyped", "The attribute has no type and is not transient",
                    remedy: "Give it an attributeType, or make it transient")
            }
            return .undefined
        }
        if let type = types[word] { return type }
        throw values.failure(
            "model.unknownType", "The attribute type \(word) is not known",
            remedy: "Known are \(AttributeType.allCases.map(\.label).joined(separator: ", "))")
    }

    // MARK: Defaults

    private static func defaultValue(
        _ values: TagValues, _ type: AttributeType
    ) throws(MigrationError) -> AttributeValue? {
        if type == .date {
            if let seconds = try values.seconds("defaultDateTimeInterval") { return .date(seconds) }
            // The text beside the interval depends on a locale.
            guard let text = values.nonEmpty("defaultValueString") else { return nil }
            throw invalidDefault(values, text, "has no defaultDateTimeInterval beside it")
        }
        guard let text = values.text("defaultValueString") else { return nil }
        if type == .string { return .string(text) }
        guard !text.isEmpty else { return nil }
        switch type {
        case .uri: return .uri(text)
        case .boolean:
            if let flag = ModelValueText.flag(text) { return .boolean(flag) }
            throw invalidDefault(values, text, "is neither YES nor NO")
        case .integer16, .integer32, .integer64, .double, .float, .decimal:
            if let number = number(text, type) { return number }
            throw invalidDefault(values, text, "is no \(type.label)")
        default:
            // Xcode drops the default of a UUID when it compiles (13 of 13 in Beam). The other types have no field for a
            // default, so the text is left over from another type.
            return nil
        }
    }

    /// Returns the number in the form of the type; nil if it does not parse or does not fit.
    private static func number(_ text: String, _ type: AttributeType) -> AttributeValue? {
        switch type {
        case .integer16: ModelValueText.integer(text).flatMap { Int16(exactly: $0) }.map { .integer(Int64($0)) }
        case .integer32: ModelValueText.integer(text).flatMap { Int32(exactly: $0) }.map { .integer(Int64($0)) }
        case .integer64: ModelValueText.integer(text).map { .integer($0) }
        case .decimal: ModelValueText.decimal(text).map { .decimal($0) }
        default: ModelValueText.double(text).map { .double($0) }
        }
    }

    private static func invalidDefault(_ values: TagValues, _ text: String, _ what: String) -> MigrationError {
        values.failure(
            "model.invalidDefault", "The default \"\(text)\" \(what)",
            remedy: "Correct the default in Xcode's inspector")
    }

    // MARK: Bounds

    private static func readBounds(
        _ values: TagValues, into attribute: inout AttributeDefinition
    ) throws(MigrationError) {
        switch attribute.type {
        case .string:
            attribute.minimumLength = try length(values, "minValueString")
            attribute.maximumLength = try length(values, "maxValueString")
            attribute.regularExpression = values.nonEmpty("regularExpressionString")
        case .date:
            attribute.minimum = try dateBound(values, "minDateTimeInterval", "minValueString")
            attribute.maximum = try dateBound(values, "maxDateTimeInterval", "maxValueString")
        case .integer16, .integer32, .integer64, .decimal, .double, .float:
            attribute.minimum = try numberBound(values, "minValueString", attribute.type)
            attribute.maximum = try numberBound(values, "maxValueString", attribute.type)
        default:
            // The other types have no bounds, so the text is left over from another type.
            return
        }
    }

    private static func length(_ values: TagValues, _ name: String) throws(MigrationError) -> Int? {
        guard let text = values.nonEmpty(name) else { return nil }
        guard let number = ModelValueText.integer(text), number >= 0, let length = Int(exactly: number) else {
            throw invalidBound(values, name, text, "is no length")
        }
        return length
    }

    private static func dateBound(
        _ values: TagValues, _ interval: String, _ name: String
    ) throws(MigrationError) -> AttributeValue? {
        if let seconds = try values.seconds(interval) { return .date(seconds) }
        guard let text = values.nonEmpty(name) else { return nil }
        throw invalidBound(values, name, text, "has no \(interval) beside it")
    }

    /// Reads a bound, which may lie outside the type's range, or between two integers.
    private static func numberBound(
        _ values: TagValues, _ name: String, _ type: AttributeType
    ) throws(MigrationError) -> AttributeValue? {
        guard let text = values.nonEmpty(name) else { return nil }
        let isWhole = ![.decimal, .double, .float].contains(type)
        if let bound = number(text, isWhole ? .integer64 : type) ?? (isWhole ? number(text, .double) : nil) {
            return bound
        }
        throw invalidBound(values, name, text, "is no number")
    }

    private static func invalidBound(
        _ values: TagValues, _ name: String, _ text: String, _ what: String
    ) -> MigrationError {
        values.failure(
            "model.invalidBound", "\(name)=\"\(text)\" \(what)", remedy: "Correct the bound in Xcode's inspector")
    }
}
