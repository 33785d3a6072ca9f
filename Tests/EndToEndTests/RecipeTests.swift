import CoreDataStore
import Foundation
import ManagedModel
import TestSupport
import Testing

/// The files of the article of recipes: a mapping model and the policy beside it give the same store.
@Suite("Recipes: a mapping model and the same as a policy")
struct RecipeTests {
    private static func article() throws -> DocumentCode {
        try DocumentCode("Sources/Stagecoach/Stagecoach.docc/Recipes.md")
    }

    /// Writes the files of the article into a folder.
    private static func folder(_ article: DocumentCode) throws -> TemporaryFolder {
        let folder = try TemporaryFolder()
        for block in article.blocks {
            guard let file = block.file else { continue }
            try block.text.write(toFile: folder.file(file), atomically: true, encoding: .utf8)
        }
        return folder
    }

    /// Compiles the class of the article that has a name, with its registration.
    private static func library(_ name: String, _ article: DocumentCode) throws -> PolicyLibrary {
        let block = try #require(article.blocks.first { $0.language == "swift" && $0.text.contains("class \(name)") })
        let folder = try TemporaryFolder()
        try """
        import Stagecoach

        \(block.text)

        @_cdecl("stagecoach_register_policies")
        public func registerPolicies() {
            PolicyRegistry.register(\(name).self)
        }
        """.write(toFile: folder.file("Policies.swift"), atomically: true, encoding: .utf8)
        return try PolicyLibrary(sources: folder.path)
    }

    @Test(
        "An ordered relationship out of a number",
        .enabled(if: !Instrumentation.isSanitized, "a library with a sanitizer is linked into no other program"))
    func ordered() throws {
        let article = try Self.article()
        let folder = try Self.folder(article)
        let old = try ModelLocator.load(folder.file("playlists1.xml")).model
        var generator = SeededGenerator(seed: 53)
        try ReferenceStore.make(old) { store in
            for list in 1...20 { store.insert("Playlist", Int64(list), ["name": .text("list \(list)")]) }
            var positions = Array(1...300)
            positions.shuffle(using: &generator)
            for (index, position) in positions.enumerated() {
                store.insert(
                    "Track", Int64(index + 1),
                    ["title": .text("track \(position)"), "position": .integer(Int64(position))],
                    toOne: ["playlist": Int64(1 + generator.below(20))])
            }
        }.write(path: folder.file("old.sqlite"))
        let library = try Self.library("OrderedTracks", article)
        for (name, arguments) in [
            ("sorted", ["--mapping", "ordered.json"]),
            ("policy", ["--mapping", "policy.json", "--policies", library.path, "--on-loss", "allow"]),
        ] {
            let outcome = try CommandBinary.run(
                ["migrate", "old.sqlite", "\(name).sqlite", "--to", "playlists2.xml", "--from", "playlists1.xml"]
                    + arguments,
                in: folder.path)
            #expect(outcome.code == 0, "\(outcome.messages)")
        }
        func tracks(_ name: String) throws -> [String] {
            let connection = try Connection(path: folder.file("\(name).sqlite"), flags: 1)
            return try connection.firstColumn(
                "SELECT ZPLAYLIST || ' ' || Z_FOK_PLAYLIST || ' ' || ZTITLE FROM ZTRACK ORDER BY ZPLAYLIST, Z_FOK_PLAYLIST"
            )
        }
        let sorted = try tracks("sorted")
        #expect(try sorted.count == 300 && sorted == tracks("policy"))
        let numbers = sorted.prefix { $0.hasPrefix("1 ") }.compactMap {
            $0.split(separator: " ").last.flatMap { Int($0) }
        }
        #expect(numbers.count > 1 && numbers == numbers.sorted())
    }

