import Diagnostics
import Foundation
import ManagedModel
import TestSupport
import Testing

@testable import Mapping

@Suite("Expressions: conversion functions")
struct ConversionFunctionTests {
    typealias Value = ExpressionRow.Value

    private static func call(_ selector: String, _ arguments: String...) -> String {
        "FUNCTION($stagecoach, '\(selector)', \(arguments.joined(separator: ", ")))"
    }

    static let values: [(String, AttributeType, Value)] = [
        (call("dateFromText:", "'2001-01-01'"), .date, .real(0)),
        (call("dateFromText:", "'2001-01-01T00:00:01.25Z'"), .date, .real(1.25)),
        (call("dateFromText:", "'2001-01-01 02:30+02:00'"), .date, .real(1800)),
        (call("dateFromText:", "'2000-12-31T19:00:00-0500'"), .date, .real(0)),
        (call("dateFromText:", "$source.ns"), .date, .null),
        (call("dateFromText:default:", "'soon'", "$source.date"), .date, .real(1000.5)),
        (call("dateFromText:default:", "'2001-02-30'", "nil"), .date, .null),
        (call("dateFromText:default:", "$source.ns", "$source.date"), .date, .real(1000.5)),
        (
            call("dateFromText:format:timeZone:", "'31.12.2000 20:00'", "'dd.MM.yyyy HH:mm'", "'America/New_York'"),
            .date, .real(3600)
        ),
        (call("textFromDate:", "$source.date"), .string, .text("2001-01-01T00:16:40.5Z")),
        (call("textFromDate:", "$source.ndate"), .string, .null),
        (
            call("textFromDate:format:timeZone:", "$source.dateI", "'yyyy-MM-dd HH:mm'", "'Europe/Berlin'"), .string,
            .text("2001-01-01 01:16")
        ),
        (call("dayOfDate:timeZone:", "$source.date", "'UTC'"), .date, .real(0)),
        (call("dayOfDate:timeZone:", "$source.date", "'America/New_York'"), .date, .real(-68_400)),
        (call("monthOfDate:timeZone:", "$source.date", "'America/New_York'"), .date, .real(-2_660_400)),
        (call("numberFromText:default:", "$source.num", "0"), .double, .real(42.5)),
        (call("numberFromText:default:", "$source.s", "7"), .integer32, .integer(7)),
        (call("numberFromText:default:", "$source.s", "$source.i16"), .integer32, .integer(7)),
        (call("numberFromText:default:", "$source.s", "nil"), .integer32, .null),
        (call("textFromData:encoding:", "$source.data", "'hex'"), .string, .text("0102")),
        (call("textFromData:encoding:", "$source.data", "'base64'"), .string, .text("AQI=")),
        (call("dataFromText:encoding:", "'AQI='", "'base64'"), .binaryData, .blob([1, 2])),
        (call("dataFromText:encoding:", "$source.s", "'utf8'"), .binaryData, .blob(Array("Hello".utf8))),
        (call("dataFromText:encoding:", "'0aFF'", "'hex'"), .binaryData, .blob([10, 255])),
        (call("uuidFromData:", "CAST($source.uuid, 'NSData')"), .uuid, .blob(Array(0..<16))),
        (call("textInJSON:path:", "'{\"a\": [{\"b\": \"x\"}, 2]}'", "'a.0.b'"), .string, .text("x")),
        (call("textInJSON:path:", "'{\"a\": [{\"b\": \"x\"}, 2]}'", "'a.1'"), .string, .text("2")),
        (call("textInJSON:path:", "'{\"a\": null}'", "'a'"), .string, .null),
        (call("textInJSON:path:", "'{\"a\": 1}'", "'b.c'"), .string, .null),
        (call("numberInJSON:path:", "'{\"a\": 1.5}'", "'a'"), .double, .real(1.5)),
    ]

    @Test("A date is written as Foundation writes it, also around leap days and where the calendar changed")
    func dateTexts() {
        var generator = SeededGenerator(seed: RandomSeeds.first)
        var days = [
            -152_671, -152_670, -152_669, -36_525, -307, -306, -1, 0, 58, 59, 1154, 1155, 36_218, 36_219, 145_791,
        ]
        days += (0..<2000).map { _ in Int(generator.below(2_900_000)) - 728_000 }
        for day in days {
            let seconds = Double(day * 86_400 + Int(generator.below(86_400)))
            #expect(DateText.text(of: seconds) == Date(timeIntervalSinceReferenceDate: seconds).ISO8601Format())
        }
        #expect(DateText.text(of: -0.5) == "2000-12-31T23:59:59.5Z")
        #expect(DateText.text(of: 59.999_999_9) == "2001-01-01T00:01:00Z")
        #expect(DateText.text(of: 0.000_01) == "2001-01-01T00:00:00.00001Z")
    }

    @Test("A function gives its value to a program over rows", arguments: values)
    func program(text: String, type: AttributeType, value: Value) throws {
        #expect(try ExpressionRow.evaluate(text, type) == value, "\(text)")
    }

