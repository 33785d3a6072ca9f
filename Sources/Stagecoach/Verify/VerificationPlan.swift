import Diagnostics
import ManagedModel
import Mapping
import PersistentStore

/// Which destination table is filled by what, and with which keys: worked out from the models and the mapping models
/// by the documented rules, not taken from the planner.
final class VerificationPlan {
    let mappings: [VerifiedMapping]
    let source: StoreLayout
    let destination: StoreLayout
    let turns: Int
    let options: MigrationOptions

    /// Why a destination table's objects cannot be worked out; nil where they can.
    var obstacles: [String?]
    /// The highest key given in each destination table, before the turn at work and after the last.
    var highest: [Int64]
    /// The highest key that stood before, where the store was appended to.
    var base: [Int64]
    /// Whether a destination table has rows from before the turn at work.
    var hasRows: [Bool]
    /// Destination tables whose numbers a policy may have shifted.
    var isUncertain: [Bool]
    /// Destination tables all of whose keys are kept.
    var isKept: [Bool]

    init(
        mappings: [VerifiedMapping], turns: Int, source: StoreLayout, destination: StoreLayout,
        options: MigrationOptions
    ) {
        self.mappings = mappings
        self.turns = turns
        self.source = source
        self.destination = destination
        self.options = options
        let tables = destination.schema.tables.count
        obstacles = Array(repeating: nil, count: tables)
        highest = Array(repeating: 0, count: tables)
        base = highest
        hasRows = Array(repeating: false, count: tables)
        isUncertain = hasRows
        isKept = hasRows
    }

    func begin(base: [Int64], hasRows: [Bool]) {
        self.base = base
        highest = base
        self.hasRows = hasRows
        obstacles = obstacles.map { _ in nil }
        isUncertain = isUncertain.map { _ in false }
        isKept = isKept.map { _ in false }
    }

    /// Which derived attributes are no copies.
    private(set) lazy var derived = DerivedSelection(
        anew: DerivedColumns.anew(
            (0..<max(1, turns)).map { turn in
                let model = MappingModel()
                model.entityMappings = own(turn).map(\.mapping)
                return model
            }, source: source.schema.model, destination: destination.schema.model))

    /// The pairs of the destination's relationships.
    private(set) lazy var linkPairs = LinkPair.all(
        in: destination.schema.model, schema: destination.schema, keepsColumns: keepsColumns)

    /// Whether both columns of a one-to-one relationship are copied as they stand in every turn; nil where in some only.
    func keepsColumns(_ relationship: RelationshipDescription) -> Bool? {
        guard let inverse = relationship.inverseRelationship else { return false }
        var answers: Set<Bool> = []
        for turn in 0..<turns {
            let own = own(turn).filter { mapping in
                [relationship, inverse].contains { mapping.destination?.isKindOf(entity: $0.entity) ?? false }
            }
            guard !own.isEmpty else { continue }
            let (near, far) = (original(of: relationship, own), original(of: inverse, own))
            answers.insert(
                own.allSatisfy { $0.excuses && $0.obstacle == nil } && near != nil && far != nil
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

    /// Whether a derived attribute is computed from the destination's own rows and not copied.
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

    /// The mappings of a turn.
    func own(_ turn: Int) -> [VerifiedMapping] { mappings.filter { $0.turn == turn } }

    /// Whether a policy, or objects that an expression gives, take part in a turn.
    func hasPolicies(_ turn: Int) -> Bool { own(turn).contains { $0.obstacle != nil } }

    /// What a lookup by the name of an entity mapping reaches: at most one.
    func named(_ name: String, turn: Int) -> [VerifiedMapping] {
        if let own = own(turn).first(where: { $0.name == name }) { return [own] }
        return mappings.last { $0.turn < turn && $0.name == name }.map { [$0] } ?? []
    }

    /// What a lookup by the name of a relationship reaches, in mapping order: of equal names the latest.
    func answering(turn: Int) -> [VerifiedMapping] {
        let own = own(turn)
        var names = Set(own.map(\.name))
        let earlier = mappings.filter { $0.turn < turn }.reversed().filter { names.insert($0.name).inserted }
        return earlier.reversed() + own
    }

    /// Whether the rows of a table keep their keys in a turn.
    func keepsKeys(table: Int, turn: Int) -> Bool {
        let into = own(turn).filter { destinationTable($0) == table }
        guard !hasRows[table], choice(table: table, turn: turn) != .sequential,
            !into.contains(where: { $0.obstacle != nil })
        else { return false }
        let read = into.compactMap(\.source)
        return !read.isEmpty && Set(read.map { source.schema.tableIndex(of: $0) }).count == 1
            && Set(read.map(\.index)).count == read.count
    }

    private func choice(table: Int, turn: Int) -> KeyChoice {
        guard options.keys == .auto, let plan = options.plan, plan.models.indices.contains(turn) else {
            return options.keys
        }
        let schema = destination.schema
        let root = schema.model.entity(at: schema.tables[table].root).definition.name
        let saved = plan.models[turn].tables.first { $0.rootEntity == root }
        return saved?.keys == .sequential ? .sequential : .auto
    }

    /// `Entity/p<key>` of a destination object by the mapping that makes it.
    func objectID(_ mapping: Int, _ key: Int64) -> String {
        "\(mappings[mapping].destination?.definition.name ?? "?")/p\(key)"
    }

    /// `Entity/p<key>` of a destination row by its Z_ENT.
    func objectID(table: Int, number: Int64?, key: Int64) -> (entity: String, id: String) {
        let model = destination.schema.model
        let number = number.flatMap { Int(exactly: $0) } ?? 0
        let entity =
            destination.entity(inTable: table, forFileNumber: number) ?? destination.schema.tables[table].root
        let name = model.entity(at: entity).definition.name
        return (name, "\(name)/p\(key)")
    }
}
