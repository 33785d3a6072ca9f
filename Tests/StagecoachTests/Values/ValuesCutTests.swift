import Diagnostics
import Foundation
import ManagedModel
import Mapping
import Stagecoach
import TestSupport
import Testing

/// Numbers of which a conversion cuts something off: counted by run, check and plan, refused on request, suggested with a price.
@Suite("Numbers that conversions cut")
struct ValuesCutTests {
    private static let types: [(String, AttributeType)] = [
        ("price", .decimal), ("weight", .double), ("single", .float), ("stock", .integer64), ("text", .string),
    ]

    private static func version(_ attributes: [AttributeDefinition], _ name: String) throws -> ManagedObjectModel {
        try model(entity(name, attributes))
    }

    private static func products(_ expression: String?, policy: String?) throws -> MappingModel {
        mappings(try mapping("Product", "Product", "Product", ["made": expression], policy: policy))
    }

    /// Products with prices of 12.75, 0.99 and 3, and a mapping of one new attribute.
    private struct Fixture {
        let folder: TemporaryFolder
        let old: ManagedObjectModel
        let new: ManagedObjectModel
        let mapping: MappingModel
        var options = MigrationOptions()

        init(
            _ type: AttributeType, _ expression: String?, policy: String? = nil, filter: String? = nil,
            most: Int64? = nil
        ) throws {
            folder = try TemporaryFolder()
            old = try version(types.map { attribute($0.0, $0.1) }, "Product")
            new = try version([attribute("made", type) { $0.maximum = most.map(AttributeValue.integer) }], "Product")
            mapping = try products(expression, policy: policy)
            if let filter { mapping.entityMappings[0].sourceFilter = try SourcePredicate(format: filter) }
            try ReferenceStore.make(old) { store in
                let rows: [(ReferenceValue, Double, Int64, String)] = [
                    (.real(12.75), 0.123456789, 9_007_199_254_740_993, "1.5"), (.real(0.99), 0.5, 16_777_217, "2"),
                    (.integer(3), 0.30000000000000004, 4, "3"),
                ]
                for (index, row) in rows.enumerated() {
                    store.insert(
                        "Product", Int64(index + 1),
                        [
                            "price": row.0, "weight": .real(row.1), "single": .real(Double(Float(0.1))),
                            "stock": .integer(row.2), "text": .text(row.3),
                        ])
                }
                store.insert("Product", 4)
            }.write(path: folder.file("old.sqlite"))
        }

        func migration(_ name: String = "new.sqlite") -> Migration {
            let manager = MigrationManager(sourceModel: old, destinationModel: new)
            manager.policies = PolicyRegistry()
            manager.policies.register("Calling") { Calling() }
            return Migration(
                from: folder.file("old.sqlite"), model: old, mappings: [mapping], to: folder.file(name), model: new,
                options: options, manager: manager)
        }
    }

    /// Makes objects by the default method, and drops the second.
    private final class Calling: EntityMigrationPolicy {
        override func createDestinationInstances(
            forSource sInstance: ManagedObject, in mapping: EntityMapping, manager: MigrationManager
        ) throws {
            if sInstance.value(forKey: "stock") as? Int == 16_777_217 { return }
            try super.createDestinationInstances(forSource: sInstance, in: mapping, manager: manager)
        }
    }

    private static func words(_ cuts: [ValuesCut]?) -> [String] { (cuts ?? []).map(\.sentence) }

