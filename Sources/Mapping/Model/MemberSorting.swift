import Diagnostics
import ManagedModel

/// The order of the members of an ordered relationship: ascending by an attribute of the source objects that they were made from.
/// nil comes first, and members with equal values are in the order of their keys.
package struct MemberSorting: Equatable, Sendable {
    /// The key path from a member's source object to the attribute, over to-one relationships.
    package let keyPath: String
    /// The place in the mapping model's file; nil if there is none.
    package let place: TextPosition?

    package init(keyPath: String, at place: TextPosition? = nil) { (self.keyPath, self.place) = (keyPath, place) }

    /// The names of the key path.
    package var components: [String] {
        keyPath.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    }

    /// Sortings are equal if they are the same text.
    package static func == (left: Self, right: Self) -> Bool { left.keyPath == right.keyPath }

    /// Returns the attribute that the key path leads to.
    ///
    /// - Parameter entity: the entity of the members' source objects.
    /// - Throws: `mapping.unknownKeyPath`, `expression.type`, `expression.unsupported` (78).
    package func attribute(from entity: EntityDescription) throws(MigrationError) -> AttributeDescription {
        var current = entity
        let path = entity.joiningElements(in: components)
        for index in path.indices {
            switch try current.step(path, at: index) {
            case .attribute(let attribute):
                guard attribute.attributeType.ordersMembers else {
                    throw refusal(
                        "\(current).\(attribute.name) has the type \(attribute.attributeType.label)",
                        remedy: "Order by an attribute of another type, or set the relationship in a migration policy")
                }
                return attribute
            case .relationship(let relationship):
                guard !relationship.isToMany else {
                    throw refusal(
                        "\(current).\(relationship.name) is a to-many relationship",
                        remedy: "Name an attribute of \(entity), or a key path over to-one relationships")
                }
                current = relationship.destination
            }
        }
        throw refusal("\(keyPath) leads to objects of \(current)", remedy: "Name an attribute: \(keyPath).<attribute>")
    }

    private func refusal(_ reason: String, remedy: String) -> MigrationError {
        MigrationError(
            "expression.type", .configuration,
            "\"orderBy\" orders members by one number, date or Boolean, and \(reason)", remedy: remedy)
    }
}

extension AttributeType {
    /// True if values of the type have one order, whoever compares them. That of texts depends on a language.
    fileprivate var ordersMembers: Bool { isNumeric || self == .boolean || self == .date }
}

extension RelationshipExpression {
    /// Returns the entity of the source objects whose destination objects a lookup gives, if their path from the source object
    /// has a to-many relationship; else nil.
    ///
    /// - Parameter entity: the entity of the source object.
    func members(from entity: EntityDescription) -> EntityDescription? {
        let argument: SourcePath
        switch self {
        case .constantNil: return nil
        case .lookup(_, let path), .lookupByRelationship(_, let path): argument = path
        }
        var current = entity
        var isCollection = false
        for name in argument.components {
            guard let relationship = current.relationship(named: name) else { return nil }
            if relationship.isToMany { isCollection = true }
            current = relationship.destination
        }
        return isCollection ? current : nil
    }
}

extension MappingModel {
    /// Checks the orders that relationship mappings give by `orderBy`.
    ///
    /// - Throws: `mapping.type` for a relationship without an order, a mapping with a policy or `mergeBy`, and an expression that reads no
    ///   to-many relationship; the errors of ``MemberSorting/attribute(from:)`` (78); with line and column.
    func checkSortings(source: ManagedObjectModel, destination: ManagedObjectModel) throws(MigrationError) {
        for mapping in entityMappings ?? [] {
            for property in mapping.relationshipMappings ?? [] {
                guard let sorting = property.sorting else { continue }
                let context = mapping.context(
                    sorting.place ?? property.place, path, entity: mapping.destinationEntityName,
                    property: property.name)
                let origin = mapping.sourceEntityName.flatMap(source.entity(named:))
                if let problem = mapping.problem(sorting: property, from: origin, to: destination) {
                    throw MigrationError(
                        "mapping.type", .configuration, problem.message, remedy: problem.remedy, context: context)
                }
                guard let origin, let expression = property.valueExpression,
                    let members = try? RelationshipExpression(expression).members(from: origin)
                else { continue }
                do throws(MigrationError) { _ = try sorting.attribute(from: members) } catch {
                    throw error.inside(context)
                }
            }
        }
    }
}

extension EntityMapping {
    /// Returns the reason why the members of a relationship cannot be ordered by an attribute; nil if they can.
    fileprivate func problem(
        sorting property: PropertyMapping, from origin: EntityDescription?, to destination: ManagedObjectModel
    ) -> (message: String, remedy: String)? {
        let name = property.name ?? ""
        guard let target = destinationEntityName.flatMap(destination.entity(named:)),
            let relationship = target.relationship(named: name)
        else { return nil }
        if !relationship.isToMany || !relationship.isOrdered || relationship.isTransient {
            return (
                "\"orderBy\" is for ordered relationships, and \(target).\(name) has no order in the destination model",
                relationship.isToMany
                    ? "Make it ordered in the destination model, or leave \"orderBy\" out"
                    : "Leave \"orderBy\" out"
            )
        }
        if hasPolicy {
            return (
                "\"orderBy\" and a migration policy both decide on the order of \(target).\(name)",
                "Leave one of the two out"
            )
        }
        if grouping?.merge != nil {
            return (
                "\"orderBy\" cannot be combined with \"mergeBy\": members come in order of the kept object, then of the others",
                "Leave one of the two out"
            )
        }
        let form = property.valueExpression.flatMap { try? RelationshipExpression($0) }
        guard let origin, form?.members(from: origin) != nil else {
            return (
                "\"orderBy\" orders the objects that are looked up for a to-many relationship of $source, and "
                    + (property.valueExpression == nil
                        ? "\(target).\(name) has no expression" : "the expression of \(target).\(name) reads none"),
                "Look them up: FUNCTION($manager, 'destinationInstancesForEntityMappingNamed:sourceInstances:', "
                    + "'<entity mapping>', $source.<relationship>)"
            )
        }
        return nil
    }
}
