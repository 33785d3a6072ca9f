import CoreDataStore
import Diagnostics
import Foundation
import ManagedModel
import Rows
import TestSupport
import Testing

@testable import Stagecoach

/// An object is checked as its row will be: the same rules, the same verdict.
@Suite("Rules of objects")
struct ObjectRuleTests {
    /// Returns Core Data's codes of the rules that an object breaks; of one value of it if a key is given.
    private static func codes(_ object: ManagedObject, _ value: Any? = nil, key: String? = nil) throws -> [Int] {
        do {
            if let key {
                var value = value as AnyObject?
                try object.validateValue(&value, forKey: key)
            } else {
                try object.validateForInsert()
            }
            return []
        } catch let error as MigrationError where error.cocoa != nil {
            let error = error as NSError
            let several = error.userInfo[NSDetailedErrorsKey] as? [NSError]
            return (several ?? [error]).map(\.code).sorted()
        }
    }

    /// Returns the codes of the rules that a row with one value breaks.
    private static func codes(ofRow value: Any?, _ attribute: AttributeDefinition) throws -> [Int] {
        let model = try model(entity("Item", [attribute]))
        let schema = StoreSchema(model: model)
        let column = try #require(schema.column(of: model.entities[0].attributes[0]))
        var batch = RowBatch(slots: schema.tables[0].columns.count, rowCapacity: 1, byteTarget: 4096)
        let row = batch.appendRow(key: 1)
        for slot in 0..<batch.slots { batch[row, slot] = .null }
        try ValueBridge.store(
            value, type: attribute.type, isExternal: attribute.allowsExternalBinaryDataStorage, in: &batch, row: row,
            slot: column)
        let rules = try RowRules(
            entity: model.entities[0], schema: schema, mapping: nil, copied: [:], excuses: false)
        var found: [Int] = []
        try rules.check(batch, row: row) { broken, _ in found.append((broken.error(nil) as NSError).code) }
        if rules.firstToCheck(batch, 0..<1) == nil { #expect(found.isEmpty) }
        return found.sorted()
    }

    private static func object(_ attributes: AttributeDefinition...) throws -> ManagedObject {
        ManagedObject(entity: try model(entity("Item", attributes)).entities[0], insertInto: nil)
    }

    @Test("Large integers are compared as integers")
    func integers() throws {
        let object = try Self.object(attribute("size", .integer64) { $0.maximum = .integer(1 << 53) })
        object.setValue((1 << 53) + 1, forKey: "size")
        #expect(try Self.codes(object) == [NSValidationNumberTooLargeError])
        object.setValue(1 << 53, forKey: "size")
        #expect(try Self.codes(object) == [])
    }

    @Test("Data and URIs have lengths", arguments: [false, true])
    func lengths(isExternal: Bool) throws {
        let object = try Self.object(
            attribute("data", .binaryData) {
                $0.minimumLength = 2
                $0.maximumLength = 3
                $0.allowsExternalBinaryDataStorage = isExternal
            }, attribute("place", .uri) { $0.maximumLength = 3 })
        object.setValue(Data(count: 4), forKey: "data")
        #expect(try Self.codes(object) == [NSValidationStringTooLongError])
        object.setValue(Data(count: 1), forKey: "data")
        #expect(try Self.codes(object) == [NSValidationStringTooShortError])
        object.setValue(Data(count: 3), forKey: "data")
        object.setValue(URL(string: "a:bc"), forKey: "place")
        #expect(try Self.codes(object) == [NSValidationStringTooLongError])
    }

    @Test("The value of a float is compared as it is stored")
    func floats() throws {
        let object = try Self.object(attribute("size", .float) { $0.maximum = .double(0.1) })
        object.setValue(0.1, forKey: "size")
        #expect(try Self.codes(object) == [NSValidationNumberTooLargeError])
    }

    @Test("A derived attribute is not missing: the store computes it")
    func derived() throws {
        let object = try Self.object(
            attribute("name", .string),
            attribute("lowered", .string, required: true) { $0.derivationExpression = "lowercase:(name)" })
        #expect(try Self.codes(object) == [])
    }

    @Test("All rules that a value breaks are named")
    func several() throws {
        let object = try Self.object(
            attribute("code", .string) {
                $0.maximumLength = 2
                $0.regularExpression = "[a-z]+"
                $0.validationPredicates = [.init(format: "SELF BEGINSWITH 'x'")]
            })
        object.setValue("A12", forKey: "code")
        let expected = [
            NSManagedObjectValidationError, NSValidationStringTooLongError, NSValidationStringPatternMatchingError,
        ]
        #expect(try Self.codes(object) == expected.sorted())
        #expect(try Self.codes(object, "A12", key: "code") == expected.sorted())
    }

    @Test("A value of another type is an error of its own")
    func types() throws {
        let object = try Self.object(attribute("size", .integer16))
        let error = #expect(throws: MigrationError.self) { try Self.codes(object, "three", key: "size") }
        #expect(error?.code == "value.type" && error?.context.property == "size")
    }

    @Test("A required to-many without objects has too few, and the error says how many there may be")
    func counts() throws {
        var tags = toMany("tags", "Tag", inverse: "item")
        tags.isOptional = false
        tags.minimumCount = 2
        tags.maximumCount = 3
        let model = try model(
            entity("Item", [], [tags]), entity("Tag", [], [toOne("item", "Item", inverse: "tags")]))
        let item = ManagedObject(entity: model.entities[0], insertInto: nil)
        func error(_ count: Int) throws -> MigrationError? {
            let members = (0..<count).map { _ in ManagedObject(entity: model.entities[1], insertInto: nil) }
            item.setValue(NSSet(array: members), forKey: "tags")
            do { try item.validateForInsert() } catch { return error as? MigrationError }
            return nil
        }
        for (count, code) in [(0, "tooFew"), (1, "tooFew"), (4, "tooMany")] {
            let found = try error(count)
            #expect(found?.code.rawValue == "validation.\(code)" && found?.message.contains("2 to 3") == true)
        }
        #expect(try error(2) == nil && error(3) == nil)
    }

    @Test("A pattern that takes too many steps is an error with pattern, object and property")
    func patternLimit() throws {
        let object = try Self.object(attribute("name", .string) { $0.regularExpression = "(a+)+(?=c)c" })
        object.setValue(String(repeating: "a", count: 60), forKey: "name")
        let error = #expect(throws: MigrationError.self) { try object.validateForInsert() }
        #expect(error?.code == "expression.patternLimit" && error?.message.contains("(a+)+(?=c)c") == true)
        #expect(error?.context.property == "name" && error?.context.entity == "Item")
        #expect(error?.context.objectID == object.objectID.shortName)
    }

    @Test("Random values break the same rules as objects and as rows", arguments: RandomSeeds.seeds(40))
    func random(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<20 {
            let rule = RandomRule(&generator)
            let object = try Self.object(rule.attribute)
            for _ in 0..<12 {
                let value = rule.value(&generator)
                object.setValue(value, forKey: "value")
                let expected = try Self.codes(ofRow: value, rule.attribute)
                let comment: Comment = "seed \(seed), \(rule.attribute), \(String(describing: value))"
                #expect(try Self.codes(object) == expected, comment)
                #expect(try Self.codes(object, value, key: "value") == expected, comment)
            }
        }
    }
}

/// An attribute with random rules, and values near their bounds.
private struct RandomRule {
    var attribute: AttributeDefinition

