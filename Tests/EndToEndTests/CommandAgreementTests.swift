import Foundation
import ManagedModel
import TestSupport
import Testing

/// plan, check, migrate and the others on the same inputs: one exit code and one sentence.
@Suite("Commands agree")
struct CommandAgreementTests {
    @Test("A store past a mapping model is done with a note, whichever command and version")
    func versions() throws {
        let inputs = try VersionedInputs(
            VersionedInputs.entity("Note", VersionedInputs.text("a")),
            VersionedInputs.entity("Note", VersionedInputs.text("a"), VersionedInputs.text("b")),
            VersionedInputs.entity(
                "Note", VersionedInputs.text("a"), VersionedInputs.text("b"), VersionedInputs.text("c"))
        ) { $0.insert("Note", 1, ["a": .text("x")]) }
        for version in [2, 3] {
            try inputs.store("old\(version)", ofVersion: version) { $0.insert("Note", 1, ["a": .text("x")]) }
        }
        let note = "12.json is for 1 to 2, which is not on the way: left out"
        try inputs.file(
            "12.json",
            VersionedInputs.mapping(
                "{\"sourceEntity\": \"Note\", \"destinationEntity\": \"Note\", \"attributes\": {\"b\": \"'y'\"}}",
                "\"from\": \"1\", \"to\": \"2\","))
        for version in [2, 3] {
            let store = "old\(version).sqlite"
            for arguments in [
                ["plan", store, "new.sqlite"], ["check", store], ["migrate", store, "new\(version).sqlite"],
                ["verify", store, "new\(version).sqlite"],
            ] {
                let outcome = try inputs.run(arguments, ["--mapping", "12.json"])
                #expect(outcome.code == 0, "\(arguments): \(outcome.messages)")
                #expect(outcome.output.contains(note), "\(arguments): \(outcome.output)")
            }
        }
        let batch = try inputs.run(["batch", "old*.sqlite", "--into", "all"], ["--mapping", "12.json"])
        #expect(batch.code == 0 && batch.output.split(separator: "\n").count { $0.hasPrefix("done  ") } == 3)
    }

    @Test("plan shows the keys that migrate gives, for a second mapping model too", arguments: ["n == 1", "n == 9"])
    func keys(filter: String) throws {
        let number = "<attribute name=\"n\" optional=\"YES\" attributeType=\"Integer 64\" usesScalarValueType=\"NO\"/>"
        let inputs = try VersionedInputs(VersionedInputs.entity("Event", number), VersionedInputs.entity("Log", number))
        { store in
            for key in 1...3 { store.insert("Event", Int64(key), ["n": .integer(Int64(key))]) }
        }
        for (name, filter) in [("a", filter), ("b", "n > 1")] {
            try inputs.file(
                "\(name).json",
                VersionedInputs.mapping(
                    "{\"sourceEntity\": \"Event\", \"destinationEntity\": \"Log\", \"sourceFilter\": \"\(filter)\"}"))
        }
        let options = ["--mapping", "a.json", "--mapping", "b.json"]
        let plan = try inputs.run(["plan", "old.sqlite", "new.sqlite"], options)
        let migrated = try inputs.run(["migrate", "old.sqlite", "new.sqlite"], options)
        #expect(plan.code == 0 && migrated.code == 0, "\(plan.messages)\(migrated.messages)")
        let isSequential = filter == "n == 1"
        #expect(plan.output.contains("keys sequential") == isSequential, "\(plan.output)")
        #expect(plan.output.contains("the table is not empty by then") == isSequential, "\(plan.output)")
        #expect(migrated.output.contains("Log sequential") == isSequential, "\(migrated.output)")
    }

