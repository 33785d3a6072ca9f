import Diagnostics
import ManagedModel
import SwiftTokens

/// A class with `@Model` as an entity, before the inverses of its relationships are known.
struct ClassModel {
    let scope: TypeScope
    /// The class with `@Model` that it inherits from.
    var parent: TypeScope?
    var entity: EntityDefinition
    /// The elements of each composite attribute, by the attribute's name; those of a structure in a structure by a dotted name.
    var composites: [String: [AttributeDefinition]] = [:]
    var links: [Link] = []
    var doubts: [SourceDoubt] = []
    var expressions: [String: String] = [:]
    /// The attributes whose types the sources do not show.
    var unknown: [String] = []

    struct Link {
        var definition: RelationshipDefinition
        let destination: TypeScope
        /// The property that `inverse:` names; nil if it is not written.
        let inverse: String?
        /// The declared type and the annotation: what decides if SwiftData pairs it by itself.
        let form: String
        let place: SourcePlace
    }

    func key(_ link: Link) -> InversePairs.Key {
        InversePairs.Key(entity: entity.name, property: link.definition.name)
    }

    /// The readings of the attributes whose types the sources do not show, for a hash to choose from: each is a single value, or
    /// the raw value of an enumeration. None if there are too many to try.
    var readings: [ClassModel] {
        guard unknown.count < 3 else { return [] }
        return unknown.reduce([self]) { readings, name in readings.flatMap { $0.readings(of: name) } }
    }

    private func readings(of name: String) -> [ClassModel] {
        guard let index = entity.attributes.firstIndex(where: { $0.name == name }) else { return [] }
        let raws: [AttributeType] = [.string, .integer64, .integer32, .integer16, .double]
        let values: [AttributeType] = raws + [.boolean, .float, .decimal, .date, .uuid, .uri, .binaryData]
        return values.map { type in
            var reading = self
            reading.entity.attributes[index].type = type
            return reading
        }
            + raws.map { type in
                var (reading, element) = (self, AttributeDefinition(name: name, type: type))
                element.isOptional = true
                reading.entity.attributes[index].type = .composite
                reading.entity.attributes[index].compositeName = name
                reading.entity.attributes[index].userInfo["EnumType"] = "true"
                reading.composites[name] = [element]
                return reading
            }
    }
}

/// Reads a class with `@Model`: which members are properties, and what SwiftData makes of each.
struct ClassReader {
    private let scope: TypeScope
    private let resolver: TypeResolver
    private var result: ClassModel
    /// The property that is being read.
    private var variable: VariableDeclaration

    /// The attributes of classes that add no member.
    private static let plainClassAttributes: Set<String> = [
        "Model", "available", "objc", "objcMembers", "MainActor", "preconcurrency", "dynamicMemberLookup", "Observable",
    ]
    private static let plainAttributes: Set<String> = [
        "Attribute", "Relationship", "available", "objc", "nonobjc", "MainActor", "ObservationIgnored",
    ]

    /// Reads a class.
    ///
    /// - Throws: `swift.member`, `swift.type`, `swift.annotation` (78), with file, line, entity and property.
    static func read(_ scope: TypeScope, _ resolver: TypeResolver) throws(MigrationError) -> ClassModel {
        var reader = ClassReader(
            scope: scope, resolver: resolver,
            result: ClassModel(scope: scope, entity: EntityDefinition(name: scope.name)),
            variable: VariableDeclaration(place: scope.place))
        guard let declaration = scope.declaration else { return reader.result }
        try reader.readHead(declaration)
        for variable in declaration.stored where variable.attribute("Transient") == nil {
            reader.variable = variable
            try reader.readProperty()
        }
        for macro in declaration.macros { try reader.readMacro(macro) }
        return reader.result
    }

    private func refusal(_ code: MigrationError.Code, _ message: String, remedy: String) -> MigrationError {
        variable.place.refusal(code, message, remedy: remedy, entity: scope.name, property: variable.name)
    }

