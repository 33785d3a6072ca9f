import CoreDataStore
import Diagnostics
import Foundation
import ManagedModel
import Mapping
import Rows

/// The explanation of one object by one entity mapping: filter, properties, rules, destination object.
final class MappingExplanation {
    private let mapping: PlannedMapping
    private let object: EvaluatedSource
    private let plan: ExplainedPlan
    private let reader: ObjectReader
    private let policies: PolicyRegistry
    private let lookups: ExplainedLookups
    private var result: ObjectExplanation.Mapping
    /// The destination row as far as it is known; its slots are the columns of the table.
    private var row: RowBatch
    /// The attributes that are copied unchanged, by destination column. Their broken rules may be excused.
    private var copied: [Int: AttributeDescription] = [:]
    /// True if the objects that relationships find are explained too, to see which are rejected.
    private let followsReferences: Bool
    /// True if a rule that looks at other objects may leave the object out.
    private var isOpen = false
    /// The object with the values that it takes from those merged into it; nil if it takes none.
    private var filled: FilledSource?

    /// True if a broken rule is only a warning where the source model has the same rule. The mapping model says so, and validation
    /// is not strict.
    private var excuses: Bool { mapping.followsSource && !plan.options.strictValidation }

    init(
        _ mapping: PlannedMapping, of object: EvaluatedSource, in plan: ExplainedPlan, _ reader: ObjectReader,
        policies: PolicyRegistry, followsReferences: Bool = true
    ) {
        self.followsReferences = followsReferences
        self.mapping = mapping
        self.object = object
        self.plan = plan
        self.reader = reader
        self.policies = policies
        lookups = ExplainedLookups(plan, mapping)
        result = .init(
            name: mapping.name, destinationEntity: mapping.destination?.definition.name, outcome: .migrated,
            outcomeByItself: .migrated)
        let columns = mapping.destinationTable.map { plan.destination.tables[$0].columns.count } ?? 0
        row = RowBatch(slots: columns, rowCapacity: 1, byteTarget: 4096)
        row.appendRow(key: object.key)
        for column in 0..<columns { row[0, column] = .null }
    }

    func work() throws -> ObjectExplanation.Mapping {
        try explain()
        result.outcomeByItself = result.outcome
        if result.outcome == .migrated, isOpen { result.outcome = .undecided }
        return result
    }

    private func explain() throws {
        if let matching = mapping.matching {
            result.outcome = .undecided
            result.stages.append(matches(matching))
        } else if mapping.grouping == nil, mapping.forEach == nil, mapping.hasPolicy {
            notePolicy()
        }
        if let filter = mapping.filter {
            let answer = self.answer(of: filter)
            result.filter = answer
            if answer.problem == nil, answer.answer != true {
                result.outcome = .filtered
                return
            }
            if answer.problem != nil { result.outcome = .undecided }
        }
        guard let entity = mapping.destination else {
            if !mapping.hasPolicy { result.outcome = .removed }
            return
        }
        if let grouping = mapping.grouping, try !makesObject(grouping) { return }
        if let forEach = mapping.forEach, try !enterFirstMember(of: forEach) { return }
        row[0, EntityTable.entityColumn] = .integer(Int64(plan.destination.number(of: entity)))
        row[0, EntityTable.lockColumn] = .integer(1)
        result.attributes = try mapping.attributes.map(explain)
        result.relationships = try mapping.relationships.map(explain)
        try checkRules(entity)
        noteKey(entity)
    }

    /// Explains with which source objects this one shares a destination object. Returns false if another one makes it.
    private func makesObject(_ grouping: ObjectGrouping) throws -> Bool {
        let sharing: ObjectExplanation.Sharing
        do {
            sharing = try ExplainedGroup(
                mapping, grouping, of: object, reader, variables: lookups.variables(object)
            ).find(filling: filledPaths)
        } catch {
            result.outcome = .undecided
            result.stages.append("\(grouping.keyName): \(VerificationObstacle.reason(of: error))")
            return true
        }
        result.sharing = sharing
        guard let kept = sharing.keptKey, kept != object.key else {
            if sharing.kept == nil { result.outcome = .filtered }
            let others = Set(sharing.filled.map(\.key)).sorted().map { key in
                let other = object.another
                other.key = key
                return other
            }
            if !others.isEmpty { filled = FilledSource([object] + others) }
            return sharing.kept != nil
        }
        result.outcome = .shared
        if let entity = mapping.destination, plan.keepsKeys(mapping) { result.destination = "\(entity)/p\(kept)" }
        return false
    }

