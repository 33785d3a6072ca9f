import Diagnostics
import ManagedModel

/// The reader of `distinctBy`, `mergeBy` and `matchBy` in a mapping file, with the keys that belong to them.
struct GroupingReader {
    let document: MappingDocument
    /// The members of the entity mapping, by key.
    let members: [String: JSONMember]
    let mapping: EntityMapping

    private var context: MigrationError.Context { .init(entityMapping: mapping.name) }

    /// Reads the grouping; nil if there is none.
    ///
    /// - Throws: `mapping.missingKey`, `mapping.valueType`, `mapping.type`, `mapping.expression` (78).
    func grouping() throws(MigrationError) -> ObjectGrouping? {
        try refuseStrayKeys()
        guard let member = members["mergeBy"] ?? members["distinctBy"], let texts = try document.strings(member) else {
            return nil
        }
        let isMerge = member.key == "mergeBy"
        if isMerge, let other = members["distinctBy"] {
            throw document.failure(
                "mapping.type", "\"distinctBy\" and \"mergeBy\" cannot stand together", at: other.keyPosition,
                remedy: "Leave one of the two out", context: context)
        }
        if let problem = mapping.groupingProblem(member.key) {
            throw document.failure(
                "mapping.type", problem.message, at: member.keyPosition, remedy: problem.remedy, context: context)
        }
        var grouping = ObjectGrouping(
            expressions: try texts.map { text, node throws(MigrationError) in
                let expression = try document.parsed(node, text, context: context, ValueExpression.init(parsing:))
                return GroupingExpression(isMerge ? expression.fromSource : expression, at: node.position)
            })
        grouping.nilIsAValue = try document.boolean(members["nilIsAValue"]) ?? false
        grouping.comparison = try comparison()
        if isMerge { grouping.merge = try merge() }
        return grouping
    }

    /// Reads the rule by which source objects become rows of the destination; nil if there is none.
    ///
    /// - Throws: `mapping.missingKey`, `mapping.valueType`, `mapping.type` (78).
    func matching() throws(MigrationError) -> ObjectMatching? {
        guard let member = members[ObjectMatching.keyName], let texts = try document.strings(member) else { return nil }
        if let other = members["distinctBy"] ?? members["mergeBy"] {
            throw document.failure(
                "mapping.type", "\"\(other.key)\" and \"matchBy\" cannot stand together", at: member.keyPosition,
                remedy: "Leave one of the two out", context: context)
        }
        if let problem = mapping.matchingProblem() {
            throw document.failure(
                "mapping.type", problem.message, at: member.keyPosition, remedy: problem.remedy, context: context)
        }
        for (text, node) in texts where text.contains("$") {
            throw document.failure(
                "mapping.valueType", "\"matchBy\" names attributes of the destination entity, not \"\(text)\"",
                at: node.position,
                remedy: "Name the attribute; the key of a source object is what the mapping gives to it",
                context: context)
        }
        if let member = members["onMatch"], let word = try document.string(member), word != "keep" {
            throw document.failure(
                "mapping.valueType", "\"onMatch\" must be \"keep\": the row stays as it is", at: member.value.position,
                context: context)
        }
        var matching = ObjectMatching(keys: texts.map { MatchKey($0.text, at: $0.node.position) })
        matching.comparison = try comparison()
        return matching
    }

    /// Refuses keys whose rule is missing.
    private func refuseStrayKeys() throws(MigrationError) {
        let owners = [
            "compare": ["distinctBy", "mergeBy", "matchBy"], "onMatch": ["matchBy"],
            "nilIsAValue": ["distinctBy", "mergeBy"],
            "keep": ["mergeBy"], "fill": ["mergeBy"],
        ]
        for (key, needed) in owners.sorted(by: { $0.key < $1.key }) {
            guard let stray = members[key], !needed.contains(where: { members[$0] != nil }) else { continue }
            let names = needed.map { "\"\($0)\"" }.joined(separator: " or ")
            throw document.failure(
                "mapping.missingKey", "\"\(key)\" belongs to \(names), which is missing", at: stray.keyPosition,
                context: context)
        }
    }

    private func comparison() throws(MigrationError) -> ComparisonOptions {
        guard let member = members["compare"], let word = try document.string(member) else { return [] }
        guard let comparison = ComparisonOptions(jsonName: word) else {
            throw document.failure(
                "mapping.valueType", "\"compare\" must be \"c\", \"d\" or \"cd\", not \"\(word)\"",
                at: member.value.position, context: context)
        }
        return comparison
    }

    private func merge() throws(MigrationError) -> MergeRule {
        var rule = MergeRule()
        rule.fills = try document.boolean(members["fill"]) ?? false
        guard let member = members["keep"], let text = try document.string(member) else { return rule }
        func expression(after word: String) throws(MigrationError) -> GroupingExpression {
            // Blanks in place of the word, so that places within the text stay.
            let rest = String(repeating: " ", count: word.count) + text.dropFirst(word.count)
            let parsed = try document.parsed(member.value, rest, context: context, ValueExpression.init(parsing:))
            return GroupingExpression(parsed.fromSource, at: member.value.position)
        }
        switch text {
        case "first": rule.keep = .first
        case "last": rule.keep = .last
        case _ where text.hasPrefix("greatest "): rule.keep = .greatest(try expression(after: "greatest"))
        case _ where text.hasPrefix("least "): rule.keep = .least(try expression(after: "least"))
        default:
            throw document.failure(
                "mapping.valueType",
                "\"keep\" must be \"first\", \"last\", \"greatest <expression>\" or \"least <expression>\"",
                at: member.value.position, remedy: "For example \"greatest $source.modified\"", context: context)
        }
        return rule
    }
}

extension ValueExpression {
    /// The same key path from `$source`, for a key path that names no object: in a merge rule `name` is `$source.name`.
    fileprivate var fromSource: ValueExpression {
        guard case .keyPath(let target, let path) = node, target == nil || target == .evaluatedObject else {
            return self
        }
        return ValueExpression(node: .keyPath(target: .variable("source"), components: path))
    }
}