    /// Notes a doubt. With a code the class is refused unless a hash agrees.
    private mutating func doubt(
        _ reason: String, _ code: MigrationError.Code? = nil, remedy: String = SourceRemedy.like
    ) {
        let refusal = code.map {
            self.refusal($0, reason + ", and no hash at hand agrees with what it would be", remedy: remedy)
        }
        result.doubts.append(
            SourceDoubt(
                refusal: refusal, entity: scope.name, property: variable.name, reason: reason, place: variable.place))
    }

    private mutating func readHead(_ declaration: TypeDeclaration) throws(MigrationError) {
        guard declaration.isClosed else {
            throw refusal("swift.member", "The brace that ends the class is missing", remedy: "Correct the source")
        }
        if declaration.isGeneric { doubt("the class is generic", "swift.generic") }
        for attribute in declaration.attributes where !Self.plainClassAttributes.contains(attribute.name) {
            doubt("the macro @\(attribute.name) may add members that no source shows", "swift.unproven")
        }
        for case .named(let names, _) in declaration.inherited {
            let parent = resolver.type(names, in: scope.outer ?? scope, file: scope.place.file)
            guard let parent, parent.declaration?.kind == .class else { continue }
            if parent.isModel { (result.parent, result.entity.superentityName) = (parent, parent.name) }
            doubt("no known store shows how a class is kept that inherits from \(parent.path)", "swift.unproven")
        }
    }

    private mutating func readProperty() throws(MigrationError) {
        guard let name = variable.name else {
            throw refusal(
                "swift.member", "A pattern of several names is not read", remedy: "Declare each property by itself")
        }
        guard let syntax = resolver.values.type(of: variable, in: scope) else {
            throw refusal(
                "swift.type", "The type of \(name) is not written, and its initial value does not say it",
                remedy: "Write the type: var \(name): Type")
        }
        let options = PropertyOptions(variable)
        if let problem = options.problem {
            throw refusal("swift.annotation", problem, remedy: "Write it as a literal")
        }
        noteDoubts(options)
        if options.flags.contains("unique") { result.entity.uniquenessConstraints.append([name]) }
        let type = resolver.resolve(syntax, in: scope, file: variable.place.file)
        switch type.unwrapped {
        case _ where options.transformer != nil: addAttribute(name, type, syntax, options)
        case .model(let destination): addLink(name, to: destination, false, type, syntax, options)
        case .array(.model(let destination)): addLink(name, to: destination, true, type, syntax, options)
        case .set(.model(let destination)):
            doubt("no known store has a relationship of the type Set")
            addLink(name, to: destination, true, type, syntax, options)
        default: addAttribute(name, type, syntax, options)
        }
    }

    private mutating func noteDoubts(_ options: PropertyOptions) {
        if variable.isLet { doubt("no known store has a stored let") }
        if variable.isLazy { doubt("no known store has a lazy property", "swift.unproven") }
        if !variable.body.isEmpty { doubt("no known store has a stored property with observers") }
        for attribute in variable.attributes where !Self.plainAttributes.contains(attribute.name) {
            doubt("the property wrapper or macro @\(attribute.name) may change how it is stored", "swift.unproven")
        }
        if options.flags.contains("preserveValueOnDeletion") {
            doubt("no known store has an attribute with .preserveValueOnDeletion")
        }
        if options.hashModifier != nil { doubt("no known store has a property with a hash modifier") }
        if options.minimum != nil || options.maximum != nil { doubt("no known store has a relationship with counts") }
        for option in options.unknown { doubt("the option .\(option) is not known", "swift.unproven") }
    }

    private mutating func addLink(
        _ name: String, to destination: TypeScope, _ isToMany: Bool, _ type: ResolvedType, _ syntax: TypeSyntax,
        _ options: PropertyOptions
    ) {
        var definition = RelationshipDefinition(name: name, destinationEntityName: destination.name)
        definition.isToMany = isToMany
        definition.isOptional = type.isOptional
        definition.maximumCount = isToMany ? options.maximum ?? 0 : 1
        definition.minimumCount = options.minimum ?? 0
        definition.deleteRule = options.deleteRule
        definition.renamingIdentifier = options.originalName
        definition.versionHashModifier = options.hashModifier
        result.links.append(
            ClassModel.Link(
                definition: definition, destination: destination, inverse: options.inverse,
                form: syntax.text + (variable.attribute("Relationship") == nil ? "" : " @Relationship"),
                place: variable.place))
    }

