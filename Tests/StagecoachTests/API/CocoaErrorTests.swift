import Foundation
import ManagedModel
import Stagecoach
import TestSupport
import Testing

@Suite("Errors as Cocoa has them")
struct CocoaErrorTests {
    private func bridged(_ code: MigrationError.Code) -> NSError { MigrationError(code, .data, "No") as NSError }

    @Test("An error is an NSError of Cocoa's domain with Core Data's code")
    func codes() {
        for (code, number) in [
            ("validation.missing", 1570), ("validation.tooFew", 1580), ("validation.tooMany", 1590),
            ("validation.tooLarge", 1610), ("validation.tooSmall", 1620), ("validation.tooLong", 1660),
            ("validation.tooShort", 1670), ("validation.pattern", 1680), ("validation.predicate", 1550),
            ("validation.uniqueness", 134_111), ("store.otherModel", 134_100), ("disk.tooSmall", 640),
            ("expression.type", 134_110), ("interrupted", 134_120), ("model.unknownVersion", 134_130),
            ("chain.noWay", 134_140), ("mapping.notFound", 134_140), ("store.damaged", 134_150),
            ("destination.exists", 134_160), ("policy.failed", 134_170), ("store.sqlite", 134_180),
            ("inference.cardinality", 134_190), ("staged.modelNotFound", 134_504), ("staged.backward", 134_506),
        ] {
            let error = bridged(.init(rawValue: code))
            #expect(error.domain == NSCocoaErrorDomain && error.code == number, "\(code): \(error.code)")
        }
    }

    @Test("Description, reason, suggestion, path and cause are in the user info")
    func userInfo() {
        let cause = NSError(domain: "App", code: 1)
        let error = MigrationError(
            "store.notFound", .noInput, "There is no such store", remedy: "Name another one",
            context: .init(path: "/a", entity: "Book", property: "title"), cause: cause)
        let bridged = error as NSError
        #expect(bridged.localizedDescription.hasPrefix("/a: There is no such store (entity Book, property title): "))
        #expect(error.localizedDescription == bridged.localizedDescription)
        #expect(bridged.localizedFailureReason == "There is no such store" && error.failureReason == error.message)
        #expect(bridged.localizedRecoverySuggestion == "Name another one" && error.recoverySuggestion == error.remedy)
        #expect(bridged.userInfo[NSFilePathErrorKey] as? String == "/a")
        #expect(bridged.userInfo[NSUnderlyingErrorKey] as? NSError === cause)
        #expect(bridged.userInfo["entity"] as? String == "Book")
        #expect(bridged.userInfo[NSValidationKeyErrorKey] == nil)
    }

    @Test("CocoaError has Core Data's codes, and catches errors by them")
    func codeNames() {
        #expect(CocoaError.Code.migrationMissingMappingModel.rawValue == NSMigrationMissingMappingModelError)
        #expect(CocoaError.Code.validationStringPatternMatching.rawValue == 1680)
        #expect(CocoaError.Code.migrationConstraintViolation.rawValue == 134_111)
        do {
            throw MigrationError("interrupted", .temporary, "Interrupted")
        } catch CocoaError.Code.migration {
            Issue.record("another code")
        } catch CocoaError.Code.migrationCancelled {
        } catch {
            Issue.record("\(error)")
        }
    }

    @Test("CocoaError has Core Data's names and the parts of a validation error, of an error as NSError")
    func cocoaErrors() {
        let value = NSError(
            domain: NSCocoaErrorDomain, code: NSValidationNumberTooSmallError,
            userInfo: [
                NSValidationKeyErrorKey: "age", NSValidationValueErrorKey: 1, NSAffectedObjectsErrorKey: [1],
                NSValidationObjectErrorKey: self, NSValidationPredicateErrorKey: "x", NSAffectedStoresErrorKey: [2],
                NSPersistentStoreSaveConflictsErrorKey: [3],
            ])
        let error = (value as any Error) as? CocoaError
        #expect(error?.code == .validationNumberTooSmall && CocoaError.validationNumberTooSmall.rawValue == 1620)
        #expect(error?.validationKey == "age" && error?.validationValue as? Int == 1)
        #expect(error?.validationObject is Self && error?.validationPredicate as? String == "x")
        #expect(error?.affectedObjects as? [Int] == [1] && error?.affectedStores as? [Int] == [2])
        #expect(error?.persistentStoreSaveConflicts as? [Int] == [3])
        // A MigrationError is one as an NSError; Linux has no bridge from the error itself.
        let own: any Error = MigrationError("store.otherModel", .configuration, "Other")
        #expect(((own as NSError) as any Error as? CocoaError)?.code == .persistentStoreIncompatibleVersionHash)
        do { throw own } catch CocoaError.migration {
            Issue.record("another code")
        } catch CocoaError.persistentStoreIncompatibleVersionHash {} catch { Issue.record("\(error)") }
    }

