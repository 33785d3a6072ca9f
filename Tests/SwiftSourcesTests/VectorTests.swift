import Foundation
import ManagedModel
import SwiftSources
import TestSupport
import Testing

/// Entities whose hashes SwiftData itself wrote: sources are made of the facts that are known of each, and the hash of what is
/// derived from them must be equal.
@Suite("Hashes that SwiftData wrote")
struct VectorTests {
    private struct Vector: Decodable {
        struct Relationship: Decodable {
            let macro: Bool
            let deleteRule: String?
            let inverseWrittenHere: String?
            let inverseWrittenOnOtherSide: String?
        }
        struct Property: Decodable {
            struct Expected: Decodable {
                let type: String?
                let optional: Bool
                let destination: String?
                let deleteRule: String?
                let inverse: String?
            }
            let name: String
            let type: String
            let typeWritten: Bool?
            let initial: String?
            let annotations: [String]?
            let relationship: Relationship?
            let expect: Expected
        }
        struct Kind: Decodable {
            let kind: String
            let raw: String?
            let cases: [String]?
            let payloads: Bool?
            let fields: [[String]]?
        }
        let id: String
        let entity: String
        let properties: [Property]
        let unique: [[String]]?
        let index: [[String]]?
        let notStored: [[String]]?
        let types: [String: Kind]?
        let hash: String
    }

    private static let file = SharedStores.shared.appendingPathComponent("swiftdata-vectors.json")
    private static let isPresent = FileManager.default.fileExists(atPath: file.path)

    @Test("Every known hash comes out of the sources", .enabled(if: isPresent, "../shared is not here"))
    func hashes() throws {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        let vectors = try decoder.decode([Vector].self, from: Data(contentsOf: Self.file))
        #expect(vectors.count > 70)
        for vector in vectors {
            let versions = try SwiftSourceModels([("Models.swift", source(of: vector))], name: "Models").versions()
            let model = try #require(versions.versions.first).model.get()
            let hash = model.entityVersionHashesByName[vector.entity]?.hexadecimal
            #expect(hash == vector.hash, "\(vector.id) \(vector.entity)")
            let entity = try #require(model.entity(named: vector.entity))
            for property in vector.properties {
                let place: Comment = "\(vector.id) \(vector.entity).\(property.name)"
                if let link = entity.relationship(named: property.name) {
                    #expect(link.definition.inverseName == property.expect.inverse, place)
                    #expect("\(link.definition.deleteRule)" == property.expect.deleteRule, place)
                    #expect(link.definition.destinationEntityName == property.expect.destination, place)
                } else {
                    let attribute = entity.definition.attributes.first { $0.name == property.name }
                    #expect(attribute?.type.label == property.expect.type, place)
                    #expect(attribute?.isOptional == property.expect.optional, place)
                }
            }
        }
    }

    /// Writes the facts as a source.
    private func source(of vector: Vector) -> String {
        var parts = ["import SwiftData"]
        for (name, kind) in vector.types ?? [:] {
            let path = name.split(separator: ".").map(String.init)
            guard let declaration = declaration(of: kind, named: path[path.count - 1]) else { continue }
            parts.append(path.count > 1 ? "extension \(path[0]) { \(declaration) }" : declaration)
        }
        let outer = Set(
            (vector.types ?? [:]).keys.compactMap { $0.contains(".") ? $0.split(separator: ".").first : nil })
        parts += outer.map { "enum \($0) {}" }
        var stubs: [String: Set<String>] = [:]
        var spaces: [String: String] = [:]
        var body: [String] = []
        for property in vector.properties {
            body.append(line(for: property, of: vector.entity, &stubs, &spaces))
        }
        body += (vector.notStored ?? []).map {
            $0[1] == "Transient" ? "@Transient var \($0[0]): Int = 0" : "var \($0[0]): Int { 1 }"
        }
        let single = Set(
            vector.properties.filter { $0.annotations?.contains("attribute option unique") == true }.map { [$0.name] })
        for names in vector.unique ?? [] where !single.contains(names) {
            body.append("#Unique<\(vector.entity)>([\(names.map { "\\.\($0)" }.joined(separator: ", "))])")
        }
        body += (vector.index ?? []).map {
            "#Index<\(vector.entity)>([\($0.map { "\\.\($0)" }.joined(separator: ", "))])"
        }
        parts.append("@Model final class \(vector.entity) {\n\(body.joined(separator: "\n"))\n}")
        for (name, members) in stubs where name != vector.entity {
            let stub = "@Model final class \(name) { var stub: Int\n\(members.sorted().joined(separator: "\n")) }"
            parts.append(spaces[name].map { "enum \($0) { \(stub) }" } ?? stub)
        }
        return parts.joined(separator: "\n")
    }

    private func declaration(of kind: Vector.Kind, named name: String) -> String? {
        switch kind.kind {
        case "struct":
            let fields = (kind.fields ?? []).map { "var \($0[0]): \($0[1])" }
            return "struct \(name): Codable { \(fields.joined(separator: "\n")) }"
        case "enum":
            if let raw = kind.raw { return "enum \(name): \(raw), Codable { case a }" }
            let payload = kind.payloads == true ? "(String)" : ""
            return
                "enum \(name): Codable { \((kind.cases ?? []).map { "case \($0)\(payload)" }.joined(separator: "\n")) }"
        default: return nil
        }
    }

    private func line(
        for property: Vector.Property, of entity: String, _ stubs: inout [String: Set<String>],
        _ spaces: inout [String: String]
    ) -> String {
        var line = (property.annotations ?? []).map { "@Attribute(.\($0.dropFirst("attribute option ".count))) " }
            .joined()
        if let link = property.relationship, let destination = property.expect.destination {
            let type = property.type.filter { !"[]?".contains($0) }
            if let point = type.firstIndex(of: ".") { spaces[destination] = String(type[..<point]) }
            stubs[destination, default: []].formUnion([])
            if let name = link.inverseWrittenHere { stubs[destination]?.insert("var \(name): \(entity)?") }
            if let name = link.inverseWrittenOnOtherSide {
                stubs[destination]?.insert(
                    "@Relationship(inverse: \\\(entity).\(property.name)) var \(name): [\(entity)]")
            }
            let arguments = [
                link.deleteRule.map { "deleteRule: .\($0)" },
                link.inverseWrittenHere.map { "inverse: \\\(type).\($0)" },
            ].compactMap { $0 }
            if link.macro || !arguments.isEmpty { line += "@Relationship(\(arguments.joined(separator: ", "))) " }
        }
        guard property.typeWritten != false else { return line + "var \(property.name) = \(property.type)()" }
        let initial = ["literal": " = 1", "empty array": " = []", "nil": " = nil", "expression": " = make()"]
        return line + "var \(property.name): \(property.type)" + (property.initial.flatMap { initial[$0] } ?? "")
    }
}
