import Diagnostics
import Foundation
import TestSupport
import Testing

@testable import StagecoachCommand

@Suite("The program that loads libraries of policies") struct PolicyProgramTests {
    @Test(
        "It is asked for by an option, wherever it stands, and by nothing else",
        arguments: [
            (["migrate", "a", "b", "--policies", "lib.so"], true), (["plan", "--policies=lib.so", "a"], true),
            (["batch", "--policies"], true), (["migrate", "policies", "a"], false),
            (["migrate", "--", "--policies"], false),
            (["migrate", "--policies-of", "x"], false), ([], false),
        ])
    func asks(line: [String], expected: Bool) { #expect(PolicyProgram.asksForPolicies(line[...]) == expected) }

    @Test("The policy program is looked for beside the program, not beside a link to it")
    func place() throws {
        let folder = try TemporaryFolder()
        let bin = folder.url.appendingPathComponent("bin")
        try FileManager.default.createDirectory(at: bin, withIntermediateDirectories: true)
        try Data().write(to: bin.appendingPathComponent("stagecoach"))
        try FileManager.default.createSymbolicLink(
            atPath: folder.file("link"), withDestinationPath: bin.appendingPathComponent("stagecoach").path)
        let found = PolicyProgram.beside(folder.file("link"))
        #expect(found.hasSuffix("/bin/stagecoach-policies"))
        #expect(found == PolicyProgram.beside(bin.appendingPathComponent("stagecoach").path))
    }

    @Test("Without a requested library the process continues")
    func goesOn() { #expect(PolicyProgram.takeOver(["stagecoach", "migrate", "a", "b"]) == nil) }

    @Test("A missing policy program is an error of the configuration that says what to build")
    func missing() {
        let error = PolicyProgram.missing("/nowhere/stagecoach-policies", reason: "No such file or directory")
        #expect(error.code == "policies.noProgram" && error.category == .configuration)
        #expect(error.context.path == "/nowhere/stagecoach-policies")
        #expect(error.remedy?.contains("swift build -c release --product stagecoach-policies") == true)
    }
}
