import Diagnostics
import ManagedModel
import Mapping
import Testing

@Suite("Inference: what is left on request")
struct InferenceLeaveTests {
    typealias M = InferenceModels

    /// A model before and after changes that inference refuses.
    private static func models() throws -> (ManagedObjectModel, ManagedObjectModel) {
        (
            try M.model(
                M.entity(
                    "Album", [M.attribute("year", .integer32), M.attribute("name")], [M.toOne("cover", "Artwork")]),
                M.entity("Artwork", [], [M.toMany("albums", "Album")]), M.entity("Image")),
            try M.model(
                M.entity(
                    "Album",
                    [M.attribute("year", .string, required: true, default: .string("?")), M.attribute("name")],
                    [M.toOne("cover", "Image")]),
                M.entity("Artwork", [], [M.toOne("albums", "Album")]), M.entity("Image"))
        )
    }

    @Test("Type, destination and cardinality are left without an expression, and everything else is mapped")
    func leaves() throws {
        let (source, destination) = try Self.models()
        #expect(throws: MigrationError.self) { try MappingModel.inferred(from: source, to: destination) }
        let model = try MappingModel.inferred(from: source, to: destination, unmappable: .leave)
        let album = try #require(model.entityMappings.first { $0.destinationEntityName == "Album" })
        #expect(album.attributeMapping(named: "name")?.valueExpression?.format == "$source.name")
        for property in [album.attributeMapping(named: "year"), album.relationshipMapping(named: "cover")] {
            let property = try #require(property)
            #expect(property.valueExpression == nil)
            #expect(!property.isAutomatic && !property.replacesNil)
            #expect(property.unmapped?.source == property.name)
        }
        let artwork = try #require(model.entityMappings.first { $0.destinationEntityName == "Artwork" })
        #expect(artwork.relationshipMapping(named: "albums")?.unmapped?.reason.contains("cardinalities") == true)
    }

    @Test("The JSON names each with its reason, and is read again as it was")
    func json() throws {
        let (source, destination) = try Self.models()
        let model = try MappingModel.inferred(from: source, to: destination, unmappable: .leave)
        let text = try model.json()
        #expect(text.contains("\"unmappable\": \"Source and destination attribute types are incompatible"))
        let again = try MappingModel.reading(
            json: Array(text.utf8), path: "m.json", source: source, destination: destination)
        #expect(model.differences(from: again) == [])
        #expect(try again.json() == text)
        let album = try #require(again.entityMappings.first { $0.destinationEntityName == "Album" })
        #expect(album.relationshipMapping(named: "cover")?.unmapped?.source == "cover")
    }

    @Test("JSON that does not list such a property is refused with the line that helps, or left on request")
    func unlisted() throws {
        let (source, destination) = try Self.models()
        let text = """
            {"formatVersion": 2, "entityMappings": [{"sourceEntity": "Album", "destinationEntity": "Album",
             "attributes": {"year": "'?'"}}]}
            """
        func read(_ unmappable: UnmappableProperties) throws -> MappingModel {
            try MappingModel.reading(
                json: Array(text.utf8), path: "m.json", source: source, destination: destination,
                unmappable: unmappable)
        }
        // Nothing makes artworks here: the cover points to what no mapping migrates, and is not incompatible.
        _ = try read(.refuse)
        let more = text.replacing(
            "}]}", with: "}, {\"sourceEntity\": \"Artwork\", \"destinationEntity\": \"Artwork\"}]}")
        func readMore(_ unmappable: UnmappableProperties) throws -> MappingModel {
            try MappingModel.reading(
                json: Array(more.utf8), path: "m.json", source: source, destination: destination,
                unmappable: unmappable)
        }
        let error = #expect(throws: MigrationError.self) { try readMore(.refuse) }
        #expect(error?.code == "mapping.unlistedProperty")
        #expect(error?.remedy?.contains("\"cover\": null") == true)
        let model = try readMore(.leave)
        #expect(model.entityMappings[0].relationshipMapping(named: "cover")?.unmapped != nil)
        #expect(model.entityMappings[0].attributeMapping(named: "year")?.unmapped == nil)
    }

    @Test("A refusal says which option and which line help, but for hierarchies")
    func remedies() throws {
        let (source, destination) = try Self.models()
        let error = try #require(M.refusal(source, destination))
        #expect(error.remedy?.contains("--unmappable leave") == true)
        #expect(error.remedy?.contains("\"year\": null") == true)
        let (apart, together) = (
            try M.model(M.entity("A"), M.entity("B")), try M.model(M.entity("A"), M.entity("B", parent: "A"))
        )
        let refusal = #expect(throws: MigrationError.self) {
            try MappingModel.inferred(from: apart, to: together, unmappable: .leave)
        }
        #expect(refusal?.code == "inference.hierarchies")
        #expect(refusal?.remedy?.contains("--unmappable") == false)
    }

    @Test("Two steps made one leave behind what either leaves")
    func composed() throws {
        let (source, middle) = try Self.models()
        let last = try M.model(
            M.entity(
                "Album",
                [M.attribute("date", .string, id: "year", required: true, default: .string("?")), M.attribute("name")],
                [M.toOne("front", "Image", id: "cover")]),
            M.entity("Artwork", [], [M.toOne("albums", "Album")]), M.entity("Image"))
        let first = try MappingModel.inferred(from: source, to: middle, unmappable: .leave)
        let second = try MappingModel.inferred(from: middle, to: last)
        let composed = try MappingComposition.compose(
            first, second, source: source, middle: middle, destination: last, excuses: true)
        let album = try #require(composed.entityMappings.first { $0.destinationEntityName == "Album" })
        #expect(album.attributeMapping(named: "date")?.unmapped?.source == "year")
        #expect(album.relationshipMapping(named: "front")?.unmapped?.source == "cover")
    }
}
