import Archives
import Diagnostics
import Foundation

extension ModelArchiveReader {
    /// The bits of NSFlagsKey (wire's images; cdp1's Person.id).
    enum AttributeFlags {
        static let allowsExternalBinaryDataStorage: Int64 = 4
        static let preservesValueInHistoryOnDeletion: Int64 = 16
        static let known = allowsExternalBinaryDataStorage | preservesValueInHistoryOnDeletion
    }

    /// Reads an attribute of an entity or of a composite.
    mutating func attribute(
        _ object: ArchivedObject, named name: String, entity: String, depth: Int = 0
    ) throws(MigrationError) -> AttributeDefinition {
        guard let code = try object.integer("NSAttributeType"), let rawType = UInt32(exactly: code),
            let type = AttributeType(rawValue: rawType)
        else { throw Self.malformed("The attribute has no type, or one that Core Data does not have") }
        var attribute = AttributeDefinition(name: name, type: type)
        attribute.isOptional = try object.flag("NSIsOptional")
        attribute.isTransient = try object.flag("NSIsTransient")
        attribute.isIndexed = try object.flag("NSIsIndexed")
        attribute.isIndexedBySpotlight = try object.flag("NSIndexedBySpotlight")
        attribute.valueTransformerName = try object.string("NSValueTransformerName")
        let className = try object.string("NSAttributeValueClassName")
        attribute.valueClassName = className == type.defaultValueClassName ? nil : className
        let flags = try object.integer("NSFlagsKey") ?? 0
        attribute.allowsExternalBinaryDataStorage = flags & AttributeFlags.allowsExternalBinaryDataStorage != 0
        attribute.preservesValueInHistoryOnDeletion = flags & AttributeFlags.preservesValueInHistoryOnDeletion != 0
        attribute.archived.flags = flags & ~AttributeFlags.known
        try readCommonFields(object, into: &attribute, beside: KnownFields.attribute)
        let defaultValue = try object.value("NSDefaultValue")
        attribute.defaultValue = try Self.value(defaultValue, of: type, "default value")
        if attribute.defaultValue == nil, !defaultValue.isNull {
            attribute.archived.defaultValue = try graph(defaultValue)
        }
        if case .data(let data)? = attribute.defaultValue { try texts.tree.charge(bytes: data.count) }
        try readValidation(object, into: &attribute)
        if object.isKind(of: "NSDerivedAttributeDescription") {
            attribute.derivationExpression = ""
            if let expression = try object.object("NSDerivationExpression") {
                attribute.derivationExpression = try texts.expression(expression) ?? ""
                attribute.archived.form = ArchivedForm(
                    graph: try graph(.object(expression)), text: attribute.derivationExpression)
            }
        }
        if type == .composite {
            attribute.compositeName = try composite(object, named: name, entity: entity, depth: depth)
        }
        return attribute
    }

    /// Reads the elements of a composite attribute and returns the name they are kept under.
    private mutating func composite(
        _ object: ArchivedObject, named name: String, entity: String, depth: Int
    ) throws(MigrationError) -> String {
        guard depth < CompositeChecks.greatestDepth else {
            throw Self.malformed("Composites are nested more than \(CompositeChecks.greatestDepth) levels deep")
        }
        guard let members = try elements(object, "NSCompositeElements") else {
            throw Self.malformed("The composite attribute \(name) has no elements")
        }
        let elements = try members.map { member throws(MigrationError) in
            guard let element = member.object, element.isKind(of: "NSAttributeDescription") else {
                throw Self.malformed("An element of the composite attribute \(name) is a \(member.kindName)")
            }
            guard let elementName = try element.string("NSPropertyName") else {
                throw Self.malformed("An element of the composite attribute \(name) has no name")
            }
            do throws(MigrationError) {
                return try attribute(element, named: elementName, entity: "\(entity)_\(name)", depth: depth + 1)
            } catch { throw error.inside(.init(property: "\(name).\(elementName)")) }
        }
        return keep(composite: elements, of: name, entity: entity)
    }

    /// Archives do not name composites: the first attribute of each form lends its name.
    private mutating func keep(composite elements: [AttributeDefinition], of name: String, entity: String) -> String {
        var candidate = name
        var number = 0
        while let known = composites[candidate], known != elements {
            candidate = number == 0 ? "\(entity)_\(name)" : "\(entity)_\(name)\(number)"
            number += 1
        }
        composites[candidate] = elements
        return candidate
    }

    /// Returns a default or a bound in the attribute's type; nil for null, and for objects in a transformable.
    ///
    /// - Throws: `archive.model` if the value does not fit the type.
    static func value(
        _ value: ArchivedValue, of type: AttributeType, _ what: String
    ) throws(MigrationError) -> AttributeValue? {
        if value.isNull { return nil }
        let result: AttributeValue?
        switch type {
        case .boolean: result = try value.boolean().map { .boolean($0) }
        case .integer16, .integer32, .integer64: result = try value.integer().map { .integer($0) }
        case .double, .float: result = try value.real().map { .double($0) }
        case .decimal: result = try decimal(value).map { .decimal($0) }
        case .string: result = try value.string().map { .string($0) }
        case .date: result = try value.date().map { .date($0) }
        case .binaryData: result = try value.data().map { .data(Data($0)) }
        case .uuid: result = try value.uuid().map { .uuid($0) }
        case .uri:
            var text = try value.url()
            if text == nil { text = try value.string() }
            result = text.map { .uri($0) }
        case .undefined, .transformable, .objectID, .composite: return try natural(value)
        }
        if let result { return result }
        throw malformed("The \(what) of a \(type.label) attribute is a \(value.kindName)")
    }

    private static func decimal(_ value: ArchivedValue) throws(MigrationError) -> Decimal? {
        if let decimal = try value.decimal() { return decimal }
        if case .real(let real)? = try value.number() { return Decimal(real) }
        return try value.integer().map { Decimal($0) }
    }

    /// Returns a value by its own kind, for types that accept any.
    private static func natural(_ value: ArchivedValue) throws(MigrationError) -> AttributeValue? {
        if let text = try value.string() { return .string(text) }
        switch try value.number() {
        case .boolean(let flag): return .boolean(flag)
        case .integer(let integer): return .integer(integer)
        case .real(let real): return .double(real)
        default: break
        }
        if let decimal = try value.decimal() { return .decimal(decimal) }
        if let seconds = try value.date() { return .date(seconds) }
        if let bytes = try value.data() { return .data(Data(bytes)) }
        if let uuid = try value.uuid() { return .uuid(uuid) }
        return try value.url().map { .uri($0) }
    }
}

extension AttributeType {
    /// The class of the type's values in Core Data and in archives, if the model names none.
    var defaultValueClassName: String? {
        switch self {
        case .integer16, .integer32, .integer64, .double, .float, .boolean: "NSNumber"
        case .decimal: "NSDecimalNumber"
        case .string: "NSString"
        case .date: "NSDate"
        case .binaryData: "NSData"
        case .uuid: "NSUUID"
        case .uri: "NSURL"
        case .composite: "NSDictionary"
        case .undefined, .transformable, .objectID: nil
        }
    }
}
