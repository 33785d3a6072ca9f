import ManagedModel

/// Decides how SwiftData keeps an attribute of a type.
///
/// A value of Swift is a column of its own; an array of such values is an archive; a structure or an enumeration is a composite
/// of elements, and any other collection is JSON.
struct AttributeReader {
    /// The number of structures inside each other that are read.
    private static let greatestDepth = 8
    /// The number of elements of an attribute, those of structures in structures included.
    private static let greatestSize = 4096

    let resolver: TypeResolver

    /// The reason why a type cannot be kept.
    struct Refusal: Error {
        let reason: String
    }

    /// An attribute, without its name and flags.
    struct Shape {
        var attribute: AttributeDefinition
        /// The elements of composites, by dotted name.
        var composites: [String: [AttributeDefinition]] = [:]
        var doubts: [(text: String, isRefused: Bool)] = []
        var size = 1

        init(_ type: AttributeType) { attribute = AttributeDefinition(name: "", type: type) }
    }

    /// Returns the form of an attribute.
    ///
    /// - Parameter scope: the type that has it.
    func shape(of type: ResolvedType, named name: String, scope: TypeScope) throws(Refusal) -> Shape {
        try shape(type, name, depth: 0, isOptional: type.isOptional)
    }

    /// - Parameters:
    ///   - path: the dotted name of the attribute.
    ///   - isOptional: true if the attribute or a structure around it is optional: then so is every element.
    private func shape(
        _ type: ResolvedType, _ path: String, depth: Int, isOptional: Bool
    ) throws(Refusal) -> Shape {
        switch type.unwrapped {
        case .primitive(let type): return Shape(type)
        case .array(let element): return try collection(of: element, isSet: false)
        case .set(let element): return try collection(of: element, isSet: true)
        case .dictionary: return Shape(.binaryData)
        case .color: return color(path, isOptional: isOptional)
        case .structure(let found): return try structure(found, path, depth: depth, isOptional: isOptional)
        case .enumeration(let found): return try enumeration(found, path, isElement: depth > 0)
        case .model(let found):
            throw Refusal(reason: "the class \(found.path) has @Model, and stands where none can be kept")
        case .unknown(let reason): throw Refusal(reason: reason)
        case .optional: return Shape(.undefined)
        }
    }

    private func collection(of element: ResolvedType, isSet: Bool) throws(Refusal) -> Shape {
        var shape: Shape
        switch element.unwrapped {
        case .primitive(let type):
            shape = Shape(.transformable)
            shape.attribute.valueTransformerName = "NSSecureUnarchiveFromData"
            shape.attribute.valueClassName = "\(isSet ? "Set" : "Array")<\(swiftName(type))>"
            if element.isOptional { shape.doubts.append(("no known store has an array of optional values", false)) }
        case .structure, .enumeration, .color: shape = Shape(.binaryData)
        case .array, .set, .dictionary:
            shape = Shape(.binaryData)
            shape.doubts.append(("no known store has a collection of collections", false))
        case .unknown(let reason): throw Refusal(reason: reason)
        case .model, .optional: throw Refusal(reason: "a collection of that form cannot be kept")
        }
        if isSet { shape.doubts.append(("no known store has a Set", false)) }
        return shape
    }

    private func swiftName(_ type: AttributeType) -> String {
        switch type {
        case .boolean: "Bool"
        case .integer16: "Int16"
        case .integer32: "Int32"
        case .integer64: "Int"
        case .binaryData: "Data"
        case .uri: "URL"
        default: type.label
        }
    }

    private func color(_ path: String, isOptional: Bool) -> Shape {
        var shape = Shape(.composite)
        shape.composites[path] = ["linearRed", "linearGreen", "linearBlue", "opacity"].map { name in
            var element = AttributeDefinition(name: name, type: .float)
            element.isOptional = isOptional
            return element
        }
        return shape
    }

    private func enumeration(_ scope: TypeScope, _ path: String, isElement: Bool) throws(Refusal) -> Shape {
        let name = path.split(separator: ".").last.map(String.init) ?? path
        var elements: [AttributeDefinition]
        switch EnumForm(scope, resolver) {
        case .raw(let type):
            if isElement { return Shape(type) }
            elements = [AttributeDefinition(name: name, type: type)]
        case .cases(let names):
            elements = names.map { AttributeDefinition(name: $0, type: .string) }
        case .payload:
            var shape = Shape(.binaryData)
            if !isElement {
                shape.doubts.append(("no known store has an attribute of an enumeration with payloads", true))
            }
            return shape
        case .unknown(let reason): throw Refusal(reason: reason)
        }
        guard !elements.isEmpty else { throw Refusal(reason: "the enumeration \(scope.path) has no cases") }
        for index in elements.indices { elements[index].isOptional = true }
        var shape = Shape(.composite)
        shape.composites[path] = elements
        shape.attribute.userInfo["EnumType"] = "true"
        if isElement {
            shape.doubts.append(("no known store has an enumeration without raw values in a structure", false))
        }
        shape.doubts += customCoding(scope)
        return shape
    }