    /// The key paths over to-one relationships that the expressions of attributes and to-one relationships read, each with the
    /// property.
    private var filledPaths: [(property: String, path: ValueExpression)] {
        guard mapping.fillsNil, let source = mapping.source else { return [] }
        let expressions =
            mapping.attributes.map { ($0.attribute.name, $0.expression) }
            + mapping.relationships.filter { !$0.relationship.isToMany }.map { planned in
                (planned.name, mapping.mapping.relationshipMapping(named: planned.name)?.valueExpression)
            }
        return expressions.flatMap { name, expression -> [(property: String, path: ValueExpression)] in
            var seen: Set<[String]> = []
            return (expression?.syntax.descendants.compactMap(\.sourcePath) ?? []).filter { path in
                source.isToOne(path) && seen.insert(path).inserted
            }.map { path in
                (name, ValueExpression(node: .keyPath(target: .variable("source"), components: path)))
            }
        }
    }

    private func answer(of filter: SourcePredicate) -> ObjectExplanation.Filter {
        let variables = lookups.variables(object)
        let parts = ExpressionTrace(object, variables: variables, isFilter: true).parts(of: filter.syntax)
        var (answer, problem): (Bool?, String?)
        do { answer = try filter.filterTruth(of: object, variables: variables) } catch {
            problem = VerificationObstacle.reason(of: error)
        }
        return .init(predicate: filter.format, answer: answer, parts: parts, problem: problem)
    }

    /// Says how many objects the members of a collection make. What follows is about the object of the first one.
    ///
    /// - Returns: false if there are no members, and so no object.
    private func enterFirstMember(of forEach: ValueExpression) throws -> Bool {
        let members: [Any?]
        do {
            members = try ExpressionEvaluation(
                of: forEach, with: object, variables: lookups.variables(object)
            ).members()
        } catch {
            result.outcome = .undecided
            result.forEach = "The members of \(forEach.format) are not known: \(VerificationObstacle.reason(of: error))"
            return false
        }
        guard let first = members.first else {
            // No filter, but as little an object.
            result.outcome = .filtered
            result.forEach = "\(forEach.format) has no members, so no object is made"
            return false
        }
        lookups.member = .some(first)
        let name = (first as? EvaluatedSource)?.objectName ?? first.map { "'\($0)'" } ?? "nil"
        result.forEach =
            members.count == 1
            ? "\(forEach.format) has one member, \(name), which makes this object"
            : "\(forEach.format) has \(members.count.grouped) members, and each makes an object: this is that of the first, \(name)"
        return true
    }

    private func notePolicy() {
        result.outcome = .undecided
        guard mapping.mapping.hasPolicy else {
            result.stages.append(
                "A source expression gives the source objects: whether this is one of them, only a run tells")
            return
        }
        let name = mapping.mapping.entityMigrationPolicyClassName ?? ""
        let policy = policies.makePolicy(named: name)
        result.policy = .init(name: name, methods: policy.map { OverriddenMethods.names(of: type(of: $0)) })
    }

    /// Returns the keys of the row that the object becomes, if the destination has one.
    private func matches(_ matching: ObjectMatching) -> String {
        let values = matching.keys.map { key in
            let expression = mapping.expressions[key.name]
            let value = (try? expression?.evaluate(with: object, variables: lookups.variables(object))) ?? nil
            return "\(key.name) is \(value.map { "'\($0)'" } ?? "nil, which matches nothing")"
        }
        return
            "\(ObjectMatching.keyName): it becomes the row of the destination with these keys, which stays as it is; "
            + "if there is none, it makes an object: " + values.joined(separator: ", ")
    }

    // MARK: - Attributes

    private func explain(_ planned: PlannedAttribute) throws -> ObjectExplanation.Property {
        let attribute = planned.attribute
        var property = ObjectExplanation.Property(name: attribute.name, expression: planned.expression?.format)
        if let entity = mapping.destination, plan.isDerived(attribute, of: entity) {
            let derivation = attribute.definition.derivationExpression ?? ""
            property.notes.append("Derived when the table is complete: \(derivation)")
            return property
        }
        guard let expression = planned.expression else {
            planned.defaultValue?.store(in: &row, row: 0, slot: planned.column)
            property.value = try value(planned)
            property.notes.append(
                planned.defaultValue == nil ? "There is no expression" : "There is no expression: the model's default")
            return property
        }
        if let source = try copy(planned, expression) {
            property.value = source
        } else {
            let own = mapping.mapping.attributeMapping(named: attribute.name)
            let variables = lookups.variables(object, own, filled)
            property.parts = ExpressionTrace(filled ?? object, variables: variables).parts(of: expression.syntax)
            do {
                if let refusal = planned.refusal { throw refusal }
                try store(expression.evaluate(with: filled ?? object, variables: variables, asStored: true), planned)
                property.value = try value(planned)
            } catch {
                property.problem = VerificationObstacle.reason(of: error)
                noteFailure(error, of: attribute)
            }
        }
        if property.problem == nil, planned.replacesNil, row[0, planned.column].isNull,
            let initial = planned.defaultValue
        {
            initial.store(in: &row, row: 0, slot: planned.column)
            property.value = try value(planned)
            property.notes.append("nil, and so the model's default")
        }
        return property
    }

