import CoreDataStore
import ManagedModel
import Mapping

/// The mappings and keys of each destination table, worked out from the models and mapping models by the documented
/// rules, not taken from the planner.
final class VerificationPlan {
    let mappings: [VerifiedMapping]
    let source: StoreLayout
    let destination: StoreLayout
    let modelCount: Int
    let options: MigrationOptions

    /// The reason why a destination table's objects cannot be worked out; nil if they can.
    var obstacles: [String?] = []
    /// The highest key given in each destination table, before the mapping model at work, in the end after the last.
    var highest: [Int64] = []
    /// The highest key that each table had before the run, if the store was appended to.
    var base: [Int64] = []
    /// True for destination tables that have rows from before the mapping model at work.
    var hasRows: [Bool] = []
    /// True for destination tables whose numbers a policy may have shifted.
    var isUncertain: [Bool] = []
    /// True for destination tables that keep all keys.
    var isKept: [Bool] = []

    init(
        mappings: [VerifiedMapping], modelCount: Int, source: StoreLayout, destination: StoreLayout,
        options: MigrationOptions
    ) {
        self.mappings = mappings
        self.modelCount = modelCount
        self.source = source
        self.destination = destination
        self.options = options
        begin(base: destination.tables.map { _ in 0 }, hasRows: destination.tables.map { _ in false })
    }

    func begin(base: [Int64], hasRows: [Bool]) {
        (self.base, highest, self.hasRows) = (base, base, hasRows)
        obstacles = base.map { _ in nil }
        isUncertain = base.map { _ in false }
        isKept = isUncertain
    }

    /// The derived attributes that are computed instead of copied.
    private(set) lazy var derived = DerivedSelection(
        anew: DerivedColumns.anew(
            (0..<max(1, modelCount)).map { number in
                let model = MappingModel()
                model.entityMappings = own(number).map(\.mapping)
                return model
            }, source: source.schema.model, destination: destination.schema.model))

    /// The pairs of the destination's relationships.
    private(set) lazy var linkPairs = LinkPair.all(
        in: destination.schema.model, schema: destination.schema, keepsColumns: keepsColumns)

    /// True if every mapping model copies both columns of a one-to-one relationship unchanged; nil if only some of them do.
    func keepsColumns(_ relationship: RelationshipDescription) -> Bool? {
        guard let inverse = relationship.inverseRelationship else { return false }
        var answers: Set<Bool> = []
        for model in 0..<modelCount {
            let own = own(model).filter { mapping in
                [relationship, inverse].contains { mapping.destination?.isKindOf(entity: $0.entity) ?? false }
            }
            guard !own.isEmpty else { continue }
            // Merged objects take over links, and shared ones have several, so that columns are not copied.
            guard !self.own(model).contains(where: { $0.grouping != nil }) else {
                answers.insert(false)
                continue
            }
            let (near, far) = (original(of: relationship, own), original(of: inverse, own))
            answers.insert(
                own.allSatisfy { $0.excuses && $0.obstacle == nil && $0.forEach == nil } && near != nil && far != nil
                    && near?.inverseRelationship == far && far?.inverseRelationship == near)
        }
        return answers.count > 1 ? nil : answers.first ?? false
    }

    /// The to-one relationship of the source that every mapping copies into a relationship.
    private func original(
        of relationship: RelationshipDescription, _ mappings: [VerifiedMapping]
    ) -> RelationshipDescription? {
        var found: Set<PropertyReference> = []
        var original: RelationshipDescription?
        for mapping in mappings where mapping.destination?.isKindOf(entity: relationship.entity) ?? false {
            guard let expression = mapping.mapping.relationshipMapping(named: relationship.name)?.valueExpression
            else { return nil }
            let path: SourcePath
            switch try? RelationshipExpression(expression) {
            case .lookup(_, let argument), .lookupByRelationship(_, let argument): path = argument
            case .constantNil, nil: return nil
            }
            guard path.condition == nil, path.components.count == 1,
                let read = mapping.source?.relationship(named: path.components[0]), !read.isToMany
            else { return nil }
            found.insert(read.reference)
            original = read
        }
        return found.count == 1 ? original : nil
    }

    /// Tells whether a derived attribute is computed from the destination's own rows and not copied.
    func isDerived(_ attribute: AttributeDescription, of mapping: VerifiedMapping) -> Bool {
        guard let form = attribute.definition.derivationExpression.flatMap(DerivationForm.init),
            let entity = mapping.destination
        else { return false }
        return !form.isCarried
            || derived.anew.contains(DerivedReference(attribute: attribute.reference, entity: entity.index))
    }

    func sourceTable(_ mapping: VerifiedMapping) -> Int? { mapping.source.map(source.schema.tableIndex(of:)) }
    func destinationTable(_ mapping: VerifiedMapping) -> Int? {
        mapping.destination.map(destination.schema.tableIndex(of:))
    }

    /// Returns the entity mappings of the mapping model with an index.
    func own(_ model: Int) -> [VerifiedMapping] { mappings.filter { $0.model == model } }

    /// Tells whether a mapping model has mappings with a policy, or with objects that an expression gives.
    func hasPolicies(_ model: Int) -> Bool { own(model).contains { $0.obstacle != nil } }

