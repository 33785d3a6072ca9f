import CoreDataStore
import Foundation
import ManagedModel
import Mapping
import Rows

/// A value by which a verification groups source objects, or chooses among those of a group. That of an attribute is taken from
/// its column, any other is evaluated.
final class GroupedValue {
    private enum Way {
        case column(Int)
        case evaluation(ExpressionEvaluation)
    }

    private let expression: ValueExpression
    private let way: Way
    /// True if the column has whole numbers, which are compared without loss.
    private let isWhole: Bool
    private let comparison: ComparisonOptions

    /// The first byte of a value in a key.
    private enum Form: UInt8 {
        case null, whole, real, text, bytes
    }

    /// The place of a value among others: of three words the first counts most.
    typealias Place = (isNil: UInt64, order: UInt64, exact: UInt64)

    /// - Parameters:
    ///   - object: the source object, which shows one after the other.
    ///   - comparison: the differences of texts that do not count.
    init(
        _ item: GroupingExpression, of object: EvaluatedSource, _ schema: StoreSchema, _ variables: [String: Any?],
        comparison: ComparisonOptions = []
    ) {
        expression = item.expression
        self.comparison = comparison
        var variables = variables
        variables["source"] = object
        let path = item.expression.node.sourceKeyPath.map { object.entity.joiningElements(in: $0) } ?? []
        if path.count == 1, let attribute = object.entity.attribute(named: path[0]),
            !attribute.definition.allowsExternalBinaryDataStorage,
            let column = schema.column(of: attribute)
        {
            way = .column(column)
            isWhole = [.integer16, .integer32, .integer64, .boolean].contains(attribute.attributeType)
        } else {
            way = .evaluation(ExpressionEvaluation(of: item.expression, with: object, variables: variables))
            isWhole = false
        }
    }

    /// Appends the value of the object in view to a key. Equal values append the same bytes.
    ///
    /// - Parameter cell: returns a column's value of the object's row.
    /// - Returns: false for nil.
    /// - Throws: the errors of evaluation, ``VerificationObstacle`` for a value that has no bytes.
    func write(_ cell: (Int) -> VerifiedCell, to key: inout [UInt8]) throws -> Bool {
        switch way {
        case .column(let column):
            switch cell(column) {
            case .null: return none(&key)
            case .integer(let number): append(.whole, UInt64(bitPattern: number), &key)
            case .real(let number): append(.real, number.bitPattern, &key)
            case .text(let bytes): append(text: bytes, &key)
            case .blob(let bytes): append(.bytes, bytes, &key)
            }
        case .evaluation(let evaluation):
            let value = try evaluation.value()
            if let number = value.real {
                append(number, &key)
            } else if let text = value.text {
                Array(text.utf8).withUnsafeBytes { append(text: $0, &key) }
            } else {
                return try append(ValueBridge.unwrapped(value.object), &key)
            }
        }
        return true
    }

    /// Returns the place of the value of the object in view; nil values come last.
    ///
    /// - Parameters:
    ///   - cell: returns a column's value of the object's row.
    ///   - isGreatest: true if the greatest value comes first.
    /// - Throws: the errors of evaluation, ``VerificationObstacle`` for a value that has no order.
    func place(_ cell: (Int) -> VerifiedCell, isGreatest: Bool) throws -> Place {
        let number: (real: Double, whole: Int64)?
        switch way {
        case .column(let column):
            switch cell(column) {
            case .null: number = nil
            case .integer(let value): number = (Double(value), isWhole ? value : 0)
            case .real(let value): number = (value, 0)
            case .text, .blob: throw obstacle("no number")
            }
        case .evaluation(let evaluation):
            let value = try evaluation.value()
            switch (value.real, ValueBridge.unwrapped(value.object)) {
            case (let real?, _): number = (real, 0)
            case (nil, nil): number = nil
            case (nil, let date as Date): number = (date.timeIntervalSinceReferenceDate, 0)
            case (nil, let value as NSNumber):
                number = (value.doubleValue, Self.isFloating(value) ? 0 : value.int64Value)
            case (nil, .some): throw obstacle("no number")
            }
        }
        guard let number else { return (1, 0, 0) }
        let place = (number.real.orderedBits, UInt64(bitPattern: number.whole) ^ 1 << 63)
        return isGreatest ? (0, ~place.0, ~place.1) : (0, place.0, place.1)
    }

    private func obstacle(_ what: String) -> VerificationObstacle {
        VerificationObstacle("\(expression.format) gives \(what)")
    }

    private static func isFloating(_ number: NSNumber) -> Bool {
        [UInt8(ascii: "f"), UInt8(ascii: "d")].contains(UInt8(bitPattern: number.objCType.pointee))
    }

    // MARK: - Bytes

    private func append(_ value: Any?, _ key: inout [UInt8]) throws -> Bool {
        switch value {
        case nil: return none(&key)
        case let date as Date: append(date.timeIntervalSinceReferenceDate, &key)
        case let uuid as UUID: withUnsafeBytes(of: uuid.uuid) { append(.bytes, $0, &key) }
        case let url as URL: Array(url.absoluteString.utf8).withUnsafeBytes { append(text: $0, &key) }
        case let data as Data: data.withUnsafeBytes { append(.bytes, $0, &key) }
        case let value as TransformableValue: value.bytes.withUnsafeBytes { append(.bytes, $0, &key) }
        case let decimal as NSDecimalNumber:
            // The digits: a double has not all of them.
            let digits = "\(decimal.decimalValue)"
            if let whole = Int64(digits) {
                append(.whole, UInt64(bitPattern: whole), &key)
            } else {
                Array(digits.utf8).withUnsafeBytes { append(.real, $0, &key) }
            }
        case let number as NSNumber where Self.isFloating(number): append(number.doubleValue, &key)
        case let number as NSNumber: append(.whole, UInt64(bitPattern: number.int64Value), &key)
        case .some: throw obstacle("a value that cannot be compared")
        }
        return true
    }

    private func append(_ number: Double, _ key: inout [UInt8]) {
        if let whole = Int64(exactly: number) {
            append(.whole, UInt64(bitPattern: whole), &key)
        } else {
            append(.real, number.bitPattern, &key)
        }
    }

    private func append(_ form: Form, _ word: UInt64, _ key: inout [UInt8]) {
        key.append(form.rawValue)
        withUnsafeBytes(of: word) { key.append(contentsOf: $0) }
    }

    /// Appends bytes after their number, so that no two lists of values have the same bytes.
    private func append(_ form: Form, _ bytes: UnsafeRawBufferPointer, _ key: inout [UInt8]) {
        append(form, UInt64(bytes.count), &key)
        key.append(contentsOf: bytes)
    }

    private func append(text bytes: UnsafeRawBufferPointer, _ key: inout [UInt8]) {
        var options: String.CompareOptions = []
        if comparison.contains(.caseInsensitive) { options.insert(.caseInsensitive) }
        if comparison.contains(.diacriticInsensitive) { options.insert(.diacriticInsensitive) }
        guard !options.isEmpty else { return append(.text, bytes, &key) }
        let text = String(decoding: bytes, as: UTF8.self)
        // What Foundation does to ASCII, without its detours.
        let folded =
            bytes.allSatisfy { $0 < 0x80 }
            ? options.contains(.caseInsensitive) ? text.lowercased() : text
            : text.folding(options: options, locale: nil)
        Array(folded.utf8).withUnsafeBytes { append(.text, $0, &key) }
    }

    private func none(_ key: inout [UInt8]) -> Bool {
        key.append(Form.null.rawValue)
        return false
    }
}
