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

    @Test("Swift's libraries that are not there are named in a sentence; so are others")
    func withoutSwift() {
        let error = PolicyProgram.withoutLibraries("/a/stagecoach-policies", ["libswiftCore.so", "libFoundation.so"])
        #expect(error.code == "policies.noSwift" && error.category == .configuration)
        #expect(error.message.hasPrefix("This host has no Swift"))
        #expect(error.message.contains("libswiftCore.so, libFoundation.so"))
        #expect(error.remedy?.contains("usr/lib/swift/linux") == true)
        let other = PolicyProgram.withoutLibraries("/a/stagecoach-policies", ["liblz4.so.1"])
        #expect(other.code == "policies.missingLibraries" && other.message.contains("liblz4.so.1"))
    }

    @Test("The loader's lines are read, and a file that it does not take has none")
    func loader() throws {
        let text = """
            \tlinux-vdso.so.1 (0x00007ffd)
            \tlibz.so.1 => /lib/x86_64-linux-gnu/libz.so.1 (0x00007f01)
            \tlibswiftCore.so => not found
            \t/lib64/ld-linux-x86-64.so.2 (0x00007f02)
            """
        #expect(
            LoaderView.parse(text) == [
                NeededLibrary(name: "libz.so.1", path: "/lib/x86_64-linux-gnu/libz.so.1"),
                NeededLibrary(name: "libswiftCore.so", path: nil),
            ])
        let own = try #require(
            LoaderView.libraries(of: URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().path))
        #expect(own.contains { $0.name == "libc.so.6" && $0.path != nil })
        let folder = try TemporaryFolder()
        try Data("no program".utf8).write(to: folder.url.appendingPathComponent("a.so"))
        #expect(LoaderView.libraries(of: folder.file("a.so")) == nil)
    }

    @Test("The compiler's version is found in a binary")
    func version() {
        let content = Data("the Swift version of\u{0}Swift version 6.3.1 (swift-6.3.1-RELEASE)\u{0}more".utf8)
        #expect(
            PolicyLibraryCheck.compiler("Swift version ", in: content) == "Swift version 6.3.1 (swift-6.3.1-RELEASE)")
        #expect(PolicyLibraryCheck.compiler("clang version ", in: content) == nil)
        #expect(PolicyLibraryCheck.compiler("Swift version ", in: Data("Swift".utf8)) == nil)

        // With debug information a binary tells both; two are compared by what both tell.
        let (swift, clang) = ("Swift version 6.3.1 (a)", "clang version 21.0.0 (b)")
        let (full, bare) = (Data("\(clang)\0\(swift)\0".utf8), Data("\(clang)\0".utf8))
        #expect(PolicyLibraryCheck.compilers(of: full, and: full) == (swift, swift))
        #expect(PolicyLibraryCheck.compilers(of: full, and: bare) == (clang, clang))
        #expect(PolicyLibraryCheck.compilers(of: bare, and: full) == (clang, clang))
        #expect(PolicyLibraryCheck.compilers(of: full, and: Data()) == (swift, nil))
        #expect(PolicyLibraryCheck.compilers(of: Data(), and: full) == (nil, nil))
    }

    @Test("The check wants the word check, and tells files apart")
    func check() throws {
        let folder = try TemporaryFolder()
        try Data("no library".utf8).write(to: folder.url.appendingPathComponent("text.so"))
        func run(_ arguments: String...) -> (code: Int32, messages: String) {
            let messages = TextBuffer()
            let code = Command.run(arguments, console: Console(output: TextBuffer(), error: messages))
            return (code, messages.text)
        }
        #expect(run("policies", "chek", "a.so").code == 64)
        #expect(run("policies", "chek", "a.so").messages.contains("check"))
        #expect(run("policies", "check").code == 64)
        #expect(run("policies", "check", folder.file("none.so")).code == 66)
        let text = run("policies", "check", folder.file("text.so"))
        #expect(text.code == 78 && text.messages.contains("no shared library"))
    }
}