    @Test(
        "An entity of its own for the links of a relationship",
        .enabled(if: !Instrumentation.isSanitized, "a library with a sanitizer is linked into no other program"))
    func links() throws {
        let article = try Self.article()
        let folder = try Self.folder(article)
        let old = try ModelLocator.load(folder.file("tags1.xml")).model
        var generator = SeededGenerator(seed: 54)
        try ReferenceStore.make(old) { store in
            for tag in 1...9 { store.insert("Tag", Int64(tag), ["name": .text("tag \(tag)")]) }
            for key in 1...100 {
                store.insert("Article", Int64(key), ["title": .text("article \(key)")])
                store.setMembers("Article", Int64(key), "tags", (1...9).filter { _ in generator.chance(4) })
            }
        }.write(path: folder.file("old.sqlite"))
        let library = try Self.library("TaggingOfEachTag", article)
        for (name, arguments) in [
            ("mapped", ["--mapping", "taggings.json"]),
            ("policy", ["--mapping", "taggings-policy.json", "--policies", library.path, "--on-loss", "allow"]),
        ] {
            let outcome = try CommandBinary.run(
                ["migrate", "old.sqlite", "\(name).sqlite", "--to", "tags2.xml", "--from", "tags1.xml"] + arguments,
                in: folder.path)
            #expect(outcome.code == 0, "\(outcome.messages)")
        }
        func taggings(_ name: String) throws -> [String] {
            let connection = try Connection(path: folder.file("\(name).sqlite"), flags: 1)
            return try connection.firstColumn(
                "SELECT Z_PK || ' ' || ZARTICLE || ' ' || ZTAG || ' ' || ZWEIGHT || ' ' || ZLABEL FROM ZTAGGING ORDER BY Z_PK"
            )
        }
        let mapped = try taggings("mapped")
        #expect(try mapped.count > 100 && mapped == taggings("policy"))
    }

    @Test(
        "A second store, with objects that the first one has",
        .enabled(if: !Instrumentation.isSanitized, "a library with a sanitizer is linked into no other program"))
    func matched() throws {
        let article = try Self.article()
        let folder = try Self.folder(article)
        let model = try ModelLocator.load(folder.file("catalog.xml")).model
        for (name, writers) in [("first", 1...20), ("second", 11...40)] {
            try ReferenceStore.make(model) { store in
                for (key, writer) in writers.enumerated() {
                    store.insert(
                        "Writer", Int64(key + 1),
                        ["name": .text("writer \(writer)"), "born": .integer(Int64(name.count * 100 + writer))])
                    for work in 0..<3 {
                        store.insert(
                            "Work", Int64(3 * key + work + 1), ["title": .text("\(name) \(writer) \(work)")],
                            toOne: ["writer": Int64(key + 1)])
                    }
                }
            }.write(path: folder.file("\(name).sqlite"))
        }
        let library = try Self.library("KnownWriters", article)
        func works(_ name: String, _ arguments: [String]) throws -> [String] {
            try FileManager.default.copyItem(atPath: folder.file("first.sqlite"), toPath: folder.file(name))
            let outcome = try CommandBinary.run(
                ["migrate", "second.sqlite", name, "--to", "catalog.xml", "--append"] + arguments, in: folder.path)
            #expect(outcome.code == 0, "\(outcome.messages)")
            let connection = try Connection(path: folder.file(name), flags: 1)
            return try connection.firstColumn(
                "SELECT a.ZNAME || ' ' || a.ZBORN || ' ' || a.Z_OPT || ' ' || w.ZTITLE FROM ZWRITER AS a JOIN ZWORK AS w "
                    + "ON w.ZWRITER = a.Z_PK ORDER BY a.Z_PK, w.Z_PK")
        }
        let matched = try works("matched.sqlite", ["--mapping", "matched.json"])
        #expect(matched.count == 150 && matched.contains("writer 11 511 2 second 11 0"), "\(matched)")
        #expect(
            try works("policy.sqlite", ["--mapping", "catalog-policy.json", "--policies", library.path]) == matched)
        #expect(try works("option.sqlite", ["--match", "Writer=name"]) == matched)
    }
}
