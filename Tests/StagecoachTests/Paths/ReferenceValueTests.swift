import ManagedModel
import Mapping
import TestSupport
import Testing

@Suite("The reference: values")
struct ReferenceValueTests {
    private func migrate(
        _ value: ReferenceValue, _ type: AttributeType, _ expression: String?, to destination: AttributeDefinition,
        automatic: Bool = false, inferred: Bool = false, sourceRequired: Bool = false
    ) throws -> Result<ReferenceValue, ReferenceFailure> {
        let old = try model(entity("E", [attribute("a", type, required: sourceRequired)]))
        let new = try model(entity("E", [destination]))
        let store = ReferenceStore.make(old) { $0.insert("E", 1, ["a": value]) }
        let mapping = try mapping("M", "E", "E", [destination.name: expression], automatic: automatic)
        // As inference says it: a value that was optional, and is required with a default now.
        mapping.attributeMappings?.first?.replacesNil =
            automatic && !sourceRequired && !destination.isOptional && destination.defaultValue != nil
        return ReferenceMigrator(
            source: store, destinationModel: new, mappingModel: mappings(mapping, inferred: inferred)
        ).migrate().map { $0.store.value("E", 1, destination.name) }
    }

    @Test(
        "Arithmetic: integer by integer stays integer, nil gives nil, all else is Double",
        arguments: [
            ("$source.a / 2", ReferenceValue.integer(-7), AttributeType.integer16, ReferenceValue.integer(-3)),
            ("$source.a / 2.0", .integer(-7), .integer16, .real(-3.5)),
            ("$source.a * 3 - 1", .integer(4), .integer64, .integer(11)),
            ("$source.a + 1", .null, .integer32, .null),
            ("($source.a - 32.0) / 1.8", .real(212), .double, .real(100)),
            ("nil", .integer(1), .integer16, .null),
            ("'text'", .integer(1), .integer16, .text("text")),
            ("FUNCTION($source.a, 'stringByAppendingString:', '!')", .text("é"), .string, .text("é!")),
            ("FUNCTION($source.a, 'stringByAppendingString:', '!')", .null, .string, .null),
        ])
    func arithmetic(_ text: String, _ value: ReferenceValue, _ type: AttributeType, _ expected: ReferenceValue) throws {
        let target: AttributeType =
            switch expected {
            case .text: .string
            case .real: .double
            default: .integer64
            }
        #expect(try migrate(value, type, text, to: attribute("b", target)).get() == expected)
    }

    @Test(
        "Numbers convert, to integers toward zero",
        arguments: [
            (ReferenceValue.real(-2.9), AttributeType.double, AttributeType.integer16, ReferenceValue.integer(-2)),
            (.integer(3), .integer64, .double, .real(3)),
            (.real(0.1), .double, .float, .real(0.10000000149011612)),
            (.integer(1), .integer16, .boolean, .integer(1)),
            (.real(0.5), .double, .boolean, .integer(0)),
            (.integer(1), .boolean, .decimal, .integer(1)),
            (.real(2.5), .decimal, .double, .real(2.5)),
            (.integer(2), .decimal, .double, .real(2)),
            (.real(4), .double, .decimal, .integer(4)),
        ])
    func conversion(_ value: ReferenceValue, _ from: AttributeType, _ to: AttributeType, _ expected: ReferenceValue)
        throws
    {
        #expect(try migrate(value, from, "$source.a", to: attribute("b", to)).get() == expected)
    }

