import Foundation
import TestSupport

/// A shared library of policies, compiled against the Stagecoach of this build as the build of a package compiles it.
///
/// `Tests/Client/run` builds packages of policies themselves, which compiles all of Stagecoach once more.
struct PolicyLibrary {
    static let example = SharedStores.repository.appendingPathComponent("Fixtures/ExamplePolicies")

    /// The library of `Fixtures/ExamplePolicies`, compiled once.
    static let ofExample = Result<PolicyLibrary, any Error> {
        try PolicyLibrary(sources: example.appendingPathComponent("Sources/ExamplePolicies").path)
    }

    /// The path of the example's library.
    static func exampleLibrary() throws -> String { try ofExample.get().path }

    /// The name of Stagecoach's library for libraries of policies.
    static let stagecoach = "libStagecoachForPolicies.so"

    /// The folder of the library; Stagecoach's is beside it.
    private let folder: TemporaryFolder
    let path: String

    /// What the compiler said.
    private struct Uncompiled: Error {
        let said: String
    }

    /// Compiles the Swift files of a folder.
    init(sources: String) throws {
        folder = try TemporaryFolder()
        path = folder.file("libExamplePolicies.so")
        try FileManager.default.createSymbolicLink(
            atPath: folder.file(Self.stagecoach), withDestinationPath: CommandBinary.products + "/" + Self.stagecoach)
        let files = try FileManager.default.subpathsOfDirectory(atPath: sources).filter { $0.hasSuffix(".swift") }
        // The compiler leaves folders where it puts temporary files.
        let outcome = try CommandBinary.run(
            Self.compiler + ["-emit-library", "-g", "-module-name", "ExamplePolicies", "-o", path]
                + files.map { sources + "/" + $0 }
                + ["-L", folder.path, "-lStagecoachForPolicies", "-Xlinker", "-rpath", "-Xlinker", "$ORIGIN"],
            environment: ["TMPDIR": folder.path], through: ["/usr/bin/env"], command: nil)
        // Not an expectation: its error is recorded once, and every later test that met it would pass.
        guard outcome.code == 0 else {
            let errors = outcome.messages.split(separator: "\n").filter { $0.contains("error:") }
            throw Uncompiled(said: "\(errors.joined(separator: "\n"))\n…\n\(outcome.messages.suffix(1000))")
        }
    }

    /// The compiler with what it needs to find Stagecoach's modules.
    static var compiler: [String] {
        let root = SharedStores.repository.path
        return ["swiftc", "-swift-version", "6", "-I", CommandBinary.products + "/Modules"]
            + ["CSQLite", "CLZ4", "CZlib", "CLinux", "CCrashNote/include"].flatMap {
                ["-Xcc", "-fmodule-map-file=\(root)/Sources/\($0)/module.modulemap"]
            }
    }
}
