import CSQLite
import CoreDataStore
import Foundation
import ManagedModel
import Mapping
import Stagecoach
import TestSupport
import Testing

/// Words of SQL, letters beyond ASCII and colliding names; indexes of every kind.
@Suite("Unusual names and indexes")
struct UnusualNameTests {
    private static func index(_ name: String, _ elements: [FetchIndexElement], _ predicate: String? = nil)
        -> FetchIndexDefinition
    {
        var index = FetchIndexDefinition(name: name)
        index.elements = elements
        index.partialIndexPredicate = predicate
        return index
    }

    private static func element(
        _ property: String?, ascending: Bool = true, tree: Bool = false, expression: String? = nil
    ) -> FetchIndexElement {
        var element = FetchIndexElement(propertyName: property)
        element.isAscending = ascending
        element.isRTree = tree
        element.expression = expression
        return element
    }

    private static func version(_ select: String) throws -> ManagedObjectModel {
        var first = entity(
            "Select",
            [
                attribute(select, .string) { $0.renamingIdentifier = "select" }, attribute("from", .integer64),
                attribute("order", .decimal), attribute("table", .uuid), attribute("index", .uri),
            ],
            [toOne("group", "Order", inverse: "values"), toMany("join", "Größe", inverse: "union")])
        first.indexes = [
            index("byDesc", [element("from", ascending: false), element(select)]),
            index("part", [element("from")], "from > 5 AND (order != nil || from == 7)"),
            index("odd", [element("from")], "NOT from == 1"), index("tree", [element("from", tree: true)]),
            index("computed", [element(nil, expression: "lowercase:(select)")]),
        ]
        var upper = entity(
            "select2", [attribute("x", .string), attribute("X", .string), attribute("Z_ENT", .integer16)])
        upper.uniquenessConstraints = [["x", "X"]]
        return try model(
            first,
            entity(
                "Order", [attribute("Values", .boolean), attribute("primary", .string)],
                [toMany("values", "Select", inverse: "group")]),
            entity(
                "Größe", [attribute("straße", .string), attribute("名前", .string)],
                [toMany("union", "Select", inverse: "join")]),
            upper, entity("primarykey", [attribute("a", .string)]), entity("METADATA", [attribute("b", .binaryData)]))
    }

    @Test("Such a store migrates, and the result is what Core Data makes for its model")
    func migrates() throws {
        let (old, new) = (try Self.version("select"), try Self.version("choice"))
        let folder = try TemporaryFolder()
        var store = ReferenceStore(model: old)
        for key in 1...Int64(9) {
            store.insert(
                "Select", key,
                [
                    "select": .text("s\(key)"), "from": .integer(key), "order": .real(Double(key) / 4),
                    "table": .blob([UInt8](repeating: UInt8(key), count: 16)),
                    "index": .text("https://x.example/\(key)"),
                ], toOne: ["group": (key - 1) % 3 + 1])
            store.insert("Größe", key, ["straße": .text("ß\(key)"), "名前": .text("名\(key)")])
            store.insert("select2", key, ["x": .text("a"), "X": .text("\(key)"), "Z_ENT": .integer(key)])
            store.insert("METADATA", key, ["b": .blob([1, UInt8(key)])])
        }
        for key in 1...Int64(3) {
            store.insert("Order", key, ["Values": .integer(key % 2), "primary": .text("p")])
            store.setMembers("Größe", key, "union", [key, key + 1, key + 2])
        }
        try store.write(path: folder.file("old.sqlite"))
        var options = MigrationOptions()
        options.memoryLimit = 8 << 30
        options.fullCheck = true
        let path = folder.file("new.sqlite")
        let report = try Migration(
            from: folder.file("old.sqlite"), model: old, mapping: try .inferred(from: old, to: new), to: path,
            model: new, options: options
        ).run()
        for name in ["odd", "computed"] {
            #expect(report.notes.contains { $0.hasPrefix("Fetch index \(name) of Select is left out") })
        }
        let file = try SourceStore(path: path, cacheBytes: 1 << 16, valueLimit: 1 << 20, temporaryDirectory: nil)
        let cached = try #require(try file.cachedModel())
        for model in [new, cached] { #expect(try StoreFidelity(of: file, model: model).differences == []) }
        let connection = try Connection(path: path, flags: SQLITE_OPEN_READONLY)
        func integer(_ sql: String) throws -> Int64? { try connection.integer(sql) }
        #expect(
            try integer(
                "SELECT count(*) FROM ZSELECT WHERE ZCHOICE = 's' || Z_PK AND ZFROM = Z_PK AND ZORDER = Z_PK / 4.0 "
                    + "AND ZINDEX LIKE 'https%' AND length(ZTABLE) = 16 AND ZGROUP = (Z_PK - 1) % 3 + 1") == 9)
        #expect(try integer("SELECT count(*) FROM ZGRÖSSE WHERE ZSTRASSE = 'ß' || Z_PK AND Z名前 = '名' || Z_PK") == 9)
        // `X` sorts before or after `x`; neither value goes to the other's column.
        #expect(try integer("SELECT count(*) FROM ZSELECT2 WHERE ZZ_ENT = Z_PK AND 'a' IN (ZX, ZX1)") == 9)
        let partial = try connection.prepare("SELECT sql FROM sqlite_master WHERE name = 'Z_Select_part'")
        #expect(
            try partial.step()
                && partial.text(0)?.hasSuffix(" WHERE (ZFROM > 5 AND (ZORDER IS NOT NULL OR ZFROM = 7))") == true)
    }
}
