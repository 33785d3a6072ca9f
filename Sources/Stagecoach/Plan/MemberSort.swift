import CoreDataStore
import Diagnostics
import ManagedModel
import Mapping
import Rows
import SpillStorage

/// The attribute by which the members of a lookup are ordered, as a value that is read of a member's source row.
struct MemberSort {
    /// The key path to the attribute from a member.
    let path: String
    /// The entity of the members.
    let entity: EntityDescription
    /// The source table of the members.
    let table: Int
    /// The slots that are read of a member's row.
    let slots: SourceColumns
    /// The slot with the attribute's value.
    let slot: Int
    /// True if values are compared as integers, false if they are compared as floating numbers.
    private let isWhole: Bool

    /// - Throws: the errors of the key path.
    init(
        _ sorting: MemberSorting, _ attribute: AttributeDescription, of entity: EntityDescription, schema: StoreSchema
    ) throws(MigrationError) {
        path = sorting.keyPath
        self.entity = entity
        table = schema.tableIndex(of: entity)
        var slots = SourceColumns(entity: entity, schema: schema)
        slot = try slots.slot(forKeyPath: sorting.components).slot
        self.slots = slots
        switch attribute.attributeType {
        case .integer16, .integer32, .integer64, .boolean: isWhole = true
        default: isWhole = false
        }
    }

    /// A value as two words that sort: nil first.
    typealias Words = (kind: UInt64, value: UInt64)

    /// The words of nil.
    static let null: Words = (0, 0)

    /// Returns the words of a stored value. A text or data in a column of numbers counts as nil.
    func words(_ cell: Cell) -> Words {
        switch cell.kind {
        case .integer: words(whole: cell.integerValue)
        case .real: words(cell.realValue)
        default: MemberSort.null
        }
    }

    /// Returns the words of an integer.
    func words(whole number: Int64) -> Words { isWhole ? (1, SortKey.encode(number)) : words(Double(number)) }

    /// Returns the words of a floating number.
    func words(_ number: Double) -> Words {
        guard !isWhole else {
            return words(whole: Int64(exactly: number.rounded(.towardZero)) ?? (number < 0 ? .min : .max))
        }
        return (1, number.orderedBits)
    }
}
