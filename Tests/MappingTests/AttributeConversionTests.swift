import Diagnostics
import ManagedModel
import TestSupport
import Testing

@testable import Mapping

@Suite("Inference: attributes that change their type are converted on request")
struct AttributeConversionTests {
    typealias M = InferenceModels

    /// All pairs of types that inference does not map as they stand.
    private static func changed(
        _ body: (AttributeType, AttributeType, ManagedObjectModel, ManagedObjectModel) throws -> Void
    ) throws {
        for old in AttributeType.allCases where old != .undefined && old != .composite {
            for new in AttributeType.allCases
            where new != .undefined && new != .composite && !new.holdsEveryValue(of: old) {
                try body(
                    old, new, try M.model(M.entity("E", [M.attribute("a", old)])),
                    try M.model(M.entity("E", [M.attribute("a", new)])))
            }
        }
    }

    @Test("Each line that a refusal prints is read, and is the mapping; where nothing is lost convert infers it")
    func lines() throws {
        var counts = (lossless: 0, priced: 0, none: 0)
        try Self.changed { old, new, source, destination in
            let refusal = try #require(M.refusal(source, destination))
            let conversion = AttributeConversion(from: old, to: new)
            let converted = MappingModel.inference(from: source, to: destination, unmappable: .convert)
            #expect((converted.problems.error == nil) == (conversion?.isLossless ?? false), "\(old) \(new)")
            guard let conversion else {
                counts.none += 1
                #expect(refusal.remedy?.contains("--set") == false && refusal.remedy?.contains("convert") == false)
                return
            }
            let printed = (refusal.remedy ?? "").matches(of: /--set '([^']+)'/).map { String($0.output.1) }
            let changes = try printed.map { try #require(MappingChange($0)) }
            #expect(changes.count == 1, "\(refusal)")
            let changed = try MappingModel.inferred(
                from: source, to: destination, unmappable: .refuse, changes: changes)
            let expression = try ValueExpression(parsing: conversion.expression(of: "a"))
            #expect(M.expressions(changed, "IEM_Transform_E") == ["a": expression.format])
            if conversion.isLossless {
                counts.lossless += 1
                #expect(refusal.remedy?.contains("--unmappable convert") == true)
                #expect(M.lines(converted.model) == M.lines(changed))
            } else {
                counts.priced += 1
            }
        }
        #expect(counts.lossless > 15 && counts.priced > 20 && counts.none > 50, "\(counts)")
    }

    @Test("A file that infers what it does not list converts too, and what cannot be converted is refused")
    func inFile() throws {
        let source = try M.model(M.entity("E", [M.attribute("a", .integer32), M.attribute("b", .string)]))
        let destination = try M.model(M.entity("E", [M.attribute("a", .string), M.attribute("b", .date)]))
        let text = #"{"formatVersion": 2, "unlisted": "infer", "entityMappings": [ENTRY]}"#
        func read(_ entry: String) throws -> MappingModel {
            try MappingModel.reading(
                json: Array(text.replacing("ENTRY", with: entry).utf8), path: "m.json", source: source,
                destination: destination, unmappable: .convert)
        }
        let error = #expect(throws: MigrationError.self) { try read("") }
        #expect(error?.code == "mapping.unlistedProperty" && error?.context.property == "b")
        let model = try read(#"{"sourceEntity": "E", "destinationEntity": "E", "attributes": {"b": null}}"#)
        #expect(M.expressions(model, "EToE") == ["a": "CAST($source.a, 'NSString')", "b": "-"])
    }
}
