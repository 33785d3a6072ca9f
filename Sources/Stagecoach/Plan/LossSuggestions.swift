import ManagedModel
import Mapping

/// Finds ways to keep data that would be left behind: another route through versions, a destination property that gets
/// no value from the source, or a destination entity that no mapping makes objects of.
struct LossSuggestions {
    /// The entity mappings of all mapping models.
    let mappings: [EntityMapping]
    let source: ManagedObjectModel
    let destination: ManagedObjectModel
    /// Returns the versions of a route that keeps the data of a line; nil if there is none.
    let detour: (LeftBehind.Line) -> [String]?
    /// Returns what the values of attributes would lose in other types; those that cannot be counted are left out.
    let prices: (Set<NumberConversion>) throws -> [NumberConversion: ConversionPrice]

    /// The largest number of suggestions for one line.
    private static let most = 2
    /// The largest number of lines that get suggestions.
    private static let mostLines = 100
    /// The largest number of candidate attributes, for one line of losses, whose conversions are counted over the source's rows. A
    /// lossy conversion that is not counted is not suggested.
    private static let mostPrices = 4

    /// Adds suggestions to the lines of data that is certainly lost.
    ///
    /// - Complexity: one pass over the rows of entities with numbers that an attribute of another type might take.
    func add(to account: inout LeftBehind) throws {
        // Data dropped by a step of a chain can only be kept in the mapping model of that step.
        let lines = account.lines.indices.filter { account.lines[$0].isLost }.prefix(Self.mostLines)
            .filter { account.lines[$0].step == nil && account.lines[$0].reason != .otherEntity }
        var places: [Int: Place] = [:]
        for index in lines { places[index] = place(of: account.lines[index]) }
        let asked = places.values.flatMap { place in
            place.candidates.lazy.compactMap(\.conversion).prefix(Self.mostPrices)
        }
        let prices = asked.isEmpty ? [:] : try prices(Set(asked))
        for index in lines {
            let line = account.lines[index]
            let found =
                [suggestedDetour(line)].compactMap { $0 }
                + (line.property == nil ? entities(line) : places[index].map { properties($0, prices) } ?? [])
            if !found.isEmpty { account.lines[index].suggestions = found }
        }
    }

    private func suggestedDetour(_ line: LeftBehind.Line) -> LeftBehind.Suggestion? {
        guard let via = detour(line) else { return nil }
        let words = via.map { "--via '\($0)'" }.joined(separator: " ")
        return .init(text: "\(words) keeps \(line.name)", via: via)
    }

    // MARK: - Properties

    private struct Candidate {
        let name: String
        let expression: String
        /// The same without names of entity mappings, which a change may rename.
        let change: String
        let what: String
        let isEqual: Bool
        let likeness: Double
        /// The conversion whose price decides whether it is suggested; nil if no value loses anything.
        var conversion: NumberConversion?
    }

    /// The properties of one entity mapping that might keep the data of a line, the best first.
    private struct Place {
        let mapping: EntityMapping
        let target: EntityDescription
        let candidates: [Candidate]
    }

    private func place(of line: LeftBehind.Line) -> Place? {
        guard let property = line.property, let entity = source.entity(named: line.entity) else { return nil }
        let kinds = Set(entity.withDescendants.map(\.definition.name))
        let own = mappings.filter {
            $0.destinationEntityName != nil && $0.sourceEntityName.map(kinds.contains) ?? false
        }
        guard let mapping = own.first(where: { $0.sourceEntityName == line.entity }) ?? own.first,
            let target = mapping.destinationEntityName.flatMap({ destination.entity(named: $0) })
        else { return nil }
        let candidates: [Candidate]
        if let attribute = entity.attribute(named: property) {
            candidates = attributes(attribute, mapping, target)
        } else if let relationship = entity.relationship(named: property) {
            candidates = relationships(relationship, mapping, target)
        } else {
            return nil
        }
        let best = candidates.sorted {
            ($0.isEqual ? 0 : 1, -$0.likeness, $0.name) < ($1.isEqual ? 0 : 1, -$1.likeness, $1.name)
        }
        return Place(mapping: mapping, target: target, candidates: best)
    }

    private func properties(
        _ place: Place, _ prices: [NumberConversion: ConversionPrice]
    ) -> [LeftBehind.Suggestion] {
        let affordable = place.candidates.compactMap { candidate -> (candidate: Candidate, price: String?)? in
            guard let conversion = candidate.conversion else { return (candidate, nil) }
            guard let price = prices[conversion], !price.fails else { return nil }
            return (candidate, price.sentence)
        }
        let best = affordable.filter { $0.price == nil } + affordable.filter { $0.price != nil }
        return best.prefix(Self.most).map { candidate, price in
            let json = "\"\(candidate.name)\": \"\(candidate.expression)\""
            let name = place.mapping.name ?? ""
            let property = "\(place.target.definition.name).\(candidate.name)"
            let option = MappingChange("\(property)=\(candidate.change)")?.option
            return .init(
                text:
                    "\(property) gets no value and \(candidate.what)\(price.map { ", and \($0)" } ?? ""): "
                    + "\(json) in the entity mapping \(name)" + (option.map { ", or \($0)" } ?? ""), json: json,
                entityMapping: name)
        }
    }