    @Test("A value that does not convert is an error")
    func errors() throws {
        func kind(_ result: Result<ReferenceValue, ReferenceFailure>) -> String {
            switch result {
            case .failure(.mismatch): "mismatch"
            case .failure(.outOfRange): "range"
            case .failure(.divisionByZero): "zero"
            default: "\(result)"
            }
        }
        let small = attribute("b", .integer16)
        #expect(kind(try migrate(.integer(32768), .integer32, "$source.a", to: small)) == "range")
        #expect(kind(try migrate(.real(1e19), .double, "$source.a", to: attribute("b", .integer64))) == "range")
        #expect(
            kind(try migrate(.integer(.max), .integer64, "$source.a + 1", to: attribute("b", .integer64))) == "range")
        #expect(kind(try migrate(.text("1"), .string, "$source.a", to: small)) == "mismatch")
        #expect(kind(try migrate(.integer(1), .integer16, "$source.a", to: attribute("b", .string))) == "mismatch")
        #expect(kind(try migrate(.integer(1), .integer16, "$source.a / 0", to: small)) == "zero")
        #expect(kind(try migrate(.real(1), .double, "$source.a / 0.0", to: attribute("b", .double))) == "zero")
    }

    @Test("Without expression a default stays; a constant nil takes it away")
    func defaults() throws {
        let optional = attribute("b", .integer16, default: .integer(7))
        #expect(try migrate(.null, .integer16, nil, to: optional).get() == .integer(7))
        #expect(try migrate(.null, .integer16, "nil", to: optional).get() == .null)
        #expect(try migrate(.null, .integer16, "$source.a", to: optional, automatic: true).get() == .null)
        let date = attribute("b", .date, default: .date(60))
        #expect(try migrate(.null, .integer16, nil, to: date).get() == .integer(60))
    }

    @Test("A nil of an automatic expression becomes the default if the attribute is required; explicit ones do not")
    func required() throws {
        let required = attribute("b", .string, default: .string("d"), required: true)
        #expect(try migrate(.null, .string, "$source.a", to: required, automatic: true).get() == .text("d"))
        let violation = ReferenceViolation(entity: "E", key: 1, property: "b", rule: .missing)
        #expect(try migrate(.null, .string, "$source.a", to: required) == .failure(.invalid([violation])))
        // NULL under a rule that the source had too stays NULL.
        #expect(
            try migrate(
                .null, .string, "$source.a", to: required, automatic: true, inferred: true, sourceRequired: true
            )
            .get() == .null)
        let bare = attribute("b", .string, required: true)
        #expect(try migrate(.null, .string, "$source.a", to: bare, automatic: true) == .failure(.invalid([violation])))
        #expect(try migrate(.text(""), .string, "$source.a", to: bare, automatic: true).get() == .text(""))
    }

    @Test("A rule that the source had is a warning for a value that an inferred mapping copied")
    func oldRule() throws {
        let bare = attribute("b", .string, required: true)
        let kept = try migrate(
            .null, .string, "$source.a", to: bare, automatic: true, inferred: true, sourceRequired: true)
        #expect(try kept.get() == .null)
        let new = try migrate(.null, .string, "$source.a", to: bare, automatic: true, inferred: true)
        guard case .failure(.invalid) = new else {
            Issue.record("a new rule is an error")
            return
        }
    }

    @Test("Bounds, lengths and patterns")
    func rules() throws {
        func rules(_ value: ReferenceValue, _ change: (inout AttributeDefinition) -> Void) throws
            -> [ReferenceViolation.Rule]
        {
            let isText = if case .text = value { true } else { false }
            let type: AttributeType = isText ? .string : .integer32
            let result = try migrate(value, type, "$source.a", to: attribute("b", type, default: nil, change))
            if case .failure(.invalid(let violations)) = result { return violations.map(\.rule) }
            return []
        }
        #expect(try rules(.integer(4)) { $0.minimum = .integer(5) } == [.tooSmall])
        #expect(try rules(.integer(5)) { $0.minimum = .integer(5) } == [])
        #expect(try rules(.integer(6)) { $0.maximum = .integer(5) } == [.tooLarge])
        #expect(try rules(.text("ab")) { $0.minimumLength = 3 } == [.tooShort])
        #expect(try rules(.text("abcd")) { $0.maximumLength = 3 } == [.tooLong])
        #expect(try rules(.text("xa")) { $0.regularExpression = "a|b" } == [.pattern])
        #expect(try rules(.text("b")) { $0.regularExpression = "a|b" } == [])
        #expect(try rules(.null) { $0.minimumLength = 3 } == [])
    }

    @Test("Key paths go through to-one relationships; nil on the way is nil")
    func keyPaths() throws {
        let old = try model(entity("E", [attribute("a", .string)], [toOne("next", "E")]))
        let new = try model(entity("E", [attribute("b", .string, default: .string("d"))]))
        let store = ReferenceStore.make(old) { store in
            store.insert("E", 1, ["a": .text("one")], toOne: ["next": 2])
            store.insert("E", 2, ["a": .text("two")], toOne: ["next": 77])
        }
        let outcome = try ReferenceMigrator(
            source: store, destinationModel: new,
            mappingModel: mappings(mapping("M", "E", "E", ["b": "$source.next.a"]))
        ).migrate().get()
        #expect(outcome.store.value("E", 1, "b") == .text("two"))
        #expect(outcome.store.value("E", 2, "b") == .null)
        // Only references that relationship mappings look up are counted.
        #expect(outcome.report.danglingReferences == 0)
    }

    @Test("The marker of inline data comes and goes with external storage")
    func markers() throws {
        let external = attribute("b", .binaryData) { $0.allowsExternalBinaryDataStorage = true }
        #expect(try migrate(.blob([9]), .binaryData, "$source.a", to: external).get() == .blob([1, 9]))
        let old = try model(entity("E", [attribute("a", .binaryData) { $0.allowsExternalBinaryDataStorage = true }]))
        let new = try model(entity("E", [attribute("a", .binaryData)]))
        let store = ReferenceStore.make(old) { $0.insert("E", 1, ["a": .blob([1, 8])]) }
        let outcome = try ReferenceMigrator(
            source: store, destinationModel: new, mappingModel: mappings(mapping("M", "E", "E", ["a": "$source.a"]))
        ).migrate().get()
        #expect(outcome.store.value("E", 1, "a") == .blob([8]))
    }

    @Test("Uniqueness: the later key is the violation, NULL never conflicts")
    func uniqueness() throws {
        let plain = try model(entity("E", [attribute("a", .string)]))
        let unique = try model(entity("E", [attribute("a", .string)], unique: [["a"]]))
        let store = ReferenceStore.make(plain) { store in
            for (key, value) in [(1, ReferenceValue.text("x")), (2, .null), (3, .null), (4, .text("x"))] {
                store.insert("E", Int64(key), ["a": value])
            }
        }
        let result = ReferenceMigrator(
            source: store, destinationModel: unique,
            mappingModel: mappings(try mapping("M", "E", "E", ["a": "$source.a"]))
        ).migrate()
        let violation = ReferenceViolation(entity: "E", key: 4, property: "a", rule: .unique)
        guard case .failure(.invalid([violation])) = result else {
            Issue.record("\(result)")
            return
        }
    }
}
