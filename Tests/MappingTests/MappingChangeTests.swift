import Diagnostics
import ManagedModel
import TestSupport
import Testing

@testable import Mapping

@Suite("Mapping models: what is not listed is inferred, and lines that change them")
struct MappingChangeTests {
    typealias M = InferenceModels

    private static func read(
        _ text: String, _ source: ManagedObjectModel, _ destination: ManagedObjectModel
    ) throws -> MappingModel {
        try MappingModel.reading(
            json: Array(text.utf8), path: "m.json", source: source, destination: destination)
    }

    private static func changed(
        _ lines: [String], _ source: ManagedObjectModel, _ destination: ManagedObjectModel
    ) throws -> MappingModel {
        try MappingModel.inferred(
            from: source, to: destination, unmappable: .refuse,
            changes: try lines.map { try #require(MappingChange($0)) })
    }

    @Test(
        "A file that lists nothing and infers the rest is the inferred mapping model, on random models",
        arguments: RandomSeeds.seeds(60))
    func nothingListed(seed: UInt64) throws {
        let random = try RandomMigration.inferred(seed: seed)
        let text = #"{"formatVersion": 2, "unlisted": "infer", "entityMappings": []}"#
        if Self.isRefused(random) {
            #expect(throws: MigrationError.self) { try Self.read(text, random.source, random.destination) }
            return
        }
        let read = try Self.read(text, random.source, random.destination)
        #expect(M.lines(read) == M.lines(try M.infer(random.source, random.destination)))
        #expect(read.rulesOfTheSource == .warn)
    }

    @Test(
        "A file that lists one entity as it is inferred, and infers the rest, makes the same objects, on random models",
        arguments: RandomSeeds.seeds(60))
    func oneListed(seed: UInt64) throws {
        let random = try RandomMigration.inferred(seed: seed)
        guard !Self.isRefused(random) else { return }
        let inferred = try M.infer(random.source, random.destination)
        let made = inferred.entityMappings.filter { $0.sourceEntityName != nil && $0.destinationEntityName != nil }
        for mapping in made.prefix(3) {
            let entry = """
                {"name": "\(mapping.name ?? "")", "sourceEntity": "\(mapping.sourceEntityName ?? "")",
                 "destinationEntity": "\(mapping.destinationEntityName ?? "")"}
                """
            let text = #"{"formatVersion": 2, "unlisted": "infer", "entityMappings": [\#(entry)]}"#
            let read = try Self.read(text, random.source, random.destination)
            #expect(Set(M.lines(read).map(Self.kindless)) == Set(M.lines(inferred).map(Self.kindless)))
        }
    }

    private static func isRefused(_ random: RandomMigration) -> Bool {
        MappingModel.inference(from: random.source, to: random.destination, unmappable: .refuse).problems.error != nil
    }

    /// Lookups name entity mappings, and of those some copy and others transform.
    private static func kindless(_ line: String) -> String {
        line.replacing("IEM_Copy_", with: "IEM_").replacing("IEM_Transform_", with: "IEM_")
    }

    private static func library() throws -> (source: ManagedObjectModel, destination: ManagedObjectModel) {
        let source = try M.model(
            M.entity("Item", [M.attribute("memo"), M.attribute("price", .double)], [M.toOne("owner", "Client")]),
            M.entity("Book", parent: "Item", [M.attribute("title")]), M.entity("Client", [M.attribute("name")]),
            M.entity("Audit", [M.attribute("line")]))
        let destination = try M.model(
            M.entity("Item", [M.attribute("note"), M.attribute("price", .integer64)], [M.toOne("owner", "Customer")]),
            M.entity("Book", parent: "Item", [M.attribute("title")]), M.entity("Customer", [M.attribute("name")]))
        return (source, destination)
    }

    @Test("Lines set properties with their subentities, rename entities, and say what is meant to stay behind")
    func lines() throws {
        let (source, destination) = try Self.library()
        let model = try Self.changed(
            ["Customer=Client", "Item.price = $source.price", "Item.note=uppercase:($source.memo)", "Audit="], source,
            destination)
        #expect(
            model.entityMappings.map { "\($0.sourceEntityName ?? "-") \($0.destinationEntityName ?? "-")" }.sorted()
                == ["Audit -", "Book Book", "Client Customer", "Item Item"])
        for name in ["IEM_Transform_Item", "IEM_Transform_Book"] {
            let expressions = M.expressions(model, name)
            #expect(expressions["price"] == "$source.price" && expressions["note"] == "uppercase($source.memo)")
            #expect(expressions["owner"]?.contains("owner") == true, "\(expressions)")
        }
        #expect(M.expressions(model, "ClientToCustomer")["name"] == "$source.name")
        #expect(model.losses == ["Audit"] && model.rulesOfTheSource == .warn)
    }

    @Test("A line for a subentity leaves the others as they are; a later line wins")
    func subentity() throws {
        let (source, destination) = try Self.library()
        let rest = ["Customer=Client", "Item.price=$source.price"]
        let model = try Self.changed(rest + ["Item.note=$source.memo", "Book.note=$source.title"], source, destination)
        #expect(M.expressions(model, "IEM_Transform_Item")["note"] == "$source.memo")
        #expect(M.expressions(model, "IEM_Transform_Book")["note"] == "$source.title")
        let emptied = try Self.changed(rest + ["Item.note=$source.memo", "Book.note="], source, destination)
        #expect(M.expressions(emptied, "IEM_Transform_Book")["note"] == "-")
        #expect(emptied.losses.isEmpty)
    }

    @Test("The lines that a refusal prints mend it, one after the other")
    func pasted() throws {
        let (source, destination) = try Self.library()
        var lines: [String] = []
        for _ in 0..<5 {
            let error: MigrationError
            do {
                _ = try Self.changed(lines, source, destination)
                break
            } catch let thrown as MigrationError { error = thrown }
            let found = (error.remedy ?? "").matches(of: /--set '([^']+)'/).map { String($0.output.1) }
            try #require(!found.isEmpty, "\(error)")
            lines += found
        }
        #expect(Set(lines) == ["Item.price=$source.price", "Customer=Client"])
        _ = try Self.changed(lines, source, destination)
    }

