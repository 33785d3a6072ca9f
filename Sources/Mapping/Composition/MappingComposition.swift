import Foundation
import ManagedModel

/// Composes two consecutive mapping models into one: from the first's source to the second's destination, with the rows, keys,
/// links and errors of the two run one after the other.
///
/// Only parts with provably the same meaning are composed. These are mappings without user code; attributes that at least one
/// of the two steps only copies; lookups of relationships that at least one of the two steps only renames; and rules of the
/// middle version that the destination has too. Anything else is an ``Obstacle``, and the two run one after the other.
/// Memory: one small object a property of the destination model.
package struct MappingComposition {
    /// The reason why two mapping models cannot be composed: a sentence without a full stop.
    package struct Obstacle: Error, Equatable {
        package let reason: String

        package init(_ reason: String) { self.reason = reason }
    }

    /// An entity mapping of the result.
    struct Pair {
        /// The first step's mapping; nil if no object of the source takes part.
        let first: EntityMapping?
        /// The second step's mapping; nil if the objects end after the first step.
        let second: EntityMapping?
        let source: EntityDescription?
        let middle: EntityDescription?
        let destination: EntityDescription?
        let name: String
    }

    let first: CompositionStep
    let second: CompositionStep
    /// True if mapping models may accept broken rules that their source model had already: validation is not strict.
    let excuses: Bool
    let pairs: [Pair]

    /// Composes two mapping models.
    ///
    /// - Parameters:
    ///   - first: the mapping model from `source` to `middle`.
    ///   - second: the mapping model from `middle` to `destination`.
    ///   - excuses: true if ``MappingModel/rulesOfTheSource`` counts, because validation is not strict.
    /// - Throws: ``Obstacle``.
    /// - Complexity: O(properties × entity mappings).
    package static func compose(
        _ first: MappingModel, _ second: MappingModel, source: ManagedObjectModel, middle: ManagedObjectModel,
        destination: ManagedObjectModel, excuses: Bool
    ) throws(Obstacle) -> MappingModel {
        let first = CompositionStep(model: first, source: source, destination: middle)
        let second = CompositionStep(model: second, source: middle, destination: destination)
        for step in [first, second] { try step.checkForm() }
        let composition = MappingComposition(
            first: first, second: second, excuses: excuses, pairs: try Self.pairs(first, second))
        try composition.checkHighestKeys()
        try composition.checkRules()
        return try composition.result()
    }

    /// Tells whether a mapping model alone lets every object keep its key: no policies, no source expressions, one source table
    /// for each destination table, no source entity twice.
    package static func keepsKeys(
        _ model: MappingModel, source: ManagedObjectModel, destination: ManagedObjectModel
    ) -> Bool {
        (try? CompositionStep(model: model, source: source, destination: destination).checkForm()) != nil
    }

    /// Returns the name of an entity mapping composed of two: both names, where a part shared at the seam occurs once. The
    /// result does not depend on the order of composition.
    package static func joinedName(_ first: String, _ second: String) -> String {
        let (early, late) = (first.components(separatedBy: " > "), second.components(separatedBy: " > "))
        return (early + (early.last == late.first ? Array(late.dropFirst()) : late)).joined(separator: " > ")
    }

    /// Pairs each mapping of the second model with the mappings of the first that feed it, in the second model's order, then in
    /// the first's.
    private static func pairs(_ first: CompositionStep, _ second: CompositionStep) throws(Obstacle) -> [Pair] {
        var pairs: [Pair] = []
        var names: Set<String> = []
        func add(_ one: EntityMapping?, _ other: EntityMapping?) throws(Obstacle) {
            let parts = [one, other].compactMap { $0?.name }
            let name = parts.count == 2 ? joinedName(parts[0], parts[1]) : parts.joined()
            guard names.insert(name).inserted else { throw Obstacle("two entity mappings would be named \(name)") }
            pairs.append(
                Pair(
                    first: one, second: other, source: one.flatMap(first.source(of:)),
                    middle: one.flatMap(first.destination(of:)) ?? other.flatMap(second.source(of:)),
                    destination: other.flatMap(second.destination(of:)), name: name))
        }
        for mapping in second.mappings {
            guard let middle = mapping.sourceEntityName else {
                try add(nil, mapping)
                continue
            }
            let producers = first.mappings.filter { $0.destinationEntityName == middle && $0.sourceEntityName != nil }
            for producer in producers { try add(producer, mapping) }
            if producers.isEmpty, mapping.destinationEntityName != nil { try add(nil, mapping) }
        }
        for mapping in first.mappings where mapping.destinationEntityName == nil { try add(mapping, nil) }
        return pairs
    }

    private func result() throws(Obstacle) -> MappingModel {
        let model = MappingModel()
        model.isInferred = true
        // Both must accept broken rules. Otherwise the messages name the stricter one.
        let strict = [first.model, second.model].first { $0.rulesOfTheSource == .error }
        model.rulesOfTheSource = strict == nil ? .warn : .error
        model.rulesPlace = strict?.statedRules
        for pair in pairs {
            let mapping = EntityMapping()
            mapping.name = pair.name
            mapping.sourceEntityName = pair.source?.definition.name
            mapping.sourceEntityVersionHash = pair.first?.sourceEntityVersionHash
            mapping.destinationEntityName = pair.destination?.definition.name
            mapping.destinationEntityVersionHash = pair.second?.destinationEntityVersionHash
            mapping.attributeMappings = []
            mapping.relationshipMappings = []
            switch (pair.source, pair.destination) {
            case (nil, _): mapping.mappingType = .addEntityMappingType
            case (_, nil): mapping.mappingType = .removeEntityMappingType
            case (let source?, let destination?):
                mapping.mappingType = .transformEntityMappingType
                mapping.sourceFilter = try filter(of: pair)
                mapping.attributeMappings = try attributes(of: pair, from: source, to: destination)
                mapping.relationshipMappings = try relationships(of: pair, to: destination)
            }
            model.entityMappings.append(mapping)
        }
        return model
    }

    /// Checks the highest keys. A destination table takes over the highest key ever given out in the source's table, even if no
    /// object reaches it.
    private func checkHighestKeys() throws(Obstacle) {
        let reached = Set(pairs.compactMap { $0.source == nil ? nil : $0.destination?.root.index })
        let filled = Set(
            first.mappings.compactMap { first.source(of: $0) == nil ? nil : first.destination(of: $0)?.root.index })
        for mapping in second.mappings {
            guard let from = second.source(of: mapping), let to = second.destination(of: mapping) else { continue }
            if filled.contains(from.root.index), !reached.contains(to.root.index) {
                throw Obstacle("the keys of \(to.root.definition.name) come from a table without objects for it")
            }
        }
    }

    /// Returns both filters as one.
    private func filter(of pair: Pair) throws(Obstacle) -> SourcePredicate? {
        let own = pair.first?.sourceFilter?.node
        guard let late = pair.second?.sourceFilter?.node, late != .constant(true) else {
            return pair.first?.sourceFilter
        }
        guard let renamed = late.renamingKeys({ key in self.renamed(key, pair) }) else {
            throw Obstacle("the source filter of \(pair.second?.name ?? "") reads what the step before computes")
        }
        return SourcePredicate(node: own.map { .and([$0, renamed]) } ?? renamed)
    }

    /// Returns the source attribute that a middle attribute copies bit by bit; nil if it is no such copy.
    func renamed(_ key: String, _ pair: Pair) -> String? {
        guard let one = pair.first, let attribute = pair.middle?.attribute(named: key),
            let property = one.attributeMapping(named: key), let origin = property.valueExpression?.node.ownKey,
            let source = pair.source?.attribute(named: origin), source.attributeType == attribute.attributeType,
            source.definition.allowsExternalBinaryDataStorage == attribute.definition.allowsExternalBinaryDataStorage,
            property.fill(of: attribute) == nil
        else { return nil }
        return origin
    }
}

extension PropertyMapping {
    /// Returns the value that replaces a nil of the expression; nil if none does.
    func fill(of attribute: AttributeDescription) -> AttributeValue? {
        carriedValue ?? (replacesNil ? attribute.definition.defaultValue : nil)
    }
}

extension ExpressionNode {
    /// The property of `$source` that the expression is, with an element of a composite by its path; nil for other expressions.
    /// A path over a relationship gives a name that no property has.
    var ownKey: String? { sourceKeyPath.flatMap { $0.isEmpty ? nil : $0.joined(separator: ".") } }
}
