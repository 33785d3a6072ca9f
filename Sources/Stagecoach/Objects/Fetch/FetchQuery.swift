import CoreDataStore
import ManagedModel

/// A fetch request compiled for one side: the rows that may match, and the conditions for a match.
struct FetchQuery {
    let entity: EntityDescription
    let rows: FetchRows
    /// The condition that a row has to fulfil; nil: none.
    let condition: FetchCondition?
    /// Conditions that every match fulfils and for which keys can be looked up.
    let probes: [FetchProbe]
    let order: FetchOrder?
    /// The largest number of matches; nil: all.
    var limit: Int?
    var offset: Int

    /// The same query without offset and limit.
    var unlimited: FetchQuery {
        var query = self
        query.limit = nil
        query.offset = 0
        return query
    }

    /// The number of leading matches that a sort has to keep: offset plus limit; nil: all.
    var needed: Int? {
        guard let limit else { return nil }
        let (sum, overflow) = offset.addingReportingOverflow(limit)
        return overflow ? nil : sum
    }
}

/// The rows of a table that a fetch reads.
struct FetchRows: Equatable {
    let table: Int
    /// The indices of the entities to fetch.
    let entities: [Int]
    /// The columns to read. The source's batches have one slot for each, the first being Z_ENT. The destination's
    /// batches have all columns of the table, with slots in the order of columns.
    let columns: [SelectedColumn]
}

extension FetchRows {
    /// The rows of an entity, with or without those of its subentities.
    init(
        of entity: EntityDescription, includesSubentities: Bool, columns: [SelectedColumn], in schema: StoreSchema
    ) {
        self.init(
            table: schema.tableIndex(of: entity),
            entities: (includesSubentities ? entity.withDescendants : [entity]).map(\.index), columns: columns)
    }
}

/// A condition for which keys can be looked up.
enum FetchProbe {
    /// The object is one of those with the given keys.
    case keys([Int64])
    /// A column holds one of the given values.
    case values(FetchColumn, slot: Int, [ColumnValue])
    /// A relationship of the destination leads to one of the given objects.
    case partners(LinkStore, LinkStore.Side, [Int64])
}

/// A column that can have an equality index.
struct FetchColumn: Hashable {
    let table: Int
    let column: SelectedColumn
    /// The differences that comparisons ignore: ``ComparisonOptions``.
    let options: UInt8
}
