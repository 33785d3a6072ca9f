import Foundation
import ManagedModel
import Mapping
import Stagecoach
import TestSupport
import Testing

/// A Float's value is a 32-bit number, whatever reads it: programs, objects, filters, folds and the verification.
@Suite("One reading of a Float")
struct FloatReadingTests {
    private static let tenth = Double(Float(0.1))

    /// A column with doubles that no Float equals, as an app leaves them that sets an NSNumber made of a Double.
    private static let rows: [[String: ReferenceValue]] = [
        ["single": .real(0.1)], ["single": .real(tenth)], ["single": .integer(16_777_217)], ["single": .null],
    ]

    /// Expression, type of the attribute that takes it, values for the four rows.
    static let readings: [(String, AttributeType, [ReferenceValue])] = [
        ("$source.single", .double, [.real(tenth), .real(tenth), .integer(16_777_216), .null]),
        ("$source.single * 2", .double, [.real(2 * tenth), .real(2 * tenth), .integer(33_554_432), .null]),
        ("-$source.single", .double, [.real(-tenth), .real(-tenth), .integer(-16_777_216), .null]),
        ("CAST($source.single, 'NSString')", .string, [.text("0.1"), .text("0.1"), .text("1.677722e+07"), .null]),
        (
            "FUNCTION($source.single, 'stringValue')", .string,
            [.text("0.1"), .text("0.1"), .text("1.677722e+07"), .null]
        ),
        (
            "CAST($source.single * 1, 'NSString')", .string,
            [
                .text("\(tenth)"), .text("\(tenth)"), .text("16777216"), .null,
            ]
        ),
        ("$source.single", .decimal, [.real(0.1), .real(0.1), .integer(16_777_216), .null]),
        ("CAST($source.single, 'NSDecimalNumber')", .decimal, [.real(0.1), .real(0.1), .integer(16_777_216), .null]),
        ("$source.single", .integer64, [.integer(0), .integer(0), .integer(16_777_216), .null]),
        ("$source.single == 0.1", .boolean, [.integer(0), .integer(0), .integer(0), .integer(0)]),
        ("$source.single == 16777216", .boolean, [.integer(0), .integer(0), .integer(1), .integer(0)]),
        ("$source.single > 0.1", .boolean, [.integer(1), .integer(1), .integer(1), .integer(0)]),
        (
            "$source.single == CAST('0.1', 'NSDecimalNumber')", .boolean,
            [.integer(1), .integer(1), .integer(0), .integer(0)]
        ),
        (
            "CAST(TERNARY($source.single > 1, $source.single, 3), 'NSString')", .string,
            [.text("3"), .text("3"), .text("1.677722e+07"), .text("3")]
        ),
        ("max({$source.single, 0.05})", .double, [.real(tenth), .real(tenth), .integer(16_777_216), .real(0.05)]),
        (
            "$source.kids.@max.single", .double,
            [.real(Double(Float(0.2))), .real(Double(Float(0.1 * 3))), .null, .null]
        ),
        (
            "CAST($source.kids.@max.single, 'NSString')", .string, [.text("0.2"), .text("0.3"), .null, .null]
        ),
        ("FUNCTION($source.single, 'floatValue')", .double, [.real(tenth), .real(tenth), .integer(16_777_216), .null]),
    ]

    @Test("Programs, objects and the verification read the same", arguments: readings)
    func reading(text: String, type: AttributeType, expected: [ReferenceValue]) throws {
        let trial = try ExpressionTrial(
            old: [attribute("single", .float)], new: [attribute("compiled", type), attribute("evaluated", type)],
            rows: Self.rows,
            ["compiled": text, "evaluated": "TERNARY($entityMapping.name != nil, \(text), nil)"])
        let store = try trial.run()
        for (index, value) in expected.enumerated() {
            let key = Int64(index + 1)
            let stored = value.stored(inColumnOfType: type.referenceColumnType)
            #expect(store.value("Item", key, "compiled") == stored, "row \(key)")
            #expect(store.value("Item", key, "evaluated") == stored, "row \(key), by objects")
        }
        let report = try trial.verify()
        #expect(report.isEqual && report.notRecomputed.isEmpty, "\(report.differences) \(report.notRecomputed)")
    }

    @Test("A Float that is copied to a Float keeps its bytes, and a filter reads it as a Float")
    func copies() throws {
        let trial = try ExpressionTrial(
            old: [attribute("single", .float)], new: [attribute("single", .float)], rows: Self.rows,
            ["single": "$source.single"])
        trial.item.sourceFilter = try SourcePredicate(format: "single == 16777216 OR single < 0.1000001")
        let store = try trial.run()
        #expect(store.column("Item", "single") == [1: .real(0.1), 2: .real(Self.tenth), 3: .real(16_777_217)])
        #expect(try trial.verify().isEqual)
    }

    @Test("Numbers that are one Float count once if equal values do")
    func distinctValues() throws {
        let trial = try ExpressionTrial(
            old: [], new: [attribute("compiled", .integer64), attribute("evaluated", .integer64)], rows: [[:]],
            [
                "compiled": "count($source.kids.single)",
                "evaluated": "TERNARY($entityMapping.name != nil, count($source.kids.single), nil)",
            ])
        let kids = try ReferenceStore.read(path: trial.sourcePath, model: trial.source)
        var changed = kids
        changed.set("Kid", 1, "single", .real(0.1))
        changed.set("Kid", 2, "single", .real(Self.tenth))
        try FileManager.default.removeItem(atPath: trial.sourcePath)
        try changed.write(path: trial.sourcePath)
        let store = try trial.run()
        #expect(store.value("Item", 1, "compiled") == .integer(2))
        #expect(store.value("Item", 1, "evaluated") == .integer(2))
    }

    @Test("A policy sees the Float that a copy to a Double gives")
    func policies() throws {
        let trial = try ExpressionTrial(
            old: [attribute("single", .float)], new: [attribute("compiled", .double), attribute("set", .double)],
            rows: Self.rows, ["compiled": "$source.single"])
        trial.item.entityMigrationPolicyClassName = "Copying"
        trial.change = { manager in
            manager.policies.register("Copying") {
                let policy = ClosurePolicy()
                policy.steps.create = { source, mapping, manager, standard in
                    try standard()
                    manager.destinationInstances(forEntityMappingName: mapping.name, sourceInstances: [source]).first?
                        .setValue(source.value(forKey: "single"), forKey: "set")
                }
                return policy
            }
        }
        let store = try trial.run()
        for key in 1...4 as ClosedRange<Int64> {
            #expect(store.value("Item", key, "set") == store.value("Item", key, "compiled"))
        }
        #expect(store.value("Item", 1, "set") == .real(Self.tenth))
    }
}