    /// Returns the mapping that a lookup by an entity mapping's name reaches: at most one.
    func named(_ name: String, model: Int) -> [VerifiedMapping] {
        if let own = own(model).first(where: { $0.name == name }) { return [own] }
        return mappings.last { $0.model < model && $0.name == name }.map { [$0] } ?? []
    }

    /// Returns the mappings that a lookup by a relationship's name reaches, in mapping order. Of several with the same
    /// name, the latest counts.
    func answering(model: Int) -> [VerifiedMapping] {
        let own = own(model)
        var names = Set(own.map(\.name))
        let previous = mappings.filter { $0.model < model }.reversed().filter { names.insert($0.name).inserted }
        return previous.reversed() + own
    }

    /// Tells whether the rows of a table keep their keys in a mapping model's run.
    func keepsKeys(table: Int, model: Int) -> Bool {
        let into = own(model).filter { destinationTable($0) == table }
        guard !hasRows[table], choice(table: table, model: model) != .sequential,
            !into.contains(where: { $0.obstacle != nil || $0.forEach != nil || $0.grouping != nil && !$0.merges })
        else { return false }
        let read = into.compactMap(\.source)
        return !read.isEmpty && Set(read.map { source.schema.tableIndex(of: $0) }).count == 1
            && Set(read.map(\.index)).count == read.count
    }

    private func choice(table: Int, model: Int) -> KeyChoice {
        guard options.keys == .auto, let plan = options.plan, plan.models.indices.contains(model) else {
            return options.keys
        }
        let schema = destination.schema
        let root = schema.model.entity(at: schema.tables[table].root).definition.name
        let saved = plan.models[model].tables.first { $0.rootEntity == root }
        return saved?.keys == .sequential ? .sequential : .auto
    }

    /// Returns the expressions that give objects a relationship, with their mappings, in mapping order.
    func expressions(
        of relationship: RelationshipDescription, model: Int
    ) -> [(mapping: VerifiedMapping, property: PropertyMapping, expression: ValueExpression)] {
        own(model).compactMap { mapping in
            guard mapping.isDeclarative, mapping.destination?.isKindOf(entity: relationship.entity) == true,
                let property = mapping.mapping.relationshipMapping(named: relationship.name)
            else { return nil }
            return property.valueExpression.map { (mapping, property, $0) }
        }
    }

    /// A lookup of the source object itself, or of the objects of one relationship of it.
    struct Step {
        /// The source's relationship; nil for the source object itself.
        let relationship: RelationshipDescription?
        /// The attribute that orders the members; nil: they keep the order of the relationship.
        var sorting: MemberSorting?
        /// The entity mappings that may answer the lookup, in order.
        let candidates: [VerifiedMapping]
    }

    /// Returns the lookup that an expression of a relationship mapping makes; nil if it does anything else.
    func step(of relationship: RelationshipDescription, _ expression: ValueExpression, _ mapping: VerifiedMapping)
        -> Step?
    {
        let path: SourcePath
        let answering: [VerifiedMapping]
        switch try? RelationshipExpression(expression) {
        case .constantNil: return Step(relationship: nil, candidates: [])
        case .lookup(let name, let argument): (path, answering) = (argument, named(name, model: mapping.model))
        case .lookupByRelationship(_, let argument):
            (path, answering) = (argument, self.answering(model: mapping.model))
        case nil: return nil
        }
        guard path.components.count <= 1, path.condition == nil else { return nil }
        var old: RelationshipDescription?
        var table = sourceTable(mapping)
        if let name = path.components.first {
            guard let found = mapping.source?.relationship(named: name) else { return nil }
            old = found
            table = source.schema.tableIndex(of: found.destination)
        }
        let candidates = answering.filter { candidate in
            candidate.isDeclarative && sourceTable(candidate) == table
                && candidate.destination?.isKindOf(entity: relationship.destination) == true
        }
        let sorting = mapping.mapping.relationshipMapping(named: relationship.name)?.sorting
        return Step(relationship: old, sorting: sorting, candidates: candidates)
    }

    /// The reason why the objects at an end of a pair cannot be worked out; nil if they can.
    func obstacle(of pair: LinkPair) -> String? {
        for end in [pair.near.entity, pair.near.destination] {
            let table = destination.schema.tableIndex(of: end)
            if let obstacle = obstacles[table] { return obstacle }
            if let making = mappings.first(where: { $0.forEach != nil && destinationTable($0) == table }) {
                return
                    "\(making.name) makes an object for each member, and more than its own lookups take part in these links"
            }
        }
        return nil
    }

    /// Returns `Entity/p<key>` of a destination object, by the mapping that makes it.
    func objectID(_ mapping: Int, _ key: Int64) -> String {
        "\(mappings[mapping].destination?.definition.name ?? "?")/p\(key)"
    }

    /// Returns `Entity/p<key>` of a destination row, by its Z_ENT.
    func objectID(table: Int, number: Int64?, key: Int64) -> (entity: String, id: String) {
        let model = destination.schema.model
        let number = number.flatMap { Int(exactly: $0) } ?? 0
        let entity = destination.entity(inTable: table, forFileNumber: number) ?? destination.schema.tables[table].root
        let name = model.entity(at: entity).definition.name
        return (name, "\(name)/p\(key)")
    }
}
