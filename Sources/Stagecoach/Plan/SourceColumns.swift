import CoreDataStore
import Diagnostics
import ManagedModel
import Mapping

/// The values that a mapping's programs read of a source row, each once. Key paths become slots of the source batch: columns
/// that are read, and values that are folded over to-many relationships.
///
/// Only a ``SourceReader`` or a ``SourceFolds`` fills all of them.
struct SourceColumns: KeyPathResolver {
    /// The row's entity, followed by the entities of the enclosing objects.
    let entities: [EntityDescription]
    let scope: [String]
    let schema: StoreSchema
    /// The columns, one slot each. `computed` columns are filled by folds or copied from the enclosing row.
    private(set) var columns: [SelectedColumn]
    /// The folds that fill computed slots, in the order of their dependencies.
    fileprivate(set) var folds: [FoldGroup] = []
    /// The slots that take a value of the enclosing object, each with its slot there.
    private(set) var copies: [SlotCopy] = []
    /// The slots of own columns that are only copied and not read. Their values may be huge.
    private(set) var streamed: Set<Int> = []
    private var slotByColumn: [SelectedColumn: Int] = [:]
    private var slotByFold: [FoldKey: (slot: Int, type: AttributeType)] = [:]
    private var slotByOuterPath: [OuterPath: (slot: Int, type: AttributeType)] = [:]
    /// The slots of the enclosing object while a fold over its collection is compiled: none or one.
    private var around: [SourceColumns] = []

    /// A value of the enclosing object for a slot of the member.
    struct SlotCopy {
        let from: Int
        let to: Int
    }

    private struct FoldKey: Hashable {
        let fold: CollectionFold
        let entity: EntityDescription
    }
    private struct OuterPath: Hashable {
        let path: [String]
        let level: Int
    }

    /// True if all slots have columns of the row itself.
    var areOwn: Bool {
        folds.isEmpty && columns.allSatisfy { if case .own = $0 { true } else { false } }
    }

    init(entity: EntityDescription, schema: StoreSchema, columns: [SelectedColumn] = []) {
        self.init(entities: [entity], scope: ["source"], schema: schema, columns: columns)
    }

    /// Creates the slots of all own columns of the entity's table, by column index. All are marked as only copied.
    init(allColumnsOf entity: EntityDescription, schema: StoreSchema) {
        let own = schema.tables[schema.tableIndex(of: entity)].columns.count
        self.init(entity: entity, schema: schema, columns: (0..<own).map { .own($0) })
        streamed = Set(0..<own)
    }

    private init(entities: [EntityDescription], scope: [String], schema: StoreSchema, columns: [SelectedColumn]) {
        self.entities = entities
        self.scope = scope
        self.schema = schema
        self.columns = columns
        for (slot, column) in columns.enumerated() { slotByColumn[column] = slot }
    }

    var entity: EntityDescription { entities[0] }

    /// Returns the same slots for key paths that begin at another entity of the table.
    func seen(from entity: EntityDescription) -> SourceColumns {
        var copy = SourceColumns(entity: entity, schema: schema, columns: columns)
        copy.folds = folds
        copy.streamed = streamed
        copy.slotByFold = slotByFold
        return copy
    }

    // MARK: - Columns

    /// Returns the slot of a column, which is added if it is missing.
    mutating func slot(for column: SelectedColumn) -> Int {
        if let known = slotByColumn[column] {
            // The caller may read the value, so it must not be huge.
            streamed.remove(known)
            return known
        }
        columns.append(column)
        slotByColumn[column] = columns.count - 1
        return columns.count - 1
    }

    /// Marks a slot as only copied, if nothing before its last request reads the value.
    ///
    /// - Parameters:
    ///   - known: the number of slots before the request.
    ///   - streamed: the slots that were only copied before the request.
    mutating func stream(_ slot: Int, known: Int, streamed before: Set<Int>) {
        guard case .own = columns[slot], slot >= known || before.contains(slot) else { return }
        streamed.insert(slot)
    }

    /// Returns the slot of a column reached by to-one steps.
    mutating func slot(steps: [ToOneStep], column: Int) -> Int {
        slot(for: steps.isEmpty ? .own(column) : .related(path: steps, column: column))
    }

    /// Returns a new slot that no column fills.
    private mutating func computedSlot() -> Int { slot(for: .computed(columns.count)) }

    // MARK: - Key paths