    @Test("Changes to a file change what it lists, and infer what it does not list only if it says so")
    func ofFile() throws {
        let (source, destination) = try Self.library()
        func read(_ unlisted: String, _ line: String) throws -> MappingModel {
            let text = """
                {"formatVersion": 2, \(unlisted) "entityMappings": [
                {"sourceEntity": "Client", "destinationEntity": "Customer", "attributes": {"name": "'x'"}}]}
                """
            let document = try MappingDocument(Array(text.utf8), path: "m.json").changed(
                by: [try #require(MappingChange(line))], source: source, destination: destination)
            return try MappingModel.reading(
                document, source: source, destination: destination, after: [], unmappable: .leave, misfits: .refused)
        }
        #expect(M.expressions(try read("", "Customer.name=$source.name"), "ClientToCustomer")["name"] == "$source.name")
        #expect(try read(#""unlisted": "infer","#, "Item.note=$source.memo").entityMappings.count == 4)
        let error = #expect(throws: MigrationError.self) { try read("", "Item.note=$source.memo") }
        #expect(error?.code == "mapping.unlistedEntity")
        #expect(error?.message.hasPrefix("--set 'Item.note=$source.memo': ") == true, "\(String(describing: error))")
    }

    @Test(
        "Wrong lines are refused by name",
        arguments: [
            ("Itm.note=$source.memo", "mapping.unknownEntity"), ("Item.nte=$source.memo", "mapping.unknownProperty"),
            ("Item.note=$source.", "mapping.expression"), ("Itm.note=", "mapping.unknownEntity"),
            ("Item.memos=", "mapping.unknownProperty"), ("Customer=Clint", "mapping.unknownEntity"),
        ])
    func wrong(line: String, code: String) throws {
        let (source, destination) = try Self.library()
        let error = #expect(throws: MigrationError.self) {
            try Self.changed(["Customer=Client", "Item.price=$source.price", line], source, destination)
        }
        #expect(error?.code.rawValue == code, "\(String(describing: error))")
    }

    @Test("A text without a name or an equals sign is no line", arguments: ["", "=", "Item", ".x=1", "Item.=1", " =x"])
    func noLine(text: String) { #expect(MappingChange(text) == nil) }
}
