import Foundation
import ManagedModel
import Stagecoach
import TestSupport
import Testing

@Suite(
    "Policies that real mapping models name, over stores of their models",
    .enabled(if: SharedStores.isPresent, "the shared stores are absent"))
struct RealPolicyModelTests {
    @Test("TML: text becomes numbers, and text that is none ends the run with the policy's own error")
    func numbers() throws {
        let bundle = "tml/models/TestModel_MultiConfig_2.xcdatamodeld"
        func fixture(_ text: String) throws -> RealPolicyFixture {
            let fixture = try RealPolicyFixture(
                (bundle + ":TestModel_MultiConfig_1", bundle + ":TestModel_MultiConfig_2"),
                mapping: "tml/mappings/TestModel_MultiConfig_12.xcmappingmodel"
            ) { store in
                store.insert("MultiItem1", 1, ["id1": .text("17")])
                store.insert("MultiItem1", 2, ["id1": .text(text)])
                store.insert("MultiItem2", 1, ["id2": .text("-4")])
            }
            fixture.registry.register(MultiItem1MigrationPolicy1to2.self)
            fixture.registry.register(MultiItem2MigrationPolicy1to2.self)
            return fixture
        }
        let good = try fixture("23")
        try good.run()
        #expect(try good.rows("SELECT ZID1, ZCOUNTER1 FROM ZMULTIITEM1 ORDER BY Z_PK") == ["17|0", "23|0"])
        #expect(try good.rows("SELECT ZID2, ZCOUNTER2 FROM ZMULTIITEM2") == ["-4|0"])
        let bad = try fixture("many")
        #expect { try bad.run() } throws: { ($0 as NSError).code == NSEntityMigrationPolicyError }
        #expect(!FileManager.default.fileExists(atPath: bad.destinationPath))
    }

    @Test("TML simple: a mapping model with stubs")
    func simple() throws {
        let bundle = "tml/models/TestModel_Simple_2.xcdatamodeld"
        let fixture = try RealPolicyFixture(
            (bundle + ":TestModel_Simple_1", bundle + ":TestModel_Simple_2"),
            mapping: "tml/mappings/TestModel_Simple_Mapping12.xcmappingmodel"
        ) { store in
            for key in 1...3 as ClosedRange<Int64> { store.insert("SimpleItem", key, ["id1": .text("\(key * 100)")]) }
        }
        fixture.registry.register(SimpleItemMigrationPolicy1to2.self)
        try fixture.run()
        let rows = try fixture.rows("SELECT ZID1 FROM ZSIMPLEITEM ORDER BY Z_PK")
        // The file has two entity mappings of the source entity: each makes its objects.
        #expect(Set(rows) == ["100", "200", "300"])
        #expect(rows.count == 3 * fixture.mapping.entityMappings.filter { $0.sourceEntityName == "SimpleItem" }.count)
    }