    mutating func slot(forKeyPath path: [String]) throws(MigrationError) -> (slot: Int, type: AttributeType) {
        var current = entity
        var steps: [ToOneStep] = []
        let path = entity.joiningElements(in: path)
        for (position, name) in path.enumerated() {
            if let attribute = current.attribute(named: name) {
                guard position == path.count - 1 else {
                    if attribute.attributeType.answers(to: path[position + 1]) {
                        throw MigrationError(
                            "expression.unsupported", .configuration,
                            "\(path[position + 1]) is a message to the value of \(current).\(name)")
                    }
                    throw unknown(path, "\(name) is an attribute of \(current), not a relationship")
                }
                guard let column = schema.column(of: attribute) else {
                    throw unknown(path, "The attribute \(name) of \(current) is transient and has no stored values")
                }
                return (slot(steps: steps, column: column), attribute.attributeType)
            }
            guard let relationship = current.relationship(named: name) else {
                if KnownObject.isObjectKey(name) {
                    throw MigrationError("expression.unsupported", .configuration, "\(name) is a key of objects")
                }
                if current.composite(named: name) != nil, position == path.count - 1 {
                    throw MigrationError(
                        "expression.unsupported", .configuration,
                        "\(current).\(name) is composite, a dictionary for objects only")
                }
                throw unknown(path, "The source entity \(current) has no property \(name)")
            }
            if relationship.isToMany {
                throw MigrationError(
                    "expression.unsupported", .configuration,
                    "\(name) of \(current) is to-many: its members are objects")
            }
            guard let step = toOneStep(relationship) else {
                throw unknown(path, "\(name) of \(current) is not a stored to-one relationship")
            }
            steps.append(step)
            current = relationship.destination
        }
        return (slot(for: .relatedKey(path: steps)), .objectID)
    }

    mutating func slot(
        forKeyPath path: [String], level: Int
    ) throws(MigrationError) -> (slot: Int, type: AttributeType) {
        guard level > 0 else { return try slot(forKeyPath: path) }
        let key = OuterPath(path: path, level: level)
        if let known = slotByOuterPath[key] { return known }
        guard !around.isEmpty else { throw unknown(path, "There is no object around the row's") }
        let outer = try around[0].slot(forKeyPath: path, level: level - 1)
        let own = (slot: copySlot(of: outer.slot), type: outer.type)
        slotByOuterPath[key] = own
        return own
    }

    private mutating func copySlot(of outer: Int) -> Int {
        let slot = computedSlot()
        copies.append(SlotCopy(from: outer, to: slot))
        return slot
    }

    private func toOneStep(_ relationship: RelationshipDescription) -> ToOneStep? {
        guard case .toOne(_, let column, _, _) = schema.storage(of: relationship) else { return nil }
        return ToOneStep(column: column, destinationTable: schema.tableIndex(of: relationship.destination))
    }

    /// Returns the attribute at the end of a key path over to-one relationships. Returns nil if there is none.
    func attribute(forKeyPath path: [String]) -> AttributeDescription? {
        var current = entity
        let path = entity.joiningElements(in: path)
        for name in path.dropLast() {
            guard let relationship = current.relationship(named: name) else { return nil }
            current = relationship.destination
        }
        return path.last.flatMap { current.attribute(named: $0) }
    }

    private func unknown(_ path: [String], _ message: String) -> MigrationError {
        MigrationError(
            "expression.unknownKeyPath", .configuration, message,
            context: .init(expression: (["$source"] + path).joined(separator: ".")))
    }

    // MARK: - Collections

    func collectionLength(of path: [String], level: Int) -> Int? {
        CollectionPath.length(of: path, from: entities[level])
    }

    func elementPaths(ofCompositeAt path: [String], level: Int) -> [[String]]? {
        entities[level].elementPaths(ofCompositeAt: path)
    }

    mutating func slot(
        for fold: CollectionFold, level: Int
    ) throws(MigrationError) -> (slot: Int, type: AttributeType) {
        guard level == 0 else {
            guard !around.isEmpty else { throw unknown(fold.path, "There is no object around the row's") }
            let outer = try around[0].slot(for: fold, level: level - 1)
            return (copySlot(of: outer.slot), outer.type)
        }
        let path = try CollectionPath(fold.path, from: entity)
        // The key uses the entity that declares the first relationship, so that mappings of several entities of a table share
        // it.
        let key = FoldKey(fold: fold, entity: (path.prefix.first ?? path.steps[0]).entity)
        // A fold that refers to enclosing objects may mean another object the next time.
        if scope.count == 1, let known = slotByFold[key] { return known }
        let found = try addFold(try fold.resolved(path), path, isDistinct: fold.countsDistinctValues(of: path))
        slotByFold[key] = found
        return found
    }

