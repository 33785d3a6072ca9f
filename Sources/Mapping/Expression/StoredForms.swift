import ManagedModel

/// Finds expressions that inspect values whose stored form is not their bytes. Values of attributes that allow external storage
/// have a marker byte before them or are in a file, and only objects can read them.
extension SyntaxOwner {
    /// Tells whether a value of external storage is inspected. A test for nil does not inspect it.
    ///
    /// - Parameters:
    ///   - entity: the entity of `$source`; if nil, the result is false.
    ///   - names: the names of all attributes of the source model that allow external storage.
    /// - Complexity: O(nodes); O(1) if there are no such attributes.
    package func looksIntoExternalData(of entity: EntityDescription?, names: Set<String>) -> Bool {
        guard !names.isEmpty else { return false }
        var pending = [syntax]
        while let next = pending.popLast() {
            if case .predicate(let node) = next, let (value, _) = node.nilTest {
                // The path alone does not inspect the value at its end.
                if value.keyPathParts == nil { pending.append(.expression(value)) }
                continue
            }
            if case .expression(let node) = next, let (root, path) = node.keyPathParts, !path.isEmpty {
                let isOwn = root == .variable("source") || root == .evaluatedObject
                if Self.leads(path, from: isOwn ? entity : nil, names) { return true }
            }
            pending.append(contentsOf: next.children)
        }
        return false
    }

    /// Tells whether a path leads to such an attribute. If the entity of an object is unknown, names decide: an attribute of
    /// the same name that is not external then counts as external, which only costs time.
    private static func leads(_ path: [String], from entity: EntityDescription?, _ names: Set<String>) -> Bool {
        guard var current = entity else { return path.contains(where: names.contains) }
        for name in current.joiningElements(in: path) where !name.hasPrefix("@") {
            guard let relationship = current.relationship(named: name) else {
                return current.attribute(named: name)?.definition.allowsExternalBinaryDataStorage
                    ?? names.contains(name)
            }
            current = relationship.destination
        }
        return false
    }
}

extension ManagedObjectModel {
    /// The names of attributes that allow external storage.
    ///
    /// - Complexity: O(own properties of all entities) at the first call.
    package var externalAttributeNames: Set<String> {
        computedOnce {
            let external = entities.lazy.flatMap(\.ownAttributes).filter(\.definition.allowsExternalBinaryDataStorage)
            return ExternalAttributeNames(names: Set(external.map { String($0.elementName) }))
        }.names
    }

    private struct ExternalAttributeNames: Sendable { let names: Set<String> }
}
