import Diagnostics
import ManagedModel
import Mapping
import Rows

/// Finds the source objects with which an object shares a destination object, by `distinctBy` or `mergeBy`: which of them is
/// kept, and what it takes from the others.
///
/// Memory: a batch of rows. Complexity: one pass over the objects of the entity, and a second one with `fill`.
final class ExplainedGroup {
    private let mapping: PlannedMapping
    private let grouping: ObjectGrouping
    private let object: EvaluatedSource
    private let reader: ObjectReader
    private let variables: [String: Any?]
    /// An instance that shows the objects of the pass.
    private let walker: EvaluatedSource
    private let values: [GroupedValue]
    private let keep: GroupedValue?
    /// The values of the explained object.
    private var wanted: [UInt8] = []

    /// - Parameter variables: the variables of expressions, without `$source`.
    init(
        _ mapping: PlannedMapping, _ grouping: ObjectGrouping, of object: EvaluatedSource, _ reader: ObjectReader,
        variables: [String: Any?]
    ) {
        (self.mapping, self.grouping, self.object, self.reader) = (mapping, grouping, object, reader)
        walker = object.another
        self.variables = variables.merging(["source": walker]) { $1 }
        let (walker, schema, own) = (walker, reader.layout.schema, self.variables)
        values = grouping.expressions.map {
            GroupedValue($0, of: walker, schema, own, comparison: grouping.comparison)
        }
        keep = grouping.merge?.keep.expression.map { GroupedValue($0, of: walker, schema, own) }
    }

    /// Finds the group.
    ///
    /// - Parameter paths: the key paths from `$source` that are filled, each with the property that reads it.
    /// - Throws: the errors of reading, and those of evaluation.
    func find(filling paths: [(property: String, path: ValueExpression)]) throws -> ObjectExplanation.Sharing {
        var sharing = ObjectExplanation.Sharing(rule: grouping.keyName, keep: keepText)
        sharing.values = try grouping.expressions.map { item in
            .init(expression: item.expression.format, value: ShownValue(try value(of: item.expression, at: object.key)))
        }
        let stored = try reader.row(object.entity, object.key)
        wanted = []
        var nils = 0
        for value in values
        where try !value.write({ VerifiedCell(stored.row.batch[0, $0], stored.row.batch) }, to: &wanted) {
            nils += 1
        }
        if !grouping.nilIsAValue, grouping.merge == nil ? nils == values.count : nils > 0 {
            // With nil among its values it is merged with no other; with distinctBy it makes none.
            sharing.kept = grouping.merge == nil ? nil : object.objectName
            sharing.members = 1
            return sharing
        }
        var kept: (key: Int64, place: GroupedValue.Place)?
        var isGreatest = false
        if case .greatest = grouping.merge?.keep { isGreatest = true }
        try forEachMember { rows in
            sharing.members += 1
            let place = try keep?.place(rows.cell, isGreatest: isGreatest) ?? (0, 0, 0)
            if let kept, grouping.merge?.keep != .last, kept.place <= place { return }
            kept = (rows.key, place)
        }
        guard let kept else { return sharing }
        sharing.kept = "\(object.entity.definition.name)/p\(kept.key)"
        sharing.keptKey = kept.key
        if let item = grouping.merge?.keep.expression {
            sharing.keptValue = ShownValue(try value(of: item.expression, at: kept.key))
        }
        if grouping.merge?.fills == true, sharing.members > 1 {
            sharing.filled = try filled(paths, for: kept.key)
        }
        return sharing
    }

    /// Returns the values that the kept object takes from others.
    private func filled(
        _ paths: [(property: String, path: ValueExpression)], for kept: Int64
    ) throws -> [ObjectExplanation.Sharing.Filled] {
        var open = try paths.filter { try value(of: $0.path, at: kept) == nil }
        var filled: [ObjectExplanation.Sharing.Filled] = []
        guard !open.isEmpty else { return [] }
        try forEachMember { rows in
            guard rows.key != kept, !open.isEmpty else { return }
            let key = rows.key
            try open.removeAll { item in
                guard try value(of: item.path, at: key) != nil else { return false }
                filled.append(
                    .init(
                        property: item.property, keyPath: item.path.format,
                        source: "\(object.entity.definition.name)/p\(key)", key: key))
                return true
            }
        }
        return filled
    }

    private func value(of expression: ValueExpression, at key: Int64) throws -> Any? {
        walker.key = key
        return ValueBridge.unwrapped(try expression.evaluate(with: walker, variables: variables))
    }

    /// Shows the rows of the group, by ascending key.
    private func forEachMember(_ body: (SequentialRows) throws -> Void) throws {
        let table = object.table
        let rows = try SequentialRows(
            reader.store, reader.layout, table: table, entities: [object.entity.index], streams: true,
            noteRead: { _ in })
        reader.objects.pass = (table, rows)
        defer { reader.objects.pass = nil }
        var found: [UInt8] = []
        while try rows.advance() {
            walker.key = rows.key
            if let filter = mapping.filter, try filter.filterTruth(of: walker, variables: variables) != true {
                continue
            }
            found.removeAll(keepingCapacity: true)
            for value in values { _ = try value.write(rows.cell, to: &found) }
            if found == wanted { try body(rows) }
        }
    }

    private var keepText: String? {
        switch grouping.merge?.keep {
        case nil: nil
        case .first: "first"
        case .last: "last"
        case .greatest(let item): "greatest \(item.expression.format)"
        case .least(let item): "least \(item.expression.format)"
        }
    }
}