    private mutating func addFold(
        _ fold: CollectionFold, _ path: CollectionPath, isDistinct: Bool
    ) throws(MigrationError) -> (slot: Int, type: AttributeType) {
        var anchor: Int?
        if !path.prefix.isEmpty {
            let steps = path.prefix.compactMap(toOneStep)
            guard steps.count == path.prefix.count else { throw unknown(fold.path, "A relationship is not stored") }
            anchor = slot(for: .relatedKey(path: steps))
        }
        guard let members = memberPath(path.steps) else { throw unknown(fold.path, "A relationship is not stored") }
        let distinct = isDistinct ? path.attribute.flatMap(schema.column(of:)) : nil
        // The owner's key has the first slot.
        let known = folds.firstIndex {
            $0.anchorSlot == anchor && $0.path == members && $0.distinctColumn == distinct && $0.members.copies.isEmpty
        }
        var slots = SourceColumns(
            entities: [path.member] + entities, scope: [fold.variable] + scope, schema: schema, columns: [.computed(0)])
        if let known { slots.adopt(folds[known].members) }
        slots.around = [self]
        let program = try CollectionFoldProgram(compiling: fold, resolver: &slots)
        // Compiling the members' part may have added slots to this object.
        self = slots.around[0]
        slots.around = []
        let slot = computedSlot()
        let placed = FoldGroup.PlacedFold(program: program, slot: slot)
        if let known, slots.copies.isEmpty {
            folds[known].members = slots
            folds[known].folds.append(placed)
        } else {
            folds.append(
                FoldGroup(
                    anchorSlot: anchor, path: members, distinctColumn: distinct,
                    distinctsFloats: path.attribute?.attributeType == .float, members: slots, folds: [placed]))
        }
        return (slot, program.type)
    }

    /// Adds the members' places in their ordered relationship to the values that the last fold reads.
    ///
    /// - Returns: the members' slot; nil if the relationship has no places.
    mutating func addPlace(in relationship: RelationshipDescription) -> Int? {
        guard relationship.isOrdered, var group = folds.popLast() else { return nil }
        defer { folds.append(group) }
        switch schema.storage(of: relationship) {
        case .toManyByInverse(_, _, _, let order?), .toManyHidden(_, _, let order?):
            return group.members.slot(for: .own(order))
        case .join:
            let slot = group.members.computedSlot()
            group.placeSlot = slot
            return slot
        default: return nil
        }
    }

    /// Adopts the slots of an earlier fold over the same members.
    private mutating func adopt(_ other: SourceColumns) {
        columns = other.columns
        slotByColumn = other.slotByColumn
        folds = other.folds
    }

    /// Returns the path to the members as columns. Returns nil if a relationship is not stored.
    func memberPath(_ relationships: [RelationshipDescription]) -> MemberPath? {
        var steps: [MemberPath.Step] = []
        for relationship in relationships {
            let target = schema.tableIndex(of: relationship.destination)
            switch schema.storage(of: relationship) {
            case .toOne(_, let column, _, _): steps.append(.toOne(column: column, table: target))
            case .toManyByInverse(let table, let column, _, _), .toManyHidden(let table, let column, _):
                steps.append(.owned(table: table, column: column))
            case .join(let table, let side): steps.append(.joined(joinTable: table, ownerSide: side, table: target))
            case .none: return nil
            }
        }
        return steps.isEmpty ? nil : MemberPath(steps: steps)
    }
}

/// The folds over one collection. Its members are read once for all of them.
struct FoldGroup {
    /// A compiled fold and the owner's slot that receives its value.
    struct PlacedFold {
        let program: CollectionFoldProgram
        let slot: Int
    }

    /// The slot with the key of the object that has the collection; nil for the row's own key.
    let anchorSlot: Int?
    let path: MemberPath
    /// The members' column whose equal values count once; nil if every member counts.
    let distinctColumn: Int?
    /// True if that column belongs to a Float attribute.
    let distinctsFloats: Bool
    /// The slots that are read of a member. Slot 0 receives the owner's key.
    var members: SourceColumns
    var folds: [PlacedFold]
    /// The members' slot that receives their place in the join table; nil if the place is not needed.
    var placeSlot: Int?

    var selection: MemberSelection {
        var selection = MemberSelection(
            path: path, columns: members.columns, ownerSlot: 0, distinctColumn: distinctColumn)
        selection.distinctsFloats = distinctsFloats
        selection.placeSlot = placeSlot
        return selection
    }
}
