import Foundation
import ManagedModel

/// Makes one mapping model of two that follow each other: from the first's source to the second's destination, with the
/// rows, keys, links and errors that the two would give one after the other.
///
/// Composed is what provably means the same: mappings without user code, plain copies and computed attributes of which
/// one of the two steps only copies, lookups of relationships of which one of the two steps changes nothing but names,
/// and the middle version's rules where the destination has them too. For everything else there is an ``Obstacle``, and
/// the two run one after the other.
///
/// Memory: one small object a property of the destination model.
package struct MappingComposition {
    /// Why two mapping models do not make one: a sentence without a full stop.
    package struct Obstacle: Error, Equatable {
        package let reason: String

        package init(_ reason: String) { self.reason = reason }
    }

    /// An entity mapping of the result.
    struct Pair {
        /// Nil where no object of the source gets there.
        let first: EntityMapping?
        /// Nil where the first step ends the object's way.
        let second: EntityMapping?
        let source: EntityDescription?
        let middle: EntityDescription?
        let destination: EntityDescription?
        let name: String
    }

    let first: CompositionStep
    let second: CompositionStep
    /// True where mapping models may excuse rules that their source model had already: validation is not strict.
    let excuses: Bool
    let pairs: [Pair]

    /// Composes two mapping models.
    ///
    /// - Parameters:
    ///   - first: from `source` to `middle`.
    ///   - second: from `middle` to `destination`.
    ///   - excuses: whether ``MappingModel/rulesOfTheSource`` counts: validation is not strict.
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

    /// Whether a mapping model by itself leaves every object its key: no policies, no source expressions, one source table
    /// for each destination table, no entity twice.
    package static func keepsKeys(
        _ model: MappingModel, source: ManagedObjectModel, destination: ManagedObjectModel
    ) -> Bool {
        (try? CompositionStep(model: model, source: source, destination: destination).checkForm()) != nil
    }

    /// The name of an entity mapping that is composed of two: both, a name that they share at the seam once. It does not
    /// depend on which of several are composed first.
    package static func joinedName(_ first: String, _ second: String) -> String {
        let (early, late) = (first.components(separatedBy: " > "), second.components(separatedBy: " > "))
        return (early + (early.last == late.first ? Array(late.dropFirst()) : late)).joined(separator: " > ")
    }

    /// What becomes of what, in the second model's order, then in the first's.
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
        // Both must excuse a rule; else people are told of one that does not.
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

    /// A destination table takes over the highest key ever given of the source's table, also where no object gets there.
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

    /// Both filters in one.
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

    /// The source attribute that an attribute of the middle is a plain copy of, to the last bit; nil where it is not.
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
    /// What takes the place of a nil that the expression gives; nil: nothing does.
    func fill(of attribute: AttributeDescription) -> AttributeValue? {
        carriedValue ?? (isAutomatic && !attribute.isOptional ? attribute.definition.defaultValue : nil)
    }
}

extension ExpressionNode {
    /// The property of `$source` that is read and nothing else, an element of a composite by its path. A path over a
    /// relationship gives a name that no property has.
    var ownKey: String? { sourceKeyPath.flatMap { $0.isEmpty ? nil : $0.joined(separator: ".") } }
}
