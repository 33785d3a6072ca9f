import Foundation
import TestSupport
import Testing

/// Returns the path of an installed program; nil if it is not installed.
private func program(_ name: String) -> String? {
    ["/usr/bin/", "/bin/", "/usr/local/bin/"].map { $0 + name }.first {
        FileManager.default.isExecutableFile(atPath: $0)
    }
}

@Suite("Completions and manual pages")
struct CompletionTests {
    /// Runs a program over a script and returns what it prints.
    private func run(_ path: String, _ arguments: [String]) throws -> (code: Int32, output: String) {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: path)
        process.arguments = arguments
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardError = pipe
        process.standardInput = FileHandle.nullDevice
        try process.run()
        let output = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return (process.terminationStatus, String(decoding: output, as: UTF8.self))
    }

    /// Returns the path of a file with the output of the command.
    private func written(_ arguments: [String], _ folder: TemporaryFolder, _ name: String) throws -> String {
        let outcome = try CommandBinary.run(arguments)
        #expect(outcome.code == 0 && outcome.messages.isEmpty)
        #expect(outcome.output.contains("stagecoach"))
        let path = folder.file(name)
        try outcome.output.write(toFile: path, atomically: true, encoding: .utf8)
        return path
    }

    @Test(
        "bash completes commands, options and their values",
        .enabled(if: program("bash") != nil, "bash is not installed"),
        arguments: [
            (["stagecoach", "mig"], "migrate"), (["stagecoach", "--ver"], "--version"),
            (["stagecoach", "migrate", "--mem"], "--memory-limit"),
            (["stagecoach", "migrate", "a.sqlite", "--keys", ""], "auto kept sequential"),
            (["stagecoach", "migrate", "--keys", "=", "s"], "sequential"),
            (["stagecoach", "plan", "--writer", "s"], ""), (["stagecoach", "migrate", "--to", "M"], ""),
            (["stagecoach", "infer", "--out"], "--output"), (["stagecoach", "completions", "f"], "fish"),
            (["stagecoach", "man", "inf"], "infer"), (["stagecoach", "policies", "ch"], "check"),
            (["stagecoach", "policies", "check", "lib"], ""), (["stagecoach", "port", "--ap"], "--apply"),
        ])
    func bash(words: [String], expected: String) throws {
        let folder = try TemporaryFolder()
        let script = try written(["completions", "bash"], folder, "completions")
        let list = words.map { "'\($0)'" }.joined(separator: " ")
        let outcome = try run(
            try #require(program("bash")),
            [
                "--norc", "-c",
                "compopt() { :; }; source '\(script)'; COMP_WORDS=(\(list)); COMP_CWORD=\(words.count - 1); "
                    + "_stagecoach; echo \"${COMPREPLY[*]}\"",
            ])
        #expect(outcome.code == 0 && outcome.output == expected + "\n")
    }

    @Test("zsh reads its completions", .enabled(if: program("zsh") != nil, "zsh is not installed"))
    func zsh() throws {
        let folder = try TemporaryFolder()
        let script = try written(["completions", "zsh"], folder, "_stagecoach")
        let outcome = try run(
            try #require(program("zsh")),
            ["-f", "-c", "autoload -U compinit; compinit -u -D; source '\(script)'; print ${_comps[stagecoach]}"])
        #expect(outcome.code == 0 && outcome.output == "_stagecoach\n")
    }

    @Test("fish completes commands and values", .enabled(if: program("fish") != nil, "fish is not installed"))
    func fish() throws {
        let folder = try TemporaryFolder()
        let script = try written(["completions", "fish"], folder, "stagecoach.fish")
        let outcome = try run(
            try #require(program("fish")),
            [
                "--no-config", "-c",
                "source '\(script)'; complete -C'stagecoach mig'; complete -C'stagecoach migrate --keys k'; "
                    + "complete -C'stagecoach completions z'",
            ])
        let offered = outcome.output.split(separator: "\n").map {
            $0.split(separator: "\t").first.map(String.init) ?? ""
        }
        #expect(outcome.code == 0 && offered == ["migrate", "kept", "zsh"])
    }

    @Test("every command and option is in the scripts", arguments: ["bash", "zsh", "fish"])
    func complete(shell: String) throws {
        let script = try CommandBinary.run(["completions", shell]).output
        let overview = try CommandBinary.run(["--help"]).output
        let commands = overview.split(separator: "\n").drop { $0 != "Commands:" }.dropFirst()
            .prefix { $0.hasPrefix("  ") && !$0.hasPrefix("  -") }.compactMap { $0.split(separator: " ").first }
        #expect(commands.count > 8)
        for command in commands {
            #expect(script.contains(command))
            for match in try CommandBinary.run([String(command), "--help"]).output.matches(
                of: /^  (-., |    )--([a-z-]+)/.anchorsMatchLineEndings())
            {
                #expect(script.contains(shell == "fish" ? "-l \(match.2)" : "--\(match.2)") || match.2 == "help")
            }
        }
    }

    @Test("another shell is refused, the nearest is named")
    func unknown() throws {
        let outcome = try CommandBinary.run(["completions", "fisch"])
        #expect(outcome.code == 64 && outcome.output.isEmpty)
        #expect(outcome.messages.contains("SHELL is one of bash, zsh, fish, not 'fisch'; did you mean 'fish'?"))
    }

    @Test(
        "manual pages format without a warning, and name every option", arguments: [[], ["migrate"], ["plan"], ["man"]])
    func manual(command: [String]) throws {
        let folder = try TemporaryFolder()
        let page = try written(["man"] + command, folder, "page.1")
        let text = try String(contentsOfFile: page, encoding: .utf8)
        #expect(text.hasPrefix(".TH STAGECOACH"))
        for section in ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS"] {
            #expect(text.contains("\n.SH \(section)\n"))
        }
        if let name = command.first {
            for match in try CommandBinary.run([name, "--help"]).output.matches(
                of: /^  (-., |    )--([a-z-]+)/.anchorsMatchLineEndings())
            {
                #expect(text.contains("\\-\\-" + match.2.replacing("-", with: "\\-")))
            }
        }
        if let mandoc = program("mandoc") {
            let outcome = try run(mandoc, ["-Tlint", "-Wwarning", page])
            #expect(outcome.code == 0 && outcome.output.isEmpty)
        }
        if let groff = program("groff") {
            let outcome = try run(groff, ["-man", "-Tutf8", "-ww", "-z", page])
            #expect(outcome.code == 0 && outcome.output.isEmpty)
        }
    }
}