    private static let cases: [(String, AttributeType, String?)] = [
        ("$source.price", .integer64, "the fraction of 2 values was cut off (Product/p1: 12.75, Product/p2: 0.99)"),
        ("$source.price * 10", .integer16, "the fraction of 2 values was cut off (Product/p1: 127.5, Product/p2: 9.9)"),
        ("floor:($source.price)", .integer64, nil), ("trunc:($source.price)", .integer64, nil),
        ("ceiling:($source.price)", .integer64, nil), ("$source.stock", .integer64, nil),
        (
            "CAST($source.price, 'integer') + 1", .integer64,
            "the fraction of 2 values was cut off (Product/p1: 12.75, Product/p2: 0.99)"
        ),
        ("CAST($source.text, 'integer')", .integer64, "the fraction of 1 value was cut off (Product/p1: 1.5)"),
        ("TERNARY(CAST($source.price, 'integer') == 3, 1, 2)", .integer64, nil),
        ("$source.weight", .float, "digits of 1 value were cut off (Product/p1: 0.123456789)"),
        ("$source.single", .float, nil), ("$source.single", .double, nil), ("$source.weight", .double, nil),
        ("$source.weight", .decimal, nil), ("$source.price", .double, nil), ("$source.price / 7", .decimal, nil),
        ("$source.stock", .double, "digits of 1 value were cut off (Product/p1: 9007199254740993)"),
        (
            "$source.stock", .float,
            "digits of 2 values were cut off (Product/p1: 9007199254740993, Product/p2: 16777217)"
        ),
        ("$source.stock * 1.0", .decimal, nil),
        (
            "CAST($source.stock, 'NSDecimalNumber') / 8", .decimal,
            "digits of 1 value were cut off (Product/p1: 1125899906842624.125)"
        ),
        (
            "$source.weight", .boolean,
            "the fraction of 3 values was cut off (Product/p1: 0.123456789, Product/p2: 0.5, Product/p3: 0.30000000000000004)"
        ),
    ]

    @Test("Run, check and plan count them on every path, and only those that nobody means", arguments: cases.indices)
    func counted(index: Int) throws {
        let (expression, type, wanted) = Self.cases[index]
        var fixture = try Fixture(type, expression)
        let lines = wanted.map { ["Product.made: \($0)"] } ?? []
        #expect(Self.words(try fixture.migration().plan().valuesCut) == lines, "\(expression)")
        #expect(Self.words(try fixture.migration().check().valuesCut) == lines, "\(expression)")
        for (isStaged, writer) in [(false, StoreWriter.pages), (false, .sqlite), (true, .pages)] {
            fixture.options.usesStoreSpecificMigrationManager = !isStaged
            fixture.options.writer = writer
            let report = try fixture.migration("new-\(isStaged)-\(writer).sqlite").run()
            #expect(Self.words(report.valuesCut) == lines, "\(expression) \(isStaged)")
            #expect(report.notes.filter { $0.contains("cut off") } == lines)
            #expect(report.isStaged == isStaged)
        }
        fixture.options = MigrationOptions()
        fixture.options.onLoss = .refuse
        fixture.options.allowedLosses = Set(Self.types.map { "Product.\($0.0)" })
        #expect(try fixture.migration("meant.sqlite").run().valuesCut?.allSatisfy { $0.isMeant == true } ?? true)
        fixture.options.allowedLosses = Set(
            Self.types.map { "Product.\($0.0)" }.filter { !expression.contains($0.dropFirst(8)) })
        var code: MigrationError.Code?
        do { _ = try fixture.migration("refused.sqlite").run() } catch let error as MigrationError { code = error.code }
        #expect(code == (wanted == nil ? nil : "migration.loss"), "\(expression)")
        #expect(try fixture.migration().check().refusal(fixture.options)?.code == code)
    }

    @Test("What a filter or a policy leaves out is not cut")
    func leftOut() throws {
        let filtered = try Fixture(.integer64, "$source.price", filter: "stock != 4 AND stock < 20000000")
        let line = "Product.made: the fraction of 1 value was cut off (Product/p2: 0.99)"
        #expect(Self.words(try filtered.migration().plan().valuesCut) == [line])
        #expect(Self.words(try filtered.migration().run().valuesCut) == [line])
        let dropping = try Fixture(.integer64, "$source.price", policy: "Calling")
        let first = "Product.made: the fraction of 1 value was cut off (Product/p1: 12.75)"
        #expect(try dropping.migration().plan().valuesCut == nil)
        #expect(Self.words(try dropping.migration().run().valuesCut) == [first])
    }