    /// Runs a body on a new object of an entity with every kind of rule.
    private func validating(_ body: @escaping (ManagedObject) -> Void) throws {
        let fixture = try PolicyFixture()
        var definition = ModelDefinition()
        definition.entities = fixture.destination.definition.entities
        definition.entities.append(
            entity(
                "Rule",
                [
                    attribute("needed", .string) { $0.isOptional = false },
                    attribute("least", .integer16) { $0.minimum = .integer(3) },
                    attribute("latest", .date) { $0.maximum = .date(10) },
                    attribute("text", .string) { ($0.minimumLength, $0.regularExpression) = (2, "[a-c]+") },
                    attribute("checked", .string) {
                        $0.validationPredicates = [ValidationPredicate(format: "SELF BEGINSWITH 'x'")]
                    },
                ]))
        let model = try ManagedObjectModel(definition)
        var steps = ClosurePolicy.Steps()
        steps.begin = { _, manager in
            let object = EntityDescription.insertNewObject(forEntityName: "Rule", into: manager.destinationContext)
            body(object)
            manager.destinationContext.delete(object)
        }
        fixture.policy("Persons", steps)
        let registered = fixture.manager()
        let manager = MigrationManager(sourceModel: fixture.source, destinationModel: model)
        (manager.policies, manager.options) = (registered.policies, registered.options)
        try manager.migrateStore(
            from: fixture.sourceURL, type: .sqlite, mapping: fixture.mapping, to: fixture.destinationURL, type: .sqlite)
    }

    /// The error of an object that breaks no rule but for one value.
    private static func error(of object: ManagedObject, _ key: String? = nil, _ value: Any? = nil) -> NSError? {
        for name in ["least", "latest", "text", "checked"] { object.setValue(nil, forKey: name) }
        object.setValue("here", forKey: "needed")
        if let key { object.setValue(value, forKey: key) }
        do { try object.validateForInsert() } catch {
            let error = error as NSError
            #expect(error.domain == NSCocoaErrorDomain)
            #expect(error.userInfo[NSValidationObjectErrorKey] as? ManagedObject === object)
            return error
        }
        return nil
    }

    @Test("A broken rule is an NSError with key, value, predicate and object")
    func oneRule() throws {
        try validating { object in
            #expect(Self.error(of: object) == nil)
            let missing = Self.error(of: object, "needed", nil)
            #expect(missing?.code == NSValidationMissingMandatoryPropertyError)
            #expect(missing?.userInfo[NSValidationKeyErrorKey] as? String == "needed")
            let small = Self.error(of: object, "least", 2)
            #expect(small?.code == NSValidationNumberTooSmallError)
            #expect(small?.userInfo[NSValidationValueErrorKey] as? Int == 2)
            #expect((small?.userInfo[NSValidationPredicateErrorKey] as? FormatPredicate)?.evaluate(with: 3) == true)
            let late = Self.error(of: object, "latest", Date(timeIntervalSinceReferenceDate: 11))
            #expect(late?.code == NSValidationDateTooLateError)
            #expect(Self.error(of: object, "text", "a")?.code == NSValidationStringTooShortError)
            #expect(Self.error(of: object, "text", "ad")?.code == NSValidationStringPatternMatchingError)
            let checked = Self.error(of: object, "checked", "y")
            #expect(checked?.code == NSManagedObjectValidationError)
            let predicate = checked?.userInfo[NSValidationPredicateErrorKey] as? FormatPredicate
            #expect(predicate?.evaluate(with: "xy") == true)
        }
    }

    @Test("Several broken rules are one error with the single ones, and one of ours for the first")
    func severalRules() throws {
        try validating { object in
            object.setValue(2, forKey: "least")
            let thrown = #expect(throws: MigrationError.self) { try object.validateForInsert() }
            #expect(thrown?.code == "validation.tooSmall")
            let error = thrown.map { $0 as NSError }
            #expect(error?.code == NSValidationMultipleErrorsError)
            let single = error?.userInfo[NSDetailedErrorsKey] as? [NSError]
            #expect(
                single?.map(\.code) == [NSValidationNumberTooSmallError, NSValidationMissingMandatoryPropertyError])
            #expect(error?.userInfo[NSValidationKeyErrorKey] == nil)
        }
    }

    @Test("A rule that ends a run is an error with key, typed value and predicate; several are in the detailed errors")
    func endedRun() throws {
        let fixture = try PolicyFixture()
        func failure(largest: Int64) throws -> (error: NSError?, code: MigrationError.Code?) {
            var definition = ModelDefinition()
            definition.entities = fixture.destination.definition.entities
            let place = try #require(definition.entities.firstIndex { $0.name == "Person" })
            let age = try #require(definition.entities[place].attributes.firstIndex { $0.name == "age" })
            definition.entities[place].attributes[age].maximum = .integer(largest)
            let manager = MigrationManager(
                sourceModel: fixture.source, destinationModel: try ManagedObjectModel(definition))
            manager.options.memoryLimit = 8 << 30
            let thrown = #expect(throws: MigrationError.self) { try fixture.run(manager) }
            #expect(manager.failure?.code == thrown?.code)
            return (thrown.map { $0 as NSError }, thrown?.code)
        }
        let oldest = Int64(60)
        let single = try failure(largest: oldest - 5).error
        #expect(single?.code == NSValidationNumberTooLargeError)
        #expect(single?.userInfo[NSValidationKeyErrorKey] as? String == "age")
        #expect(single?.userInfo[NSValidationValueErrorKey] as? Int == Int(oldest))
        let predicate = single?.userInfo[NSValidationPredicateErrorKey] as? FormatPredicate
        #expect(predicate?.evaluate(with: oldest - 5) == true && predicate?.evaluate(with: oldest) == false)

        let (several, code) = try failure(largest: oldest - 15)
        #expect(code == "validation.tooLarge" && several?.code == NSValidationMultipleErrorsError)
        let errors = several?.userInfo[NSDetailedErrorsKey] as? [NSError]
        #expect(errors?.map { $0.userInfo[NSValidationValueErrorKey] as? Int } == [Int(oldest) - 10, Int(oldest)])
    }
}
