import CSQLite
import CoreDataStore
import Foundation
import TestSupport
import Testing

/// `forEach` by the built command: an object for each member of a relationship, or of a list in an attribute.
@Suite("An object for each member by the built command")
struct CommandForEachTests {
    typealias Inputs = VersionedInputs

    private static func relationship(_ name: String, _ entity: String, _ inverse: String, toMany: Bool) -> String {
        """
        <relationship name="\(name)" optional="YES" \(toMany ? "toMany=\"YES\"" : "maxCount=\"1\"") \
        deletionRule="Nullify" destinationEntity="\(entity)" inverseName="\(inverse)" inverseEntity="\(entity)"/>
        """
    }

    private static func inputs() throws -> Inputs {
        let title = Inputs.text("title")
        let words = Inputs.text("words")
        let tags = relationship("tags", "Tag", "articles", toMany: true)
        return try Inputs(
            Inputs.entity("Article", title, words, tags.replacing("toMany", with: "ordered=\"YES\" toMany"))
                + Inputs.entity("Tag", Inputs.text("name"), relationship("articles", "Article", "tags", toMany: true))
                + Inputs.entity(
                    "Person", Inputs.text("name"), relationship("friends", "Person", "friendOf", toMany: true),
                    relationship("friendOf", "Person", "friends", toMany: true)),
            Inputs.entity("Article", title, relationship("taggings", "Tagging", "article", toMany: true))
                + Inputs.entity(
                    "Tagging", Inputs.attribute("position", "Integer 32"), Inputs.text("label"),
                    relationship("article", "Article", "taggings", toMany: false),
                    relationship("tag", "Tag", "taggings", toMany: false))
                + Inputs.entity(
                    "Tag", Inputs.text("name"), relationship("taggings", "Tagging", "tag", toMany: true))
                + Inputs.entity("Word", Inputs.attribute("place", "Integer 32"), Inputs.text("text"), Inputs.text("of"))
                + Inputs.entity(
                    "Friendship", Inputs.text("names"),
                    """
                    <relationship name="from" optional="YES" maxCount="1" deletionRule="Nullify" destinationEntity="Person"/>
                    <relationship name="to" optional="YES" maxCount="1" deletionRule="Nullify" destinationEntity="Person"/>
                    """)
                + Inputs.entity(
                    "Person", Inputs.text("name"),
                    """
                    <relationship name="given" optional="YES" toMany="YES" deletionRule="Nullify" destinationEntity="Friendship"/>
                    <relationship name="taken" optional="YES" toMany="YES" deletionRule="Nullify" destinationEntity="Friendship"/>
                    """)
        ) { store in
            for (key, words) in [(1, "[\"a\", \"b\", 3]"), (2, nil), (3, "[]")] {
                store.insert(
                    "Article", Int64(key),
                    ["title": .text("article \(key)"), "words": words.map { .text($0) } ?? .null])
            }
            for key in 1...3 { store.insert("Tag", Int64(key), ["name": .text("tag \(key)")]) }
            for key in 1...3 { store.insert("Person", Int64(key), ["name": .text("person \(key)")]) }
            store.setMembers("Article", 1, "tags", [3, 1])
            store.setMembers("Article", 3, "tags", [1])
            store.setMembers("Person", 1, "friends", [2, 3])
            store.setMembers("Person", 2, "friends", [1, 2])
        }
    }

    private static let byMapping = "FUNCTION($manager, 'destinationInstancesForEntityMappingNamed:sourceInstances:', "

    private static func write(_ entities: String, to inputs: Inputs) throws {
        try inputs.file(
            "mapping.json",
            """
            { "formatVersion": 2, "unlisted": "infer", "losses": ["Article.words", "Article.tags", "Person.friends"],
              "entityMappings": [
            \(entities)
            ] }
            """)
    }

    private static let taggings = """
        { "name": "ArticleToArticle", "sourceEntity": "Article", "destinationEntity": "Article" },
        { "name": "TagToTag", "sourceEntity": "Tag", "destinationEntity": "Tag" },
        { "name": "Taggings", "sourceEntity": "Article", "destinationEntity": "Tagging", "forEach": "$source.tags",
          "attributes": { "position": "$index", "label": "$member.name" },
          "relationships": { "article": "\(byMapping)'ArticleToArticle', $source)", "tag": "\(byMapping)'TagToTag', $member)" } }
        """

    private static func column(_ sql: String, _ inputs: Inputs) throws -> [String] {
        try Connection(path: inputs.folder.file("new.sqlite"), flags: 1).firstColumn(sql)
    }