    @Test("jdspoone: one policy serves two steps by the mapping's userInfo, and its chain keeps every picture")
    func notes() throws {
        let bundle = "jdspoone/models/CoreDataMigration.xcdatamodeld:CoreDataMigration-"
        let first = try RealPolicyFixture(
            (bundle + "v1.1", bundle + "v1.2"), mapping: "jdspoone/mappings/v1.1-to-v1.2.xcmappingmodel"
        ) { store in
            store.insert("Note", 1, ["title": .text("a"), "body": .text("A"), "imageData": .blob([1, 2])])
            store.insert("Note", 2, ["title": .text("b"), "body": .text("B"), "imageData": .blob([9])])
            store.insert("Note", 3, ["title": .text("c"), "body": .text("C"), "imageData": .blob([3])])
        }
        first.registry.register(NoteToNotePolicy.self)
        try first.run()
        #expect(
            try first.rows(
                """
                SELECT n.ZTITLE, n.ZBODY, hex(i.ZIMAGEDATA) FROM ZNOTE n JOIN ZIMAGE i ON i.ZNOTEUSEDIN = n.Z_PK
                ORDER BY n.ZTITLE
                """) == ["a|A|0102", "b|B|09", "c|C|03"])
        // The result goes on to the next version.
        let next = try RealPolicyFixture(
            (bundle + "v1.2", bundle + "v1.3"), mapping: "jdspoone/mappings/v1.2-to-v1.3.xcmappingmodel")
        next.registry.register(NoteToNotePolicy.self)
        next.registry.register(ImageToImagePolicy.self)
        try FileManager.default.removeItem(atPath: next.sourcePath)
        try FileManager.default.copyItem(atPath: first.destinationPath, toPath: next.sourcePath)
        try next.run()
        #expect(
            try next.rows(
                """
                SELECT n.ZTITLE, i.ZINDEX, hex(i.ZIMAGEDATA) FROM ZNOTE n JOIN ZIMAGE i ON i.ZNOTEUSEDIN = n.Z_PK ORDER BY 1
                """)
                == first.rows(
                    """
                    SELECT n.ZTITLE, 0, hex(i.ZIMAGEDATA) FROM ZNOTE n JOIN ZIMAGE i ON i.ZNOTEUSEDIN = n.Z_PK ORDER BY 1
                    """))
    }

    @Test("Flapjack: a number becomes text in a new entity")
    func flapjack() throws {
        let bundle = "flapjack/models/TestMigrationModel.xcdatamodeld:TestMigrationModel "
        let fixture = try RealPolicyFixture(
            (bundle + "3", bundle + "4"), mapping: "flapjack/mappings/TestMigrationModel 4.xcmappingmodel"
        ) { store in
            store.insert("EntityToMigrate", 1, ["renamedProperty": .integer(12), "addedProperty": .text("x")])
            store.insert("EntityToMigrate", 2)
        }
        fixture.registry.register(MockMigrationPolicy.self)
        try fixture.run()
        #expect(
            try fixture.rows("SELECT ZCONVERTEDPROPERTY, ZADDEDPROPERTY FROM ZMIGRATEDENTITY ORDER BY Z_PK") == [
                "12|x", "|",
            ])
    }

    @Test("CoreStore: new attributes follow from an old one; constants of the mapping stay")
    func creatures() throws {
        let bundle = "corestore/models/Advanced.EvolutionDemo.V1.xcdatamodeld:Advanced.EvolutionDemo."
        let fixture = try RealPolicyFixture(
            (bundle + "V1", bundle + "V2"),
            mapping: "corestore/mappings/Advanced.EvolutionDemo.V2.FromV1.xcmappingmodel"
        ) { store in
            store.insert("Creature", 1, ["dnaCode": .integer(77), "numberOfFlagella": .integer(5)])
            store.insert("Creature", 2, ["dnaCode": .integer(78), "numberOfFlagella": .integer(0)])
        }
        fixture.registry.register(Advanced_EvolutionDemo_V2_FromV1MigrationPolicy.self)
        try fixture.run()
        #expect(
            try fixture.rows("SELECT ZDNACODE, ZHASTAIL, ZNUMBEROFFLIPPERS, ZHASHEAD FROM ZCREATURE ORDER BY Z_PK").map
            {
                $0.split(separator: "|").prefix(3).joined(separator: "|")
            } == ["77|1|2", "78|0|0"])
    }

    @Test("nova-wallet: each account becomes one of several chains, the first is selected")
    func accounts() throws {
        let bundle = "nova-wallet/models/UserDataModel.xcdatamodeld:"
        let fixture = try RealPolicyFixture(
            (bundle + "UserDataModel", bundle + "MultiassetUserDataModel"),
            mapping: "nova-wallet/mappings/SingleToMultiasset.xcmappingmodel"
        ) { store in
            for key in 1...3 as ClosedRange<Int64> {
                store.insert(
                    "CDAccountItem", key,
                    [
                        "username": .text("user \(key)"), "publicKey": .blob([UInt8(key), 255]),
                        "cryptoType": .integer(key), "order": .integer(10 - key),
                    ])
            }
        }
        fixture.registry.register(SingleToMultiassetMigrationPolicy.self)
        try fixture.run()
        #expect(
            try fixture.rows(
                """
                SELECT ZNAME, ZSUBSTRATEACCOUNTID, ZSUBSTRATECRYPTOTYPE, ZORDER, ZISSELECTED, hex(ZSUBSTRATEPUBLICKEY)
                FROM ZCDMETAACCOUNT ORDER BY Z_PK
                """) == ["user 1|01ff|1|9|1|01FF", "user 2|02ff|2|8|0|02FF", "user 3|03ff|3|7|0|03FF"])
    }
}
