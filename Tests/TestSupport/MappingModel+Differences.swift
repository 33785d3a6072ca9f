import Mapping

extension MappingModel {
    /// Returns the differences in effect between two mapping models, a line each.
    ///
    /// Compared are `rulesOfTheSource`, the entity mappings in order (name, type, entities, policy, source objects, userInfo),
    /// and the property mappings by name (expression, automatic or not, userInfo). Not compared are version hashes, files and
    /// places, the order of property mappings, and the names of versions.
    ///
    /// - Complexity: O(n log n) in properties.
    package func differences(from other: MappingModel) -> [String] {
        let (own, others) = (entityMappings ?? [], other.entityMappings ?? [])
        var lines: [String] = []
        if rulesOfTheSource != other.rulesOfTheSource {
            lines.append("rules of the source: \(rulesOfTheSource) and \(other.rulesOfTheSource)")
        }
        if own.count != others.count { lines.append("entity mappings: \(own.count) and \(others.count)") }
        for (mapping, counterpart) in zip(own, others) {
            lines += mapping.differences(from: counterpart).map { "\(mapping.name ?? "?"): \($0)" }
        }
        return lines
    }
}

extension EntityMapping {
    fileprivate func differences(from other: EntityMapping) -> [String] {
        var lines: [String] = []
        func compare<T: Equatable>(_ what: String, _ own: T, _ others: T) {
            if own != others { lines.append("\(what) \(own) and \(others)") }
        }
        compare("name", name ?? "", other.name ?? "")
        compare("type", effectiveType.jsonName ?? "", other.effectiveType.jsonName ?? "")
        compare("source entity", sourceEntityName ?? "", other.sourceEntityName ?? "")
        compare("destination entity", destinationEntityName ?? "", other.destinationEntityName ?? "")
        compare("policy", entityMigrationPolicyClassName ?? "", other.entityMigrationPolicyClassName ?? "")
        compare("source objects", sourceFetch, other.sourceFetch)
        if sourceFetch == .other && sourceExpression != other.sourceExpression { lines.append("source expressions") }
        compare("userInfo", UserInfoValue(userInfo ?? [:]), UserInfoValue(other.userInfo ?? [:]))
        lines += Self.differences("attribute", attributeMappings ?? [], other.attributeMappings ?? [])
        lines += Self.differences("relationship", relationshipMappings ?? [], other.relationshipMappings ?? [])
        return lines
    }

    private static func differences(
        _ kind: String, _ own: [PropertyMapping], _ others: [PropertyMapping]
    ) -> [String] {
        var remaining = Dictionary(others.map { ($0.name ?? "", $0) }, uniquingKeysWith: { first, _ in first })
        var lines: [String] = []
        for mapping in own {
            let name = mapping.name ?? ""
            guard let other = remaining.removeValue(forKey: name) else {
                lines.append("\(kind) \(name) in the first only")
                continue
            }
            if mapping.valueExpression != other.valueExpression {
                lines.append(
                    "\(kind) \(name): \(mapping.valueExpression?.format ?? "none") and "
                        + (other.valueExpression?.format ?? "none"))
            }
            if mapping.isAutomatic != other.isAutomatic || mapping.replacesNil != other.replacesNil {
                lines.append("\(kind) \(name): automatic \(mapping.isAutomatic) and \(other.isAutomatic)")
            }
            if mapping.unmapped?.reason != other.unmapped?.reason { lines.append("\(kind) \(name): what is unmapped") }
            if mapping.openValue != other.openValue { lines.append("\(kind) \(name): what is left open") }
            if UserInfoValue(mapping.userInfo ?? [:]) != UserInfoValue(other.userInfo ?? [:]) {
                lines.append("\(kind) \(name): userInfo")
            }
        }
        return lines + remaining.keys.sorted().map { "\(kind) \($0) in the second only" }
    }
}