    private mutating func addAttribute(
        _ name: String, _ type: ResolvedType, _ syntax: TypeSyntax, _ options: PropertyOptions
    ) {
        var shape = AttributeReader.Shape(.transformable)
        if let transformer = options.transformer {
            shape.attribute.valueTransformerName = transformer
            shape.attribute.valueClassName = syntax.unwrapped.text
        } else {
            do throws(AttributeReader.Refusal) {
                shape = try AttributeReader(resolver: resolver).shape(of: type, named: name)
            } catch {
                shape = .init(.binaryData)
                result.unknown.append(name)
                doubt(error.reason, "swift.type", remedy: SourceRemedy.type)
            }
        }
        for reason in shape.doubts { doubt(reason.text, reason.isRefused ? "swift.unproven" : nil) }
        var attribute = shape.attribute
        attribute.name = name
        attribute.isOptional = type.isOptional
        attribute.isTransient = options.flags.contains("ephemeral")
        attribute.allowsExternalBinaryDataStorage = options.flags.contains("externalStorage")
        attribute.preservesValueInHistoryOnDeletion = options.flags.contains("preserveValueOnDeletion")
        attribute.allowsCloudEncryption = options.flags.contains("allowsCloudEncryption")
        attribute.isIndexedBySpotlight = options.flags.contains("spotlight")
        attribute.renamingIdentifier = options.originalName
        attribute.versionHashModifier = options.hashModifier
        if attribute.type == .composite {
            attribute.compositeName = name
            result.composites.merge(shape.composites) { $1 }
        }
        var value = resolver.values.value(of: variable, in: scope)?.asDefault(of: attribute.type)
        attribute.defaultValue = value
        if case .enumeration(let found) = type.unwrapped, let element = result.composites[name]?.first {
            value = resolver.values.rawValue(of: variable, of: found, in: scope)?.asDefault(of: element.type)
            result.composites[name]?[0].defaultValue = value
        }
        if value == nil, ![[], ["nil"]].contains(variable.initial.map(\.text)) {
            result.expressions[name] = variable.initial.text
        }
        result.entity.attributes.append(attribute)
    }

    /// Reads `#Unique<Book>([\.title], [\.shelf, \.number])` and `#Index` of the same form.
    private mutating func readMacro(_ macro: AttributeSyntax) throws(MigrationError) {
        variable = VariableDeclaration(place: macro.place)
        let known = Set(result.entity.attributes.map(\.name) + result.links.map(\.definition.name))
        for argument in macro.arguments {
            let isList = argument.value.first?.isMark("[") == true
            let paths = argument.value.enclosed.parts(at: ",").filter { $0.first?.isMark("\\") == true }
            let names = paths.compactMap(\.words.last)
            if isList, !names.isEmpty, known.isSuperset(of: names) {
                if macro.name == "Index" {
                    addIndex(names)
                } else if !result.entity.uniquenessConstraints.contains(names) {
                    result.entity.uniquenessConstraints.append(names)
                }
            } else if macro.name == "Index", !isList {
                doubt("an index of the kind \(argument.value.text) is left out")
            } else {
                throw refusal(
                    "swift.annotation", "#\(macro.name) names no stored properties: \(argument.value.text)",
                    remedy: "Write key paths of stored properties in brackets")
            }
        }
    }

    private mutating func addIndex(_ names: [String]) {
        var index = FetchIndexDefinition(name: "SwiftDataIndexOnBinary" + names.joined())
        index.elements = names.map { FetchIndexElement(propertyName: $0) }
        result.entity.indexes.append(index)
        if names.count > 1 { result.entity.compoundIndexes.append(names) }
        for place in result.entity.attributes.indices where names.contains(result.entity.attributes[place].name) {
            result.entity.attributes[place].isIndexed = true
        }
        for place in result.links.indices where names.contains(result.links[place].definition.name) {
            result.links[place].definition.isIndexed = true
        }
    }
}

/// Advice that several refusals give.
enum SourceRemedy {
    static let like = "Name a store of that version with --like, or in place of the sources"
    static let store = "make a store of that version and name it in place of the sources"
    static let type = "Give all sources of one target and no others, separated by commas; else " + store
}
