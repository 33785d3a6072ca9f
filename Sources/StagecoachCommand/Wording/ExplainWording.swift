import Stagecoach

/// The words for what a migration makes of one object.
enum ExplainWording {
    static func text(_ explanation: ObjectExplanation) -> String {
        var lines = ["\(explanation.object), \(explanation.from) → \(explanation.to)"]
        for mapping in explanation.mappings { lines += [""] + self.lines(mapping) }
        if !explanation.unread.isEmpty { lines += [""] + explanation.unread.flatMap(self.lines) }
        lines += explanation.notes.titled("Notes", indent: 2)
        if explanation.mappings.isEmpty {
            lines += ["", "No entity mapping reads the object: it is not migrated."]
        }
        return lines.printableText
    }

    private static func lines(_ mapping: ObjectExplanation.Mapping) -> [String] {
        var lines = ["\(mapping.name) → \(mapping.destinationEntity ?? "nothing")"]
        if let policy = mapping.policy { lines.append("  policy \(policy.name): \(words(policy))") }
        if let filter = mapping.filter {
            let answer =
                filter.answer.map { $0 ? "true" : "false" } ?? filter.problem ?? "unknown, which counts as false"
            lines.append("  filter \(filter.predicate): \(answer)")
            lines += parts(filter.parts)
        }
        if let sharing = mapping.sharing { lines += self.lines(sharing) }
        if let forEach = mapping.forEach { lines.append("  forEach: \(forEach)") }
        for property in mapping.attributes + mapping.relationships { lines += self.lines(property) }
        for broken in mapping.broken {
            let weight = broken.isWarning ? ", a warning as the source has the rule too" : ""
            lines.append("  breaks \(broken.property): \(broken.rule.label)\(weight). \(broken.message)")
        }
        lines += mapping.stages.map { "  depends on other objects: \($0)" }
        return lines + ["  " + verdict(mapping)]
    }

    private static func lines(_ sharing: ObjectExplanation.Sharing) -> [String] {
        let which =
            sharing.keep.map { keep in
                let rule = keep == "first" || keep == "last" ? "the \(keep)" : "that with the \(keep)"
                return "of the source objects with these values \(rule) is kept, and the others are merged into it"
            } ?? "the first source object with these values makes the object, and the others share it"
        var lines = ["  \(sharing.rule): \(which)"]
        lines += sharing.values.map { "      \($0.expression) is \(ObjectWording.value($0.value))" }
        guard let kept = sharing.kept else { return lines + ["      nil is no value: it makes no object"] }
        guard sharing.members > 1 else { return lines + ["      it shares its object with no other"] }
        let why = sharing.keptValue.map { ", whose value is \(ObjectWording.value($0))" } ?? ""
        lines.append("      \(kept) is kept of \(Figures.count(sharing.members, "source object"))\(why)")
        return lines + sharing.filled.map { "      \($0.property) has the \($0.keyPath) of \($0.source)" }
    }

    private static func lines(_ unread: ObjectExplanation.Unread) -> [String] {
        let line =
            "left behind: \(unread.property) = \(ObjectWording.value(unread.value)), which \(unread.reason.words)"
            + (unread.isMeant ? ", on purpose" : "")
        return [line] + (unread.isMeant ? [] : unread.suggestions.map { "    \($0.text)" })
    }

    private static func words(_ policy: ObjectExplanation.Policy) -> String {
        let called = "it decides and is not called here; the values are those of its default methods"
        guard let methods = policy.methods else { return "\(called). No library given with --policies registers it" }
        return "\(called). It overrides " + (methods.isEmpty ? "no method" : methods.joined(separator: ", "))
    }

    private static func lines(_ property: ObjectExplanation.Property) -> [String] {
        let value =
            property.value.map(ObjectWording.value) ?? property.problem.map { "not known: \($0)" } ?? "not known here"
        var lines = ["  \(property.name) = \(value)"]
        if let expression = property.expression { lines.append("      by \(expression)") }
        lines += parts(property.parts)
        for lookup in property.lookups {
            let by = lookup.mapping.map { " by \($0)" } ?? ""
            lines.append("      \(lookup.source)\(by): \(lookup.destination ?? "nothing, \(lookup.problem ?? "")")")
        }
        let more = property.lookupCount - property.lookups.count
        if more > 0 { lines.append("      and \(Figures.count(more)) more") }
        return lines + property.notes.map { "      \($0)" }
    }

    private static func parts(_ parts: [ObjectExplanation.Part]) -> [String] {
        parts.map { part in
            let value = part.value.map(ObjectWording.value) ?? "not known: \(part.problem ?? "")"
            return String(repeating: " ", count: 8 + 2 * part.depth) + "\(part.expression) is \(value)"
        }
    }

    private static func verdict(_ mapping: ObjectExplanation.Mapping) -> String {
        switch mapping.outcomeByItself {
        case .migrated:
            (mapping.outcome == .migrated && mapping.stages.isEmpty ? "It becomes " : "By itself it becomes ")
                + (mapping.destination ?? "an object of \(mapping.destinationEntity ?? "")") + "."
        case .shared:
            "It \(mapping.sharing?.rule == "mergeBy" ? "is merged into" : "shares") "
                + (mapping.destination ?? "the object of \(mapping.sharing?.kept ?? "another")")
                + (mapping.destination == nil ? "." : ", which \(mapping.sharing?.kept ?? "another") makes.")
        case .invalid: "The broken rule ends the migration; --on-invalid reject would leave the object out."
        case .rejected: "It is rejected: the broken rule leaves it out."
        case .undecided: "What becomes of it, only a run tells."
        case .filtered: "It is filtered: the mapping leaves it out."
        case .removed: "It is removed: the mapping has no destination."
        case .withoutMapping: ""
        }
    }
}
