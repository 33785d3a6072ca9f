import Diagnostics
import ManagedModel

/// A class with `@Model` as an entity, before the inverses of its relationships are known.
struct ClassModel {
    let scope: TypeScope
    var entity: EntityDefinition
    /// The elements of each composite attribute, by the attribute's name; those of a structure in a structure by a dotted name.
    var composites: [String: [AttributeDefinition]] = [:]
    var links: [Link] = []
    var doubts: [SourceDoubt] = []
    /// The initial values that are expressions, by property.
    var expressions: [String: String] = [:]

    /// A relationship to another class.
    struct Link {
        var definition: RelationshipDefinition
        let destination: TypeScope
        /// The property that `inverse:` names; nil if it is not written.
        let inverse: String?
        /// The declared type and the annotation: what decides if SwiftData pairs it by itself.
        let form: String
        let place: SourcePlace
    }
}

/// Reads a class with `@Model`: which members are properties, and what SwiftData makes of each.
struct ClassReader {
    private let scope: TypeScope
    private let declaration: TypeDeclaration
    private let resolver: TypeResolver
    private let shapes: AttributeReader
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

    private init(_ scope: TypeScope, _ declaration: TypeDeclaration, _ resolver: TypeResolver) {
        (self.scope, self.declaration, self.resolver) = (scope, declaration, resolver)
        shapes = AttributeReader(resolver: resolver)
        result = ClassModel(scope: scope, entity: EntityDefinition(name: scope.name))
        variable = VariableDeclaration(place: scope.place)
    }

    /// Reads a class.
    ///
    /// - Throws: `swift.generic`, `swift.member`, `swift.type`, `swift.annotation` (78), with file, line, entity and property.
    static func read(_ scope: TypeScope, _ resolver: TypeResolver) throws(MigrationError) -> ClassModel {
        guard let declaration = scope.declaration else {
            return ClassModel(scope: scope, entity: .init(name: scope.name))
        }
        var reader = ClassReader(scope, declaration, resolver)
        try reader.readHead()
        for variable in declaration.variables where !variable.isStatic && variable.attribute("Transient") == nil {
            guard !variable.isComputed else { continue }
            reader.variable = variable
            try reader.readProperty()
        }
        for macro in declaration.macros { try reader.readMacro(macro) }
        return reader.result
    }

    private func failure(
        _ code: MigrationError.Code, _ message: String, remedy: String, at place: SourcePlace? = nil
    ) -> MigrationError {
        let place = place ?? variable.place
        return MigrationError(
            code, .configuration, message, remedy: remedy,
            context: .init(
                path: place.file, line: place.line, entity: scope.name,
                property: place == scope.place ? nil : variable.name))
    }

    private mutating func doubt(_ reason: String, isRefused: Bool = false, ofClass: Bool = false) {
        result.doubts.append(
            SourceDoubt(
                isRefused: isRefused, entity: scope.name, property: ofClass ? nil : variable.name, reason: reason,
                place: ofClass ? scope.place : variable.place))
    }

    private mutating func readHead() throws(MigrationError) {
        guard !declaration.isGeneric else {
            throw failure(
                "swift.generic", "A generic class with @Model is not read", remedy: SourceRemedy.store, at: scope.place)
        }
        for attribute in declaration.attributes where !Self.plainClassAttributes.contains(attribute.name) {
            doubt("the macro @\(attribute.name) may add members that no source shows", isRefused: true, ofClass: true)
        }
        for type in declaration.inherited {
            let found = resolver.resolve(type, in: scope.outer ?? scope, file: scope.place.file)
            guard case .model(let parent) = found else { continue }
            throw failure(
                "swift.inheritance",
                "The class inherits from \(parent.path), and how SwiftData keeps that is not known",
                remedy: SourceRemedy.store, at: scope.place)
        }
    }