    /// Copies the cell of a source attribute that the destination stores alike, and returns its value; nil for any other
    /// expression. A large value is not read for it.
    private func copy(_ planned: PlannedAttribute, _ expression: ValueExpression) throws -> ShownValue? {
        guard planned.refusal == nil, let path = expression.node.withoutBytesCast.sourceKeyPath,
            let entity = mapping.source, let name = entity.joiningElements(in: path).first,
            entity.joiningElements(in: path).count == 1, let old = entity.attribute(named: name),
            let from = plan.source.schema.column(of: old)
        else { return nil }
        let new = planned.attribute
        let isSame =
            new.attributeType.holdsEveryValue(of: old.attributeType)
            && expression.node.withoutBytesCast == expression.node
        guard isSame || old.attributeType.isBytes && new.attributeType.isBytes,
            old.definition.allowsExternalBinaryDataStorage == new.definition.allowsExternalBinaryDataStorage
        else { return nil }
        let stored = try reader.row(object.entity, object.key)
        if filled != nil, stored.row.batch[0, from].kind == .null { return nil }
        row.copy(stored.row.batch[0, from], from: stored.row.batch, row: 0, slot: planned.column)
        copied[planned.column] = old
        return try stored.value(of: new, column: from)
    }

    private func store(_ value: Any?, _ planned: PlannedAttribute) throws(MigrationError) {
        try ValueBridge.store(
            try TransformableBridge.columnValue(value, planned.attribute, transforms: plan.options.transformsValues),
            type: planned.attribute.attributeType,
            isExternal: planned.attribute.definition.allowsExternalBinaryDataStorage, in: &row, row: 0,
            slot: planned.column)
    }

    /// The value of an attribute in the destination row.
    private func value(_ planned: PlannedAttribute) throws(MigrationError) -> ShownValue {
        let attribute = planned.attribute
        let value = try ValueBridge.object(
            row[0, planned.column], in: row, type: attribute.attributeType,
            isExternal: attribute.definition.allowsExternalBinaryDataStorage)
        guard plan.options.transformsValues, attribute.attributeType == .transformable, let bytes = value as? Data
        else { return ShownValue(value) }
        return ShownValue(TransformableBridge.value(bytes, attribute))
    }

    /// Notes that a value cannot be computed. An error of the value itself rejects the object, as in a run; what else keeps the
    /// explanation from computing it leaves the outcome open.
    private func noteFailure(_ error: any Error, of attribute: AttributeDescription) {
        guard let error = error as? MigrationError, error.category == .data, error.code.rawValue.hasPrefix("value."),
            !mapping.hasPolicy
        else {
            if result.outcome == .migrated { result.outcome = .undecided }
            return
        }
        result.broken.append(
            .init(property: attribute.name, rule: .value, message: error.message, isWarning: false))
    }

    // MARK: - Relationships

