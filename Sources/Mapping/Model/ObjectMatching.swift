import Diagnostics
import ManagedModel

/// The rule by which source objects of an entity mapping become rows that the destination had before the run: those whose keys
/// are the same.
///
/// A key is an attribute of the destination entity. That of a source object is the value that the mapping gives to the attribute,
/// before it is converted to the attribute's type and before a default takes the place of nil. A nil among the keys matches
/// nothing. The row stays as it is; links to the source object lead to it, and new members come under it.
package struct ObjectMatching: Equatable, Sendable {
    /// The names of the attributes, at least one, each with its place in the file.
    package var keys: [MatchKey]
    /// The differences of texts that do not count: case, diacritics, both or none.
    package var comparison: ComparisonOptions = []

    package init(keys: [MatchKey]) { self.keys = keys }

    /// The names of the keys as text.
    package var keysText: String { keys.map(\.name).joined(separator: ", ") }

    /// The keys of a mapping file, as the word of the rule.
    package static let keyName = "matchBy"
}

/// An attribute by which an ``ObjectMatching`` compares.
package struct MatchKey: Equatable, Sendable {
    package let name: String
    /// The place in the mapping model's file; nil if there is none.
    package let place: TextPosition?

    package init(_ name: String, at place: TextPosition? = nil) {
        self.name = name
        self.place = place
    }

    /// Keys are equal if they have the same name.
    package static func == (left: Self, right: Self) -> Bool { left.name == right.name }
}

extension EntityMapping {
    /// Returns the reason why the mapping's objects cannot be matched; nil if they can.
    func matchingProblem() -> (message: String, remedy: String)? {
        let key = ObjectMatching.keyName
        if hasPolicy {
            return (
                "\"\(key)\" decides which objects are made, and so does the migration policy",
                "Leave one of the two out"
            )
        }
        if let grouping {
            return (
                "\"\(key)\" and \"\(grouping.keyName)\" cannot stand together: a source object would become a row that "
                    + "is there, and share that of another one", "Leave one of the two out"
            )
        }
        if forEach != nil {
            return (
                "\"\(key)\" and \"forEach\" cannot stand together: members make objects of their own",
                "Leave one of the two out"
            )
        }
        if usedSourceExpression != nil, sourceFetch == .other {
            return (
                "\"\(key)\" goes through the objects of the source entity, and a source expression gives others",
                "Select them by a \"sourceFilter\""
            )
        }
        if sourceEntityName == nil || destinationEntityName == nil {
            return ("\"\(key)\" needs a source and a destination entity", "Name both")
        }
        return nil
    }

    /// Returns the expressions that give the keys of a source object and those of a row, in the form of groupings that are merged.
    ///
    /// - Parameters:
    ///   - target: the destination entity.
    ///   - path: the mapping model's file, for errors.
    /// - Throws: `mapping.unknownProperty`, `mapping.valueType`, `mapping.missingKey` (78) for a key that cannot be compared, with
    ///   its place.
    package func keyExpressions(
        _ matching: ObjectMatching, of target: EntityDescription, _ path: String?
    ) throws(MigrationError) -> (source: ObjectGrouping, row: ObjectGrouping) {
        var (sources, rows): ([GroupingExpression], [GroupingExpression]) = ([], [])
        for key in matching.keys {
            let context = context(key.place, path, entity: destinationEntityName, property: key.name)
            guard let attribute = target.attribute(named: key.name) else {
                throw MigrationError(
                    "mapping.unknownProperty", .configuration,
                    "\"\(ObjectMatching.keyName)\" names attributes of the destination entity, and "
                        + "\(target.definition.name) has no attribute \(key.name)",
                    remedy: EditDistance.remedy(for: key.name, among: target.attributes.map(\.name)), context: context)
            }
            guard attribute.isStored, !attribute.isDerived, attribute.attributeType.isMatchable else {
                throw MigrationError(
                    "mapping.valueType", .configuration,
                    "Rows cannot be matched by \(key.name): only stored texts, integers, floating numbers, Booleans, dates, "
                        + "UUIDs and URIs are compared", remedy: "Match by another attribute", context: context)
            }
            let given = (attributeMappings ?? []).first { $0.name == key.name }
            guard let expression = given?.valueExpression else {
                throw MigrationError(
                    "mapping.missingKey", .configuration,
                    "Rows cannot be matched by \(key.name), which the mapping gives no value",
                    remedy: "Give it an expression, or match by another attribute", context: context)
            }
            sources.append(GroupingExpression(expression, at: key.place))
            let node = ExpressionNode.keyPath(target: .variable("source"), components: [key.name])
            rows.append(GroupingExpression(ValueExpression(node: node), at: key.place))
        }
        var (source, row) = (ObjectGrouping(expressions: sources), ObjectGrouping(expressions: rows))
        source.comparison = matching.comparison
        row.comparison = matching.comparison
        // As in a merge, a nil among the values belongs to no group.
        (source.merge, row.merge) = (MergeRule(), MergeRule())
        return (source, row)
    }

    /// Checks the keys by which objects are matched.
    func validateMatching(
        of target: EntityDescription, resolver: inout some KeyPathResolver, _ path: String?
    ) throws(MigrationError) {
        guard let matching else { return }
        if let problem = matchingProblem() {
            throw failure("mapping.type", problem.message, path, remedy: problem.remedy)
        }
        let expressions = try keyExpressions(matching, of: target, path)
        _ = try GroupingProgram(expressions.source, resolver: &resolver) { groupingContext($0, path) }
    }
}

extension AttributeType {
    /// True if rows of a store can be compared by values of the type as they are stored.
    fileprivate var isMatchable: Bool {
        switch self {
        case .string, .integer16, .integer32, .integer64, .double, .float, .boolean, .date, .uuid, .uri: true
        default: false
        }
    }
}
