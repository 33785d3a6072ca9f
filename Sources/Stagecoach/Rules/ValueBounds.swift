import Diagnostics
import Foundation
import ManagedModel
import Mapping
import Rows

/// A lower or upper bound for a number or date. Integers are compared as such: a Double would round large ones.
struct NumberBound {
    let real: Double
    private let integer: Int64?

    /// Creates a bound.
    ///
    /// - Returns: nil if the value is not a number.
    init?(_ value: AttributeValue) {
        switch value {
        case .boolean(let flag): (real, integer) = (flag ? 1 : 0, flag ? 1 : 0)
        case .integer(let number): (real, integer) = (Double(number), number)
        case .double(let number): (real, integer) = (number, nil)
        case .decimal(let number):
            real = number.nearestReal
            let whole = NSDecimalNumber(decimal: number).int64Value
            integer = Decimal(whole) == number ? whole : nil
        case .date(let seconds): (real, integer) = (seconds, nil)
        case .string, .data, .uuid, .uri: return nil
        }
    }

    /// Tells whether the bound is greater than the number in a cell.
    func isAbove(_ cell: Cell) -> Bool {
        if cell.kind == .integer {
            return integer.map { $0 > cell.integerValue } ?? (real > Double(cell.integerValue))
        }
        return real > cell.realValue
    }

    /// Tells whether the bound is less than the number in a cell.
    func isBelow(_ cell: Cell) -> Bool {
        if cell.kind == .integer {
            return integer.map { $0 < cell.integerValue } ?? (real < Double(cell.integerValue))
        }
        return real < cell.realValue
    }

    func text(_ type: AttributeType?) -> String {
        integer.map(String.init) ?? ShortValue.text(real, type: type)
    }
}

/// A regular expression that has to match a whole text.
struct TextRule {
    let text: String
    private let pattern: TextPattern
    private let context: MigrationError.Context

    /// Compiles a model's pattern.
    ///
    /// - Throws: `model.regularExpression` (78) if it is not a regular expression.
    init(_ text: String, entity: String, property: String) throws(MigrationError) {
        self.text = text
        context = .init(entity: entity, property: property)
        do throws(ProgramFault) {
            pattern = try TextPattern(regularExpression: text)
        } catch {
            throw MigrationError(
                "model.regularExpression", .configuration, "The pattern does not compile: \(text)", context: context,
                cause: error.described(.configuration, in: .init()))
        }
    }

    /// Tells whether the pattern matches the whole text.
    ///
    /// - Throws: `expression.patternLimit` (65) if the pattern backtracks too often.
    func matches(_ bytes: UnsafeRawBufferPointer) throws(MigrationError) -> Bool {
        do { return try pattern.matches(bytes) } catch { throw error.described(.data, in: context) }
    }
}

/// Formats values for messages, shortened.
enum ShortValue {
    private static let longest = 60

    /// Returns a cell's value as text cut after 60 characters, or the length of data; nil for NULL.
    ///
    /// - Parameters:
    ///   - type: the attribute's type; nil for a reference.
    ///   - markerBytes: the number of bytes before a binary value that are not part of it.
    static func text(_ cell: Cell, _ batch: borrowing RowBatch, type: AttributeType?, markerBytes: Int = 0) -> String? {
        switch cell.kind {
        case .null, .absent, .rawRecord: return nil
        case .integer, .reference:
            return type == .date ? text(Double(cell.integerValue), type: type) : String(cell.integerValue)
        case .real: return text(cell.realValue, type: type)
        case .blob, .huge: return "\(max(0, Int(cell.length) - markerBytes)) bytes"
        case .text:
            let bytes = batch.bytes(cell)
            // A character has at most four bytes.
            let head = UnsafeRawBufferPointer(rebasing: bytes.prefix(longest * 4))
            var characters = String(decoding: head, as: UTF8.self).unicodeScalars.map(Character.init)
            guard characters.count > longest || bytes.count > head.count else { return String(characters) }
            characters.removeLast(max(0, characters.count - longest))
            return String(characters) + "…"
        }
    }

    /// Returns a number, or a date in ISO 8601.
    static func text(_ number: Double, type: AttributeType?) -> String {
        // Only dates of the years 1 to 9999 have a form; others are shown as seconds.
        guard type == .date, number > -63_000_000_000, number < 250_000_000_000 else {
            if number == number.rounded(), abs(number) < 1e15 { return String(Int64(number)) }
            return "\(number)"
        }
        return Date(timeIntervalSinceReferenceDate: number).ISO8601Format()
    }
}