    private func explain(_ planned: PlannedRelationship) throws -> ObjectExplanation.Property {
        let relationship = planned.relationship
        let own = mapping.mapping.relationshipMapping(named: planned.name)
        var property = ObjectExplanation.Property(name: planned.name, expression: own?.valueExpression?.format)
        if let stage = plan.stage(of: planned, in: mapping) { property.notes.append(stage) }
        guard let expression = own?.valueExpression else {
            property.notes.append("There is no expression")
            if property.notes.count == 1 { property.value = relationship.isToMany ? .objects([], count: 0) : .null }
            noteMissing(planned, isKnown: property.notes.count == 1)
            return property
        }
        // To-many relationships have the members of all; these are the object's own.
        let filled = relationship.isToMany ? nil : filled
        let variables = lookups.variables(object, own, filled)
        property.parts = ExpressionTrace(filled ?? object, variables: variables).parts(of: expression.syntax)
        if relationship.isToMany, mapping.merges, let sharing = result.sharing, sharing.members > 1 {
            property.notes.append("The members of the source objects that are merged into this one come to these")
        }
        lookups.begin()
        do {
            if let refusal = planned.refusal { throw refusal }
            let items = ValueBridge.items(of: try expression.evaluate(with: filled ?? object, variables: variables))
            let fitting = items.compactMap { $0 as? FoundObject }.filter {
                $0.mapping.destination?.isKindOf(entity: relationship.destination) ?? false
            }
            let sorted = own?.sorting.map { fitting.sorted(by: $0) } ?? fitting
            let found = try withoutRejected(sorted, of: relationship, &property)
            property.value =
                relationship.isToMany
                ? .objects(found.prefix(ObjectReader.members).map(\.name), count: found.count)
                : found.first.map { .object($0.name) } ?? .null
            if !relationship.isToMany, found.count > 1 {
                property.notes.append("The first of \(found.count.counted("object")) is taken")
            }
            noteMissing(planned, found.count, isKnown: property.notes.isEmpty && !lookups.isCut)
        } catch {
            if let counted = try counted(expression, planned, &property) {
                property.value = counted
            } else {
                property.problem = VerificationObstacle.reason(of: error)
                if result.outcome == .migrated { result.outcome = .undecided }
            }
        }
        (property.lookups, property.lookupCount) = (lookups.noted, lookups.count)
        if let sorting = own?.sorting {
            property.notes.append("Ordered by \(sorting.keyPath) of the source objects, nil first")
        }
        if lookups.isCut {
            property.notes.append("Only the first \(ExplainedLookups.most.grouped) objects of a lookup were looked up")
        }
        return property
    }

    /// Returns the objects that a lookup finds for the members of one relationship, if these are too many to be read: the first
    /// ones, and the number of all members. Nil for any other expression.
    private func counted(
        _ expression: ValueExpression, _ planned: PlannedRelationship, _ property: inout ObjectExplanation.Property
    ) throws -> ShownValue? {
        guard planned.refusal == nil, planned.relationship.isToMany,
            case .function(.variable("manager"), let selector, let arguments) = expression.node, arguments.count == 2,
            case .constant(.string(let name)) = arguments[0], let path = arguments[1].sourceKeyPath, path.count == 1,
            let own = mapping.source?.relationship(named: path[0]), own.isToMany,
            let count = try reader.store.memberCount(of: own, owner: object.key, in: reader.layout),
            count > VerifiedObjects.mostMembers
        else { return nil }
        let cursor = try reader.store.members(
            of: own, owners: object.key...object.key, limit: ObjectReader.members, in: reader.layout)
        let table = reader.layout.schema.tableIndex(of: own.destination)
        var members: [EvaluatedSource] = []
        while let member = try cursor?.next() {
            if let found = try reader.objects.object(table: table, key: member.key) { members.append(found) }
        }
        lookups.begin()
        let found = try lookups.call(selector: selector, arguments: [name, members]) as? [Any] ?? []
        property.notes.append(
            "$source.\(own.name) has \(count.counted("object")): they are counted, and the first \(members.count) looked up"
        )
        noteMissing(planned, count, isKnown: false)
        return .objects(found.compactMap { ($0 as? FoundObject)?.name }, count: count)
    }

    /// Returns the objects of a relationship without those that are certainly rejected. Says of others which rule may reject them.
    private func withoutRejected(
        _ found: [FoundObject], of relationship: RelationshipDescription, _ property: inout ObjectExplanation.Property
    ) throws -> [FoundObject] {
        guard plan.options.onInvalid == .reject, let first = found.first else { return found }
        guard followsReferences else {
            noteReject(relationship, first)
            return found
        }
        var kept: [FoundObject] = []
        for object in found.prefix(ObjectReader.members) {
            let explained = try MappingExplanation(
                object.mapping, of: object.source, in: plan, reader, policies: policies, followsReferences: false
            ).work()
            if explained.outcome == .rejected, let broken = explained.broken.first(where: { !$0.isWarning }) {
                lookups.note(rejected: object, "it is rejected (\(broken.property): \(broken.rule.label))")
                continue
            }
            kept.append(object)
            guard explained.outcome == .undecided, explained.outcomeByItself == .migrated,
                let stage = explained.stages.first
            else { continue }
            property.notes.append("\(object.name) may be rejected, and then it is missing here: \(stage)")
            noteReject(relationship, object)
        }
        if found.count > ObjectReader.members {
            property.notes.append(
                "Only of the first \(ObjectReader.members) objects it was seen whether they are rejected")
            noteReject(relationship, first)
        }
        return kept + found.dropFirst(ObjectReader.members)
    }

