import CSQLite
import CoreDataStore
import Diagnostics
import Foundation
import ManagedModel
import Mapping
import Stagecoach
import TestSupport
import Testing

/// Composite attributes, from a store to a store: inferred, mapped, read, left behind, checked.
@Suite("Composite attributes")
struct CompositeMigrationTests {
    typealias Fixture = CompositeFixture

    private static let first: [String: ReferenceValue] = [
        "title": .text("one"), "id": .integer(10), "author.name": .text("Ada"), "author.id": .integer(7),
        "author.home.city": .text("London"), "author.home.zip": .integer(123), "author.born": .real(5.5),
        "kind.kind": .text("novel"),
    ]
    private static let second: [String: ReferenceValue] = [
        "title": .text("two"), "editor.name": .text("Bob"), "editor.home.city": .text("Rome"),
    ]

    @Test(
        "A copy to the same model keeps every column, on both paths, also where they are made equal by numbers",
        arguments: [false, true])
    func copied(isStaged: Bool) throws {
        let fixture = try Fixture()
        fixture.options.usesStoreSpecificMigrationManager = !isStaged
        let copy = try fixture.run()
        #expect(values(copy, 1) == Self.first && values(copy, 2) == Self.second)
        let sql = "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name"
        #expect(try StoreQuery.texts(sql, in: fixture.sourcePath) == StoreQuery.texts(sql, in: fixture.destinationPath))
        // id of author, editor and the book, in the order of the attributes' names.
        let row = "SELECT ZID || ' ' || ZID2 || ' ' || ZCITY || ' ' || ZKIND FROM ZBOOK WHERE Z_PK = 1"
        #expect(try StoreQuery.texts(row, in: fixture.destinationPath) == ["7 10 London novel"])
    }

