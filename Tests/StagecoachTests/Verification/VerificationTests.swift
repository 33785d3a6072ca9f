import CSQLite
import CoreDataStore
import Foundation
import Stagecoach
import TestSupport
import Testing

@Suite("Verification of a destination")
struct VerificationTests {
    typealias Kind = VerificationReport.Kind

    /// A damage, and what names it.
    struct Damage: CustomTestStringConvertible, Sendable {
        let name: String
        let sql: String
        let kind: Kind
        var objectID: String?
        var property: String?

        var testDescription: String { name }
    }

    static let damages: [Damage] = [
        .init(
            name: "a copied text changed", sql: "UPDATE ZAUTHOR SET ZNAME = 'Somebody' WHERE Z_PK = 3", kind: .value,
            objectID: "Author/p3", property: "name"),
        .init(
            name: "a computed number changed", sql: "UPDATE ZAUTHOR SET ZRANK = 7 WHERE Z_PK = 4", kind: .value,
            objectID: "Author/p4", property: "rank"),
        .init(
            name: "a date changed", sql: "UPDATE ZBOOK SET ZPRINTED = ZPRINTED + 1 WHERE Z_PK = 5", kind: .value,
            objectID: "Book/p5", property: "printed"),
        .init(
            name: "a decimal changed by its last bit",
            sql: "UPDATE ZBOOK SET ZPRICE = 6.2500000000000009 WHERE Z_PK = 6",
            kind: .value, objectID: "Novel/p6", property: "price"),
        .init(
            name: "a row missing", sql: "DELETE FROM ZREADER WHERE Z_PK = 2", kind: .missingObject,
            objectID: "Reader/p2"),
        .init(
            name: "a row doubled under another key",
            sql:
                "INSERT INTO ZREADER (Z_PK, Z_ENT, Z_OPT, ZNAME) SELECT 99, Z_ENT, Z_OPT, ZNAME FROM ZREADER WHERE Z_PK = 2",
            kind: .extraObject, objectID: "Reader/p99"),
        .init(
            name: "a row under another key", sql: "UPDATE ZTAG SET Z_PK = 50 WHERE Z_PK = 6", kind: .missingObject,
            objectID: "Tag/p6"),
        .init(
            name: "a wrong Z_ENT of the hierarchy",
            sql: "UPDATE ZBOOK SET Z_ENT = (SELECT Z_ENT FROM Z_PRIMARYKEY WHERE Z_NAME = 'Book') WHERE Z_PK = 3",
            kind: .entity, objectID: "Novel/p3", property: "Z_ENT"),
        .init(
            name: "a Z_ENT of no entity", sql: "UPDATE ZSLOT SET Z_ENT = 77 WHERE Z_PK = 1", kind: .entity,
            objectID: "Slot/p1", property: "Z_ENT"),
        .init(
            name: "Z_MAX too low", sql: "UPDATE Z_PRIMARYKEY SET Z_MAX = 3 WHERE Z_NAME = 'Author'",
            kind: .maximumKey, property: "Z_MAX"),
        .init(
            name: "Z_MAX too high", sql: "UPDATE Z_PRIMARYKEY SET Z_MAX = 300 WHERE Z_NAME = 'Author'",
            kind: .maximumKey, property: "Z_MAX"),
        .init(
            name: "a wrong Z_OPT", sql: "UPDATE ZAUTHOR SET Z_OPT = 9 WHERE Z_PK = 2", kind: .lock,
            objectID: "Author/p2", property: "Z_OPT"),
        .init(
            name: "a dangling key", sql: "UPDATE ZBOOK SET ZAUTHOR = 500 WHERE Z_PK = 7", kind: .dangling,
            objectID: "Book/p7", property: "author"),
        .init(
            name: "a key of another object", sql: "UPDATE ZBOOK SET ZAUTHOR = 4 WHERE Z_PK = 7", kind: .relationship,
            objectID: "Book/p7", property: "author"),
        .init(
            name: "a key taken away", sql: "UPDATE ZBOOK SET ZAUTHOR = NULL, Z_FOK_AUTHOR = NULL WHERE Z_PK = 8",
            kind: .relationship, objectID: "Book/p8", property: "author"),
        .init(
            name: "an inverse that disagrees", sql: "UPDATE ZCARD SET ZAUTHOR = 5 WHERE Z_PK = 4",
            kind: .relationship, objectID: "Card/p4", property: "author"),
        .init(
            name: "a hidden key of another owner", sql: "UPDATE ZREADER SET Z1FRIENDS = 5 WHERE Z_PK = 1",
            kind: .relationship, objectID: "Reader/p1", property: "friends"),
        .init(
            name: "an ordering key changed", sql: "UPDATE ZBOOK SET Z_FOK_AUTHOR = 1 WHERE Z_PK = 7", kind: .order,
            objectID: "Book/p7", property: "books"),
        .init(
            name: "a join row missing", sql: "DELETE FROM <join> WHERE <tag> = 1 AND <book> = 1", kind: .relationship),
        .init(
            name: "a join row too many", sql: "INSERT INTO <join> (<book>, <tag>) VALUES (9, 2)", kind: .relationship),
        .init(
            name: "a join row of a tag that is not there", sql: "INSERT INTO <join> (<book>, <tag>) VALUES (9, 222)",
            kind: .dangling),
        .init(
            name: "a join row's ends swapped",
            sql: "UPDATE <join> SET <book> = 5, <tag> = 3 WHERE <book> = 3 AND <tag> = 4", kind: .relationship),
        .init(
            name: "a join row's ordering key", sql: "UPDATE <join> SET <order> = 5 WHERE <book> = 3 AND <tag> = 4",
            kind: .order),
        .init(
            name: "two of a unique name",
            sql: "DROP INDEX Z_Author_UNIQUE_name; UPDATE ZAUTHOR SET ZNAME = 'Author 1' WHERE Z_PK = 2", kind: .unique,
            property: "name"),
        .init(
            name: "NULL in a required attribute", sql: "UPDATE ZAUTHOR SET ZNAME = NULL WHERE Z_PK = 5", kind: .rule,
            objectID: "Author/p5", property: "name"),
        .init(
            name: "a number out of bounds", sql: "UPDATE ZAUTHOR SET ZSCORE = 5000 WHERE Z_PK = 5", kind: .rule,
            objectID: "Author/p5", property: "score"),
        .init(
            name: "a text too long",
            sql: "UPDATE ZAUTHOR SET ZNAME = 'abcdefghijabcdefghijabcdefghijabcdefghijx' WHERE Z_PK = 5", kind: .rule,
            objectID: "Author/p5", property: "name"),
        .init(
            name: "a text of damaged bytes", sql: "UPDATE ZTAG SET ZWORD = CAST(x'FF61' AS TEXT) WHERE Z_PK = 2",
            kind: .value, objectID: "Tag/p2", property: "word"),
        .init(
            name: "a derived count that is stale", sql: "UPDATE ZSHELF SET ZSLOTCOUNT = 9 WHERE Z_PK = 1",
            kind: .value, objectID: "Shelf/p1", property: "slotCount"),
        .init(
            name: "another UUID", sql: "UPDATE Z_METADATA SET Z_UUID = '00000000-0000-4000-8000-000000000000'",
            kind: .metadata, property: "Z_UUID"),
        .init(name: "no model cache", sql: "DELETE FROM Z_MODELCACHE", kind: .modelCache),
        .init(name: "a missing index", sql: "DROP INDEX ZBOOK_ZAUTHOR_INDEX", kind: .schema),
        .init(name: "an index too many", sql: "CREATE INDEX MORE ON ZBOOK (ZTITLE)", kind: .schema),
        .init(name: "a table too many", sql: "CREATE TABLE ZMORE (Z_PK INTEGER)", kind: .schema),
        .init(
            name: "an entity's name", sql: "UPDATE Z_PRIMARYKEY SET Z_NAME = 'Buch' WHERE Z_NAME = 'Book'",
            kind: .schema),
    ]