    /// Notes that the object is rejected too if objects that a relationship must have are.
    private func noteReject(_ relationship: RelationshipDescription, _ object: FoundObject) {
        guard !relationship.isOptional else { return }
        let stage =
            relationship.isToMany
            ? "\(relationship.name) must have objects: rejected ones do not count"
            : "\(relationship.name) must have an object: if \(object.name) is rejected, so is this one"
        if !result.stages.contains(stage) { result.stages.append(stage) }
        isOpen = true
    }

    /// Checks the rules for the number of objects.
    ///
    /// - Parameter isKnown: true if no other object takes part in the decision.
    private func noteMissing(_ planned: PlannedRelationship, _ count: Int = 0, isKnown: Bool) {
        let relationship = planned.relationship
        if case .toOne(_, let column, _, _) = planned.storage {
            // The rules see a value or none. Where another side decides, this one cannot be told to break the rule.
            if count > 0 || !isKnown { row[0, column] = .integer(0) }
            return
        }
        let bounds = CountBounds(relationship)
        guard !bounds.isEmpty else { return }
        guard isKnown, !plan.hasPolicies(beside: mapping) else {
            result.stages.append("\(relationship.name) takes \(bounds.text) objects: counted when its links are known")
            isOpen = true
            return
        }
        guard let rule = bounds.broken(by: count) else { return }
        var origin: RelationshipDescription?
        if planned.keepsMembers, case .lookup(let argument, _)? = planned.value { origin = argument.singleRelationship }
        result.broken.append(
            .init(
                property: relationship.name, rule: rule,
                message: "The relationship has \(count.counted("object")), and the model allows \(bounds.text)",
                isWarning: excuses && CountRules.isOfSource(count, bounds, relationship, origin)))
    }

    // MARK: - Rules and key

    private func checkRules(_ entity: EntityDescription) throws {
        let rules = try RowRules(
            entity: entity, schema: plan.destination, mapping: mapping, copied: copied, excuses: excuses)
        let failed = Set(result.attributes.filter { $0.value == nil }.map(\.name))
        try rules.check(row, row: 0) { broken, isWarning in
            guard !failed.contains(broken.property) else { return }
            result.broken.append(
                .init(
                    property: broken.property, rule: broken.rule, message: broken.error(nil).message,
                    isWarning: isWarning))
        }
        for constraint in entity.allUniquenessConstraints {
            result.stages.append(
                "\(constraint.attributes.joined(separator: ", ")) must be unique: compared with all objects of \(constraint.entity)"
            )
            isOpen = true
        }
        guard result.outcome == .migrated, result.broken.contains(where: { !$0.isWarning }) else { return }
        result.outcome = plan.options.onInvalid == .reject ? .rejected : .invalid
    }

    private func noteKey(_ entity: EntityDescription) {
        if plan.keepsKeys(mapping) {
            result.destination = "\(entity)/p\(object.key)"
        } else {
            result.stages.append(
                "The key is a number in order, given in a pass over all source objects"
                    + (plan.keysReason(mapping).map { ": \($0)" } ?? ""))
        }
        if plan.hasPolicies(beside: mapping), !mapping.hasPolicy {
            result.stages.append("The mapping model has policies, which may change the object after it is made")
        }
    }
}

extension SyntaxNode {
    /// The components of a key path from `$source`; nil for any other node.
    fileprivate var sourcePath: [String]? {
        guard case .expression(.keyPath(.variable("source"), let path)) = self else { return nil }
        return path
    }
}

extension EntityDescription {
    /// Tells whether a key path leads over to-one relationships only.
    fileprivate func isToOne(_ path: [String]) -> Bool {
        var entity = self
        for name in joiningElements(in: path) {
            guard let relationship = entity.relationship(named: name) else { return !name.hasPrefix("@") }
            if relationship.isToMany { return false }
            entity = relationship.destination
        }
        return true
    }
}

extension [FoundObject] {
    /// Returns the objects in the order of an attribute of their source objects.
    fileprivate func sorted(by sorting: MemberSorting) -> [FoundObject] {
        let order = KeySortDescriptor(key: sorting.keyPath, ascending: true)
        return sorted { left, right in
            let result = order.compare(left.source, to: right.source)
            return result == .orderedSame ? left.source.key < right.source.key : result == .orderedAscending
        }
    }
}
