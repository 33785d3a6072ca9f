import Mapping

/// The policy of mappings with `forEach`: an object for each member, associated with the source object and the member.
final class ReferenceForEachPolicy: ReferencePolicy {
    func createDestinationInstances(
        forSource source: ReferenceObject, _ mapping: EntityMapping, _ migrator: ReferenceMigrator
    ) throws {
        guard let forEach = mapping.forEach else { return }
        for (index, member) in try migrator.members(of: forEach, source).enumerated() {
            try migrator.createDestinationInstance(for: source, mapping, member: (member, index))
        }
    }
}

extension ReferenceMigrator {
    /// The objects that a `forEach` gives for a source object: in their order; a set by ascending key.
    func members(of forEach: ValueExpression, _ source: ReferenceObject) throws(ReferenceFailure) -> [ReferenceObject] {
        let evaluator = ReferenceEvaluator(migrator: self, source: source, destination: nil)
        guard case .objects(let members, let ordering) = try evaluator.evaluate(forEach.node) else { return [] }
        switch ordering {
        case .none: return members.map(\.object).sorted { $0.key < $1.key }
        case .copied:
            return members.sorted { ($0.order ?? .min, $0.object.key) < ($1.order ?? .min, $1.object.key) }.map(
                \.object)
        case .list: return members.map(\.object)
        }
    }

    /// The source object and the member that an object was made of: its first two source objects.
    func origin(of object: ReferenceObject, mapping: Int) -> (source: ReferenceObject, member: ReferenceObject)? {
        let sources = (pairsByMapping[mapping] ?? []).filter { $0.destination === object }.map(\.source)
        guard let first = sources.first else { return nil }
        return (first, sources.count > 1 ? sources[1] : first)
    }
}

extension ReferenceEvaluator {
    /// The objects that a mapping with `forEach` made of a source object, of a member, or of both.
    func objects(
        ofMapping name: ExpressionNode, source: ExpressionNode? = nil, member: ExpressionNode? = nil
    ) throws(ReferenceFailure) -> ReferenceResult {
        guard case .constant(.string(let name)) = name else { throw .unsupported("computed mapping name") }
        let index = try migrator.mappingIndex(named: name)
        func object(_ node: ExpressionNode) throws(ReferenceFailure) -> ReferenceObject? {
            guard case .objects(let found, _) = try evaluate(node) else { return nil }
            return found.first?.object
        }
        let wanted = try [source.map(object), member.map(object)]
        let found = migrator.destinations(ofMapping: index).filter { made in
            guard let origin = migrator.origin(of: made, mapping: index) else { return false }
            return zip(wanted, [origin.source, origin.member]).allSatisfy { wanted, actual in
                wanted.map { $0 === actual } ?? true
            }
        }
        return .objects(found.map { ReferenceMember(object: $0, mapping: index) }, .list)
    }
}

extension EntityMapping {
    /// True if its objects are made and related as a policy's are: by a class that it names, or for each member.
    var runsAsPolicy: Bool { hasPolicy || forEach != nil }
}

extension ExpressionNode {
    /// True for a key path from `$source`, and for an attribute of `$member`: their values are copied as they are stored.
    var isCopy: Bool {
        if case .keyPath(.variable("member")?, let path) = self { return path.count == 1 }
        return sourceKeyPath != nil
    }
}