    @Test("A migrated store is equal, with kept and with new keys", arguments: [KeyChoice.auto, .sequential])
    func clean(keys: KeyChoice) throws {
        let store = try VerificationStore(keys: keys)
        var options = store.options
        options.keys = keys
        let report = try store.verify(store.destinationPath, options)
        #expect(report.differences == [])
        #expect(report.isEqual)
        #expect(report.notRecomputed.map(\.subject) == [])
        let found = report.mappings.map(\.found).reduce(0, +)
        #expect(found == 42)
        #expect(report.relationships.count == 5)
        for relationship in report.relationships {
            #expect(relationship.isRecomputed)
            #expect(relationship.expectedChecksum == relationship.foundChecksum)
        }
        let links = report.relationships.map(\.foundLinks).reduce(0, +)
        #expect(links > 40)
    }

    @Test("Each damage is found and named")
    func damaged() throws {
        let store = try VerificationStore()
        let schema = StoreSchema(model: store.destination)
        let join = try #require(schema.joinTables.first)
        let books = try #require(store.destination.entity(named: "Book"))
        let tags = try #require(books.relationship(named: "tags"))
        guard case .join(_, let side) = schema.storage(of: tags) else { return }
        for damage in Self.damages {
            let sql = damage.sql.replacingOccurrences(of: "<order>", with: join.sides[1 - side].orderColumn ?? "")
                .replacingOccurrences(of: "<join>", with: join.name)
                .replacingOccurrences(of: "<book>", with: join.sides[side].column)
                .replacingOccurrences(of: "<tag>", with: join.sides[1 - side].column)
            let report = try store.verify(try store.copy(changedBy: sql))
            let ofKind = report.differences.filter { $0.kind == damage.kind }
            let ofObject = ofKind.filter { damage.objectID == nil || $0.objectID == damage.objectID }
            let found = ofObject.contains { damage.property == nil || $0.property == damage.property }
            #expect(found, "\(damage.name): \(report.differences)")
        }
    }