    @Test("A renamed composite and its renamed elements are inferred one by one; what is left out is named by its path")
    func renamed() throws {
        var composites = Fixture.composites
        composites["Person"] = [
            attribute("born", .date),
            attribute("fullName", .string, required: true) { $0.renamingIdentifier = "name" },
            attribute("id", .integer64), attribute("phone", .string),
            Fixture.composite("address", "Address", id: "home"),
        ]
        composites["Address"] = [attribute("city", .string)]
        let fixture = try Fixture(
            book: [
                attribute("title", .string), attribute("id", .integer64), attribute("isbn", .string),
                Fixture.composite("writer", "Person", id: "author"), Fixture.composite("editor", "Person"),
                Fixture.composite("kind", "Kind", required: true),
            ], composites: composites)
        let inferred = try MappingModel.inferred(from: fixture.old, to: fixture.new)
        let book = try #require(inferred.entityMappingsByName["IEM_Transform_Book"])
        #expect(book.attributeMapping(named: "writer.fullName")?.valueExpression?.format == "$source.author.name")
        #expect(
            book.attributeMapping(named: "writer.address.city")?.valueExpression?.format == "$source.author.home.city")
        #expect(book.attributeMapping(named: "writer.phone")?.valueExpression == nil)
        // Written and read back it is the same.
        let json = try inferred.json()
        let read = try MappingModel.reading(
            json: Array(json.utf8), path: "x.json", source: fixture.old, destination: fixture.new)
        #expect(try read.json() == json)
        let migration = try fixture.migration(read)
        let report = try migration.run()
        #expect(try StoreVerification(migration).run().differences.isEmpty)
        let copy = try ReferenceStore.read(path: fixture.destinationPath, model: fixture.new)
        #expect(
            values(copy, 1) == [
                "title": .text("one"), "id": .integer(10), "writer.fullName": .text("Ada"), "writer.id": .integer(7),
                "writer.address.city": .text("London"), "writer.born": .real(5.5), "kind.kind": .text("novel"),
            ])
        let left = report.leftBehind?.lines.map { "\($0.name) \($0.values ?? 0)" } ?? []
        #expect(left == ["Book.author.home.zip 1"])
    }

    @Test("An attribute and a composite of one name are not mapped by themselves, but by a mapping; both ways")
    func attributeAndElement() throws {
        var composites = Fixture.composites
        composites["Text"] = [attribute("value", .string), attribute("length", .integer32)]
        let fixture = try Fixture(
            book: [
                Fixture.composite("title", "Text"), attribute("id", .integer64), attribute("isbn", .string),
                Fixture.composite("author", "Person"), Fixture.composite("editor", "Person"),
                attribute("kind", .string),
            ], composites: composites)
        let error = #expect(throws: MigrationError.self) { try fixture.migration() }
        #expect(error?.code == "inference.attributeType" && error?.context.entity == "Book")
        #expect(error?.message.contains("String became Composite") == true)
        #expect(error?.message.contains("Composite became String") == true)
        let copy = try fixture.run(
            try fixture.mapping(
                #""title.value": "$source.title", "title.length": "$source.title.length", "kind": "$source.kind.kind""#)
        )
        #expect(copy.column("Book", "title.value") == [1: .text("one"), 2: .text("two"), 3: .text("three")])
        #expect(copy.column("Book", "title.length") == [1: .integer(3), 2: .integer(3), 3: .integer(5)])
        #expect(copy.column("Book", "kind") == [1: .text("novel"), 2: .null, 3: .text("poem")])
    }

    @Test("A composite that cannot be mapped is left if that is asked for, and counted")
    func unmappable() throws {
        let fixture = try Fixture(
            book: [attribute("author", .string), attribute("title", .string)]
                + Fixture.book.filter { $0.name == "kind" })
        let mapping = try MappingModel.inferred(from: fixture.old, to: fixture.new, unmappable: .leave)
        let report = try fixture.migration(mapping).run()
        let unmapped = try #require(report.unmapped?.first)
        #expect(unmapped.name == "author" && unmapped.source == "Book.author" && unmapped.values == 1)
    }

    @Test("A mapping of a composite as a whole is one of its elements; what the dictionary lacks is nil")
    func whole() throws {
        let fixture = try Fixture()
        let copy = try fixture.run(
            try fixture.mapping(
                #""author": "$source.editor", "editor": "TERNARY($source.id == 30, nil, $source.author)", "editor.id": "TERNARY($source.author == nil, nil, $source.id)""#
            ))
        #expect(
            values(copy, 1) == [
                "title": .text("one"), "id": .integer(10), "editor.name": .text("Ada"), "editor.id": .integer(10),
                "editor.home.city": .text("London"), "editor.home.zip": .integer(123), "editor.born": .real(5.5),
                "kind.kind": .text("novel"),
            ])
        #expect(values(copy, 2)["author.name"] == .text("Bob") && values(copy, 2)["author.home.city"] == .text("Rome"))
        // A nested one, and one of another kind: elements of its own names only.
        let other = try Fixture()
        let mapped = try other.run(
            try other.mapping(#""author.home": "$source.shelf.place", "author.name": "$source.title", "kind": null"#))
        #expect(values(mapped, 1)["author.home.city"] == .text("Bern"))
        #expect(values(mapped, 2)["author.home.city"] == nil && values(mapped, 2)["author.name"] == .text("two"))
        #expect(mapped.column("Book", "kind.kind") == [1: .null, 2: .null, 3: .null])
    }

    @Test(
        "Elements are read in filters and expressions, over relationships and under operators",
        arguments: [
            ("author.name == 'Ada'", [1]), ("author.home.zip > 100 OR editor.home.city BEGINSWITH 'R'", [1, 2]),
            ("kind.kind == nil", [2]), ("author == nil", [2, 3]), ("shelf.place.city == 'Bern'", [1]),
            ("author.home != nil AND kind.kind IN {'novel'}", [1]),
            ("SUBQUERY(shelf.books, $b, $b.editor.name == 'Bob').@count == 1", [2]),
            ("ANY shelf.books.author.name == 'Ada'", [1]),
        ] as [(String, [Int64])])
    func filters(filter: String, keys: [Int64]) throws {
        let fixture = try Fixture()
        #expect(try fixture.run(try fixture.mapping("", filter: filter)).keys("Book") == keys)
    }

    @Test(
        "Expressions compute with elements, fold them over relationships and send them messages",
        arguments: [false, true])
    func expressions(isStaged: Bool) throws {
        let fixture = try Fixture()
        fixture.options.usesStoreSpecificMigrationManager = !isStaged
        let copy = try fixture.run(
            try fixture.mapping(
                #"""
                "isbn": "FUNCTION($source.author.name, 'stringByAppendingString:', $source.kind.kind)",
                "id": "$source.shelf.books.@max.author.home.zip + $source.author.id",
                "title": "FUNCTION($source, 'valueForKeyPath:', 'author.home.city')",
                "editor.name": "TERNARY($source.author == nil, 'nobody', uppercase($source.author.name))"
                """#))
        #expect(values(copy, 1)["isbn"] == .text("Adanovel") && values(copy, 1)["id"] == .integer(130))
        #expect(copy.column("Book", "title") == [1: .text("London"), 2: .null, 3: .null])
        #expect(
            copy.column("Book", "editor.name") == [1: .text("ADA"), 2: .text("nobody"), 3: .text("nobody")])
    }

    @Test(
        "Mistakes are found when a mapping is read",
        arguments: [
            (#""author.nam": "$source.title""#, "mapping.unknownProperty"),
            (#""isbn": "$source.author.nam""#, "mapping.unknownKeyPath"),
            (#""isbn": "$source.author""#, "expression.type"),
            (#""author.id": "$source.author.name""#, "expression.type"),
            (#""author": "$source.title""#, "mapping.unknownKeyPath"),
        ])
    func mistakes(attributes: String, code: String) throws {
        let fixture = try Fixture()
        let error = #expect(throws: MigrationError.self) { try fixture.mapping(attributes) }
        #expect(error?.code.rawValue == code)
    }

    // MARK: - New elements and rules

    @Test("A new element's default does not make a value of a composite that is nil; a new composite has its defaults")
    func defaults() throws {
        var composites = Fixture.composites
        composites["Person"]?.append(attribute("rank", .integer16, default: .integer(5), required: true))
        composites["Person"]?[1] = attribute("id", .integer64, default: .integer(1), required: true)
        composites["Size"] = [attribute("pages", .integer32, default: .integer(100)), attribute("height", .double)]
        let fixture = try Fixture(book: Fixture.book + [Fixture.composite("size", "Size")], composites: composites)
        let inferred = try MappingModel.inferred(from: fixture.old, to: fixture.new)
        let json = try inferred.json()
        let read = try MappingModel.reading(
            json: Array(json.utf8), path: "x.json", source: fixture.old, destination: fixture.new)
        let copy = try fixture.run(read)
        #expect(copy.column("Book", "author.rank") == [1: .integer(5), 2: .null, 3: .null])
        #expect(copy.column("Book", "editor.rank") == [1: .null, 2: .integer(5), 3: .null])
        #expect(copy.column("Book", "editor.id") == [1: .null, 2: .integer(1), 3: .null])
        #expect(copy.column("Book", "author.id") == [1: .integer(7), 2: .null, 3: .null])
        #expect(copy.column("Book", "size.pages") == [1: .integer(100), 2: .integer(100), 3: .integer(100)])
    }

    @Test(
        "A required element is missing only where its composite has a value; check, migrate and verify agree",
        arguments: [false, true])
    func requiredElement(isStaged: Bool) throws {
        let fixture = try Fixture(isValid: false)
        fixture.options.usesStoreSpecificMigrationManager = !isStaged
        let mapping = try fixture.mapping("")
        let found = try fixture.migration(mapping).check().violations
        #expect(found.map(\.property) == ["author.name"] && found.map(\.rule) == [.required])
        #expect(found.first?.samples.map(\.sourceID) == ["Book/p4"])
        let error = #expect(throws: MigrationError.self) { try fixture.migration(mapping).run() }
        #expect(error?.code == "validation.missing" && error?.context.property == "author.name")
        fixture.options.onInvalid = .reject
        #expect(try fixture.run(mapping).keys("Book") == [1, 2, 3])
    }

    @Test("A rule that the source had already is a warning of an inferred migration")
    func ruleOfSource() throws {
        let fixture = try Fixture(isValid: false)
        let found = try fixture.migration().check()
        #expect(found.violations.isEmpty && found.warnings.map(\.property) == ["author.name"])
        #expect(try fixture.run().keys("Book") == [1, 2, 3, 4])
    }

    @Test("Bounds of elements are checked")
    func bounds() throws {
        var composites = Fixture.composites
        composites["Place"]?[1].maximum = .integer(100)
        let fixture = try Fixture(composites: composites)
        let found = try fixture.migration().check().violations
        #expect(Set(found.map { "\($0.entity).\($0.property)" }) == ["Shelf.place.zip", "Book.author.home.zip"])
        #expect(found.allSatisfy { $0.rule == .maximum })
    }

    // MARK: - Policies

    @Test("A policy reads and sets composites as dictionaries, elements by key path, nil as nil")
    func policies() throws {
        let fixture = try Fixture()
        let copy = try fixture.run { source, made in
            let author = source.value(forKey: "author") as? [String: Any]
            if source.objectID.key == 1 {
                #expect(author?.keys.sorted() == ["born", "home", "id", "name"])
                #expect((author?["home"] as? [String: Any])?["zip"] as? Int == 123)
                #expect(source.value(forKeyPath: "author.home.city") as? String == "London")
                #expect(source.value(forKey: "editor") == nil)
                made.setValue(author, forKey: "editor")
                made.setValue(nil, forKey: "author")
                made.setValue("Paris", forKeyPath: "editor.home.city")
                #expect(made.value(forKeyPath: "editor.home.city") as? String == "Paris")
                #expect(made.entity.attributesByName["editor"]?.elements.count == 4)
            } else {
                #expect(author == nil)
                made.setValue(["name": "New", "home": ["zip": 5]] as [String: Any], forKey: "author")
                made.setValue(["kind": NSNull()], forKeyPath: "kind")
            }
        }
        #expect(
            values(copy, 1) == [
                "title": .text("one"), "id": .integer(10), "editor.name": .text("Ada"), "editor.id": .integer(7),
                "editor.home.city": .text("Paris"), "editor.home.zip": .integer(123), "editor.born": .real(5.5),
                "kind.kind": .text("novel"),
            ])
        #expect(
            values(copy, 3) == [
                "title": .text("three"), "id": .integer(30), "author.name": .text("New"),
                "author.home.zip": .integer(5),
            ])
    }

    @Test("Copying all attributes by name, as policies do, copies composites")
    func allAttributes() throws {
        let fixture = try Fixture()
        let copy = try fixture.run(#""author": null, "editor": null, "kind": null"#) { source, made in
            for name in source.entity.attributesByName.keys { made.setValue(source.value(forKey: name), forKey: name) }
        }
        #expect(values(copy, 1) == Self.first && values(copy, 2) == Self.second)
    }

    @Test("Objects without a context, and fetches by elements, know composites")
    func contexts() throws {
        let fixture = try Fixture()
        let copy = try fixture.run { source, made in
            guard source.objectID.key == 1 else { return }
            let extra = ManagedObject(entity: made.entity, insertInto: nil)
            extra.setValue(["name": "Eve", "id": 9], forKey: "author")
            extra.setValue(8, forKeyPath: "author.id")
            #expect((extra.value(forKey: "author") as? [String: Any])?["name"] as? String == "Eve")
            made.managedObjectContext?.insert(extra)
            let request = FetchRequest<ManagedObject>(entityName: "Book")
            request.predicate = NSPredicate(format: "author.name == %@ AND author.home.zip == nil", "Eve")
            let made = try made.managedObjectContext?.fetch(request)
            #expect(made?.count == 1)
            let old = FetchRequest<ManagedObject>(entityName: "Book")
            old.predicate = NSPredicate(format: "editor.home.city == 'Rome'")
            let found = try source.managedObjectContext?.fetch(old)
            #expect(found?.map { $0.objectID.key } == [2])
        }
        #expect(copy.keys("Book").count == 4)
        #expect(copy.column("Book", "author.id").values.contains(.integer(8)))
    }

    @Test("A value that does not fit a composite ends the run with the reason")
    func wrongValues() throws {
        for (value, text) in [("text" as Any, "takes a dictionary"), (["nam": "x"] as Any, "no element nam")] {
            let fixture = try Fixture()
            let carried = Unchecked(value)
            let error = #expect(throws: MigrationError.self) {
                try fixture.run { _, made in made.setValue(carried.value, forKey: "author") }
            }
            #expect(error?.message.contains(text) == true && error?.context.property == "author")
        }
    }

    // MARK: - Appending

    @Test("Rows are appended to a store with composites", arguments: [false, true])
    func appended(isStaged: Bool) throws {
        let fixture = try Fixture()
        fixture.options.usesStoreSpecificMigrationManager = !isStaged
        _ = try fixture.run()
        fixture.options.appendsToExisting = true
        try fixture.migration().run()
        let copy = try ReferenceStore.read(path: fixture.destinationPath, model: fixture.new)
        #expect(copy.keys("Book").count == 6)
        #expect(copy.column("Book", "author.home.city").values.filter { $0 == .text("London") }.count == 2)
    }
}
