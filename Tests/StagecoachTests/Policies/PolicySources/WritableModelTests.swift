import Stagecoach
import TestSupport
import Testing

// Models that hosts and tests make in code, written as people write them.
@Suite("Models made in code")
struct WritableModelTests {
    /// A library whose books have an author; with `isNew` also a note.
    private func library(isNew: Bool) -> NSManagedObjectModel {
        let book = NSEntityDescription()
        book.name = "Book"
        book.managedObjectClassName = NSStringFromClass(NSManagedObject.self)
        let author = NSEntityDescription()
        author.name = "Author"
        author.userInfo = ["kind": "person"]

        let title = NSAttributeDescription()
        title.name = "title"
        title.attributeType = .stringAttributeType
        title.isOptional = false
        title.defaultValue = "untitled"
        title.isIndexedBySpotlight = true
        title.setValidationPredicates(
            [NSPredicate(format: "length > %d", 1)], withValidationWarnings: ["too short"])
        let pages = NSAttributeDescription()
        pages.name = "pages"
        pages.type = .integer32
        pages.defaultValue = 7
        let name = NSAttributeDescription()
        name.name = "name"
        name.attributeType = .stringAttributeType
        name.allowsCloudEncryption = true

        let books = NSRelationshipDescription()
        let writer = NSRelationshipDescription()
        books.name = "books"
        books.destinationEntity = book
        books.deleteRule = .cascadeDeleteRule
        books.inverseRelationship = writer
        writer.name = "author"
        writer.destinationEntity = author
        writer.maxCount = 1
        writer.isStoredInExternalRecord = true
        writer.inverseRelationship = books

        book.properties = [title, pages, writer]
        author.properties = [name, books]
        book.uniquenessConstraints = [["title"]]
        if isNew {
            let note = NSAttributeDescription()
            note.name = "note"
            note.attributeType = .stringAttributeType
            note.defaultValue = "none"
            book.properties.append(note)
            book.renamingIdentifier = "Book"
            book.name = "Volume"
        }
        let model = NSManagedObjectModel()
        model.entities = [book, author]
        model.setEntities([author], forConfigurationName: "People")
        model.versionIdentifiers = [isNew ? "2" : "1"]
        return model
    }

    @Test("A model made in code is the one that its definition makes")
    func equal() throws {
        let made = library(isNew: false)
        var definition = ModelDefinition()
        definition.entities = [
            entity(
                "Book",
                [
                    attribute("title", .string, default: .string("untitled"), required: true),
                    attribute("pages", .integer32, default: .integer(7)),
                ], [toOne("author", "Author", inverse: "books")], unique: [["title"]]),
            entity("Author", [attribute("name", .string)], [toMany("books", "Book", inverse: "author")]),
        ]
        let expected = try ManagedObjectModel(definition)
        #expect(made.entityVersionHashesByName == expected.entityVersionHashesByName)
        #expect(made.versionChecksum == expected.versionChecksum)
        let book = try #require(made.entitiesByName["Book"])
        #expect(book.attributesByName["pages"]?.defaultValue as? Int == 7)
        #expect(book.attributesByName["title"]?.isOptional == false)
        #expect(book.propertiesByName.values.filter(\.isIndexedBySpotlight).map(\.name) == ["title"])
        #expect(book.propertiesByName.values.filter(\.isStoredInExternalRecord).map(\.name) == ["author"])
        #expect(made.entitiesByName["Author"]?.attributesByName["name"]?.allowsCloudEncryption == true)
        #expect(book.attributesByName["title"]?.validationWarnings as? [String] == ["too short"])
        #expect(book.relationshipsByName["author"]?.inverseRelationship?.deleteRule == .cascadeDeleteRule)
        #expect(made.entities(forConfigurationName: "People")?.map(\.name) == ["Author"])
        #expect(made.entitiesByName["Author"]?.userInfo?["kind"] as? String == "person")
        #expect(made.versionIdentifiers == ["1"])
    }