    private static let types: [AttributeType] = [
        .integer16, .integer32, .integer64, .decimal, .double, .float, .string, .boolean, .date, .binaryData, .uuid,
        .uri,
    ]
    /// Integers around which bounds and values lie.
    private static let marks: [Int64] = [0, 1, 100, 30_000]
    private static let largeMarks: [Int64] = [1 << 53, -(1 << 53), (1 << 62), 2_000_000_000]

    init(_ generator: inout SeededGenerator) {
        let type = Self.types[generator.below(Self.types.count)]
        attribute = AttributeDefinition(name: "value", type: type)
        attribute.isOptional = generator.chance(2)
        if generator.chance(2) { attribute.minimum = bound(&generator) }
        if generator.chance(2) { attribute.maximum = bound(&generator) }
        guard [.string, .binaryData, .uri].contains(type) else { return }
        if generator.chance(2) { attribute.minimumLength = generator.below(6) }
        if generator.chance(2) { attribute.maximumLength = 2 + generator.below(6) }
        attribute.allowsExternalBinaryDataStorage = type == .binaryData && generator.chance(2)
        guard type == .string else { return }
        if generator.chance(3) { attribute.regularExpression = ["[a-z]+", ".{2,4}", "(?i)a.*"][generator.below(3)] }
        if generator.chance(3) {
            let format = ["SELF CONTAINS 'a'", "length != 3", "SELF LIKE '*b?'"][generator.below(3)]
            attribute.validationPredicates = [.init(format: format)]
        }
    }

    private func integer(_ generator: inout SeededGenerator) -> Int64 {
        let marks = attribute.type == .integer16 ? Self.marks : Self.marks + Self.largeMarks
        let number = marks[generator.below(marks.count)] + Int64(generator.below(5)) - 2
        return attribute.type == .integer32 ? Int64(Int32(truncatingIfNeeded: number)) : number
    }

    private func bound(_ generator: inout SeededGenerator) -> AttributeValue? {
        switch attribute.type {
        case .integer16, .integer32, .integer64: .integer(integer(&generator))
        case .double, .float: .double(real(&generator))
        case .decimal: .decimal(decimal(&generator))
        case .date: .date(real(&generator))
        default: nil
        }
    }

    private func real(_ generator: inout SeededGenerator) -> Double {
        Double(integer(&generator)) / [1, 10, 3][generator.below(3)]
    }

    private func decimal(_ generator: inout SeededGenerator) -> Decimal {
        Decimal(integer(&generator)) / [1, 10, 1000][generator.below(3)]
    }

    func value(_ generator: inout SeededGenerator) -> Any? {
        if generator.chance(8) { return nil }
        switch attribute.type {
        case .integer16: return Int16(truncatingIfNeeded: integer(&generator))
        case .integer32: return Int32(truncatingIfNeeded: integer(&generator))
        case .integer64: return NSNumber(value: integer(&generator))
        case .double, .float: return real(&generator)
        case .decimal: return NSDecimalNumber(decimal: decimal(&generator))
        case .boolean: return generator.chance(2)
        case .date: return Date(timeIntervalSinceReferenceDate: real(&generator))
        case .binaryData: return Data(count: generator.below(9))
        case .uuid: return UUID()
        case .uri: return URL(string: "a:" + String(repeating: "b", count: generator.below(8)))
        default:
            let letters: [Character] = ["a", "b", "é", "😀", "A", "1", "\n"]
            return String((0..<generator.below(8)).map { _ in letters[generator.below(letters.count)] })
        }
    }
}