    @Test("A migration that would make nothing is refused by all")
    func empty() throws {
        let inputs = try VersionedInputs(
            VersionedInputs.entity("Dog", VersionedInputs.text("a")),
            VersionedInputs.entity("Stone", VersionedInputs.text("b"))
        ) {
            $0.insert("Dog", 1, ["a": .text("x")])
        }
        for (command, outcome) in try inputs.all("Dog/p1") {
            #expect(outcome.code == 65, "\(command): \(outcome.words)")
            #expect(
                outcome.words.contains("None of the source's 1 object would have a destination object"),
                "\(command): \(outcome.words)")
        }
        let allowed = try inputs.run(["plan", "old.sqlite", "new.sqlite"], ["--on-loss", "allow"])
        #expect(allowed.code == 0)
    }

    @Test("A version hash that only Core Data knows is refused by all")
    func hashes() throws {
        let inputs = try VersionedInputs(
            VersionedInputs.entity(
                "Cart",
                "<relationship name=\"rows\" optional=\"YES\" toMany=\"YES\" destinationEntity=\"Row\" inverseName=\"cart\" inverseEntity=\"Row\"/>"
            ) + VersionedInputs.entity("Row", VersionedInputs.text("a"), Self.row),
            VersionedInputs.entity(
                "Cart",
                "<relationship name=\"rows\" optional=\"YES\" toMany=\"YES\" destinationEntity=\"Row\" inverseName=\"cart\" inverseEntity=\"Row\"/>"
                    + "<attribute name=\"total\" optional=\"YES\" attributeType=\"Double\" derived=\"YES\" derivationExpression=\"rows.@sum.price\" usesScalarValueType=\"NO\"/>"
            )
                + VersionedInputs.entity(
                    "Row", VersionedInputs.text("a"), Self.row,
                    "<attribute name=\"price\" optional=\"YES\" attributeType=\"Double\" usesScalarValueType=\"NO\"/>")
        ) { $0.insert("Cart", 1, [:]) }
        let words = "The version hash of this entity is known to Core Data only"
        for (command, outcome) in try inputs.all("Cart/p1") {
            #expect(outcome.code == 78 && outcome.words.contains(words), "\(command): \(outcome.words)")
        }
        let omitted = try inputs.run(["check", "old.sqlite"], ["--unknown-hashes", "omit"])
        #expect(omitted.code == 0, "\(omitted.messages)")
    }

    private static let row =
        "<relationship name=\"cart\" optional=\"YES\" maxCount=\"1\" destinationEntity=\"Cart\" inverseName=\"rows\" inverseEntity=\"Cart\"/>"

    @Test("A new required attribute without a default is refused by all, where the source has rows")
    func required() throws {
        let inputs = try VersionedInputs(
            VersionedInputs.entity("Note", VersionedInputs.text("a"))
                + VersionedInputs.entity("Other", VersionedInputs.text("c")),
            VersionedInputs.entity("Note", VersionedInputs.text("a"), VersionedInputs.text("b", ""))
                + VersionedInputs.entity("Other", VersionedInputs.text("c"))
        ) {
            $0.insert("Note", 1, ["a": .text("x")])
            $0.insert("Other", 1, ["c": .text("x")])
        }
        for (command, outcome) in try inputs.all("Note/p1") {
            #expect(outcome.code == 65, "\(command): \(outcome.words)")
            if command == "check" { continue }
            #expect(
                outcome.words.contains("A required attribute has no value (source object Note/p1, "),
                "\(command): \(outcome.words)")
        }
        let rejecting = try inputs.run(["plan", "old.sqlite", "new.sqlite"], ["--on-invalid", "reject"])
        #expect(rejecting.code == 0, "\(rejecting.messages)")
        try inputs.store("old", ofVersion: 1) { $0.insert("Other", 1, ["c": .text("x")]) }
        for (command, outcome) in try inputs.all("Other/p1") {
            #expect(outcome.code == 0, "\(command): \(outcome.words)")
        }
    }

    @Test("A required relationship that nothing sets is refused by all, where the source has rows")
    func requiredRelationship() throws {
        func models(_ owner: String, _ members: String = "") -> String {
            VersionedInputs.entity("Note", VersionedInputs.text("a"), owner)
                + VersionedInputs.entity("Book", VersionedInputs.text("a"), members)
        }
        let inputs = try VersionedInputs(
            models(""),
            models(
                "<relationship name=\"book\" maxCount=\"1\" destinationEntity=\"Book\" inverseName=\"notes\" inverseEntity=\"Book\"/>",
                "<relationship name=\"notes\" optional=\"YES\" toMany=\"YES\" destinationEntity=\"Note\" inverseName=\"book\" inverseEntity=\"Note\"/>"
            )
        ) { $0.insert("Note", 1, ["a": .text("x")]) }
        let words = "A required relationship has no destination (source object Note/p1, "
        for (command, outcome) in try inputs.all("Note/p1") {
            #expect(outcome.code == 65, "\(command): \(outcome.words)")
            if command == "check" { continue }
            #expect(outcome.words.contains(words), "\(command): \(outcome.words)")
        }
        // Either side of the relationship may set it.
        for (entity, line) in [("Note", "\"book\""), ("Book", "\"notes\"")] {
            let other = entity == "Note" ? "Book" : "Note"
            try inputs.file(
                "m.json",
                VersionedInputs.mapping(
                    """
                    {"sourceEntity": "\(other)", "destinationEntity": "\(other)"},
                    {"sourceEntity": "\(entity)", "destinationEntity": "\(entity)", "relationships": {\(line):
                     "FUNCTION($manager, 'destinationInstancesForSourceRelationshipNamed:sourceInstances:', 'x', $source)"}}
                    """))
            let plan = try inputs.run(["plan", "old.sqlite", "plan.sqlite"], ["--mapping", "m.json"])
            #expect(plan.code != 65, "\(plan.messages)")
        }
    }

    @Test("FETCH in a source filter reads the source's objects")
    func fetch() throws {
        let item =
            VersionedInputs.entity("Item", VersionedInputs.text("code"))
            + VersionedInputs.entity("List", VersionedInputs.text("code"))
        let new =
            VersionedInputs.entity("Item", VersionedInputs.text("code"), VersionedInputs.text("b"))
            + VersionedInputs.entity("List", VersionedInputs.text("code"))
        let inputs = try VersionedInputs(item, new) {
            $0.insert("Item", 1, ["code": .text("7")])
            $0.insert("Item", 2, ["code": .text("8")])
            $0.insert("List", 1, ["code": .text("7")])
        }
        let fetch =
            "FETCH(FUNCTION($manager, 'fetchRequestForSourceEntityNamed:predicateString:', 'List', 'TRUEPREDICATE'), $manager.sourceContext, NO)"
        try inputs.file(
            "f.json",
            VersionedInputs.mapping(
                """
                {"sourceEntity": "List", "destinationEntity": "List"},
                {"sourceEntity": "Item", "destinationEntity": "Item",
                 "sourceFilter": "SUBQUERY(\(fetch), $o, $o.code == code).@count > 0"}
                """))
        let options = ["--mapping", "f.json"]
        for (command, outcome) in try inputs.all("Item/p1", options) {
            #expect(outcome.code == 0, "\(command): \(outcome.words)")
        }
        let model = try ModelLocator.load(inputs.folder.file("M.xcdatamodeld") + ":2").model
        let made = try ReferenceStore.read(path: inputs.folder.file("new.sqlite"), model: model)
        #expect(made.objects().joined().filter { $0.entity.name == "Item" }.map(\.key) == [1])
        let verified = try inputs.run(["verify", "old.sqlite", "new.sqlite"], options)
        #expect(!verified.output.contains("LookupStub"), "\(verified.output)")
    }

    // MARK: The matrix

    /// Two versions of notes, with two rows.
    private static func notes() throws -> VersionedInputs {
        try VersionedInputs(
            VersionedInputs.entity("Note", VersionedInputs.text("a"), VersionedInputs.text("b")),
            VersionedInputs.entity("Note", VersionedInputs.text("a"), VersionedInputs.text("c"))
        ) {
            $0.insert("Note", 1, ["a": .text("x"), "b": .text("7")])
            $0.insert("Note", 2, ["a": .text("y")])
        }
    }

    /// A mapping model that fits the notes.
    private static let fitting = VersionedInputs.mapping(
        """
        {"name": "Notes", "sourceEntity": "Note", "destinationEntity": "Note",
         "sourceFilter": "a != 'z'",
         "attributes": {"c": "$source.b"}}
        """)

    /// Checks that all commands end with one code and, where an input is refused, with one sentence.
    private static func expectAgreement(_ inputs: VersionedInputs, _ options: [String], _ what: String) throws {
        let outcomes = try inputs.all("Note/p1", options)
        let migrated = try #require(outcomes["migrate"])
        let sentence =
            migrated.words.split(separator: "\n").first.map { String($0.dropFirst("stagecoach: ".count)) } ?? ""
        for (command, outcome) in outcomes.sorted(by: { $0.key < $1.key }) {
            // The account of one object needs no memory for the others.
            if command == "explain", options.contains("--memory-limit") { continue }
            #expect(outcome.code == migrated.code, "\(what)\n\(command): \(outcome.words)\nmigrate: \(migrated.words)")
            // The memory that a process holds is in the sentence about the limit.
            guard ![0, 65].contains(migrated.code), !options.contains("--memory-limit") else { continue }
            #expect(outcome.words.contains(sentence), "\(what)\n\(command): \(outcome.words)\nmigrate: \(sentence)")
        }
    }

    @Test(
        "Bad inputs end all commands with one code and sentence",
        arguments: [
            ("{ \"formatVersion\": 2, ", 78), ("", 78), ("<database/>", 78),
            (fitting.replacingOccurrences(of: "\"Note\"", with: "\"Nobody\""), 78),
            (fitting.replacingOccurrences(of: "\"c\":", with: "\"cc\":"), 78),
            (fitting.replacingOccurrences(of: "$source.b", with: "$source.bb"), 78),
            (fitting.replacingOccurrences(of: "$source.b", with: "$source.b +"), 78),
            (fitting.replacingOccurrences(of: "$source.b", with: "FUNCTION($entityPolicy, 'none:', $source.b)"), 78),
            (fitting.replacingOccurrences(of: "a != 'z'", with: "aa != 'z'"), 78),
            (fitting.replacingOccurrences(of: "a != 'z'", with: "a !="), 78),
            (fitting.replacingOccurrences(of: "sourceFilter", with: "sourcefilter"), 78),
            (fitting.replacingOccurrences(of: "\"name\"", with: "\"policy\": \"None\", \"name\""), 78),
            (fitting.replacingOccurrences(of: "2,", with: "9,"), 78),
            (fitting.replacingOccurrences(of: "!= 'z'", with: "== 'z'"), 65), (fitting, 0),
        ] as [(String, Int32)])
    func matrix(text: String, code: Int32) throws {
        let inputs = try Self.notes()
        try inputs.file("m.json", text)
        try Self.expectAgreement(inputs, ["--mapping", "m.json"], text)
        let plan = try inputs.run(["plan", "old.sqlite", "plan.sqlite"], ["--mapping", "m.json"])
        #expect(plan.code == code, "\(text): \(plan.messages)")
    }

    @Test(
        "Bad files and options end all commands with one code and sentence",
        arguments: [
            ["--mapping", "none.json"], ["--from", "none.xcdatamodel"], ["--via", "7"], ["--from", "M.xcdatamodeld:7"],
            ["--from", "M.xcdatamodeld:2"], ["--memory-limit", "900"], ["--mapping", "1..7=fits.json"],
            ["--policies", "none.so"],
        ])
    func options(options: [String]) throws {
        let inputs = try Self.notes()
        try inputs.file("fits.json", Self.fitting)
        try Self.expectAgreement(inputs, options, "\(options)")
    }

    @Test(
        "Mapping models with random faults end all commands with one code and sentence",
        arguments: RandomSeeds.seeds(12))
    func random(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let inputs = try Self.notes()
        var bytes = Array(Self.fitting.utf8)
        let pieces = ["\"", "{", "}", ",", "$", "'", "==", "nil", "Note", "source", "b", "9", " ", "("].map {
            Array($0.utf8)
        }
        for _ in 0...generator.below(2) {
            let place = generator.below(bytes.count)
            switch generator.below(3) {
            case 0: bytes.remove(at: place)
            case 1: bytes.insert(contentsOf: pieces[generator.below(pieces.count)], at: place)
            default: bytes.replaceSubrange(place...place, with: pieces[generator.below(pieces.count)])
            }
        }
        let text = String(decoding: bytes, as: UTF8.self)
        try inputs.file("m.json", text)
        try Self.expectAgreement(inputs, ["--mapping", "m.json"], text)
    }
}
