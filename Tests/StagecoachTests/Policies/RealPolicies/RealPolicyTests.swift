import Foundation
import ManagedModel
import Stagecoach
import TestSupport
import Testing

@Suite(
    "Policies that real mapping models name, over real stores",
    .enabled(if: SharedStores.isPresent, "the shared stores are absent"))
struct RealPolicyTests {
    @Test("Moody 5 to 6: countries share new continents")
    func moody() throws {
        let bundle = "objcio-moody/models/Moody.xcdatamodeld"
        let fixture = try RealPolicyFixture(
            (bundle + ":Moody 5", bundle + ":Moody 6"),
            mapping: "objcio-moody/mappings/Moody 5-Moody 6.xcmappingmodel", store: "objcio-moody/stores/Moody 5.moody")
        fixture.registry.register(Country5ToCountry6Policy.self)
        let report = try fixture.run()
        #expect(
            try fixture.rows("SELECT Z_PK, ZNUMERICISO3166CODE FROM ZCONTINENT ORDER BY Z_PK") == [
                "1|10005", "2|10004",
            ])
        #expect(
            try fixture.rows(
                """
                SELECT c.ZNUMERICISO3166CODE, n.ZNUMERICISO3166CODE, c.ZNUMBEROFMOODS FROM ZCOUNTRY c
                JOIN ZCONTINENT n ON n.Z_PK = c.ZCONTINENT ORDER BY 1
                """)
                == fixture.rows(
                    "SELECT ZNUMERICISO3166CODE, ZISOCONTINENT, ZNUMBEROFMOODS FROM ZCOUNTRY ORDER BY 1", ofSource: true
                ))
        // The other mapping is unharmed: every mood has its country.
        #expect(
            try fixture.rows(
                """
                SELECT m.ZDATE, c.ZNUMERICISO3166CODE FROM ZMOOD m JOIN ZCOUNTRY c ON c.Z_PK = m.ZCOUNTRY ORDER BY 1
                """)
                == fixture.rows(
                    """
                    SELECT m.ZDATE, c.ZNUMERICISO3166CODE FROM ZMOOD m JOIN ZCOUNTRY c ON c.Z_PK = m.ZCOUNTRY ORDER BY 1
                    """, ofSource: true))
        #expect(report.counts.mappings.first { $0.name.contains("Country") }?.migrated == 3)
    }

    @Test(
        "A mapping model that was read without its models migrates as the same file read with them",
        arguments: ["V2toV3.xcmappingmodel", "V2toV3.cdm"])
    func contentsOf(_ name: String) throws {
        let bundle = "coredataplus/models/SampleModel.xcdatamodeld"
        func run(_ change: (inout RealPolicyFixture) throws -> Void) throws -> [String] {
            var fixture = try RealPolicyFixture(
                (bundle + ":SampleModel2", bundle + ":SampleModel3"), mapping: "coredataplus/mappings/" + name,
                store: "coredataplus/stores/SampleModel_V2.sqlite")
            fixture.registry.register(V2to3MakerPolicy.self)
            try change(&fixture)
            try fixture.run()
            return try ["ZCAR", "ZMAKER", "ZPERSON"].flatMap { try fixture.rows("SELECT * FROM \($0) ORDER BY Z_PK") }
        }
        let url = SharedStores.url.appendingPathComponent("coredataplus/mappings/" + name)
        let expected = try run { _ in }
        #expect(try run { $0.mapping = try #require(NSMappingModel(contentsOf: url)) } == expected)
        // What code sets before the models are known is kept.
        let changed = try run { fixture in
            fixture.mapping = try #require(NSMappingModel(contentsOf: url))
            let persons = fixture.mapping.entityMappings.first { $0.destinationEntityName == "Person" }
            let property = persons?.attributeMappings?.first { $0.name == "firstName" }
            // First and last names are unique together, so the names stay apart.
            try #require(property).valueExpression = try ValueExpression(
                parsing: "FUNCTION('Ada ', 'stringByAppendingString:', $source.firstName)")
        }
        #expect(changed != expected && changed.contains { $0.contains("|Ada") })
    }

    @Test(
        "SampleModel 2 to 3: makers are shared by the cars of three entities",
        arguments: ["V2toV3.xcmappingmodel", "V2toV3.cdm"])
    func makers(_ mapping: String) throws {
        let bundle = "coredataplus/models/SampleModel.xcdatamodeld"
        let fixture = try RealPolicyFixture(
            (bundle + ":SampleModel2", bundle + ":SampleModel3"), mapping: "coredataplus/mappings/" + mapping,
            store: "coredataplus/stores/SampleModel_V2.sqlite")
        fixture.registry.register(V2to3MakerPolicy.self)
        try fixture.run()
        #expect(
            try fixture.rows(
                """
                SELECT m.ZNAME, count(*) FROM ZCAR c JOIN ZMAKER m ON m.Z_PK = c.ZCREATEDBY GROUP BY 1 ORDER BY 1
                """)
                == fixture.rows("SELECT ZMAKER, count(*) FROM ZCAR GROUP BY 1 ORDER BY 1", ofSource: true))
        #expect(try fixture.rows("SELECT count(*), count(DISTINCT ZNAME) FROM ZMAKER") == ["10|10"])
        // Cars keep their plates, models and owners, whatever their entity.
        let plates =
            """
            SELECT c.ZNUMBERPLATE, c.ZMODEL, p.ZFIRSTNAME, p.ZLASTNAME FROM ZCAR c LEFT JOIN ZPERSON p ON p.Z_PK = c.ZOWNER
            ORDER BY 1
            """
        #expect(try fixture.rows(plates) == fixture.rows(plates, ofSource: true))
        #expect(
            try fixture.rows(
                """
                SELECT e.Z_NAME, count(*) FROM ZCAR c JOIN Z_PRIMARYKEY e ON e.Z_ENT = c.Z_ENT GROUP BY 1 ORDER BY 1
                """) == ["Car|115", "LuxuryCar|5", "SportCar|5"])
    }

    @Test("CoreDataMigration_Example 2 to 3: a post's content is split into sections")
    func posts() throws {
        let bundle = "wibosco-revised/models/CoreDataMigration_Example.xcdatamodeld"
        let fixture = try RealPolicyFixture(
            (bundle + ":CoreDataMigration_Example 2", bundle + ":CoreDataMigration_Example 3"),
            mapping: "wibosco-revised/mappings/Migration2to3ModelMapping.xcmappingmodel",
            store: "wibosco-revised/stores/CoreDataMigration_Example_2.sqlite")
        fixture.registry.register(Post2ToPost3MigrationPolicy.self)
        try fixture.run()
        let contents = try fixture.rows(
            "SELECT ZPOSTID, ZHEXCOLOR, ZCONTENT FROM ZPOST ORDER BY ZPOSTID", ofSource: true)
        var expected: [String] = []
        for row in contents {
            let parts = row.split(separator: "|", maxSplits: 2, omittingEmptySubsequences: false).map(String.init)
            let paragraphs = parts[2].components(separatedBy: "\n").filter { !$0.isEmpty }
            expected += paragraphs.enumerated().map { "\(parts[0])|\(parts[1])|\($0)|\($1.prefix(8))|\($1)" }
        }
        #expect(contents.count == 10)
        #expect(expected.count >= 10)
        #expect(
            try fixture.rows(
                """
                SELECT p.ZPOSTID, p.ZHEXCOLOR, s.ZINDEX, s.ZTITLE, s.ZBODY FROM ZSECTION s JOIN ZPOST p ON p.Z_PK = s.ZPOST
                ORDER BY p.ZPOSTID, s.ZINDEX
                """) == expected)
    }

    @Test("Cyface 3 to 4: locations move, in order, into a track of their measurement")
    func tracks() throws {
        let bundle = "cyface/models/CyfaceModel.xcdatamodeld"
        let fixture = try RealPolicyFixture(
            (bundle + ":3", bundle + ":4"), mapping: "cyface/mappings/V3toV4.xcmappingmodel",
            store: "cyface/stores/V3TestData.sqlite")
        fixture.registry.register(MeasurementToMeasurementPolicy.self)
        try fixture.run()
        let found = try fixture.rows(
            """
            SELECT m.ZIDENTIFIER, g.ZTIMESTAMP, g.ZLAT, g.ZLON FROM ZGEOLOCATION g JOIN ZTRACK t ON t.Z_PK = g.ZTRACK
            JOIN ZMEASUREMENT m ON m.Z_PK = t.ZMEASUREMENT ORDER BY m.ZIDENTIFIER, g.Z_FOK_TRACK
            """)
        let expected = try fixture.rows(
            """
            SELECT m.ZIDENTIFIER, g.ZTIMESTAMP, g.ZLAT, g.ZLON FROM ZGEOLOCATION g
            JOIN ZMEASUREMENT m ON m.Z_PK = g.Z2GEOLOCATIONS ORDER BY m.ZIDENTIFIER, g.Z_FOK_2GEOLOCATIONS
            """, ofSource: true)
        #expect(!expected.isEmpty)
        #expect(found == expected)
        #expect(
            try fixture.rows("SELECT count(*) FROM ZTRACK")
                == fixture.rows("SELECT count(*) FROM ZMEASUREMENT", ofSource: true))
        // The length, computed anew from the rows.
        var lengths: [String: Double] = [:]
        var last: [String: (Double, Double)] = [:]
        for row in expected {
            let parts = row.split(separator: "|").map(String.init)
            let place = (try #require(Double(parts[2])), try #require(Double(parts[3])))
            if let from = last[parts[0]] {
                lengths[parts[0], default: 0] += MeasurementToMeasurementPolicy.distance(
                    from.0, from.1, place.0, place.1)
            }
            last[parts[0]] = place
        }
        for row in try fixture.rows("SELECT ZIDENTIFIER, ZTRACKLENGTH FROM ZMEASUREMENT") {
            let parts = row.split(separator: "|").map(String.init)
            let length = try #require(Double(parts[1]))
            #expect(abs(length - lengths[parts[0], default: 0]) < 1e-6 * max(1, length))
        }
    }

    @Test("Beam 1 to 2: documents get the new database's id")
    func databases() throws {
        let bundle = "beam/models/Beam.xcdatamodeld"
        let fixture = try RealPolicyFixture(
            (bundle + ":Beam", bundle + ":Beam2"), mapping: "beam/mappings/BeamToBeam2Migration.xcmappingmodel"
        ) { store in
            for key in 1...5 as ClosedRange<Int64> {
                store.insert(
                    "Document", key,
                    [
                        "title": .text("Document \(key)"), "created_at": .real(Double(key)), "updated_at": .real(0),
                        "document_type": .integer(key % 2), "id": .blob(Array(repeating: UInt8(key), count: 16)),
                        "is_public": .integer(0), "version": .integer(key),
                    ])
            }
            store.insert("StoredLink", 1, ["url": .text("https://example.org"), "bid": .integer(9)])
        }
        fixture.registry.register(BeamToBeam2MigrationPolicy.self) { functions in
            functions.add("setDatabase", BeamToBeam2MigrationPolicy.setDatabase)
        }
        try fixture.run()
        #expect(try fixture.rows("SELECT count(*), min(ZTITLE) FROM ZDATABASE") == ["1|Default"])
        #expect(
            try fixture.rows(
                """
                SELECT x.ZTITLE, x.ZVERSION, hex(x.ZID) FROM ZDOCUMENT x JOIN ZDATABASE d ON d.ZID = x.ZDATABASE_ID
                ORDER BY x.Z_PK
                """)
                == fixture.rows("SELECT ZTITLE, ZVERSION, hex(ZID) FROM ZDOCUMENT ORDER BY Z_PK", ofSource: true))
        #expect(try fixture.rows("SELECT ZURL, ZBID FROM ZSTOREDLINK") == ["https://example.org|9"])
    }

    @Test("Beam 3 to 4: a journal's date is read from its data by a function of the policy")
    func journals() throws {
        let bundle = "beam/models/Beam.xcdatamodeld"
        let fixture = try RealPolicyFixture(
            (bundle + ":Beam3", bundle + ":Beam4"), mapping: "beam/mappings/Beam3ToBeam4Migration.xcmappingmodel",
            store: "beam/stores/BeamExport.Beam3.74874036.sqlite")
        fixture.registry.register(Beam3ToBeam4MigrationPolicy.self) { functions in
            functions.add("addJournalDateForData:", Beam3ToBeam4MigrationPolicy.addJournalDate(forData:))
        }
        try fixture.run()
        #expect(
            try fixture.rows("SELECT ZTITLE, ZJOURNAL_DATE FROM ZDOCUMENT WHERE ZDOCUMENT_TYPE = 0")
                == ["15 april 2021|2021-04-15"])
        #expect(try fixture.rows("SELECT count(*), count(ZJOURNAL_DATE) FROM ZDOCUMENT") == ["7|1"])
        let same = "SELECT hex(ZID), hex(ZDATA), hex(ZDATABASE_ID), ZUPDATED_AT FROM ZDOCUMENT ORDER BY 1"
        #expect(try fixture.rows(same) == fixture.rows(same, ofSource: true))
        #expect(
            try fixture.rows("SELECT ZTITLE FROM ZDATABASE")
                == fixture.rows("SELECT ZTITLE FROM ZDATABASE", ofSource: true))
    }
}
