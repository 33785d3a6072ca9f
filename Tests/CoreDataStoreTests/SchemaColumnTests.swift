import ManagedModel
import Testing

@testable import CoreDataStore

/// Entity numbers, tables and columns (Formats.md, "The store" to "Relationships").
@Suite("Schema: numbers, tables and columns")
struct SchemaColumnTests {
    private typealias M = SchemaTestModel

    @Test("Entities are numbered depth first, by name without regard to case")
    func numbers() throws {
        let schema = try M.schema(
            M.entity("SyncFeatureEntity"), M.entity("SyncableSettingsMetadata"), M.entity("Zoo"),
            M.entity("beta", parent: "Zoo"), M.entity("Alpha", parent: "Zoo"), M.entity("Deep", parent: "Alpha"),
            M.entity("animal"))
        let byNumber = (1...7).compactMap { schema.entityByNumber[$0] }.map { schema.model.entity(at: $0).name ?? "" }
        #expect(
            byNumber == [
                "animal", "SyncableSettingsMetadata", "SyncFeatureEntity", "Zoo", "Alpha", "Deep", "beta",
            ])
        #expect(schema.tables.map(\.name) == ["ZANIMAL", "ZSYNCABLESETTINGSMETADATA", "ZSYNCFEATUREENTITY", "ZZOO"])
        #expect(schema.tables[3].entities.count == 4)
    }

    @Test("A model keeps its schema as long as it is what it was, and neither holds the other")
    func kept() throws {
        func entity(_ name: String) -> EntityDescription {
            let entity = EntityDescription()
            entity.name = name
            return entity
        }
        weak var released: ManagedObjectModel?
        do {
            let model = ManagedObjectModel()
            released = model
            model.entities = [entity("First")]
            #expect(StoreSchema(model: model).tables.map(\.name) == ["ZFIRST"])
            #expect(StoreSchema(model: model).model === model)
            model.entities = [entity("First"), entity("Second")]
            #expect(StoreSchema(model: model).tables.map(\.name) == ["ZFIRST", "ZSECOND"])
        }
        #expect(released == nil)
    }

    @Test("Two entities whose names differ in case get two tables")
    func tableCollision() throws {
        let schema = try M.schema(M.entity("Foo"), M.entity("foo"), M.entity("FOO"))
        #expect(Set(schema.tables.map(\.name)) == ["ZFOO", "ZFOO1", "ZFOO2"])
    }

    @Test("A table is never called like a fixed one")
    func reservedTable() throws {
        let schema = try M.schema(M.entity("_METADATA"))
        #expect(schema.tables.map(\.name) == ["Z_METADATA1"])
    }

    @Test("The second use of a column name gets the suffix 1, the third 2, attributes before relationships")
    func suffixes() throws {
        let schema = try M.schema(
            M.entity("Base"), M.entity("A", parent: "Base", [M.attribute("name")], [M.toOne("value", "Base")]),
            M.entity("B", parent: "Base", [M.attribute("name"), M.attribute("value", .integer16)]),
            M.entity("C", parent: "Base", [M.attribute("name")], [M.toOne("Value", "Base")]))
        #expect(
            try schema.columns("Base") == [
                "ZVALUE INTEGER", "Z1_VALUE INTEGER", "ZVALUE1 INTEGER", "ZVALUE2 INTEGER", "Z1_VALUE2 INTEGER",
                "ZNAME VARCHAR", "ZNAME1 VARCHAR", "ZNAME2 VARCHAR",
            ])
        let c = try #require(schema.model.entity(named: "C")?.attribute(named: "name"))
        let column = try #require(schema.column(of: c))
        #expect(schema.tables[0].columns[column].name == "ZNAME2")
    }

    @Test("An attribute never takes the name of a fixed column")
    func reservedColumns() throws {
        let schema = try M.schema(M.entity("A", [M.attribute("_pk"), M.attribute("_ent"), M.attribute("_opt")]))
        #expect(try schema.columns("A") == ["Z_ENT1 VARCHAR", "Z_OPT1 VARCHAR", "Z_PK1 VARCHAR"])
    }

    @Test("Columns come by class, inside a class by entity and name, attributes with regard to case")
    func order() throws {
        let types: [(String, AttributeType)] = [
            ("binary", .binaryData), ("transformable", .transformable), ("uuid", .uuid), ("uri", .uri),
            ("string", .string), ("decimal", .decimal), ("float", .float), ("double", .double), ("date", .date),
            ("boolean", .boolean), ("int64", .integer64), ("Int32", .integer32), ("int16", .integer16),
        ]
        let schema = try M.schema(
            M.entity("A", types.map { M.attribute($0.0, $0.1) }, [M.toOne("owner", "A"), M.toOne("leaf", "Leaf")]),
            M.entity("B", parent: "A", [M.attribute("alpha", .integer16), M.attribute("aText")]), M.entity("Leaf"))
        #expect(
            try schema.columns("A") == [
                "ZINT32 INTEGER", "ZBOOLEAN INTEGER", "ZINT16 INTEGER", "ZINT64 INTEGER", "ZLEAF INTEGER",
                "ZOWNER INTEGER", "Z1_OWNER INTEGER", "ZALPHA INTEGER", "ZDATE TIMESTAMP", "ZDOUBLE FLOAT",
                "ZFLOAT FLOAT", "ZDECIMAL DECIMAL", "ZSTRING VARCHAR", "ZATEXT VARCHAR", "ZURI VARCHAR", "ZUUID BLOB",
                "ZTRANSFORMABLE BLOB", "ZBINARY BLOB",
            ])
    }

    @Test("Transient and undefined attributes have no column, nor have composites; object ids are named as unstorable")
    func noColumn() throws {
        var transient = M.attribute("t")
        transient.isTransient = true
        var composite = M.attribute("c", .composite)
        composite.compositeName = "Point"
        var definition = ModelDefinition()
        definition.composites = ["Point": [M.attribute("x", .double)]]
        definition.entities = [
            M.entity(
                "A",
                [transient, M.attribute("u", .undefined), composite, M.attribute("o", .objectID), M.attribute("v")])
        ]
        let schema = StoreSchema(model: try ManagedObjectModel(definition))
        #expect(try schema.columns("A") == ["ZX FLOAT", "ZV VARCHAR"])
        #expect(schema.unstorableAttributes.map(\.name) == ["o"])
        let attribute = try #require(schema.model.entity(named: "A")?.attribute(named: "t"))
        #expect(schema.column(of: attribute) == nil)
    }

    @Test(
        "A composite's elements stand in its place, in declared order; equal names of a table are numbered in that order"
    )
    func compositeColumns() throws {
        func composite(_ name: String, _ kind: String) -> AttributeDefinition {
            var attribute = M.attribute(name, .composite)
            attribute.compositeName = kind
            return attribute
        }
        var definition = ModelDefinition()
        definition.composites = [
            "Person": [
                M.attribute("person"), M.attribute("id", .uuid), composite("home", "Place"),
                M.attribute("age", .integer16),
            ],
            "Place": [M.attribute("street"), M.attribute("id", .integer32)],
        ]
        definition.entities = [
            M.entity(
                "A",
                [
                    M.attribute("id", .uuid), M.attribute("address"), composite("author", "Person"),
                    M.attribute("name"),
                    composite("prep", "Place"),
                ]),
            M.entity("B", parent: "A", [composite("editor", "Place"), M.attribute("age", .integer16)]),
        ]
        let schema = StoreSchema(model: try ManagedObjectModel(definition))
        #expect(
            try schema.columns("A") == [
                "ZID1 INTEGER", "ZAGE INTEGER", "ZID3 INTEGER", "ZAGE1 INTEGER", "ZID4 INTEGER", "ZADDRESS VARCHAR",
                "ZPERSON VARCHAR", "ZSTREET VARCHAR", "ZNAME VARCHAR", "ZSTREET1 VARCHAR", "ZSTREET2 VARCHAR",
                "ZID BLOB", "ZID2 BLOB",
            ])
    }

    @Test("An entity column follows a key only if the destination itself has subentities, with its own number")
    func entityColumn() throws {
        let schema = try M.schema(
            M.entity("Root"), M.entity("Middle", parent: "Root"), M.entity("Leaf", parent: "Middle"),
            M.entity("User", [], [M.toOne("toLeaf", "Leaf"), M.toOne("toMiddle", "Middle"), M.toOne("toRoot", "Root")]))
        #expect(
            try schema.columns("User") == [
                "ZTOLEAF INTEGER", "ZTOMIDDLE INTEGER", "Z2_TOMIDDLE INTEGER", "ZTOROOT INTEGER", "Z1_TOROOT INTEGER",
            ])
        #expect(schema.storage("User", "toLeaf") == .toOne(table: 1, column: 2, entityColumn: nil, orderColumn: nil))
        #expect(schema.storage("User", "toRoot") == .toOne(table: 1, column: 5, entityColumn: 6, orderColumn: nil))
    }

    @Test("Ordered to-many relationships put order columns beside their members' keys, by owner, name descending")
    func orderColumns() throws {
        let schema = try M.schema(
            M.entity(
                "Folder", [],
                [
                    M.toMany("children", "Item", inverse: "parent", ordered: true),
                    M.toMany("favorites", "Item", inverse: "favoriteFolder", ordered: true),
                    M.toMany("plain", "Item", inverse: "plainFolder"),
                ]),
            M.entity(
                "Item", [M.attribute("date", .date)],
                [
                    M.toOne("favoriteFolder", "Folder", inverse: "favorites"),
                    M.toOne("parent", "Folder", inverse: "children"),
                    M.toOne("plainFolder", "Folder", inverse: "plain"),
                ]))
        #expect(
            try schema.columns("Item") == [
                "ZFAVORITEFOLDER INTEGER", "ZPARENT INTEGER", "ZPLAINFOLDER INTEGER", "Z_FOK_FAVORITEFOLDER INTEGER",
                "Z_FOK_PARENT INTEGER", "ZDATE TIMESTAMP",
            ])
        #expect(
            schema.storage("Folder", "children")
                == .toManyByInverse(table: 1, column: 3, entityColumn: nil, orderColumn: 6))
        #expect(schema.storage("Item", "parent") == .toOne(table: 1, column: 3, entityColumn: nil, orderColumn: 6))
        #expect(
            schema.storage("Item", "plainFolder") == .toOne(table: 1, column: 4, entityColumn: nil, orderColumn: nil))
    }

    @Test("An order column keeps the suffix of its key")
    func orderColumnSuffix() throws {
        let schema = try M.schema(
            M.entity("Base"), M.entity("One", parent: "Base", [M.attribute("owner", .integer16)]),
            M.entity("Owner", [], [M.toMany("items", "Two", inverse: "owner", ordered: true)]),
            M.entity("Two", parent: "Base", [], [M.toOne("owner", "Owner", inverse: "items")]))
        #expect(
            try schema.columns("Base") == ["ZOWNER INTEGER", "ZOWNER1 INTEGER", "Z_FOK_OWNER1 INTEGER"])
    }

    @Test("A to-many without inverse is a hidden column in its destination's table, its places follow at once")
    func hidden() throws {
        let schema = try M.schema(
            M.entity("GeoLocation", [M.attribute("timestamp", .integer64), M.attribute("lat", .double)]),
            M.entity(
                "Measurement", [],
                [M.toMany("geoLocations", "GeoLocation", ordered: true), M.toMany("more", "GeoLocation")]))
        #expect(
            try schema.columns("GeoLocation") == [
                "ZTIMESTAMP INTEGER", "Z2GEOLOCATIONS INTEGER", "Z_FOK_2GEOLOCATIONS INTEGER", "Z2MORE INTEGER",
                "ZLAT FLOAT",
            ])
        #expect(
            schema.storage("Measurement", "geoLocations") == .toManyHidden(table: 0, column: 3, orderColumn: 4))
        #expect(schema.storage("Measurement", "more") == .toManyHidden(table: 0, column: 5, orderColumn: nil))
        #expect(schema.allIndexStatements.contains("CREATE INDEX ZGEOLOCATION_Z2MORE_INDEX ON ZGEOLOCATION (Z2MORE)"))
    }

    @Test("Relationships that claim another one's inverse have a storage that exists")
    func claimedInverses() throws {
        let schema = try M.schema(
            M.entity(
                "Artist", [],
                [M.toOne("thumbnail", "Image", inverse: "thumbnail"), M.toMany("fans", "Image", inverse: "idols")]),
            M.entity(
                "Image", [],
                [
                    M.toOne("artist", "Artist", inverse: "thumbnail"),
                    M.toOne("thumbnail", "Artist", inverse: "thumbnail"),
                    M.toMany("claims", "Artist", inverse: "thumbnail", ordered: true),
                    M.toMany("idols", "Artist", inverse: "fans"), M.toMany("others", "Artist", inverse: "fans"),
                ]))
        #expect(schema.storage("Image", "artist") == .toOne(table: 1, column: 2, entityColumn: nil, orderColumn: nil))
        #expect(
            schema.storage("Image", "thumbnail") == .toOne(table: 1, column: 3, entityColumn: nil, orderColumn: nil))
        #expect(
            schema.storage("Image", "claims")
                == .toManyByInverse(table: 0, column: 2, entityColumn: nil, orderColumn: 3))
        #expect(
            schema.storage("Artist", "thumbnail") == .toOne(table: 0, column: 2, entityColumn: nil, orderColumn: nil))
        #expect(schema.joinTables.count == 2)
        guard case .join(let first, 0) = schema.storage("Artist", "fans"),
            case .join(first, 1) = schema.storage("Image", "idols"),
            case .join(let other, 0) = schema.storage("Image", "others")
        else {
            Issue.record("wrong storages")
            return
        }
        #expect(first != other)
        #expect(schema.joinTables[first].name != schema.joinTables[other].name)
    }

    @Test("A transient relationship is stored nowhere")
    func transientRelationship() throws {
        var relationship = M.toOne("other", "A")
        relationship.isTransient = true
        let schema = try M.schema(M.entity("A", [], [relationship]))
        #expect(schema.storage("A", "other") == RelationshipStorage.none)
        #expect(try schema.columns("A").isEmpty)
    }

    @Test("A to-many whose inverse leads into another hierarchy is stored without it")
    func foreignInverse() throws {
        let schema = try M.schema(
            M.entity("A", [], [M.toMany("items", "Item", inverse: "owner")]),
            M.entity("B", [], [M.toMany("items", "Item", inverse: "owner")]),
            M.entity("Item", [], [M.toOne("owner", "B", inverse: "items")]))
        #expect(try schema.columns("Item") == ["ZOWNER INTEGER", "Z1ITEMS INTEGER"])
        #expect(schema.storage("A", "items") == .toManyHidden(table: 2, column: 3, orderColumn: nil))
        #expect(
            schema.storage("B", "items")
                == .toManyByInverse(table: 2, column: 2, entityColumn: nil, orderColumn: nil))
    }

    @Test("Names are upper-cased beyond ASCII, and quoted only if SQLite would not read them bare")
    func names() throws {
        var entity = M.entity("Ort", [M.attribute("größe"), M.attribute("cost$")])
        var index = FetchIndexDefinition(name: "by \"size\"")
        index.elements = [FetchIndexElement(propertyName: "größe")]
        entity.indexes = [index]
        let schema = try M.schema(entity)
        let table =
            "CREATE TABLE ZORT ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, "
            + "ZCOST$ VARCHAR, ZGRÖSSE VARCHAR )"
        let indexes = ["CREATE INDEX \"Z_Ort_by \"\"size\"\"\" ON ZORT (ZGRÖSSE COLLATE BINARY ASC)"]
        #expect(schema.tableStatements() == [table])
        #expect(schema.allIndexStatements == indexes)
    }

    @Test("A model of 100 subentities and 2,000 columns, and one of 3,000 entities, are laid out")
    func large() throws {
        var definition = ModelDefinition()
        definition.entities = [M.entity("Base")]
        for number in 0..<100 {
            definition.entities.append(
                M.entity(
                    "E\(number)", parent: "Base", (0..<19).map { M.attribute("same\($0)") },
                    [M.toOne("link", "Base")]))
        }
        let wide = StoreSchema(model: try ManagedObjectModel(definition))
        #expect(wide.tables[0].columns.count == 2 + 100 * 21)
        #expect(Set(wide.tables[0].columns.map(\.name)).count == wide.tables[0].columns.count)

        definition.entities = (0..<3000).map { number in
            M.entity(
                "E\(number)", [M.attribute("name")],
                [
                    M.toMany("many", "E\((number + 1) % 3000)", inverse: "back"),
                    M.toMany("back", "E\((number + 2999) % 3000)", inverse: "many"),
                ])
        }
        let many = StoreSchema(model: try ManagedObjectModel(definition))
        #expect(many.joinTables.count == 3000)
        #expect(many.tableStatements().count == 6000)
        #expect(many.relationshipStorage.count == 6000)
    }
}
