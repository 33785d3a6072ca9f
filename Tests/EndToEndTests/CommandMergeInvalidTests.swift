import Foundation
import TestSupport
import Testing

/// `--on-invalid merge`: objects that would break a uniqueness constraint of the new model become one, without a mapping model.
@Suite("Objects merged for a new uniqueness constraint, by the built command")
struct CommandMergeInvalidTests {
    private static func constraints(_ lists: [String]...) -> String {
        let each = lists.map { names in
            "<uniquenessConstraint>" + names.map { "<constraint value=\"\($0)\"/>" }.joined()
                + "</uniquenessConstraint>"
        }
        return "<uniquenessConstraints>\(each.joined())</uniquenessConstraints>"
    }

    private static let merge = ["--on-invalid", "merge"]

    @Test("The first of those with the same values is kept; all commands agree, and the report counts")
    func merged() throws {
        let inputs = try CommandMergeTests.inputs(constraints: Self.constraints(["name"]))
        let refused = try inputs.run(["migrate", "old.sqlite", "new.sqlite"])
        #expect(refused.code == 65 && refused.messages.contains("must be unique"), "\(refused.messages)")
        let outcomes = try inputs.all("Tag/p3", Self.merge)
        for (name, outcome) in outcomes { #expect(outcome.code == 0, "\(name): \(outcome.words)") }
        #expect(
            try CommandMergeTests.tags(inputs.folder.file("new.sqlite")) == [
                "1 red - notes 1,2 parts 2,3,1,4", "2 blue #00f notes 4 parts 5", "4 Red #e00 notes 3 parts ",
                "5 - #fff notes  parts ",
            ])
        let summary = outcomes["migrate"]?.words ?? ""
        #expect(summary.contains("merged") && summary.contains("name"), "\(summary)")
        #expect(outcomes["explain"]?.words.contains("Tag/p1") == true, "\(outcomes["explain"]?.words ?? "")")
        let verified = try inputs.run(["verify", "old.sqlite", "new.sqlite"], Self.merge)
        #expect(verified.code == 0, "\(verified.output)\(verified.messages)")
        let ids = try inputs.run(["migrate", "old.sqlite", "ids.sqlite", "--id-map", "ids.csv"], Self.merge)
        #expect(ids.code == 0, "\(ids.messages)")
        let map = try String(contentsOfFile: inputs.folder.file("ids.csv"), encoding: .utf8)
        #expect(map.contains("Tag,3,Tag,1\n"), "\(map)")
    }

    @Test("A constraint of several attributes compares them all; nil breaks none")
    func several() throws {
        let inputs = try CommandMergeTests.inputs(constraints: Self.constraints(["name", "color"]))
        let outcome = try inputs.run(["migrate", "old.sqlite", "new.sqlite"], Self.merge)
        #expect(outcome.code == 0, "\(outcome.messages)")
        #expect(try CommandMergeTests.tags(inputs.folder.file("new.sqlite")).count == 5)
    }

    @Test("What cannot be merged is refused, with the reason")
    func refused() throws {
        let two = try CommandMergeTests.inputs(constraints: Self.constraints(["name"], ["color"]))
        let several = try two.run(["migrate", "old.sqlite", "new.sqlite"], Self.merge)
        #expect(several.code == 78 && several.messages.contains("several new uniqueness constraints"), "\(several)")
        let given = try CommandMergeTests.inputs(constraints: Self.constraints(["name"]))
        try CommandMergeTests.write(#""mergeBy": ["name"]"#, to: given)
        let outcome = try given.run(["migrate", "old.sqlite", "new.sqlite"], Self.merge + CommandMergeTests.mapping)
        #expect(outcome.code == 78 && outcome.messages.contains("mergeBy"), "\(outcome)")
        #expect(outcome.messages.contains("mapping.json"), "\(outcome)")
        #expect(!FileManager.default.fileExists(atPath: given.folder.file("new.sqlite")))
    }
}