    @Test("The link entity of a many-to-many relationship; all commands agree")
    func link() throws {
        let inputs = try Self.inputs()
        try Self.write(Self.taggings, to: inputs)
        let outcomes = try inputs.all("Article/p1", ["--mapping", "mapping.json", "--on-loss", "refuse"])
        for (name, outcome) in outcomes { #expect(outcome.code == 0, "\(name): \(outcome.words)") }
        #expect(
            try Self.column(
                """
                SELECT a.ZTITLE || ' ' || t.ZPOSITION || ' ' || t.ZLABEL || ' ' || g.ZNAME FROM ZTAGGING AS t
                JOIN ZARTICLE AS a ON a.Z_PK = t.ZARTICLE JOIN ZTAG AS g ON g.Z_PK = t.ZTAG ORDER BY t.Z_PK
                """, inputs) == ["article 1 0 tag 3 tag 3", "article 1 1 tag 1 tag 1", "article 3 0 tag 1 tag 1"])
        #expect(outcomes["plan"]?.words.contains("an object for each member of $source.tags") == true)
        #expect(
            outcomes["explain"]?.words.contains("$source.tags has 2 members, and each makes an object") == true,
            "\(outcomes["explain"]?.words ?? "")")
        let verified = try inputs.run(["verify", "old.sqlite", "new.sqlite", "--mapping", "mapping.json"])
        #expect(verified.code == 0, "\(verified.output)\(verified.messages)")
    }

    @Test("A list in JSON makes an object for each element, and what is no list names its object")
    func list() throws {
        let inputs = try Self.inputs()
        let words = """
            { "name": "Words", "sourceEntity": "Article", "destinationEntity": "Word", "forEach": "$source.words",
              "attributes": { "place": "$index", "text": "CAST($member, 'NSString')", "of": "$source.title" } }
            """
        try Self.write(words, to: inputs)
        let outcome = try inputs.run([
            "migrate", "old.sqlite", "new.sqlite", "--mapping", "mapping.json", "--on-loss", "allow",
        ])
        #expect(outcome.code == 0, "\(outcome.messages)")
        #expect(
            try Self.column("SELECT ZOF || ' ' || ZPLACE || ' ' || ZTEXT FROM ZWORD ORDER BY Z_PK", inputs)
                == ["article 1 0 a", "article 1 1 b", "article 1 2 3"])
        #expect(outcome.output.contains("2  Article  filtered by Words"), "\(outcome.output)")
        try Self.write(words.replacing("$source.words", with: "$source.title"), to: inputs)
        let wrong = try inputs.run([
            "migrate", "old.sqlite", "wrong.sqlite", "--mapping", "mapping.json", "--on-loss", "allow",
        ])
        #expect(wrong.code == 65, "\(wrong.messages)")
        for part in ["holds no list as JSON", "Article/p1", "Words", "$source.title"] {
            #expect(wrong.messages.contains(part), "\(wrong.messages)")
        }
    }

    @Test("Objects are found by their source object, by their member, and by both")
    func reflexive() throws {
        let inputs = try Self.inputs()
        try Self.write(
            """
            { "name": "PersonToPerson", "sourceEntity": "Person", "destinationEntity": "Person", "relationships": {
              "given": "FUNCTION($stagecoach, 'objectsOfEntityMapping:source:', 'Friends', $source)",
              "taken": "FUNCTION($stagecoach, 'objectsOfEntityMapping:member:', 'Friends', $source)" } },
            { "name": "Friends", "sourceEntity": "Person", "destinationEntity": "Friendship", "forEach": "$source.friends",
              "attributes": { "names": "$source.name + ' and ' + $member.name" },
              "relationships": {
                "from": "\(Self.byMapping)'PersonToPerson', $source)", "to": "\(Self.byMapping)'PersonToPerson', $member)" } }
            """, to: inputs)
        let outcome = try inputs.run([
            "migrate", "old.sqlite", "new.sqlite", "--mapping", "mapping.json", "--on-loss", "allow",
        ])
        #expect(outcome.code == 0, "\(outcome.messages)")
        let rows = try Self.column(
            "SELECT ZNAMES || ': ' || ZFROM || ' ' || ZTO FROM ZFRIENDSHIP ORDER BY Z_PK", inputs)
        #expect(
            rows == [
                "person 1 and person 2: 1 2", "person 1 and person 3: 1 3", "person 2 and person 1: 2 1",
                "person 2 and person 2: 2 2",
            ])
        for (person, given, taken) in [
            (1, "2 objects: Friendship/p1, Friendship/p2", "1 object: Friendship/p3"),
            (2, "2 objects: Friendship/p3, Friendship/p4", "2 objects: Friendship/p1, Friendship/p4"),
            (3, "0 objects", "1 object: Friendship/p2"),
        ] {
            let shown = try CommandBinary.run(["show", "new.sqlite", "Person/p\(person)"], in: inputs.folder.path)
            #expect(shown.output.contains("given  \(given)\n"), "\(shown.output)\(shown.messages)")
            #expect(shown.output.contains("taken  \(taken)\n"), "\(shown.output)\(shown.messages)")
        }
    }

    @Test(
        "Wrong files are refused where they are wrong",
        arguments: [
            ("$source.tags", "$source.tags.@count", "takes a collection"), ("$source.tags", "$source.tag", "tags"),
            (
                #""forEach": "$source.tags""#, #""forEach": "$source.tags", "distinctBy": ["$source.title"]"#,
                "Leave one"
            ),
            (#""forEach": "$source.tags""#, #""forEach": "$source.tags", "migrationPolicy": "P""#, "Leave one"),
            (#""forEach": "$source.tags","#, "", "the variable $member is unknown"),
            ("'TagToTag', $member", "'TagToTag', $index", "the variable $index is unknown"),
            ("$member.name", "$member.nam", "name"),
            (#""position": "$index""#, #""position": "$member.name""#, "Integer 32"),
            (
                "\(byMapping)'TagToTag', $member)",
                "FUNCTION($stagecoach, 'objectsOfEntityMapping:member:', 'TagToTag', $member)",
                "has no \"forEach\""
            ),
        ])
    func wrong(part: String, other: String, says: String) throws {
        let inputs = try Self.inputs()
        let text = Self.taggings.replacing(part, with: other)
        #expect(text != Self.taggings)
        try Self.write(text, to: inputs)
        try inputs.expectRefusal(saying: says, inLines: 5...7)
    }

    @Test(
        "verify works the objects out again, and finds each kind of damage",
        arguments: [
            ("UPDATE ZTAGGING SET ZLABEL = 'tag 2' WHERE Z_PK = 1", ["Tagging/p1 label", "tag 3", "tag 2"]),
            ("UPDATE ZTAGGING SET ZPOSITION = 0 WHERE Z_PK = 2", ["Tagging/p2 position", "expected 1"]),
            ("UPDATE ZTAGGING SET ZTAG = 2 WHERE Z_PK = 2", ["Tagging/p2 tag", "Tag/p1", "Tag/p2"]),
            ("UPDATE ZTAGGING SET ZARTICLE = NULL WHERE Z_PK = 3", ["Tagging/p3 article", "Article/p3"]),
            ("DELETE FROM ZTAGGING WHERE Z_PK = 2", ["missing object: Tagging/p2"]),
            (
                "INSERT INTO ZTAGGING SELECT 4, Z_ENT, Z_OPT, ZPOSITION, ZARTICLE, ZTAG, ZLABEL FROM ZTAGGING WHERE Z_PK = 3;"
                    + "UPDATE Z_PRIMARYKEY SET Z_MAX = 4 WHERE Z_NAME = 'Tagging'",
                ["object that nothing makes: Tagging/p4"]
            ),
        ] as [(String, [String])])
    func verified(sql: String, words: [String]) throws {
        let inputs = try Self.inputs()
        try Self.write(Self.taggings, to: inputs)
        let mapping = ["--mapping", "mapping.json"]
        #expect(try inputs.run(["migrate", "old.sqlite", "new.sqlite"], mapping).code == 0)
        let before = try inputs.run(["verify", "old.sqlite", "new.sqlite"], mapping)
        #expect(before.code == 0, "\(before.output)\(before.messages)")
        #expect(before.output.contains("The destination is what the migration makes"), "\(before.output)")
        let connection = try Connection(path: inputs.folder.file("new.sqlite"), flags: SQLITE_OPEN_READWRITE)
        try connection.execute(sql)
        try connection.close()
        let after = try inputs.run(["verify", "old.sqlite", "new.sqlite"], mapping)
        #expect(after.code == 65, "\(after.output)\(after.messages)")
        for word in words { #expect(after.output.contains(word), "\(word): \(after.output)") }
    }

    @Test("What was written is read and written the same")
    func written() throws {
        let inputs = try Self.inputs()
        try Self.write(Self.taggings, to: inputs)
        #expect(try inputs.convertedTwice("mapping.json").contains(#""forEach": "$source.tags""#))
    }
}
