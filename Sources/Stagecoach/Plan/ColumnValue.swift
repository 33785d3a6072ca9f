import Foundation
import ManagedModel
import Mapping
import Rows

/// A single value in its stored form, outside of a batch; used for defaults and constants.
enum ColumnValue: Hashable {
    case integer(Int64)
    case real(Double)
    case text(String)
    case blob([UInt8])

    /// Creates a model's value in the form in which a column of the attribute's type stores it.
    ///
    /// - Returns: nil if the value does not fit the type; the readers of models do not make such values.
    init?(_ value: AttributeValue, type: AttributeType) {
        switch value {
        case .boolean(let flag): self = .integer(flag ? 1 : 0)
        case .integer(let number):
            self = type == .double || type == .float ? .real(Double(number)) : .integer(number)
        case .double(let number): self = .real(type == .float ? Double(Float(number)) : number)
        case .decimal(let number): self = ColumnValue.decimal(number)
        case .string(let text): self = .text(text)
        case .date(let seconds): self = .real(seconds)
        case .data(let data): self = .blob(Array(data))
        case .uuid(let uuid): self = .blob(withUnsafeBytes(of: uuid.uuid) { Array($0) })
        case .uri(let text): self = .text(text)
        }
    }

    /// Creates the value of an attribute that nothing sets, in the form in which its column stores it: a default from a version
    /// passed on the way, or that of the model; nil if there is none.
    init?(initial attribute: AttributeDescription, _ property: PropertyMapping? = nil) {
        guard let given = property?.carriedValue ?? attribute.definition.defaultValue,
            let value = ColumnValue(given, type: attribute.attributeType)
        else { return nil }
        self = attribute.definition.allowsExternalBinaryDataStorage ? value.withInlineMarker : value
    }

    /// Returns a decimal as Core Data stores it: an integer if it is integral and fits, else an 8-byte real.
    static func decimal(_ number: Decimal) -> ColumnValue {
        let integer = NSDecimalNumber(decimal: number).int64Value
        if Decimal(integer) == number { return .integer(integer) }
        return .real(number.nearestReal)
    }

    /// Writes the value into a cell.
    func store(in batch: inout RowBatch, row: Int, slot: Int) {
        switch self {
        case .integer(let value): batch[row, slot] = .integer(value)
        case .real(let value): batch[row, slot] = .real(value)
        case .text(var value):
            value.withUTF8 { batch.setBytes(UnsafeRawBufferPointer($0), kind: .text, row: row, slot: slot) }
        case .blob(let value):
            value.withUnsafeBytes { batch.setBytes($0, kind: .blob, row: row, slot: slot) }
        }
    }

    /// Tells whether a cell holds exactly this value.
    func isStored(in cell: Cell, of batch: borrowing RowBatch) -> Bool {
        switch self {
        case .integer(let value): return cell.kind == .integer && cell.integerValue == value
        case .real(let value): return cell.kind == .real && cell.realValue == value
        case .text(var value):
            guard cell.kind == .text else { return false }
            let bytes = batch.bytes(cell)
            return value.withUTF8 { $0.elementsEqual(bytes) }
        case .blob(let value): return cell.kind == .blob && batch.bytes(cell).elementsEqual(value)
        }
    }

    /// The value with the marker byte of inline external storage in front of it.
    var withInlineMarker: ColumnValue {
        guard case .blob(let bytes) = self else { return self }
        return .blob([1] + bytes)
    }
}
