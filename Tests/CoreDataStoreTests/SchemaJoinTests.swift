import ManagedModel
import Testing

@testable import CoreDataStore

/// Join tables (Formats.md, "Relationships").
@Suite("Schema: join tables")
struct SchemaJoinTests {
    private typealias M = SchemaTestModel

    private func joinStatements(_ schema: StoreSchema) -> [String] {
        schema.tableStatements().filter { $0.hasPrefix("CREATE TABLE Z_") }
    }

    @Test("The lower entity names the table; each key column bears the relationship that points at its entity")
    func plain() throws {
        let schema = try M.schema(
            M.entity("Author", [], [M.toMany("books", "Book", inverse: "authors")]),
            M.entity("Book", [], [M.toMany("authors", "Author", inverse: "books")]))
        #expect(
            schema.tableStatements().dropFirst().first
                == "CREATE TABLE Z_1BOOKS ( Z_1AUTHORS INTEGER, Z_2BOOKS INTEGER, PRIMARY KEY (Z_1AUTHORS, Z_2BOOKS) )")
        #expect(
            schema.joinTables[0].index.statement
                == "CREATE INDEX Z_1BOOKS_Z_2BOOKS_INDEX ON Z_1BOOKS (Z_2BOOKS, Z_1AUTHORS)")
        #expect(schema.storage("Author", "books") == .join(table: 0, ownerSide: 0))
        #expect(schema.storage("Book", "authors") == .join(table: 0, ownerSide: 1))
        #expect(schema.joinTables[0].alternativeName == nil)
    }

    @Test("Numbers are those of the declaring entities, subentities included")
    func subentity() throws {
        let schema = try M.schema(
            M.entity("Message"),
            M.entity("SystemMessage", parent: "Message", [], [M.toMany("users", "User", inverse: "messages")]),
            M.entity("User", [], [M.toMany("messages", "SystemMessage", inverse: "users")]))
        #expect(
            joinStatements(schema) == [
                "CREATE TABLE Z_2USERS ( Z_2MESSAGES INTEGER, Z_3USERS INTEGER, PRIMARY KEY (Z_2MESSAGES, Z_3USERS) )"
            ])
    }

    @Test("A column name used by an earlier join gets a suffix; entities by name, relationships descending")
    func collisions() throws {
        let schema = try M.schema(
            M.entity("Message"),
            M.entity("SystemMessage", parent: "Message", [], [M.toMany("users", "User", inverse: "systemMessages")]),
            M.entity("Reaction", [], [M.toMany("users", "User", inverse: "reactions")]),
            M.entity(
                "User", [],
                [
                    M.toMany("reactions", "Reaction", inverse: "users"),
                    M.toMany("systemMessages", "SystemMessage", inverse: "users"),
                ]))
        #expect(
            joinStatements(schema) == [
                "CREATE TABLE Z_2USERS ( Z_2SYSTEMMESSAGES INTEGER, Z_4USERS1 INTEGER, "
                    + "PRIMARY KEY (Z_2SYSTEMMESSAGES, Z_4USERS1) )",
                "CREATE TABLE Z_3USERS ( Z_3REACTIONS INTEGER, Z_4USERS INTEGER, "
                    + "PRIMARY KEY (Z_3REACTIONS, Z_4USERS) )",
            ])
    }

    @Test("Ordered sides add order columns, named after the column that holds the members")
    func ordered() throws {
        let both = try M.schema(
            M.entity("A", [], [M.toMany("bs", "B", inverse: "as", ordered: true)]),
            M.entity("B", [], [M.toMany("as", "A", inverse: "bs", ordered: true)]))
        #expect(
            joinStatements(both) == [
                "CREATE TABLE Z_1BS ( Z_1AS INTEGER, Z_2BS INTEGER, Z_FOK_1AS INTEGER, Z_FOK_2BS INTEGER, "
                    + "PRIMARY KEY (Z_1AS, Z_2BS) )"
            ])
        let one = try M.schema(
            M.entity(
                "Bookmark", [],
                [
                    M.toMany("favorites", "Bookmark", inverse: "favoriteFolders", ordered: true),
                    M.toMany("favoriteFolders", "Bookmark", inverse: "favorites"),
                ]))
        #expect(
            joinStatements(one) == [
                "CREATE TABLE Z_1FAVORITES ( Z_1FAVORITEFOLDERS INTEGER, Z_1FAVORITES INTEGER, "
                    + "Z_FOK_1FAVORITES INTEGER, PRIMARY KEY (Z_1FAVORITEFOLDERS, Z_1FAVORITES) )"
            ])
        #expect(one.joinTables[0].sides.map(\.orderColumn) == [nil, "Z_FOK_1FAVORITES"])
        #expect(one.joinTables[0].columnNames == ["Z_1FAVORITEFOLDERS", "Z_1FAVORITES", "Z_FOK_1FAVORITES"])
    }

    @Test("Both sides on one entity: the greater name names the table, the other is the alternative")
    func sameEntity() throws {
        let schema = try M.schema(
            M.entity(
                "Client", [],
                [
                    M.toMany("trustedClients", "Client", inverse: "trustedByClients"),
                    M.toMany("trustedByClients", "Client", inverse: "trustedClients"),
                ]))
        #expect(
            joinStatements(schema) == [
                "CREATE TABLE Z_1TRUSTEDCLIENTS ( Z_1TRUSTEDBYCLIENTS INTEGER, Z_1TRUSTEDCLIENTS INTEGER, "
                    + "PRIMARY KEY (Z_1TRUSTEDBYCLIENTS, Z_1TRUSTEDCLIENTS) )"
            ])
        #expect(schema.joinTables[0].alternativeName == "Z_1TRUSTEDBYCLIENTS")
        // The owners of trustedClients are in the column named after the relationship that points at them.
        #expect(schema.storage("Client", "trustedClients") == .join(table: 0, ownerSide: 0))
        #expect(schema.joinTables[0].sides[0].relationship.name == "trustedClients")
    }

    @Test("A relationship that is its own inverse has a REFLEXIVE column")
    func reflexive() throws {
        let schema = try M.schema(M.entity("Person", [], [M.toMany("friends", "Person", inverse: "friends")]))
        #expect(
            joinStatements(schema) == [
                "CREATE TABLE Z_1FRIENDS ( Z_1FRIENDS INTEGER, REFLEXIVE INTEGER, PRIMARY KEY (Z_1FRIENDS, REFLEXIVE) )"
            ])
        #expect(schema.storage("Person", "friends") == .join(table: 0, ownerSide: 1))
        let ordered = try M.schema(
            M.entity("Person", [], [M.toMany("friends", "Person", inverse: "friends", ordered: true)]))
        #expect(ordered.joinTables[0].columnNames == ["Z_1FRIENDS", "REFLEXIVE", "Z_FOK_1FRIENDS"])
    }

    @Test("Join tables follow the table of the entity that names them, relationships descending")
    func order() throws {
        let schema = try M.schema(
            M.entity("A", [], [M.toMany("cs", "C", inverse: "as"), M.toMany("bs", "B", inverse: "as")]),
            M.entity("B", [], [M.toMany("as", "A", inverse: "bs"), M.toMany("cs", "C", inverse: "bs")]),
            M.entity("C", [], [M.toMany("as", "A", inverse: "cs"), M.toMany("bs", "B", inverse: "cs")]))
        let names = schema.tableStatements().map { $0.split(separator: " ")[2] }
        #expect(names == ["ZA", "Z_1CS", "Z_1BS", "ZB", "Z_2CS", "ZC"])
    }

    @Test(
        "The side met first names the table: entities by name, whatever their numbers; the other name is the alternative"
    )
    func disagreement() throws {
        // Zebra (2) is below Animal (1), Dog (3) is a root: Dog is met first.
        let schema = try M.schema(
            M.entity("Animal"), M.entity("Zebra", parent: "Animal", [], [M.toMany("dogs", "Dog", inverse: "zebras")]),
            M.entity("Dog", [], [M.toMany("zebras", "Zebra", inverse: "dogs")]))
        #expect(schema.joinTables[0].name == "Z_3ZEBRAS")
        #expect(schema.joinTables[0].alternativeName == "Z_2DOGS")
        #expect(schema.joinTables[0].sides.map(\.column) == ["Z_3DOGS", "Z_2ZEBRAS"])
    }

    @Test("An inherited relationship is met at the subentity, too")
    func inherited() throws {
        // By name Asset comes first, which inherits `folders` from an entity that comes after Folder.
        let schema = try M.schema(
            M.entity("Folder", [], [M.toMany("assets", "GenericAsset", inverse: "folders")]),
            M.entity("GenericAsset", [], [M.toMany("folders", "Folder", inverse: "assets")]),
            M.entity("Asset", parent: "GenericAsset"))
        #expect(schema.joinTables.map(\.name) == ["Z_2FOLDERS"])
        #expect(schema.storage("GenericAsset", "folders") == .join(table: 0, ownerSide: 0))
    }
}