    @Test("Entities and properties know the model that took them over; objects can be made of them")
    func taken() throws {
        let (parent, child) = (NSEntityDescription(), NSEntityDescription())
        parent.name = "Parent"
        parent.isAbstract = true
        child.name = "Child"
        let age = NSAttributeDescription()
        (age.name, age.attributeType) = ("age", .integer16AttributeType)
        parent.properties = [age]
        parent.subentities = [child]
        #expect(parent.attributesByName["age"] === age && parent.propertiesByName.count == 1)
        #expect(age.entity == nil && age.isOptional)
        let model = NSManagedObjectModel()
        model.entities = [parent, child]
        #expect(model.entitiesByName["Child"]?.superentity?.name == "Parent")
        #expect(age.entity == model.entitiesByName["Parent"] && model.entitiesByName["Parent"]?.isAbstract == true)
        let object = NSManagedObject(entity: child, insertInto: nil)
        object.setValue(3, forKey: "age")
        #expect(object.value(forKey: "age") as? Int == 3 && object.entity == model.entitiesByName["Child"])
        // Merged models have the entities of both.
        let other = NSManagedObjectModel()
        let third = NSEntityDescription()
        third.name = "Third"
        other.entities = [third]
        #expect(NSManagedObjectModel(byMerging: [model, other])?.entities.count == 3)
        #expect(
            NSManagedObjectModel(byMerging: [model, model]) == model && NSManagedObjectModel(byMerging: nil) == nil)
        let derived = NSDerivedAttributeDescription()
        let canonical = NSExpression(format: "canonical:(name)")
        derived.derivationExpression = canonical
        #expect(derived.derivationExpression?.description == canonical.description)
    }

    @Test("A model made in code goes when nobody holds it, though its entities refer to each other")
    func released() {
        weak var held: NSRelationshipDescription?
        func make() {
            let (book, author) = (NSEntityDescription(), NSEntityDescription())
            (book.name, author.name) = ("Book", "Author")
            let (writer, books) = (NSRelationshipDescription(), NSRelationshipDescription())
            (writer.name, books.name) = ("author", "books")
            (writer.destinationEntity, books.destinationEntity) = (author, book)
            (writer.inverseRelationship, books.inverseRelationship) = (books, writer)
            (book.properties, author.properties) = ([writer], [books])
            let model = NSManagedObjectModel()
            model.entities = [book, author]
            held = writer
            #expect(held?.destinationEntity == model.entitiesByName["Author"])
        }
        make()
        #expect(held == nil)
    }

    @Test("A store of a model made in code migrates to another one")
    func migrating() throws {
        let folder = try TemporaryFolder()
        let (old, new) = (library(isNew: false), library(isNew: true))
        let path = folder.file("old.sqlite")
        try ReferenceStore.make(old) { store in
            store.insert("Author", 1, ["name": .text("Austen")])
            store.insert("Book", 1, ["title": .text("Emma"), "pages": .integer(474)], toOne: ["author": 1])
        }.write(path: path)
        let coordinator = NSPersistentStoreCoordinator(managedObjectModel: old)
        try coordinator.addPersistentStore(
            ofType: NSSQLiteStoreType, configurationName: nil, at: URL(fileURLWithPath: path))
        let manager = NSMigrationManager(sourceModel: old, destinationModel: new)
        manager.options.memoryLimit = 8 << 30
        let destination = URL(fileURLWithPath: folder.file("new.sqlite"))
        try manager.migrateStore(
            from: URL(fileURLWithPath: path), type: .sqlite,
            mapping: try NSMappingModel.inferredMappingModel(forSourceModel: old, destinationModel: new),
            to: destination, type: .sqlite)
        let store = try ReferenceStore.read(path: destination.path, model: new)
        #expect(store.texts("Volume", "title") == ["Emma"] && store.texts("Volume", "note") == ["none"])
        #expect(store.objects("Author")[1]?.related("books").map(\.key) == [1])
    }
}