    private func structure(
        _ scope: TypeScope, _ path: String, depth: Int, isOptional: Bool
    ) throws(Refusal) -> Shape {
        guard depth < Self.greatestDepth else { throw Refusal(reason: "structures are nested too deep at \(path)") }
        var shape = Shape(.composite)
        shape.doubts = customCoding(scope)
        if depth > 0 { shape.doubts.append(("no known store shows the columns of a structure in a structure", false)) }
        var elements: [AttributeDefinition] = []
        for member in scope.declaration?.variables ?? [] where !member.isStatic && !member.isComputed {
            guard let name = member.name, let syntax = member.type ?? impliedType(of: member) else {
                throw Refusal(
                    reason: "the type of a member of \(scope.path) is not written (\(member.place))")
            }
            let type = resolver.resolve(syntax, in: scope, file: member.place.file)
            let isNil = isOptional || syntax.isOptional || type.isOptional
            let inner: Shape
            do throws(Refusal) {
                inner = try self.shape(type, "\(path).\(name)", depth: depth + 1, isOptional: isNil)
            } catch {
                throw Refusal(reason: "\(scope.path).\(name) (\(member.place)): \(error.reason)")
            }
            var element = inner.attribute
            element.name = name
            if case .enumeration = type.unwrapped { element.isOptional = true } else { element.isOptional = isNil }
            if element.type == .composite { element.compositeName = "\(path).\(name)" }
            element.userInfo = [:]
            elements.append(element)
            shape.composites.merge(inner.composites) { $1 }
            shape.doubts += inner.doubts
            shape.size += inner.size
            guard shape.size <= Self.greatestSize else {
                throw Refusal(reason: "\(path) has more than \(Self.greatestSize) elements")
            }
            if member.isLet, !member.initial.isEmpty {
                shape.doubts.append(("\(scope.path).\(name) is a constant with a value", true))
            }
            if !member.attributes.isEmpty {
                shape.doubts.append(("\(scope.path).\(name) has a property wrapper or a macro", true))
            }
        }
        guard !elements.isEmpty else { throw Refusal(reason: "the structure \(scope.path) has no stored members") }
        shape.composites[path] = elements
        return shape
    }

    private func impliedType(of member: VariableDeclaration) -> TypeSyntax? {
        switch InitialValueReader.literal(member.initial) {
        case .boolean?: return .named(["Bool"])
        case .integer?: return .named(["Int"])
        case .number?: return .named(["Double"])
        case .text?: return .named(["String"])
        case nil: break
        }
        // `UUID()`
        guard let first = member.initial.first, first.kind == .word, first.text.first?.isUppercase == true,
            member.initial.dropFirst().first?.isMark("(") == true
        else { return nil }
        return .named([first.text])
    }

    /// Returns the doubts about a type with coding of its own: SwiftData may keep other elements than its members then.
    private func customCoding(_ scope: TypeScope) -> [(text: String, isRefused: Bool)] {
        let methods = scope.parts.reduce(into: Set<String>()) { $0.formUnion($1.methods) }
        if methods.contains("init from") || methods.contains("encode") {
            return [("the type \(scope.path) has coding of its own", true)]
        }
        if let name = ["OptionSet", "RawRepresentable"].first(where: scope.conforms(to:)) {
            return [("no known store has an attribute of the type \(scope.path), which is \(name)", true)]
        }
        guard let keys = scope.types["CodingKeys"]?.first?.declaration else { return [] }
        let stored = (scope.declaration?.variables ?? []).filter { !$0.isStatic && !$0.isComputed }.compactMap(\.name)
        let isPlain = keys.cases.allSatisfy(\.rawValue.isEmpty) && Set(keys.cases.map(\.name)) == Set(stored)
        return isPlain || scope.declaration?.kind == .enum
            ? [] : [("the type \(scope.path) has CodingKeys that rename or leave out members", true)]
    }
}
