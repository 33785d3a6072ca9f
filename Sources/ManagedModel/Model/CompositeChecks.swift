import Diagnostics

/// The rules of composites: each named composite exists, none contains itself, and all elements have known columns.
enum CompositeChecks {
    /// The greatest number of composites inside each other.
    static let greatestDepth = 32

    /// Checks every composite of a model, and every composite attribute.
    ///
    /// - Returns: The number of attributes that each composite stands for, by name.
    /// - Throws: `model.unknownComposite`, `model.compositeCycle`, `model.compositeElement`, `model.duplicateProperty`,
    ///   `model.invalidName`, `model.tooManyProperties`.
    /// - Complexity: O(n log n) in composites and their elements.
    static func check(_ definition: ModelDefinition) throws(MigrationError) -> [String: Int] {
        var walk = Walk(composites: definition.composites)
        for entity in definition.entities {
            for attribute in entity.attributes where attribute.type == .composite {
                _ = try walk.size(of: attribute, in: entity.name, open: [])
            }
        }
        for (name, elements) in definition.composites.sorted(by: { $0.key < $1.key }) where walk.sizes[name] == nil {
            walk.sizes[name] = try walk.size(of: elements, owner: name, open: [name])
        }
        return walk.sizes
    }

    /// A walk over composites, deepest first.
    private struct Walk {
        let composites: [String: [AttributeDefinition]]
        /// The number of attributes of each composite that was found to be right.
        var sizes: [String: Int] = [:]

        /// - Parameter open: the composites around the attribute, the outermost first; a composite among them contains itself.
        mutating func size(
            of attribute: AttributeDefinition, in owner: String, open: [String]
        ) throws(MigrationError) -> Int {
            guard let name = attribute.compositeName, let elements = composites[name] else {
                throw .model(
                    "model.unknownComposite", "The composite \(attribute.compositeName ?? "") does not exist",
                    remedy: "Declare it in the model, or give the attribute another type", owner, attribute.name)
            }
            guard !open.contains(name), open.count < greatestDepth else {
                throw .model(
                    "model.compositeCycle",
                    open.contains(name)
                        ? "The composite \(name) holds itself: \((open + [name]).joined(separator: " > "))"
                        : "The composite \(name) is nested more than \(greatestDepth) levels deep",
                    remedy: "Remove one of the attributes on the way", owner, attribute.name)
            }
            if let size = sizes[name] { return size }
            let size = try size(of: elements, owner: name, open: open + [name])
            sizes[name] = size
            return size
        }

        mutating func size(
            of elements: [AttributeDefinition], owner: String, open: [String]
        ) throws(MigrationError) -> Int {
            var names: Set<String> = []
            var count = 0
            for element in elements {
                try ModelChecks.checkName(element.name, entity: owner, property: element.name)
                guard names.insert(element.name).inserted else {
                    throw .model(
                        "model.duplicateProperty",
                        "The composite \(owner) declares two elements of the name \(element.name)",
                        remedy: "Rename or remove one of them", owner, element.name)
                }
                if let problem = problem(of: element) {
                    throw .model(
                        "model.compositeElement", "The element \(element.name) of the composite \(owner) \(problem)",
                        remedy: "Give it a type that has a column, or remove it", owner, element.name)
                }
                count += element.type == .composite ? try size(of: element, in: owner, open: open) : 1
                guard count <= ModelChecks.greatestPropertyCount else {
                    throw .model(
                        "model.tooManyProperties",
                        "The composite \(owner) has more than \(ModelChecks.greatestPropertyCount) elements, those of "
                            + "composites in it included",
                        remedy: "Remove some of the composites in it", owner, element.name)
                }
            }
            return count
        }

        private func problem(of element: AttributeDefinition) -> String? {
            if element.derivationExpression != nil {
                return "is derived, and Core Data derives attributes of entities only"
            }
            switch element.type {
            case .undefined where !element.isTransient: return "has no type"
            case .objectID: return "is an object ID, which no store keeps"
            default: return nil
            }
        }
    }
}
