import ManagedModel
import Mapping
import PersistentStore

/// A fetch request against the schema of one side: which rows may match, and what is asked of each.
struct FetchQuery {
    let entity: EntityDescription
    let rows: FetchRows
    /// What a row has to satisfy; nil: nothing.
    let condition: FetchCondition?
    /// Conditions of which each match satisfies all, that keys can be looked up for.
    let probes: [FetchProbe]
    let order: FetchOrder?
    /// Matches at most; nil: all.
    var limit: Int?
    var offset: Int

    /// The same without offset and limit.
    var unlimited: FetchQuery {
        var query = self
        query.limit = nil
        query.offset = 0
        return query
    }

    /// Matches that have to be known before the first ones are.
    var needed: Int? {
        guard let limit else { return nil }
        let (sum, overflow) = offset.addingReportingOverflow(limit)
        return overflow ? nil : sum
    }
}

/// The rows of a table that a fetch reads.
struct FetchRows {
    let table: Int
    /// Indices of the entities wanted.
    let entities: [Int]
    /// One slot each in the source's batches; the first is Z_ENT. The destination's batches have every column of the
    /// table, slot by column index.
    let columns: [SelectedColumn]
}

/// A condition that keys can be looked up for.
enum FetchProbe {
    /// The object is one of these.
    case keys([Int64])
    /// A column holds one of these values.
    case values(FetchColumn, [StoredValue])
    /// A relationship of the destination leads to one of these objects.
    case partners(LinkStore, LinkStore.Side, [Int64])
}

/// A column that can have an equality index.
struct FetchColumn: Hashable {
    let table: Int
    let column: SelectedColumn
    /// What the comparison overlooks: ``ComparisonOptions``.
    let options: UInt8
}