    @Test("The evaluation over objects gives the same values", arguments: values)
    func evaluation(text: String, type: AttributeType, value: Value) throws {
        let object = NSMutableDictionary()
        for (name, kind, value) in ExpressionRow.columns {
            switch value {
            case .real(let number) where kind == .date: object[name] = Date(timeIntervalSinceReferenceDate: number)
            case .integer(let number) where kind == .date:
                object[name] = Date(timeIntervalSinceReferenceDate: Double(number))
            case .blob where kind == .uuid: object[name] = UUID(uuidString: "00010203-0405-0607-0809-0A0B0C0D0E0F")
            case .real(let number): object[name] = NSNumber(value: number)
            case .integer(let number): object[name] = NSNumber(value: number)
            case .text(let text): object[name] = text
            case .blob(let bytes): object[name] = Data(bytes)
            case .null, .reference: break
            }
        }
        let found = EvaluatedValue(
            try ValueExpression(parsing: text).evaluate(with: object, variables: ["source": object]))
        switch (found, value) {
        case (.null, .null): break
        case (.date(let seconds), .real(let wanted)): #expect(seconds == wanted)
        case (.text(let text), .text(let wanted)): #expect(text == wanted)
        case (.data(let data), .blob(let wanted)): #expect(Array(data) == wanted)
        case (.uuid(let uuid), .blob(let wanted)): #expect(withUnsafeBytes(of: uuid.uuid) { Array($0) } == wanted)
        case (.decimal(let number), .integer(let wanted)): #expect(number == Decimal(wanted))
        case (.decimal(let number), .real(let wanted)): #expect(number.nearestReal == wanted)
        default: Issue.record("\(text) gives \(found), not \(value)")
        }
    }

    @Test(
        "A text that is no such value ends the row with an error that shows it",
        arguments: [
            (call("dateFromText:", "$source.s"), AttributeType.date, "'Hello' is no date of ISO 8601"),
            (
                call("dateFromText:format:timeZone:", "$source.s", "'yyyy'", "'UTC'"), .date,
                "'Hello' is no date of the format yyyy"
            ),
            (call("dateFromText:format:timeZone:", "'2001'", "'yyyy'", "'Nowhere'"), .date, "no time zone 'Nowhere'"),
            (call("dataFromText:encoding:", "$source.s", "'hex'"), .binaryData, "'Hello' is no data in hex"),
            (call("textFromData:encoding:", "$source.data", "'rot13'"), .string, "no encoding 'rot13'"),
            (call("uuidFromData:", "$source.data"), .uuid, "2 bytes"),
            (call("textInJSON:path:", "$source.s", "'a'"), .string, "'Hello' is no JSON"),
            (call("numberInJSON:path:", "'{\"a\": []}'", "'a'"), .double, "leads to a list, not to a number"),
        ])
    func errors(text: String, type: AttributeType, words: String) throws {
        let error = #expect(throws: (any Error).self) { try ExpressionRow.evaluate(text, type) }
        #expect("\(error.map { "\($0)" } ?? "")".contains(words), "\(String(describing: error))")
    }

    @Test("Unknown functions, wrong numbers and types of arguments are found when the mapping model is read")
    func check() throws {
        let source = try InferenceModels.model(
            InferenceModels.entity("E", [InferenceModels.attribute("s"), InferenceModels.attribute("d", .double)]))
        func message(_ expression: String) throws -> String {
            let text = """
                {"formatVersion": 2, "entityMappings": [{"sourceEntity": "E", "destinationEntity": "E",
                "attributes": {"s": "\(expression)"}}]}
                """
            let error = #expect(throws: MigrationError.self) {
                try MappingModel.reading(
                    json: Array(text.utf8), path: "m.json", source: source, destination: source)
            }
            return "\(error?.message ?? "") \(error?.remedy ?? "")"
        }
        #expect(try message(Self.call("textFromDat:", "$source.s")).contains("Did you mean 'textFromDate:'?"))
        #expect(
            try message(Self.call("textFromDate:", "$source.s")).contains(
                "takes a value of type Date, not a value of type String"))
        #expect(try message(Self.call("textFromDate:format:", "$source.s", "'x'")).contains("no function"))
        #expect(try message("$stagecoach").contains("unknown"))
    }

    @Test("Dates and their texts of ISO 8601 are each other's, at random, and as Foundation has them")
    func dates() throws {
        var generator = SeededGenerator(seed: RandomSeeds.first)
        let formatter = ISO8601DateFormatter()
        for _ in 0..<2000 {
            let micros = Double(generator.below(8_000_000_000)) * 1_000_000 - 4e15 + Double(generator.below(1_000_000))
            let seconds = micros / 1e6
            let text = DateText.text(of: seconds)
            let back = try #require(DateText.seconds(of: text))
            #expect(abs(back - seconds) < 1e-6, "\(text), seed \(RandomSeeds.first)")
            let whole = seconds.rounded(.down)
            #expect(
                DateText.text(of: whole) == formatter.string(from: Date(timeIntervalSinceReferenceDate: whole)),
                "seed \(RandomSeeds.first)")
        }
    }

    @Test("A UUID of a name is one of version 8, always the same, and differs from name to name")
    func names() throws {
        let text = Self.call("uuidFromName:", "'x-coredata://A/E/p1'")
        guard case .blob(let bytes) = try ExpressionRow.evaluate(text, .uuid) else {
            Issue.record("no UUID")
            return
        }
        #expect(bytes[6] >> 4 == 8 && bytes[8] >> 6 == 2)
        #expect(try ExpressionRow.evaluate(text, .uuid) == .blob(bytes))
        #expect(try ExpressionRow.evaluate(text.replacing("p1", with: "p2"), .uuid) != .blob(bytes))
    }
}
