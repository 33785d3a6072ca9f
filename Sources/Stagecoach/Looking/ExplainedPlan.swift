import CoreDataStore
import Diagnostics
import ManagedModel
import Mapping

/// A migration's mapping models as planned, without a count of the source's rows: mappings, keys, and how links are decided.
final class ExplainedPlan {
    let source: StoreLayout
    let destination: StoreSchema
    let options: MigrationOptions
    /// All mappings, each at its index.
    private(set) var mappings: [PlannedMapping] = []
    /// The mapping model of each mapping.
    private var modelNumbers: [Int] = []
    /// The tables and the links of each mapping model.
    private var tables: [[PlannedTable]] = []
    private var links: [LinkPlan] = []
    private let derived: DerivedSelection

    /// - Parameter entity: the entity of the object that is explained.
    /// - Throws: the errors of mapping models and of planning (78).
    init(
        _ run: ChainRun, _ options: MigrationOptions, source: StoreLayout, explaining entity: EntityDescription
    ) throws(MigrationError) {
        self.source = source
        self.options = options
        destination = StoreSchema(model: run.destination.model)
        derived = DerivedSelection(
            anew: DerivedColumns.anew(
                run.mappingModels, source: run.source.model, destination: run.destination.model))
        var hasRows = destination.tables.map { _ in options.appendsToExisting }
        for (number, model) in run.mappingModels.enumerated() {
            try model.validate(
                source: run.source.model, destination: run.destination.model, after: mappings.map(\.mapping),
                misfits: .noted)
            _ = try model.refuseMisfits { $0.sourceEntityName == entity.definition.name }
            let own = try MappingResolution(
                model: model, source: source.schema, destination: destination, previous: mappings
            ).resolve()
            let all = mappings.map(\.ofPreviousModel) + own
            let planner = Planner(
                mappings: all, source: source, destination: destination, keys: options.keys,
                cut: PassCut(options, model: number), rowCounts: source.schema.tables.map { _ in [:] },
                hasRows: hasRows,
                firstOwn: mappings.count)
            tables.append(try planner.tables())
            links.append(LinkPlanner(mappings: all, source: source.schema, destination: destination).plan())
            for mapping in own where mapping.source != nil {
                if let table = mapping.destinationTable { hasRows[table] = true }
            }
            mappings += own
            modelNumbers += own.map { _ in number }
        }
    }

    /// Returns the mappings of the same mapping model.
    private func own(_ mapping: PlannedMapping) -> [PlannedMapping] {
        mappings.filter { modelNumbers[$0.index] == modelNumbers[mapping.index] }
    }

    /// Returns the mapping that a lookup by name reaches from another mapping: at most one.
    func named(_ name: String, beside mapping: PlannedMapping) -> [PlannedMapping] {
        let previous = mappings.last { modelNumbers[$0.index] < modelNumbers[mapping.index] && $0.name == name }
        return (own(mapping).first { $0.name == name } ?? previous).map { [$0] } ?? []
    }

    /// Returns the mappings that a lookup by a relationship's name reaches, in their order. Of several with one name, the
    /// latest counts.
    func answering(beside mapping: PlannedMapping) -> [PlannedMapping] {
        let own = own(mapping)
        var names = Set(own.map(\.name))
        let previous = mappings.filter { modelNumbers[$0.index] < modelNumbers[mapping.index] }.reversed().filter {
            names.insert($0.name).inserted
        }
        return previous.reversed() + own
    }

    /// Tells whether a mapping's objects keep their keys.
    func keepsKeys(_ mapping: PlannedMapping) -> Bool { table(mapping)?.keys == .kept }

    /// The reason why the keys are not kept; nil if they are.
    func keysReason(_ mapping: PlannedMapping) -> String? { table(mapping)?.reason }

    private func table(_ mapping: PlannedMapping) -> PlannedTable? {
        mapping.destinationTable.map { tables[modelNumbers[mapping.index]][$0] }
    }

    /// Tells whether user code may change links: a policy, or an expression that gives source objects.
    func hasPolicies(beside mapping: PlannedMapping) -> Bool {
        own(mapping).contains { $0.hasPolicy && $0.forEach == nil }
    }

    /// Tells whether a derived attribute is computed from the destination's rows and not carried over.
    func isDerived(_ attribute: AttributeDescription, of entity: EntityDescription) -> Bool {
        guard let form = attribute.definition.derivationExpression.flatMap(DerivationForm.init) else { return false }
        return !form.isCarried
            || derived.anew.contains(DerivedReference(attribute: attribute.reference, entity: entity.index))
    }

    /// Returns what else decides the links of a relationship, as a sentence without a full stop; nil if this object alone
    /// does.
    func stage(of planned: PlannedRelationship, in mapping: PlannedMapping) -> String? {
        let relationship = planned.relationship
        guard let inverse = LinkPlanner.mutualInverse(of: relationship) else {
            return relationship.isToMany && !relationship.sharesMembers
                ? "Another \(relationship.entity) may have the same objects, and the last one keeps them" : nil
        }
        let (other, otherEntity) = ("\(inverse.entity).\(inverse.name)", inverse.entity)
        let claims = !LinkPlanner.lookups(of: inverse, among: own(mapping)).isEmpty
        switch planned.storage {
        case .none, .toManyHidden: return nil
        case .join: return claims ? "\(other) adds links to these, by a pass over all objects of \(otherEntity)" : nil
        case .toManyByInverse:
            let members = LinkPlanner.owners(of: inverse, among: own(mapping))
            if members.allSatisfy({ $0.planned.value != nil }) {
                return
                    "\(other) decides these links, by a pass over all objects of \(otherEntity); the expression here gives their order"
            }
            return
                "Of several objects of \(relationship.entity) with the same member, the last one keeps it, after a pass over all of them"
        case .toOne where inverse.isToMany:
            guard planned.value == nil, claims else { return nil }
            return "\(other) decides this link, by a pass over all objects of \(otherEntity)"
        case .toOne:
            let direct = links[modelNumbers[mapping.index]].direct[mapping.index] ?? []
            if direct.contains(where: { $0.planned.name == planned.name }) || planned.value == nil && !claims {
                return nil
            }
            return
                "A later link of the same two objects takes this one's place, by a pass over all objects of \(otherEntity) and \(relationship.entity)"
        }
    }
}
