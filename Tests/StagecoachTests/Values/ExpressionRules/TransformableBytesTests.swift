import Diagnostics
import Foundation
import ManagedModel
import Mapping
import Stagecoach
import TestSupport
import Testing

/// A transformable value is copied as its bytes, into a binary attribute and out of one, however the expression says it.
@Suite("Transformable and binary values")
struct TransformableBytesTests {
    private static let bytes: [UInt8] = [1, 2, 3, 0, 255]

    static let expressions = [
        "$source.value", "CAST($source.value, 'NSData')", "FUNCTION($source.value, 'self')",
        "TERNARY($source.value != nil, $source.value, nil)", "TERNARY(1 == 1, CAST($source.value, 'Data'), nil)",
    ]

    @Test("All forms give the bytes, external or not", arguments: expressions)
    func forms(expression: String) throws {
        for (from, to) in [
            (AttributeType.transformable, AttributeType.binaryData), (.binaryData, .transformable),
            (.transformable, .transformable), (.binaryData, .binaryData),
        ] {
            for isExternal in [false, true] {
                let trial = try ExpressionTrial(
                    old: [attribute("value", from)],
                    new: [attribute("value", to) { $0.allowsExternalBinaryDataStorage = isExternal }],
                    rows: [["value": .blob(Self.bytes)], [:]], ["value": expression])
                let store = try trial.run()
                let stored = isExternal ? [1] + Self.bytes : Self.bytes
                #expect(
                    store.column("Item", "value") == [1: .blob(stored), 2: .null],
                    "\(from.label) to \(to.label), external \(isExternal)")
                let report = try trial.verify()
                #expect(report.isEqual && report.notRecomputed.isEmpty, "\(report.differences)")
            }
        }
    }

    @Test(
        "What is no bytes is refused at load",
        arguments: ["$source.text", "5", "$source.kids", "{1}", "$source.objectID"])
    func others(expression: String) throws {
        for type in [AttributeType.transformable, .binaryData] {
            let trial = try ExpressionTrial(
                old: [attribute("text", .string)], new: [attribute("value", type)], rows: [["text": .text("x")]],
                ["value": expression])
            let error = #expect(throws: MigrationError.self) { try trial.run() }
            #expect(
                error?.category == .configuration && error?.code == "expression.type", "\(error?.description ?? "")")
        }
    }

    @Test("Inference names the line that copies the bytes, as an unlisted property does")
    func remedies() throws {
        let trial = try ExpressionTrial(
            old: [attribute("value", .transformable), attribute("n", .integer16)],
            new: [attribute("value", .binaryData), attribute("n", .double)], rows: [[:]])
        let error = #expect(throws: MigrationError.self) {
            try MappingModel.inferred(from: trial.source, to: trial.destination)
        }
        #expect(error?.remedy?.contains("\"n\": \"$source.n\"") == true, "\(error?.description ?? "")")
        let unlisted = #expect(throws: MigrationError.self) {
            let json = """
                {"formatVersion": 2, "entityMappings": [
                {"sourceEntity": "Item", "destinationEntity": "Item", "attributes": {"n": "$source.n"}}]}
                """
            return try MappingModel.reading(
                json: Array(json.utf8), path: "x.json", source: trial.source, destination: trial.destination)
        }
        #expect(unlisted?.remedy?.contains("\"value\": \"$source.value\"") == true, "\(unlisted?.description ?? "")")
    }
}
