import Foundation
import ManagedModel

/// A function of this program's own, which converts values: `FUNCTION($stagecoach, 'selector:', …)`. Core Data has no variable of
/// this name, so no expression of its own means one.
///
/// Programs over rows and the evaluation over objects call the same closure.
struct ConversionFunction: Sendable {
    /// The name of the variable whose functions they are.
    static let variable = "stagecoach"

    let selector: String
    /// The types of the arguments. A number is given as a decimal.
    let arguments: [ExpressionType]
    let result: ExpressionType
    /// True if the function is asked for nil too. Else nil in any argument gives nil.
    private let takesNil: Bool
    private let apply: @Sendable ([EvaluatedValue]) throws(ProgramFault) -> EvaluatedValue

    private init(
        _ selector: String, _ arguments: [ExpressionType], gives result: ExpressionType, takesNil: Bool = false,
        _ apply: @escaping @Sendable ([EvaluatedValue]) throws(ProgramFault) -> EvaluatedValue
    ) {
        (self.selector, self.arguments, self.result) = (selector, arguments, result)
        (self.takesNil, self.apply) = (takesNil, apply)
    }

    /// Returns the value for arguments of the right types.
    ///
    /// - Throws: `value.type` for a text that is no such value, `expression.type`.
    func callAsFunction(_ values: [EvaluatedValue]) throws(ProgramFault) -> EvaluatedValue {
        if takesNil ? values.first?.isNull ?? true : values.contains(where: \.isNull) {
            return takesNil ? values.last ?? .null : .null
        }
        return try apply(values)
    }

    /// All functions, by selector.
    static let all: [String: ConversionFunction] = Dictionary(
        uniqueKeysWithValues: (dates + numbers + bytes + structures).map { ($0.selector, $0) })

    // MARK: Dates

    private static let dates = [
        ConversionFunction("dateFromText:", [.text], gives: .date) { values throws(ProgramFault) in
            guard let seconds = DateText.seconds(of: values.text(0)) else {
                throw .notA("date of ISO 8601", values.text(0))
            }
            return .date(seconds)
        },
        ConversionFunction("dateFromText:default:", [.text, .date], gives: .date, takesNil: true) { values in
            DateText.seconds(of: values.text(0)).map { .date($0) } ?? values[1]
        },
        ConversionFunction("dateFromText:format:timeZone:", [.text, .text, .text], gives: .date) {
            values throws(ProgramFault) in
            let format = try DateText.Format(values.text(1), timeZone: values.text(2))
            guard let seconds = format.seconds(of: values.text(0)) else {
                throw .notA("date of the format \(values.text(1))", values.text(0))
            }
            return .date(seconds)
        },
        ConversionFunction("textFromDate:", [.date], gives: .text) { .text(DateText.text(of: $0.seconds(0))) },
        ConversionFunction("textFromDate:format:timeZone:", [.date, .text, .text], gives: .text) {
            values throws(ProgramFault) in
            .text(try DateText.Format(values.text(1), timeZone: values.text(2)).text(of: values.seconds(0)))
        },
        ConversionFunction("dayOfDate:timeZone:", [.date, .text], gives: .date) { values throws(ProgramFault) in
            .date(try DateText.begin(of: .day, values.seconds(0), timeZone: values.text(1)))
        },
        ConversionFunction("monthOfDate:timeZone:", [.date, .text], gives: .date) { values throws(ProgramFault) in
            .date(try DateText.begin(of: .month, values.seconds(0), timeZone: values.text(1)))
        },
    ]

    // MARK: Numbers

    private static let numbers = [
        ConversionFunction("numberFromText:default:", [.text, .decimal], gives: .decimal, takesNil: true) { values in
            Decimal(exactText: values.text(0)).map { .decimal($0) } ?? values[1]
        }
    ]

    // MARK: Data, UUIDs

    private static let bytes = [
        ConversionFunction("textFromData:encoding:", [.data, .text], gives: .text) { values throws(ProgramFault) in
            let data = values.data(0)
            switch try ByteEncoding(values.text(1)) {
            case .utf8:
                guard let text = String(data: data, encoding: .utf8) else {
                    throw .type("the data, \(data.count.counted("byte")), is no text in UTF-8")
                }
                return .text(text)
            case .base64: return .text(data.base64EncodedString())
            case .hex: return .text(data.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined())
            }
        },
        ConversionFunction("dataFromText:encoding:", [.text, .text], gives: .data) { values throws(ProgramFault) in
            let text = values.text(0)
            let encoding = try ByteEncoding(values.text(1))
            let data: Data? =
                switch encoding {
                case .utf8: Data(text.utf8)
                case .base64: Data(base64Encoded: text)
                case .hex: Data(hexadecimal: text)
                }
            guard let data else { throw .notA("data in \(encoding.rawValue)", text) }
            return .data(data)
        },
        ConversionFunction("uuidFromData:", [.data], gives: .uuid) { values throws(ProgramFault) in
            let data = values.data(0)
            guard let uuid = UUID(bytes: data) else { throw .range("of \(data.count.counted("byte"))", "UUID") }
            return .uuid(uuid)
        },
        // Version 8 of RFC 9562: a hash of the name, so that each run gives the same UUID.
        ConversionFunction("uuidFromName:", [.text], gives: .uuid) { values in
            var hash = Data(SHA256.hash(Array(values.text(0).utf8)).prefix(16))
            hash[6] = hash[6] & 0x0F | 0x80
            hash[8] = hash[8] & 0x3F | 0x80
            return UUID(bytes: hash).map { .uuid($0) } ?? .null
        },
    ]

    private enum ByteEncoding: String {
        case utf8, base64, hex

        init(_ name: String) throws(ProgramFault) {
            guard let known = ByteEncoding(rawValue: name) else {
                throw .type("there is no encoding '\(name)'", remedy: "Write 'utf8', 'base64' or 'hex'")
            }
            self = known
        }
    }

    // MARK: JSON

    private static let structures = [
        ConversionFunction("textInJSON:path:", [.text, .text], gives: .text) { values throws(ProgramFault) in
            switch try JSONPlace.value(at: values.text(1), in: values.text(0)) {
            case nil, is NSNull: return .null
            case let text as String: return .text(text)
            case let number as NSNumber: return .text(try EvaluatedValue(number).castText("NSString"))
            case let other?: throw .type("'\(values.text(1))' leads to \(JSONPlace.kind(of: other)), not to a text")
            }
        },
        ConversionFunction("numberInJSON:path:", [.text, .text], gives: .decimal) { values throws(ProgramFault) in
            switch try JSONPlace.value(at: values.text(1), in: values.text(0)) {
            case nil, is NSNull: return .null
            case let number as NSNumber: return .decimal(number.decimalValue)
            case let other?: throw .type("'\(values.text(1))' leads to \(JSONPlace.kind(of: other)), not to a number")
            }
        },
    ]
}

extension [EvaluatedValue] {
    fileprivate func text(_ index: Int) -> String { if case .text(let text) = self[index] { text } else { "" } }
    fileprivate func seconds(_ index: Int) -> Double { if case .date(let seconds) = self[index] { seconds } else { 0 } }
    fileprivate func data(_ index: Int) -> Data { if case .data(let data) = self[index] { data } else { Data() } }
}

extension UUID {
    /// Makes a UUID of 16 bytes; nil for another number of them.
    init?(bytes: Data) {
        guard bytes.count == 16 else { return nil }
        var uuid = UUID().uuid
        withUnsafeMutableBytes(of: &uuid) { $0.copyBytes(from: bytes) }
        self.init(uuid: uuid)
    }
}