    @Test("Numbers of expressions that only objects evaluate are cut too", arguments: [false, true])
    func dynamic(hasPolicy: Bool) throws {
        let fixture = try Fixture(
            .integer64, "FUNCTION($source, 'valueForKey:', 'price')", policy: hasPolicy ? "Calling" : nil)
        let objects =
            hasPolicy
            ? "1 value was cut off (Product/p1: 12.75)" : "2 values was cut off (Product/p1: 12.75, Product/p2: 0.99)"
        #expect(Self.words(try fixture.migration().run().valuesCut) == ["Product.made: the fraction of \(objects)"])
        #expect(
            Self.words(try fixture.migration("other.sqlite").check().valuesCut) == [
                "Product.made: the fraction of \(objects)"
            ])
    }

    @Test(
        "A run that was killed counts as one that was not", arguments: [(false, false), (false, true), (true, false)])
    func killed(isStaged: Bool, rejects: Bool) throws {
        let folder = try TemporaryFolder()
        let old = try Self.version([attribute("price", .double)], "Product")
        let new = try Self.version([attribute("made", .integer32) { $0.maximum = .integer(3000) }], "Product")
        let rows: ClosedRange<Int64> = rejects ? 1...4000 : 1...3000
        try ReferenceStore.make(old) { store in
            for key in rows { store.insert("Product", key, ["price": .real(Double(key) + (key % 2 == 0 ? 0.5 : 0))]) }
        }.write(path: folder.file("old.sqlite"))
        var options = MigrationOptions()
        (options.memoryRoom, options.batchSize, options.onInvalid) = (64 << 20, 50, rejects ? .reject : .fail)
        options.usesStoreSpecificMigrationManager = !isStaged
        let products = try Self.products("$source.price", policy: nil)
        var isResumed = false
        for seed in 1...3 as ClosedRange<UInt64> {
            var generator = SeededGenerator(seed: seed)
            let killed = try KilledRun(&generator, options) {
                Migration(
                    from: folder.file("old.sqlite"), model: old, mapping: products,
                    to: folder.file("new-\(seed).sqlite"), model: new, options: $0)
            }
            isResumed = isResumed || killed.isResumed
            let cut = try #require(killed.report.valuesCut?.first)
            #expect(cut.values == 1500 && cut.objects.map(\.object) == ["Product/p2", "Product/p4", "Product/p6"])
        }
        #expect(isResumed)
    }

    @Test("Objects that are rejected where no user code takes part are not counted")
    func rejected() throws {
        var fixture = try Fixture(.integer64, "$source.price", most: 10)
        fixture.options.onInvalid = .reject
        let line = "Product.made: the fraction of 1 value was cut off (Product/p2: 0.99)"
        #expect(Self.words(try fixture.migration().check().valuesCut) == [line])
        #expect(Self.words(try fixture.migration().run().valuesCut) == [line])
    }

    @Test("A hint tells what it costs, and is not given where a value does not fit")
    func hints() throws {
        func texts(_ type: AttributeType) throws -> [String] {
            let old = try Self.version([attribute("price", .decimal)], "Product")
            let new = try Self.version([attribute("cents", type)], "Product")
            let folder = try TemporaryFolder()
            try ReferenceStore.make(old) { store in
                store.insert("Product", 1, ["price": .real(12.75)])
                store.insert("Product", 2, ["price": .integer(70_000)])
                store.insert("Product", 3, ["price": .real(0.99)])
                store.insert("Product", 4)
            }.write(path: folder.file("old.sqlite"))
            let migration = Migration(
                from: folder.file("old.sqlite"), model: old, mapping: try .inferred(from: old, to: new),
                to: folder.file("new.sqlite"), model: new)
            let hints = try migration.plan().leftBehind?.lines.flatMap { $0.suggestions ?? [] }.map(\.text) ?? []
            #expect(try migration.run().leftBehind?.lines.flatMap { $0.suggestions ?? [] }.map(\.text) ?? [] == hints)
            return hints
        }
        let line = "Product.cents gets no value and takes its numbers"
        let json =
            ": \"cents\": \"$source.price\" in the entity mapping IEM_Transform_Product, or "
            + "--set 'Product.cents=$source.price'"
        #expect(try texts(.integer64) == [line + ", and cuts the fraction of 2 of 3 values" + json])
        #expect(try texts(.double) == [line + json])
        #expect(try texts(.integer16) == [])
    }
}