    @Test("Damage of pages, indexes, hashes and files is found")
    func files() throws {
        let store = try VerificationStore()
        // An index entry that leads nowhere.
        var path = try store.copy()
        try store.damagePage(of: "ZBOOK_ZAUTHOR_INDEX", in: path, at: 4090, [9, 9, 9, 9])
        #expect(try store.verify(path).differences.contains { $0.kind == .integrity })

        // A version hash.
        path = try store.copy()
        let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        let hash = try #require(store.destination.entityVersionHashesByName["Author"])
        let range = try #require(bytes.range(of: Data(hash)))
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
        try file.seek(toOffset: UInt64(range.lowerBound))
        try file.write(contentsOf: Data(repeating: 0xAB, count: 4))
        try file.close()
        let hashes = try store.verify(path).differences.filter { $0.kind == .metadata }
        #expect(hashes.contains { $0.property == "metadata version hash of Author" })

        // A file of external data, missing and altered.
        for isMissing in [true, false] {
            path = try store.copy()
            let folder = ExternalFolder(store: path).path
            let name = try #require(try FileManager.default.contentsOfDirectory(atPath: folder).first)
            if isMissing {
                try FileManager.default.removeItem(atPath: "\(folder)/\(name)")
            } else {
                var data = try Data(contentsOf: URL(fileURLWithPath: "\(folder)/\(name)"))
                data[100_000] ^= 1
                try data.write(to: URL(fileURLWithPath: "\(folder)/\(name)"))
            }
            let external = try store.verify(path).differences.filter { $0.kind == .external }
            #expect(external.map(\.objectID) == ["Author/p2"], "missing: \(isMissing)")
        }
    }

    @Test("A property's checksums differ only if one of its values does")
    func checksums() throws {
        let store = try VerificationStore()
        let report = try store.verify(try store.copy(changedBy: "UPDATE ZBOOK SET ZTITLE = 'x' WHERE Z_PK IN (3, 4)"))
        var differing: [String] = []
        for mapping in report.mappings {
            for property in mapping.properties where property.expectedChecksum != property.foundChecksum {
                if property.origin != .notRecomputed {
                    differing.append("\(mapping.destinationEntity ?? "").\(property.name) \(property.differing)")
                }
            }
        }
        #expect(differing.sorted() == ["Book.title 1", "Novel.title 1"])
        #expect(report.differenceCount == 2)
    }

    @Test("Objects that were there before are left out of what was appended")
    func appended() throws {
        let store = try VerificationStore()
        let path = try store.copy()
        var options = store.options
        options.appendsToExisting = true
        // Names are unique: the second time others are needed.
        let author = try #require(store.mapping.entityMappings.first { $0.destinationEntityName == "Author" })
        author.attributeMappings?.first { $0.name == "name" }?.valueExpression = try ValueExpression(
            parsing: "FUNCTION($source.name, 'stringByAppendingString:', ' again')")
        try store.migration(to: path, options).run()
        let clean = try store.verify(path, options)
        #expect(clean.differences == [])
        let connection = try Connection(path: path, flags: SQLITE_OPEN_READWRITE)
        try connection.execute(
            "UPDATE ZAUTHOR SET ZSCORE = 1 WHERE Z_PK IN (2, 9); UPDATE ZBOOK SET ZAUTHOR = 8 WHERE Z_PK = 13")
        try connection.close()
        let report = try store.verify(path, options)
        var places: Set<String> = []
        for difference in report.differences {
            places.insert([difference.objectID ?? "", difference.property ?? ""].joined(separator: " "))
        }
        #expect(places == ["Author/p9 score", "Book/p13 author"])
    }
}
