import ManagedModel
import Testing

@testable import CoreDataStore

/// Indexes and triggers (Formats.md, "Indexes").
@Suite("Schema: indexes and triggers")
struct SchemaIndexTests {
    private typealias M = SchemaTestModel

    private func fetchIndex(_ name: String, _ properties: [String], where predicate: String? = nil)
        -> FetchIndexDefinition
    {
        var index = FetchIndexDefinition(name: name)
        index.elements = properties.map { FetchIndexElement(propertyName: $0) }
        index.partialIndexPredicate = predicate
        return index
    }

    @Test("To-one columns, Z_ENT, fetch indexes and uniqueness constraints, in this order")
    func all() throws {
        var base = M.entity(
            "Book", [M.attribute("title"), M.attribute("isbn"), M.attribute("year", .integer16)],
            [M.toOne("author", "Author")])
        base.uniquenessConstraints = [["isbn"], ["title", "year"]]
        var descending = fetchIndex("byYear", ["year", "author"])
        descending.elements[0].isAscending = false
        base.indexes = [fetchIndex("byTitle", ["title"]), descending]
        var novel = M.entity("Novel", parent: "Book", [M.attribute("genre")])
        novel.indexes = [fetchIndex("byGenre", ["genre", "title"])]
        novel.uniquenessConstraints = [["isbn"], ["genre"]]
        let schema = try M.schema(base, novel, M.entity("Author"))
        #expect(
            schema.indexStatements(forTable: 1) == [
                "CREATE INDEX ZBOOK_ZAUTHOR_INDEX ON ZBOOK (ZAUTHOR)",
                "CREATE INDEX ZBOOK_Z_ENT_INDEX ON ZBOOK (Z_ENT)",
                "CREATE INDEX Z_Book_byTitle ON ZBOOK (ZTITLE COLLATE BINARY ASC)",
                "CREATE INDEX Z_Book_byYear ON ZBOOK (ZYEAR COLLATE BINARY DESC, ZAUTHOR COLLATE BINARY ASC)",
                "CREATE INDEX Z_Novel_byGenre ON ZBOOK (ZGENRE COLLATE BINARY ASC, ZTITLE COLLATE BINARY ASC)",
                "CREATE UNIQUE INDEX Z_Book_UNIQUE_isbn ON ZBOOK (ZISBN COLLATE BINARY ASC)",
                "CREATE UNIQUE INDEX Z_Book_UNIQUE_title_year ON ZBOOK "
                    + "(ZTITLE COLLATE BINARY ASC, ZYEAR COLLATE BINARY ASC)",
                "CREATE UNIQUE INDEX Z_Novel_UNIQUE_genre ON ZBOOK (ZGENRE COLLATE BINARY ASC)",
            ])
        #expect(schema.notes.isEmpty)
    }

    @Test("A fetch index over one to-one relationship alone is that relationship's own index")
    func overToOne() throws {
        var book = M.entity("Book", [M.attribute("year", .integer16)], [M.toOne("author", "Author")])
        book.indexes = [
            fetchIndex("byAuthor", ["author"]), fetchIndex("byAuthorAndYear", ["author", "year"]),
            fetchIndex("byAuthorOfLongBooks", ["author"], where: "year > 1999"),
        ]
        let schema = try M.schema(book, M.entity("Author"))
        #expect(
            schema.indexStatements(forTable: 1) == [
                "CREATE INDEX ZBOOK_ZAUTHOR_INDEX ON ZBOOK (ZAUTHOR)",
                "CREATE INDEX Z_Book_byAuthorAndYear ON ZBOOK (ZAUTHOR COLLATE BINARY ASC, ZYEAR COLLATE BINARY ASC)",
                "CREATE INDEX Z_Book_byAuthorOfLongBooks ON ZBOOK (ZAUTHOR COLLATE BINARY ASC) WHERE ZYEAR > 1999",
            ])
        #expect(schema.notes.isEmpty && schema.leftOutIndexes.isEmpty)
    }

    @Test("Old index styles become fetch indexes, once")
    func oldStyles() throws {
        var indexed = M.attribute("identifier")
        indexed.isIndexed = true
        var known = M.attribute("known")
        known.isIndexed = true
        var entity = M.entity("Bot", [indexed, known])
        entity.indexes = [fetchIndex("known", ["known"])]
        entity.compoundIndexes = [["identifier", "known"]]
        #expect(
            try M.schema(entity).allIndexStatements == [
                "CREATE INDEX Z_Bot_known ON ZBOT (ZKNOWN COLLATE BINARY ASC)",
                "CREATE INDEX Z_Bot_identifier ON ZBOT (ZIDENTIFIER COLLATE BINARY ASC)",
                "CREATE INDEX Z_Bot_identifier_known ON ZBOT "
                    + "(ZIDENTIFIER COLLATE BINARY ASC, ZKNOWN COLLATE BINARY ASC)",
            ])
    }

    @Test("An old style mark on what a fetch index covers makes no index of its own")
    func coveredMarks() throws {
        var indexed = M.attribute("bid")
        indexed.isIndexed = true
        var entity = M.entity("Link", [indexed, M.attribute("url")])
        entity.indexes = [fetchIndex("byPropertyId", ["bid"]), fetchIndex("byBoth", ["url", "bid"])]
        entity.compoundIndexes = [["url", "bid"], ["bid", "url"]]
        #expect(
            try M.schema(entity).allIndexStatements == [
                "CREATE INDEX Z_Link_byPropertyId ON ZLINK (ZBID COLLATE BINARY ASC)",
                "CREATE INDEX Z_Link_byBoth ON ZLINK (ZURL COLLATE BINARY ASC, ZBID COLLATE BINARY ASC)",
                "CREATE INDEX Z_Link_bid_url ON ZLINK (ZBID COLLATE BINARY ASC, ZURL COLLATE BINARY ASC)",
            ])
    }

    @Test("A compound index over the columns of a fetch index makes no index, whatever word names the object id")
    func coveredExpressions() throws {
        func index(_ name: String, _ expression: String) -> FetchIndexDefinition {
            var index = fetchIndex(name, ["kind"])
            var element = FetchIndexElement(propertyName: nil)
            element.expression = expression
            index.elements.append(element)
            return index
        }
        var entity = M.entity("Asset", [M.attribute("kind", .integer64), M.attribute("state", .integer64)])
        entity.indexes = [index("byKind", "SELF"), index("byEntity", "entity")]
        entity.compoundIndexes = [["kind", "self"], ["kind", "entity"], ["kind", "objectID"], ["state", "self"]]
        #expect(
            try M.schema(entity).allIndexStatements == [
                "CREATE INDEX Z_Asset_byKind ON ZASSET (ZKIND COLLATE BINARY ASC, Z_PK COLLATE BINARY ASC)",
                "CREATE INDEX Z_Asset_byEntity ON ZASSET (ZKIND COLLATE BINARY ASC, Z_ENT COLLATE BINARY ASC)",
                "CREATE INDEX Z_Asset_state_self ON ZASSET (ZSTATE COLLATE BINARY ASC, Z_PK COLLATE BINARY ASC)",
            ])
    }

    @Test("Fetch indexes of one name in an entity make one index, the first")
    func twins() throws {
        var entity = M.entity("Asset", [M.attribute("kind", .integer64), M.attribute("state", .integer64)])
        entity.indexes = [
            fetchIndex("byState", ["state"]), fetchIndex("byState", ["state"]), fetchIndex("byState", ["kind"]),
        ]
        var other = M.entity("Other", parent: "Asset")
        other.indexes = [fetchIndex("byState", ["state"])]
        let schema = try M.schema(entity, other)
        #expect(
            schema.allIndexStatements == [
                "CREATE INDEX ZASSET_Z_ENT_INDEX ON ZASSET (Z_ENT)",
                "CREATE INDEX Z_Asset_byState ON ZASSET (ZSTATE COLLATE BINARY ASC)",
                "CREATE INDEX Z_Other_byState ON ZASSET (ZSTATE COLLATE BINARY ASC)",
            ])
        #expect(schema.notes.isEmpty)
    }

    @Test("An index without a certain SQL form is left out and noted")
    func notes() throws {
        var transient = M.attribute("t")
        transient.isTransient = true
        var entity = M.entity("A", [M.attribute("x", .double), transient])
        var tree = fetchIndex("tree", ["x"])
        tree.elements[0].isRTree = true
        var expression = fetchIndex("expression", [])
        expression.elements = [FetchIndexElement(propertyName: nil)]
        entity.indexes = [
            tree, expression, fetchIndex("gone", ["t"]), fetchIndex("odd", ["x"], where: "NOT x == 1"),
            fetchIndex("empty", []),
        ]
        entity.uniquenessConstraints = [["t"]]
        var derived = M.attribute("d", .date)
        derived.derivationExpression = "now()"
        entity.attributes.append(derived)
        let schema = try M.schema(entity)
        #expect(schema.allIndexStatements.isEmpty)
        #expect(schema.triggerStatements.isEmpty)
        #expect(schema.notes.count == 6)
        #expect(schema.treeStatements().count == 4)
        #expect(schema.notes.contains { $0.contains("odd") } && schema.notes.contains { $0.contains("now()") })
    }

    @Test(
        "Partial predicates with one meaning become conditions",
        arguments: [
            ("n > 5", "ZN > 5"), ("n >= -1.5 AND s == 'it'", "(ZN >= -1.5 AND ZS = 'it')"),
            ("s != nil", "ZS IS NOT NULL"), ("r == NULL", "ZR IS NULL"),
            ("(b == YES || b = TRUE) && n => 2", "((ZB = 1 OR ZB = 1) AND ZN >= 2)"),
            ("s == \"o'k\"", "ZS = 'o''k'"), ("b == NO and s = nil", "(ZB = 0 AND ZS IS NULL)"),
            ("(n == 5)", "ZN = 5"),
            ("n != 5", "ZN <> 5"), ("b <> YES", "ZB <> 1"),
        ])
    func partial(predicate: String, condition: String) throws {
        let schema = try partialSchema(predicate)
        #expect(
            schema.indexStatements(forTable: 0).last
                == "CREATE INDEX Z_A_i ON ZA (ZN COLLATE BINARY ASC) WHERE \(condition)")
        #expect(schema.notes.isEmpty)
    }

    @Test(
        "Partial predicates without a certain meaning leave the index out",
        arguments: [
            "NOT (n == 1)", "r.name == 'x'", "s > 'a'", "s BEGINSWITH 'a'", "s ==[c] 'a'", "gone == 1",
            "s == 'a\\n'", "n == ", "(n == 1", "n == 1 extra", "5 == n", "s == 5", "n == 'x'", "n == 1e", "'x", "#",
            String(repeating: "(", count: 5000),
        ])
    func notPartial(predicate: String) throws {
        let schema = try partialSchema(predicate)
        #expect(!schema.allIndexStatements.contains { $0.contains("Z_A_i") })
        #expect(schema.notes.count == 1)
    }

    private func partialSchema(_ predicate: String) throws -> StoreSchema {
        var entity = M.entity(
            "A", [M.attribute("n", .integer32), M.attribute("s"), M.attribute("b", .boolean)], [M.toOne("r", "A")])
        entity.indexes = [fetchIndex("i", ["n"], where: predicate)]
        return try M.schema(entity)
    }

    @Test("A derived count has five triggers")
    func triggers() throws {
        var count = M.attribute("pagesCount", .integer64)
        count.derivationExpression = "pages.@count"
        let schema = try M.schema(
            M.entity("Book", [count], [M.toMany("pages", "Page", inverse: "volume")]),
            M.entity("Page", [], [M.toOne("volume", "Book", inverse: "pages")]))
        let update =
            "SELECT NSCoreDataDATriggerUpdatedAffectedObjectValue('ZBOOK', Z_ENT, Z_PK, 'pagesCount', ZPAGESCOUNT)"
            + " FROM ZBOOK WHERE Z_PK"
        #expect(
            schema.triggerStatements == [
                "CREATE TRIGGER Z_DA_ZPAGE_Book_pagesCount_PARAMETER_INSERT AFTER INSERT ON ZPAGE FOR EACH ROW "
                    + "WHEN (NEW.ZVOLUME NOT NULL) BEGIN UPDATE ZBOOK SET ZPAGESCOUNT = IFNULL(ZPAGESCOUNT, 0) + 1 "
                    + "WHERE Z_PK = NEW.ZVOLUME; \(update) = NEW.ZVOLUME; END",
                "CREATE TRIGGER Z_DA_ZPAGE_Book_pagesCount_PARAMETER_UPDATE_INCREMENT AFTER UPDATE OF ZVOLUME ON ZPAGE "
                    + "FOR EACH ROW WHEN (NEW.ZVOLUME NOT NULL) BEGIN UPDATE ZBOOK SET ZPAGESCOUNT = ZPAGESCOUNT + 1 "
                    + "WHERE Z_PK = NEW.ZVOLUME; \(update) = NEW.ZVOLUME; END",
                "CREATE TRIGGER Z_DA_ZPAGE_Book_pagesCount_PARAMETER_UPDATE_DECREMENT AFTER UPDATE OF ZVOLUME ON ZPAGE "
                    + "FOR EACH ROW WHEN (OLD.ZVOLUME NOT NULL) BEGIN UPDATE ZBOOK SET ZPAGESCOUNT = ZPAGESCOUNT - 1 "
                    + "WHERE Z_PK = OLD.ZVOLUME; \(update) = OLD.ZVOLUME; END",
                "CREATE TRIGGER Z_DA_ZPAGE_Book_pagesCount_PARAMETER_DELETE AFTER DELETE ON ZPAGE FOR EACH ROW "
                    + "WHEN (OLD.ZVOLUME NOT NULL) BEGIN UPDATE ZBOOK SET ZPAGESCOUNT = ZPAGESCOUNT - 1 "
                    + "WHERE Z_PK = OLD.ZVOLUME; \(update) = OLD.ZVOLUME; END",
                "CREATE TRIGGER Z_DA_ZBOOK_Book_pagesCount_SOURCE_INSERT AFTER INSERT ON ZBOOK FOR EACH ROW BEGIN "
                    + "UPDATE ZBOOK SET ZPAGESCOUNT = (SELECT IFNULL(COUNT(ZVOLUME), 0) FROM ZPAGE "
                    + "WHERE ZVOLUME = NEW.Z_PK) WHERE Z_PK = NEW.Z_PK; SELECT "
                    + "NSCoreDataDATriggerInsertUpdatedAffectedObjectValue('ZBOOK', Z_ENT, Z_PK, 'pagesCount', "
                    + "ZPAGESCOUNT) FROM ZBOOK WHERE Z_PK = NEW.Z_PK; END",
            ])
    }

    @Test("A key path over a to-one has four triggers, for the entity that declares it alone")
    func keyPathTriggers() throws {
        var derived = M.attribute("otherId")
        derived.derivationExpression = "other.serverId"
        var deeper = M.attribute("deeper")
        deeper.derivationExpression = "other.best.serverId"
        let schema = try M.schema(
            M.entity("Chat", [derived, deeper], [M.toOne("other", "Account")]), M.entity("Group", parent: "Chat"),
            M.entity("Account", [M.attribute("serverId")], [M.toOne("best", "Account")]))
        func told(_ function: String, _ condition: String) -> String {
            "SELECT NSCoreDataDATrigger\(function)AffectedObjectValue('ZCHAT', Z_ENT, Z_PK, 'otherId', ZOTHERID) "
                + "FROM ZCHAT WHERE \(condition); END"
        }
        let own = "Z_PK = NEW.Z_PK"
        let looked =
            "UPDATE ZCHAT SET ZOTHERID = (SELECT ZSERVERID FROM ZACCOUNT WHERE Z_PK = NEW.ZOTHER) WHERE \(own); "
        let given = "UPDATE ZCHAT SET ZOTHERID = NEW.ZSERVERID WHERE ZOTHER = NEW.Z_PK; "
        #expect(
            schema.triggerStatements == [
                "CREATE TRIGGER Z_DA_ZCHAT_Chat_otherId_SOURCE_INSERT AFTER INSERT ON ZCHAT FOR EACH ROW BEGIN \(looked)"
                    + told("InsertUpdated", own),
                "CREATE TRIGGER Z_DA_ZCHAT_Chat_otherId_SOURCE_UPDATE AFTER UPDATE OF ZOTHER ON ZCHAT FOR EACH ROW BEGIN "
                    + looked + told("Updated", own),
                "CREATE TRIGGER Z_DA_ZACCOUNT_Chat_otherId_PARAMETER_INSERT AFTER INSERT ON ZACCOUNT FOR EACH ROW BEGIN "
                    + given + told("InsertUpdated", "ZOTHER = NEW.Z_PK"),
                "CREATE TRIGGER Z_DA_ZACCOUNT_Chat_otherId_PARAMETER_UPDATE AFTER UPDATE OF ZSERVERID ON ZACCOUNT "
                    + "FOR EACH ROW BEGIN \(given)" + told("Updated", "ZOTHER = NEW.Z_PK"),
            ])
        #expect(schema.notes.count == 1 && schema.notes[0].contains("Chat.deeper"))
    }
}
