import Foundation
import ManagedModel
import TestSupport
import Testing

@testable import StagecoachCommand

/// The outline of a run's inputs, which four commands share.
@Suite("The outline of a run's inputs")
struct InputsOutlineTests {
    private static let models = SharedStores.repository.appendingPathComponent("Fixtures/Models/Orders.xcdatamodeld")
        .path

    /// A folder with `old.sqlite` of one customer.
    private func store() throws -> TemporaryFolder {
        let folder = try TemporaryFolder()
        try ReferenceStore.make(try ModelLocator.load(Self.models + ":Orders").model) { store in
            store.insert("Customer", 1, ["age": .integer(30), "name": .text("A"), "email": .text("a@example.org")])
        }.write(path: folder.file("old.sqlite"))
        return folder
    }

    private static let commands = [
        ["migrate", "old.sqlite", "new.sqlite"], ["plan", "old.sqlite", "other.sqlite"], ["check", "old.sqlite"],
        ["verify", "old.sqlite", "new.sqlite"],
    ]

    @Test("migrate, plan, check and verify say it in the same JSON, which its schema describes")
    func json() throws {
        let folder = try store()
        let schema = try JSONSchema(of: "Fixtures/Schemas/outline.schema.json")
        var steps: Set<String> = []
        for command in Self.commands {
            let outcome = try CommandBinary.run(command + ["--to", Self.models, "--json"], in: folder.path)
            #expect(outcome.code == 0, "\(outcome.messages)")
            var object = try #require(
                try JSONSerialization.jsonObject(with: Data(outcome.output.utf8)) as? [String: Any])
            #expect(schema.problems(object) == [])
            var inputs = try #require(object["outline"] as? [String: Any])
            #expect(object["sourceVersion"] as? String == "Orders")
            #expect((inputs["source"] as? [String: Any])?["path"] as? String == "old.sqlite")
            #expect(
                (inputs["destination"] as? [String: Any])?["path"] as? String == (command.count > 2 ? command[2] : nil))
            let made = try JSONSerialization.data(withJSONObject: inputs["steps"] ?? [], options: [.sortedKeys])
            steps.insert(made.base64EncodedString())
            inputs["policies"] = 1
            object["outline"] = inputs
            #expect(schema.problems(object) == ["outline.policies: not of type array"])
            inputs["policies"] = nil
            object["outline"] = inputs
            #expect(schema.problems(object) == ["outline.policies: missing"])
        }
        #expect(steps.count == 1)
        #expect(InputsOutline.KnownBy.allCases.allSatisfy { schema.text.contains("\"\($0.rawValue)\"") })
    }

    @Test("and on screen in the same lines")
    func screen() throws {
        let folder = try store()
        for command in Self.commands {
            let outcome = try CommandBinary.run(command + ["--to", Self.models], in: folder.path)
            #expect(outcome.code == 0, "\(outcome.messages)")
            let facts = outcome.output.split(separator: "\n").map { $0.split(separator: " ").joined(separator: " ") }
            for line in ["model Orders → Orders 2", "mapping inferred", "version known by its version hashes"] {
                #expect(facts.contains(line), "\(command[0]): \(outcome.output)")
            }
        }
    }

    @Test("A store that is at the target version says so")
    func atTarget() throws {
        let folder = try store()
        for command in Self.commands {
            let outcome = try CommandBinary.run(command + ["--to", Self.models + ":Orders"], in: folder.path)
            #expect(outcome.code == 0, "\(outcome.messages)")
            #expect(outcome.output.contains("The store is at the version Orders already"), "\(outcome.output)")
        }
    }
}

/// A JSON schema, as far as `Fixtures/Schemas` uses the language: types, required and optional members, items, enumerations.
private struct JSONSchema {
    let text: String
    private let root: [String: Any]

    init(of name: String) throws {
        text = try String(contentsOf: SharedStores.repository.appendingPathComponent(name), encoding: .utf8)
        root = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
        let known: Set = [
            "$schema", "title", "description", "type", "required", "properties", "items", "minItems", "enum",
        ]
        #expect(Self.words(root).isSubset(of: known))
    }

    private static func words(_ schema: [String: Any]) -> Set<String> {
        let inner =
            Array((schema["properties"] as? [String: [String: Any]] ?? [:]).values)
            + [schema["items"] as? [String: Any]].compactMap(\.self)
        return inner.reduce(into: Set(schema.keys)) { $0.formUnion(words($1)) }
    }

    /// The places of a value that the schema does not allow, with the reason.
    func problems(_ value: Any) -> [String] { Self.problems(value, root, "") }

    private static func problems(_ value: Any, _ schema: [String: Any], _ place: String) -> [String] {
        if let words = schema["enum"] as? [String] {
            return words.contains(value as? String ?? "") ? [] : ["\(place): not in the enumeration"]
        }
        let isOfType =
            switch schema["type"] as? String {
            case "object": value is [String: Any]
            case "array": value is [Any]
            case "string": value is String
            case "boolean": value is Bool
            default: false
            }
        guard isOfType else { return ["\(place): not of type \(schema["type"] ?? "")"] }
        func inside(_ name: String) -> String { place.isEmpty ? name : "\(place).\(name)" }
        if let members = value as? [String: Any] {
            let missing = (schema["required"] as? [String] ?? []).filter { members[$0] == nil }
            let known = schema["properties"] as? [String: [String: Any]] ?? [:]
            return missing.map { "\(inside($0)): missing" }
                + known.sorted { $0.key < $1.key }.flatMap { name, schema in
                    members[name].map { problems($0, schema, inside(name)) } ?? []
                }
        }
        guard let elements = value as? [Any] else { return [] }
        if elements.count < schema["minItems"] as? Int ?? 0 { return ["\(place): too few"] }
        let items = schema["items"] as? [String: Any] ?? [:]
        return elements.enumerated().flatMap { problems($1, items, "\(place)[\($0)]") }
    }
}
