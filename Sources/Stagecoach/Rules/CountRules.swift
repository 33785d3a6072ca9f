import CoreDataStore
import ManagedModel

/// Checks the model's rules for numbers of related objects and for required to-many relationships, on the private store
/// once its indexes are built.
struct CountRules {
    let run: MigrationRun
    let keysBefore: KeysBefore
    let validation: Validation
    /// The existing rows that the mapping model changed; nil if it cannot change any.
    let touched: TouchedRows?
    let mappings: [PlannedMapping]
    /// True if rules that the source model has too give only warnings.
    let isExcused: Bool

    /// Checks every to-many relationship that has a bound, entity by entity, because the members of a subentity may
    /// have another origin than those of the entity that declares the relationship, which may be new.
    ///
    /// - Throws: `validation.tooFew`, `validation.tooMany` (65) if the first broken rule ends the run.
    /// - Complexity: one index probe for each owner of a bounded relationship.
    func check(_ destination: DestinationStore) throws {
        for entity in run.inputs.destinationSchema.model.entities where !entity.isAbstract {
            for relationship in entity.relationships where relationship.isToMany && !relationship.isTransient {
                let bounds = CountBounds(relationship)
                guard !bounds.isEmpty else { continue }
                try check(relationship, of: entity, bounds, origin(of: relationship, in: entity), in: destination)
            }
        }
    }

    /// Returns the relationship of the source entity all of whose members a destination relationship has; nil if its members
    /// are others.
    private func origin(
        of relationship: RelationshipDescription, in entity: EntityDescription
    ) -> RelationshipDescription? {
        for mapping in mappings
        where mapping.destination == entity && mapping.source != nil && !mapping.belongsToPreviousModel {
            guard let planned = mapping.relationship(named: relationship.name) else { continue }
            guard planned.keepsMembers, case .lookup(let argument, _)? = planned.value else { return nil }
            return argument.singleRelationship
        }
        return nil
    }

    private func check(
        _ relationship: RelationshipDescription, of owner: EntityDescription, _ bounds: CountBounds,
        _ origin: RelationshipDescription?, in destination: DestinationStore
    ) throws {
        let schema = run.inputs.destinationSchema
        let ownerTable = SQLName.quoted(schema.tables[schema.tableIndex(of: owner)].name)
        guard let members = MemberTable(relationship, in: schema) else { return }
        let counted = "SELECT count(*) FROM \(members.links) AS m WHERE m.\(members.owner) = o.Z_PK"
        let statement = try destination.connection.prepare(
            """
            SELECT o.Z_PK, (\(counted)) AS n FROM \(ownerTable) AS o
            WHERE o.Z_ENT = \(schema.number(of: owner)) AND \(isOfModel(schema.tableIndex(of: owner)))
            AND (n < \(bounds.least) OR n > \(bounds.most) OR (n > 0 AND n < \(bounds.leastWhenAny)))
            """)
        var errors = BrokenRuleErrors()
        while try statement.step() {
            try run.services.checkCancelled()
            let count = Int(statement.integer(1))
            guard let rule = bounds.broken(by: count) else { continue }
            let isOfSource = Self.isOfSource(count, bounds, relationship, origin)
            let broken = BrokenRule(
                table: schema.tableIndex(of: owner), key: statement.integer(0), entity: owner.index,
                entityName: owner.definition.name, property: relationship.name, rule: rule,
                value: count == 0 ? nil : String(count), bound: bounds.text, isRelationship: true,
                isOfSource: isOfSource)
            if isExcused, isOfSource {
                run.tally.counts.warnings[broken.label, default: 0] += 1
                validation.count(broken, isWarning: true)
            } else {
                try errors.keep { try validation.noteOfAny(broken) }
            }
        }
        try errors.end()
    }

    /// Tells whether a number of objects breaks a bound that the origin has too.
    static func isOfSource(
        _ count: Int, _ bounds: CountBounds, _ new: RelationshipDescription, _ origin: RelationshipDescription?
    ) -> Bool {
        guard let origin else { return false }
        if count == 0 { return CountBounds(origin).least > 0 }
        if count <= bounds.most { return origin.minCount >= new.minCount }
        return origin.maxCount > 0 && origin.maxCount <= new.maxCount
    }

    /// Returns an SQL condition for the rows that the mapping model at work made or changed.
    private func isOfModel(_ table: Int) -> String {
        guard keysBefore.hasRows[table] else { return "1" }
        let touched = touched?.condition(table: table, key: "o.Z_PK") ?? "0"
        return "(o.Z_PK > \(keysBefore.highestKeys[table]) OR \(touched))"
    }
}

/// The bounds for the number of objects in a to-many relationship.
struct CountBounds {
    /// The lowest number allowed; 0 if the relationship may be empty.
    let least: Int
    /// The lowest number allowed if there is any object.
    let leastWhenAny: Int
    let most: Int

    /// Reads the bounds of a relationship. A required to-many without a minimum may be empty: stores written by Core
    /// Data hold such objects (wire's store2-53-0, whose cached model says required and NSMinCount 0, twelve times).
    init(_ relationship: RelationshipDescription) {
        leastWhenAny = relationship.isToMany ? relationship.minCount : 1
        least = relationship.isOptional ? 0 : leastWhenAny
        most = relationship.maxCount > 1 ? relationship.maxCount : Int.max
    }

    /// Returns the rule that a number of objects breaks; nil if the model allows the number.
    func broken(by count: Int) -> ValidationRule? {
        if count == 0 { return least > 0 ? .required : nil }
        return count > most ? .maximumCount : count < leastWhenAny ? .minimumCount : nil
    }

    var isEmpty: Bool { least == 0 && leastWhenAny <= 1 && most == Int.max }

    /// The allowed numbers: `1 to any number`, or `none, or 2 to 4` for an optional relationship with a minimum.
    var text: String {
        guard leastWhenAny <= most else { return "at least \(leastWhenAny) and at most \(most), which no number is" }
        let isNone = least == 0 && leastWhenAny > 1
        return (isNone ? "none, or \(leastWhenAny)" : String(least)) + " to "
            + (most == Int.max ? "any number" : String(most))
    }
}