    private mutating func readProperty() throws(MigrationError) {
        guard let name = variable.name else {
            throw failure(
                "swift.member", "A pattern of several names is not read", remedy: "Declare each property by itself")
        }
        if variable.isLet { doubt("no known store has a stored let") }
        if variable.isLazy { doubt("no known store has a lazy property", isRefused: true) }
        if !variable.body.isEmpty { doubt("no known store has a stored property with observers") }
        for attribute in variable.attributes where !Self.plainAttributes.contains(attribute.name) {
            doubt("the property wrapper or macro @\(attribute.name) may change how it is stored", isRefused: true)
        }
        let options = AttributeOptions(variable.attribute("Attribute"))
        guard let syntax = variable.type ?? impliedType else {
            throw failure(
                "swift.type", "The type of \(name) is not written, and its initial value does not say it",
                remedy: "Write the type: var \(name): Type")
        }
        if let problem = options.problem ?? RelationshipOptions(variable.attribute("Relationship")).problem {
            throw failure("swift.annotation", problem, remedy: "Write it as a literal")
        }
        let type = resolver.resolve(syntax, in: scope, file: variable.place.file)
        if let (destination, isToMany) = link(type), options.transformer == nil {
            return addLink(name, to: destination, isToMany, isOptional: type.isOptional, syntax)
        }
        try addAttribute(name, type, syntax, options)
    }

    /// The type that an initial value says: that of a literal, or the one whose initializer is called.
    private var impliedType: TypeSyntax? {
        let tokens = variable.initial
        switch InitialValueReader.literal(tokens) {
        case .boolean?: return .named(["Bool"])
        case .integer?: return .named(["Int"])
        case .number?: return .named(["Double"])
        case .text?: return .named(["String"])
        case nil: break
        }
        let names = tokens.prefix { $0.kind == .word || $0.isMark(".") }.filter { $0.kind == .word }.map(\.text)
        let rest = tokens.drop { $0.kind == .word || $0.isMark(".") }
        guard let last = names.last else {
            return tokens.first?.kind == .string ? .named(["String"]) : nil
        }
        // `UUID()`, `Date.now`, `Kind.book`.
        let isCall = rest.first?.isMark("(") == true && last.first?.isUppercase == true
        if isCall { return .named(names.filter { $0 != "init" }) }
        let isOwn = names.count > 1 && names.dropLast().last?.first?.isUppercase == true
        guard isOwn, rest.isEmpty || last == "init" else { return nil }
        let owner = Array(names.dropLast())
        guard let type = resolver.type(owner, in: scope, file: variable.place.file) else {
            return owner == ["Date"] && ["now", "distantPast", "distantFuture"].contains(last) ? .named(owner) : nil
        }
        if let constant = type.constant(last) { return constant.type }
        return type.declaration?.cases.contains { $0.name == last } == true ? .named(owner) : nil
    }

    private func link(_ type: ResolvedType) -> (TypeScope, isToMany: Bool)? {
        switch type.unwrapped {
        case .model(let scope): (scope, false)
        case .array(.model(let scope)), .set(.model(let scope)): (scope, true)
        default: nil
        }
    }

    private mutating func addLink(
        _ name: String, to destination: TypeScope, _ isToMany: Bool, isOptional: Bool, _ syntax: TypeSyntax
    ) {
        let annotation = variable.attribute("Relationship")
        let options = RelationshipOptions(annotation)
        var definition = RelationshipDefinition(name: name, destinationEntityName: destination.name)
        (definition.isToMany, definition.isOptional) = (isToMany, isOptional)
        definition.maximumCount = isToMany ? options.maximum ?? 0 : 1
        definition.minimumCount = options.minimum ?? 0
        definition.deleteRule = options.deleteRule
        definition.renamingIdentifier = options.originalName
        definition.versionHashModifier = options.hashModifier
        if case .set = syntax.unwrapped { doubt("no known store has a relationship of the type Set") }
        if options.minimum != nil || options.maximum != nil { doubt("no known store has a relationship with counts") }
        if options.hashModifier != nil { doubt("no known store has a relationship with a hash modifier") }
        if options.isUnique { result.entity.uniquenessConstraints.append([name]) }
        result.links.append(
            ClassModel.Link(
                definition: definition, destination: destination, inverse: options.inverse,
                form: syntax.text + (annotation == nil ? "" : " @Relationship"), place: variable.place))
    }