    /// Returns the destination attributes that get no value from the source and can hold the attribute's values.
    private func attributes(
        _ attribute: AttributeDescription, _ mapping: EntityMapping, _ target: EntityDescription
    ) -> [Candidate] {
        target.attributes.compactMap { candidate in
            guard !candidate.isTransient, !candidate.isDerived,
                isFree(mapping.attributeMapping(named: candidate.name)),
                candidate.attributeType == attribute.attributeType
                    || candidate.attributeType.isNumeric && attribute.attributeType.isNumeric
            else { return nil }
            let isEqual = candidate.attributeType == attribute.attributeType
            return Candidate(
                name: candidate.name, expression: "$source.\(attribute.name)", change: "$source.\(attribute.name)",
                what: isEqual ? "has the same type" : "takes its numbers", isEqual: isEqual,
                likeness: likeness(candidate.name, attribute.name),
                conversion: candidate.attributeType.holdsEveryValue(of: attribute.attributeType)
                    ? nil : .init(attribute: attribute.reference, type: candidate.attributeType))
        }
    }

    /// Returns the destination relationships that nothing fills and whose objects come from the relationship's objects.
    private func relationships(
        _ relationship: RelationshipDescription, _ mapping: EntityMapping, _ target: EntityDescription
    ) -> [Candidate] {
        let members = Set(relationship.destination.withDescendants.map(\.definition.name))
        let makers = mappings.filter { $0.sourceEntityName.map(members.contains) ?? false }
        return target.relationships.compactMap { candidate in
            guard !candidate.isTransient, isFree(mapping.relationshipMapping(named: candidate.name)),
                candidate.isToMany || !relationship.isToMany
            else { return nil }
            let fitting = makers.filter { maker in
                maker.destinationEntityName.flatMap { destination.entity(named: $0) }?
                    .isKindOf(entity: candidate.destination) ?? false
            }
            guard let first = fitting.first?.name else { return nil }
            let byRelationship =
                "'destinationInstancesForSourceRelationshipNamed:sourceInstances:', '\(relationship.name)'"
            let lookup =
                fitting.count == 1
                ? "'destinationInstancesForEntityMappingNamed:sourceInstances:', '\(first)'" : byRelationship
            return Candidate(
                name: candidate.name,
                expression: "FUNCTION($manager, \(lookup), $source.\(relationship.name))",
                change: "FUNCTION($manager, \(byRelationship), $source.\(relationship.name))".replacing(
                    "'", with: "\""),
                what: "leads to what its objects become", isEqual: candidate.isToMany == relationship.isToMany,
                likeness: likeness(candidate.name, relationship.name))
        }
    }

    /// Tells whether the property gets no value from the source.
    private func isFree(_ property: PropertyMapping?) -> Bool {
        guard let expression = property?.valueExpression else { return true }
        return expression.constantValue != nil && !expression.format.contains("$")
    }

    // MARK: - Entities

    private func entities(_ line: LeftBehind.Line) -> [LeftBehind.Suggestion] {
        guard let entity = source.entity(named: line.entity) else { return [] }
        let made = Set(mappings.filter { $0.sourceEntityName != nil }.compactMap(\.destinationEntityName))
        let candidates = destination.entities.compactMap { candidate -> (name: String, likeness: Double)? in
            guard !candidate.isAbstract, !made.contains(candidate.definition.name) else { return nil }
            let names = likeness(candidate.definition.name, line.entity)
            let share = commonProperties(entity, candidate)
            guard share >= 0.5 || share > 0 && names >= 0.5 else { return nil }
            return (candidate.definition.name, share + names)
        }
        return candidates.sorted { (-$0.likeness, $0.name) < (-$1.likeness, $1.name) }.prefix(Self.most).map {
            let json = "{ \"sourceEntity\": \"\(line.entity)\", \"destinationEntity\": \"\($0.name)\" }"
            return .init(
                text:
                    "\($0.name), of which nothing makes objects, has similar properties: \(json) as an entity mapping"
                    + (MappingChange("\($0.name)=\(line.entity)").map { ", or \($0.option)" } ?? ""), json: json)
        }
    }

    /// Returns the share of an entity's properties that another entity has too, by name and type.
    private func commonProperties(_ one: EntityDescription, _ other: EntityDescription) -> Double {
        let attributes = one.attributes.filter { !$0.isTransient && !$0.isDerived }
        let relationships = one.relationships.filter { !$0.isTransient }
        let count = attributes.count + relationships.count
        guard count > 0 else { return 0 }
        let common =
            attributes.count { attribute in
                other.attribute(named: attribute.name)?.attributeType == attribute.attributeType
            } + relationships.count { other.relationship(named: $0.name)?.isToMany == $0.isToMany }
        return Double(common) / Double(max(count, other.attributes.count + other.relationships.count))
    }

    /// Returns how alike two names are, from 0 to 1: the share of common letter pairs, more if one contains the other.
    private func likeness(_ one: String, _ other: String) -> Double {
        let (one, other) = (one.lowercased(), other.lowercased())
        if one == other { return 1 }
        func pairs(_ text: String) -> [String] { zip(text, text.dropFirst()).map { "\($0)\($1)" } }
        var rest = pairs(other)
        let all = pairs(one).count + rest.count
        guard all > 0 else { return 0 }
        var common = 0
        for pair in pairs(one) {
            guard let place = rest.firstIndex(of: pair) else { continue }
            rest.remove(at: place)
            common += 1
        }
        let share = Double(2 * common) / Double(all)
        return one.contains(other) || other.contains(one) ? max(share, 0.75) : share
    }
}
