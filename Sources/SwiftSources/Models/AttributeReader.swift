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
    struct Refusal: Error { let reason: String }

    /// An attribute, without its name and flags.
    struct Shape {
        var attribute: AttributeDefinition
        /// The elements of composites, by dotted name.
        var composites: [String: [AttributeDefinition]] = [:]
        /// Sentences about parts that no known store shows.
        var doubts: [(text: String, isRefused: Bool)] = []
        var size = 1

        init(_ type: AttributeType, doubt: String? = nil, isRefused: Bool = false) {
            attribute = AttributeDefinition(name: "", type: type)
            if let doubt { doubts = [(doubt, isRefused)] }
        }
    }

    /// Returns the form of an attribute.
    func shape(of type: ResolvedType, named name: String) throws(Refusal) -> Shape {
        try shape(type, name, depth: 0, isOptional: type.isOptional)
    }

    /// - Parameters:
    ///   - path: the dotted name of the attribute.
    ///   - isOptional: true if the attribute or a structure around it is optional: then so is every element.
    private func shape(
        _ type: ResolvedType, _ path: String, depth: Int, isOptional: Bool
    ) throws(Refusal) -> Shape {
        switch type.unwrapped {
        case .primitive(let type, let name):
            let isSeen = !TypeResolver.unseen.contains(name) || name == "Float" && depth > 0
            return Shape(type, doubt: isSeen ? nil : "no known store has an attribute of the type \(name)")
        case .array(let element): return try collection(of: element, "Array")
        case .set(let element):
            var shape = try collection(of: element, "Set")
            shape.doubts.append(("no known store has a Set", false))
            return shape
        case .dictionary(let key, let value):
            // JSON, also of plain values.
            var shape = Shape(.binaryData)
            for part in [key, value] { shape.doubts += try collection(of: part, "Dictionary").doubts }
            return shape
        case .color:
            var shape = Shape(.composite)
            shape.composites[path] = ["linearRed", "linearGreen", "linearBlue", "opacity"].map { name in
                var element = AttributeDefinition(name: name, type: .float)
                element.isOptional = isOptional
                return element
            }
            return shape
        case .structure(let found): return try structure(found, path, depth: depth, isOptional: isOptional)
        case .enumeration(let found): return try enumeration(found, path, isElement: depth > 0)
        case .model(let found):
            throw Refusal(reason: "the class \(found.path) has @Model, and stands where none can be kept")
        case .unknown(let reason): throw Refusal(reason: reason)
        case .optional: return Shape(.undefined)
        }
    }

    private func collection(of element: ResolvedType, _ name: String) throws(Refusal) -> Shape {
        switch element.unwrapped {
        case .primitive(_, let type):
            let doubt = element.isOptional ? "no known store has a collection of optional values" : nil
            var shape = Shape(.transformable, doubt: doubt)
            shape.attribute.valueTransformerName = "NSSecureUnarchiveFromData"
            shape.attribute.valueClassName = "\(name)<\(type)>"
            return shape
        case .structure, .enumeration, .color: return Shape(.binaryData)
        case .array, .set, .dictionary:
            return Shape(.binaryData, doubt: "no known store has a collection of collections")
        case .unknown(let reason): throw Refusal(reason: reason)
        case .model, .optional: throw Refusal(reason: "a collection of that form cannot be kept")
        }
    }

    private func enumeration(_ scope: TypeScope, _ path: String, isElement: Bool) throws(Refusal) -> Shape {
        let cases = scope.declaration?.cases ?? []
        let raw = resolver.rawType(of: scope)
        var doubt = isElement ? "no known store has an enumeration without raw values in a structure" : nil
        if let raw {
            let isSeen = [.string, .integer64].contains(raw)
            doubt = isSeen ? nil : "no known store has an enumeration with raw values of that type, as \(scope.path)"
            if isElement { return Shape(raw, doubt: doubt) }
        }
        if raw == nil, cases.contains(where: \.hasPayload) {
            let doubt = isElement ? nil : "no known store has an attribute of an enumeration with payloads"
            return Shape(.binaryData, doubt: doubt, isRefused: true)
        }
        let name = path.split(separator: ".").last.map(String.init) ?? path
        var elements = cases.map { AttributeDefinition(name: $0.name, type: .string) }
        guard !elements.isEmpty else { throw Refusal(reason: "the enumeration \(scope.path) has no cases") }
        if let raw { elements = [AttributeDefinition(name: name, type: raw)] }
        for index in elements.indices { elements[index].isOptional = true }
        var shape = Shape(.composite, doubt: doubt)
        shape.composites[path] = elements
        shape.attribute.userInfo["EnumType"] = "true"
        shape.doubts += customCoding(scope)
        return shape
    }

    private func structure(
        _ scope: TypeScope, _ path: String, depth: Int, isOptional: Bool
    ) throws(Refusal) -> Shape {
        guard depth < Self.greatestDepth else { throw Refusal(reason: "structures are nested too deep at \(path)") }
        var shape = Shape(
            .composite, doubt: depth > 0 ? "no known store shows the columns of a structure in a structure" : nil)
        shape.doubts += customCoding(scope)
        var elements: [AttributeDefinition] = []
        for member in scope.declaration?.stored ?? [] {
            guard let name = member.name, let syntax = resolver.values.type(of: member, in: scope) else {
                throw Refusal(reason: "the type of a member of \(scope.path) is not written (\(member.place))")
            }
            let type = resolver.resolve(syntax, in: scope, file: member.place.file)
            let isNil = isOptional || type.isOptional
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

    /// Returns the doubts about a type with coding of its own: SwiftData may keep other elements than its members then.
    private func customCoding(_ scope: TypeScope) -> [(text: String, isRefused: Bool)] {
        let methods = scope.parts.reduce(into: Set<String>()) { $0.formUnion($1.methods) }
        if methods.contains("init from") || methods.contains("encode") {
            return [("the type \(scope.path) has coding of its own", true)]
        }
        if let name = ["OptionSet", "RawRepresentable"].first(where: { resolver.conforms(scope, to: $0) }) {
            return [("no known store has an attribute of the type \(scope.path), which is \(name)", true)]
        }
        guard let declaration = scope.declaration, declaration.kind == .struct,
            let keys = scope.types["CodingKeys"]?.first?.declaration
        else { return [] }
        let isPlain =
            keys.cases.allSatisfy(\.rawValue.isEmpty)
            && Set(keys.cases.map(\.name)) == Set(declaration.stored.compactMap(\.name))
        return isPlain ? [] : [("the type \(scope.path) has CodingKeys that rename or leave out members", true)]
    }
}