    private mutating func addAttribute(
        _ name: String, _ type: ResolvedType, _ syntax: TypeSyntax, _ options: AttributeOptions
    ) throws(MigrationError) {
        if !TypeResolver.isSeen(syntax) { doubt("no known store has an attribute of the type \(syntax.text)") }
        var shape: AttributeReader.Shape
        if let transformer = options.transformer {
            shape = AttributeReader.Shape(.transformable)
            shape.attribute.valueTransformerName = transformer
            shape.attribute.valueClassName = syntax.unwrapped.text
        } else {
            do throws(AttributeReader.Refusal) {
                shape = try shapes.shape(of: type, named: name, scope: scope)
            } catch {
                throw failure("swift.type", "\(name): \(error.reason)", remedy: SourceRemedy.type)
            }
        }
        for reason in shape.doubts { doubt(reason.text, isRefused: reason.isRefused) }
        var attribute = shape.attribute
        attribute.name = name
        attribute.isOptional = syntax.isOptional || type.isOptional
        attribute.isTransient = options.isEphemeral
        attribute.allowsExternalBinaryDataStorage = options.isExternal
        attribute.preservesValueInHistoryOnDeletion = options.isPreserved
        attribute.allowsCloudEncryption = options.isEncrypted
        attribute.isIndexedBySpotlight = options.isSpotlight
        attribute.renamingIdentifier = options.originalName
        attribute.versionHashModifier = options.hashModifier
        if options.isPreserved { doubt("no known store has an attribute with .preserveValueOnDeletion") }
        if options.hashModifier != nil { doubt("no known store has an attribute with a hash modifier") }
        for option in options.unknown { doubt("the option .\(option) is not known", isRefused: true) }
        if attribute.type == .composite {
            attribute.compositeName = name
            result.composites.merge(shape.composites) { $1 }
        }
        let values = InitialValueReader(resolver: resolver)
        switch values.value(of: variable.initial, in: scope, file: variable.place.file) {
        case .none: break
        case .literal(let literal): attribute.defaultValue = literal.defaultValue(of: attribute.type)
        case .expression(let text): result.expressions[name] = text
        }
        if options.isUnique { result.entity.uniquenessConstraints.append([name]) }
        result.entity.attributes.append(attribute)
    }

    /// Reads `#Unique<Book>([\.title], [\.shelf, \.number])` and `#Index` of the same form.
    private mutating func readMacro(_ macro: AttributeSyntax) throws(MigrationError) {
        for argument in macro.arguments {
            let isPlain = argument.value.first?.isMark("[") == true
            var names: [String] = []
            for part in (isPlain ? argument.value.dropFirst().dropLast() : argument.value[...]).parts(at: ",") {
                let words = part.filter { $0.kind == .word }.map(\.text)
                if let name = words.last, part.first?.isMark("\\") == true { names.append(name) }
            }
            let known = Set(result.entity.attributes.map(\.name) + result.links.map(\.definition.name))
            guard isPlain, !names.isEmpty, known.isSuperset(of: names) else {
                guard macro.name == "Index", !isPlain else {
                    throw failure(
                        "swift.annotation", "#\(macro.name) names no stored properties: \(argument.value.text)",
                        remedy: "Write key paths of stored properties in brackets", at: macro.place)
                }
                doubt("an index of the kind \(argument.value.text) is left out", ofClass: true)
                continue
            }
            if macro.name == "Unique" {
                if !result.entity.uniquenessConstraints.contains(names) {
                    result.entity.uniquenessConstraints.append(names)
                }
            } else {
                addIndex(names)
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
    static let store = "Make a store of that version, an empty one is enough, and name it in place of the sources"
    static let type =
        "Give the sources that declare it too, separated by commas; else make a store of that version and name it in place of the sources"
}
