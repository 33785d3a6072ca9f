import Stagecoach
import TestSupport
import Testing

// Only `import Stagecoach`: Core Data's names are found without qualification, Foundation's are there too.
@Suite("Core Data's names")
struct CoreDataNameTests {
    private func fixture() throws -> PolicySourceFixture { try PolicySourceFixture() }

    @Test("Keys of value expressions are the variables' names")
    func expressionKeys() throws {
        let keys = [
            NSMigrationManagerKey, NSMigrationSourceObjectKey, NSMigrationDestinationObjectKey,
            NSMigrationEntityMappingKey, NSMigrationPropertyMappingKey, NSMigrationEntityPolicyKey,
        ]
        #expect(keys == ["manager", "source", "destination", "entityMapping", "propertyMapping", "entityPolicy"])
        // A partial context: what the expression does not ask for may be absent.
        let context: NSMutableDictionary = [NSMigrationPropertyMappingKey: "p", NSMigrationSourceObjectKey: "s"]
        let expression = NSExpression(format: "FUNCTION($source, 'stringByAppendingString:', $propertyMapping)")
        #expect(expression.expressionValue(with: nil, context: context) as? String == "sp")
    }

    @Test("Store types and options have Core Data's values; a type that is not migrated is refused")
    func storeTypes() throws {
        #expect(NSSQLiteStoreType == "SQLite")
        #expect(NSStoreUUIDKey == "NSStoreUUID")
        let options = [
            NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true,
        ]
        #expect(options.count == 2 && NSXMLStoreType == "XML")
        let others = [
            NSPersistentStoreForceDestroyOption, NSPersistentStoreTimeoutOption, NSReadOnlyPersistentStoreOption,
            NSPersistentStoreDeferredLightweightMigrationOptionKey, NSPersistentStoreConnectionPoolMaxSizeKey,
            NSSQLiteManualVacuumOption, NSSQLiteAnalyzeOption, NSPersistentStoreFileProtectionKey,
            NSPersistentHistoryTrackingKey, NSPersistentStoreUbiquitousContentNameKey, NSValidateXMLStoreOption,
        ]
        #expect(Set(others).count == others.count)
        let notifications: [Notification.Name] = [
            .NSManagedObjectContextWillSave, .NSManagedObjectContextDidSave, .NSManagedObjectContextObjectsDidChange,
            .NSPersistentStoreCoordinatorStoresDidChange, .NSPersistentStoreCoordinatorStoresWillChange,
            .NSPersistentStoreCoordinatorWillRemoveStore, .NSPersistentStoreRemoteChange,
        ]
        #expect(Set(notifications).count == 7)
        let keys = [NSInsertedObjectsKey, NSUpdatedObjectsKey, NSDeletedObjectsKey, NSRefreshedObjectsKey]
        #expect(keys == ["inserted", "updated", "deleted", "refreshed"])
        let fixture = try fixture()
        let error = #expect(throws: MigrationError.self) {
            try fixture.manager.migrateStore(
                from: fixture.sourceURL, sourceType: NSBinaryStoreType, options: nil, with: fixture.mapping,
                toDestinationURL: fixture.destinationURL, destinationType: NSSQLiteStoreType, destinationOptions: nil)
        }
        #expect(error?.code == "manager.storeType")
    }

    @Test("Error codes are Core Data's")
    func errorCodes() {
        let error = NSError(
            domain: NSCocoaErrorDomain, code: NSMigrationError, userInfo: [NSDetailedErrorsKey: [String]()])
        #expect(error.code == 134_110)
        #expect(NSManagedObjectValidationError == 1550)
        #expect(NSEntityMigrationPolicyError == 134_170)
        #expect(NSPersistentStoreIncompatibleVersionHashError == 134_100)
        #expect(NSValidationMissingMandatoryPropertyError == 1570)
    }

    @Test("Mapping models are inferred and read by name")
    func mappingModels() throws {
        let fixture = try fixture()
        let model = try NSMappingModel.inferredMappingModel(
            forSourceModel: fixture.manager.sourceModel, destinationModel: fixture.manager.sourceModel)
        #expect(model.entityMappings.count == 3)
        let book = try #require(model.entityMappings.first { $0.sourceEntityName == "Book" })
        #expect(model.entityMappingsByName[book.name] === book)
        #expect(book.destinationEntityName == "Book")
        #expect(book.mappingType == .copyEntityMappingType || book.mappingType == .transformEntityMappingType)
        #expect(book.relationshipMappings?.compactMap(\.name).sorted() == ["chapters", "writer"])
    }

    @Test("A copy of a mapping model shares nothing that can be changed")
    func copies() throws {
        let fixture = try fixture()
        let copy = fixture.mapping.copy() as! NSMappingModel
        let book = try #require(copy.entityMappingsByName["BookToBook"])
        book.attributeMappings?.first?.valueExpression = NSExpression(forConstantValue: "changed")
        book.name = "Other"
        book.userInfo = ["a": 1]
        #expect(fixture.books?.attributeMappings?.first?.valueExpression?.description == "$source.title")
        #expect(fixture.books?.userInfo == nil)
        let property = book.attributeMappings?.first?.copy() as? NSPropertyMapping
        #expect(property !== book.attributeMappings?.first)
        #expect(property?.name == "title")
        let entity = book.copy() as? NSEntityMapping
        #expect(entity?.name == "Other")
    }

    @Test("Models are read from files and compared with a store's metadata")
    func models() throws {
        let bundle = SharedStores.repository.appendingPathComponent("Fixtures/Models/Library.xcdatamodeld")
        let model = try #require(NSManagedObjectModel(contentsOf: bundle))
        #expect(model.entitiesByName["Section"]?.name == "Section")
        #expect(model.entities.count == model.entitiesByName.count)
        #expect(NSManagedObjectModel(contentsOf: bundle.appendingPathComponent("none")) == nil)
        let hashes = model.entityVersionHashesByName
        #expect(hashes["Section"]?.count == 32)
        #expect(model.entitiesByName["Section"]?.versionHash == hashes["Section"])
        #expect(!model.versionIdentifiers.isEmpty)
        var metadata: [String: Any] = [NSStoreModelVersionHashesKey: hashes]
        #expect(model.isConfiguration(withName: nil, compatibleWithStoreMetadata: metadata))
        #expect(!model.isConfiguration(withName: "none", compatibleWithStoreMetadata: metadata))
        metadata[NSStoreModelVersionHashesKey] = hashes.filter { $0.key != "Section" }
        #expect(!model.isConfiguration(withName: nil, compatibleWithStoreMetadata: metadata))
        #expect(!model.isConfiguration(withName: nil, compatibleWithStoreMetadata: [:]))
    }

    @Test("Models are compared, copied and merged; their fetch requests have names")
    func modelParts() throws {
        let bundle = SharedStores.repository.appendingPathComponent("Fixtures/Models/Everything.xcdatamodeld")
        let model = try #require(NSManagedObjectModel(contentsOf: bundle))
        let same = try #require(NSManagedObjectModel(contentsOf: bundle))
        let other = try fixture().manager.sourceModel
        #expect(model == same && model != other && model.isEqual(same) && !model.isEqual("model"))
        #expect(Set([model, same, other]).count == 2)
        let copy = try #require(model.copy() as? NSManagedObjectModel)
        #expect(copy == model && copy !== model)
        copy.versionIdentifiers = ["changed"]
        #expect(copy != model && model.versionIdentifiers != copy.versionIdentifiers)
        #expect((model.mutableCopy() as? NSManagedObjectModel) == model && model.localizationDictionary == nil)
        let metadata = [NSStoreModelVersionHashesKey: other.entityVersionHashesByName]
        #expect(NSManagedObjectModel(byMerging: [model, other], forStoreMetadata: metadata) == other)
        #expect(NSManagedObjectModel(byMerging: [model], forStoreMetadata: metadata) == nil)

        let heavy = try #require(model.fetchRequestTemplate(forName: "Heavy"))
        #expect(heavy.entityName == "Part" && heavy.fetchLimit == 10 && heavy.resultType == .managedObjectIDResultType)
        #expect(model.fetchRequestTemplatesByName["Heavy"]?.predicate?.predicateFormat == "weight > $LIMIT")
        let bound = model.fetchRequestFromTemplate(withName: "Heavy", substitutionVariables: ["LIMIT": 5])
        #expect(bound?.predicate?.predicateFormat == "weight > 5" && model.fetchRequestTemplate(forName: "none") == nil)
        let request = try #require(heavy.copy() as? NSFetchRequest<NSFetchRequestResult>)
        request.fetchLimit = 1
        #expect(heavy.fetchLimit == 10 && request.entity == heavy.entity && request.predicate == heavy.predicate)
        let type: NSAttributeDescription.AttributeType? = model.entitiesByName["Part"]?.attributesByName["weight"]?.type
        #expect(type != nil)
    }

    @Test("A store's metadata finds the version that wrote it in a bundle")
    func metadata() throws {
        let fixture = try fixture()
        let metadata = try NSPersistentStoreCoordinator.metadataForPersistentStore(
            ofType: NSSQLiteStoreType, at: fixture.sourceURL, options: nil)
        #expect(metadata[NSStoreTypeKey] as? String == "SQLite")
        #expect((metadata[NSStoreUUIDKey] as? String)?.count == 36)
        #expect(
            fixture.manager.sourceModel.isConfiguration(withName: nil, compatibleWithStoreMetadata: metadata))
        #expect(
            !fixture.manager.destinationModel.isConfiguration(withName: nil, compatibleWithStoreMetadata: metadata))
        let newer = try NSPersistentStoreCoordinator.metadataForPersistentStore(type: .sqlite, at: fixture.sourceURL)
        #expect(newer.count == metadata.count)

        let folder = SharedStores.repository.appendingPathComponent("Fixtures/Models")
        let bundle = try #require(Bundle(path: folder.path))
        let old = try #require(
            NSManagedObjectModel(
                contentsOf: folder.appendingPathComponent("Library.xcdatamodeld/Library.xcdatamodel")))
        let found = NSManagedObjectModel.mergedModel(
            from: [bundle], forStoreMetadata: [NSStoreModelVersionHashesKey: old.entityVersionHashesByName])
        #expect(found?.entitiesByName["Chapter"] != nil)
        #expect(
            NSManagedObjectModel.mergedModel(from: [bundle], forStoreMetadata: [NSStoreModelVersionHashesKey: [:]])
                == nil)
    }

    @Test("Entities, attributes and relationships describe themselves")
    func entities() throws {
        let fixture = try fixture()
        let mapping = try #require(fixture.books)
        let source: NSEntityDescription = try #require(fixture.manager.sourceEntity(for: mapping))
        let destination = try #require(fixture.manager.destinationEntity(for: mapping))
        #expect(source.name == "Book" && destination.name == "Book")
        let pages: NSAttributeDescription = try #require(source.attributesByName["pages"])
        #expect(pages.attributeType == .integer32AttributeType)
        #expect(pages.isOptional && pages.defaultValue == nil)
        switch pages.attributeType {
        case .integer16AttributeType, .integer32AttributeType: break
        default: Issue.record("the type is an integer")
        }
        let chapters: NSRelationshipDescription = try #require(source.relationshipsByName["chapters"])
        #expect(chapters.isToMany && chapters.isOrdered)
        #expect(chapters.destinationEntity?.name == "Chapter")
        #expect(chapters.inverseRelationship?.name == "book")
        #expect(chapters.deleteRule == .nullifyDeleteRule)
        let properties: [NSPropertyDescription] = source.properties
        #expect(properties.compactMap { $0 as? NSAttributeDescription }.count == 5)
        #expect(source.propertiesByName["writer"] is NSRelationshipDescription)
        #expect(properties.allSatisfy { $0.entity == source && $0.versionHash.count == 32 })
        #expect(Set(properties.map(\.versionHash)).count == properties.count)
        #expect(Set(properties + source.properties).count == properties.count && pages.isEqual(properties[1]))
        #expect(
            pages != destination.attributesByName["pages"]
                && pages.versionHash == destination.attributesByName["pages"]?.versionHash)
    }

    @Test("Validation predicates are those of the bounds and the model's own")
    func validationPredicates() throws {
        let model = try model(
            entity(
                "Rule",
                [
                    attribute("number", .integer16) { ($0.minimum, $0.maximum) = (.integer(1), .integer(9)) },
                    attribute("text", .string) {
                        ($0.minimumLength, $0.maximumLength, $0.regularExpression) = (2, 3, "a+")
                        $0.validationPredicates = [ValidationPredicate(format: "SELF != 'aaa'")]
                        $0.validationWarnings = ["short"]
                    },
                ], [toOne("rule", "Rule")]))
        let properties = try #require(model.entities.first).propertiesByName
        func formats(_ name: String) -> [String]? { properties[name]?.validationPredicates.map(\.predicateFormat) }
        #expect(formats("number") == ["SELF >= 1", "SELF <= 9"])
        #expect(formats("text") == ["length >= 2", "length <= 3", "SELF MATCHES \"a+\"", "SELF != \"aaa\""])
        #expect(properties["text"]?.validationPredicates.map { $0.evaluate(with: "aaa") } == [true, true, true, false])
        #expect(properties["text"]?.validationWarnings as? [String] == ["short"] && formats("rule") == [])
    }

    @Test("Predicates and sort descriptors are Stagecoach's, not Foundation's")
    func predicates() {
        let first = NSPredicate(format: "%K > %d", "pages", 10)
        let both = NSCompoundPredicate(andPredicateWithSubpredicates: [first, NSPredicate(value: true)])
        #expect(both.compoundPredicateType == .and)
        let comparison: NSComparisonPredicate? = first as? NSComparisonPredicate
        #expect(comparison == nil || comparison?.predicateOperatorType == .greaterThan)
        #expect(NSSortDescriptor(key: "name", ascending: false).ascending == false)
        #expect(autoreleasepool { 3 } == 3)
    }
}
