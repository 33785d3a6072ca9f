// swift-tools-version: 6.2
import PackageDescription

// Every target is built in Swift 6 mode with warnings as errors.
let strict: [SwiftSetting] = [.treatAllWarnings(as: .error)]

// Most tests are compiled without optimisation even where `-Xswiftc -O` asks for it: the engine that they test is optimised, and
// their own code would take half of the build. Two targets whose tests compute much themselves are not among them. The command
// around the engine and the reader of Swift sources are compiled likewise: nothing in them waits for the processor. The benchmarks are run from a
// release build only.
let unoptimised = strict + [.unsafeFlags(["-Xfrontend", "-Onone"], .when(configuration: .debug))]

// In a release these modules are made small: the container's image holds the whole program.
let small = unoptimised + [.unsafeFlags(["-Osize"], .when(configuration: .release))]

// The commit that --version names, for those who build a release: Fixtures/release/build.
let commit = (Context.environment["STAGECOACH_COMMIT"] ?? "").filter {
    $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-")
}

let package = Package(
    name: "Stagecoach",
    products: [
        .library(name: "Stagecoach", targets: ["Stagecoach"]),
        // For shared libraries of policies: they refer to Stagecoach instead of carrying a copy of it.
        .library(name: "StagecoachForPolicies", type: .dynamic, targets: ["Stagecoach"]),
        .executable(name: "stagecoach", targets: ["StagecoachMain"]),
        // What it becomes where libraries of policies are given.
        .executable(name: "stagecoach-policies", targets: ["StagecoachPoliciesMain"]),
    ],
    targets: [
        // The system's libraries.
        .systemLibrary(name: "CSQLite", providers: [.apt(["libsqlite3-dev"])]),
        .systemLibrary(name: "CLZ4", providers: [.apt(["liblz4-dev"])]),
        .systemLibrary(name: "CZlib", providers: [.apt(["zlib1g-dev"])]),
        .systemLibrary(name: "CLinux"),
        // What a crash in user code says of it, in C as handlers of signals must be; and the commit of a release.
        .target(
            name: "CCrashNote",
            cSettings: commit.isEmpty ? [] : [.define("STAGECOACH_COMMIT", to: "\"\(commit)\"")]),

        // What went wrong, where, and what to do: one error type for all layers.
        .target(name: "Diagnostics", swiftSettings: strict),
        // Cells and batches of rows, as they travel from reader to writer.
        .target(name: "Rows", dependencies: ["Diagnostics"], swiftSettings: strict),
        // Binary property lists and keyed archives, read without trusting a byte.
        .target(name: "Archives", dependencies: ["Diagnostics", "CZlib"], swiftSettings: strict),
        // Models: entities, attributes, relationships, their readers and version hashes.
        .target(name: "ManagedModel", dependencies: ["Diagnostics", "Archives"], swiftSettings: strict),
        // Files, tokens and types of Swift sources. Knows no models.
        .target(name: "SwiftTokens", dependencies: ["Diagnostics"], swiftSettings: small),
        // The declarations of Swift sources, and the models that SwiftData makes of them. Knows no stores.
        .target(
            name: "SwiftSources", dependencies: ["Diagnostics", "ManagedModel", "SwiftTokens"],
            swiftSettings: small),
        // Mapping models: readers, inference, the expression language.
        .target(
            name: "Mapping", dependencies: ["Diagnostics", "Rows", "Archives", "ManagedModel"],
            swiftSettings: strict),
        // Keys and rows on disk: blocks, spills, association tables, sorted runs. Knows no models.
        .target(name: "SpillStorage", dependencies: ["Diagnostics", "Rows", "CLZ4", "CLinux"], swiftSettings: strict),
        // Database files by their pages: trees built from the leaves up. Knows no models.
        .target(
            name: "DatabasePages", dependencies: ["Diagnostics", "Rows", "SpillStorage", "CSQLite"],
            swiftSettings: strict),
        // Core Data's SQLite layout: schema, metadata, row reader, table writer.
        .target(
            name: "CoreDataStore",
            dependencies: [
                "Diagnostics", "Rows", "Archives", "ManagedModel", "SpillStorage", "DatabasePages", "CSQLite",
            ],
            swiftSettings: strict),
        // Stores of the types XML and binary: their readers and writers, and the way to an SQLite store and back.
        .target(
            name: "AtomicStores",
            dependencies: ["Diagnostics", "Rows", "Archives", "ManagedModel", "SpillStorage", "CoreDataStore"],
            swiftSettings: strict),
        // The product: plan, create, relate, validate, save, publish.
        .target(
            name: "Stagecoach",
            dependencies: [
                "Diagnostics", "Rows", "Archives", "ManagedModel", "Mapping", "CoreDataStore", "SpillStorage",
                "AtomicStores", "DatabasePages", "CSQLite", "CCrashNote",
            ],
            swiftSettings: strict),
        // The command: arguments, wording, progress, exit codes.
        .target(
            name: "StagecoachCommand",
            dependencies: [
                "Diagnostics", "Rows", "ManagedModel", "SwiftTokens", "SwiftSources", "Mapping", "CoreDataStore",
                "AtomicStores",
                "SpillStorage", "Stagecoach", "CLinux", "CCrashNote",
            ],
            resources: [
                .embedInCode("Demo/library-1.xml"), .embedInCode("Demo/library-2.xml"),
                .embedInCode("Demo/library.json"), .embedInCode("Demo/books.json"),
                .embedInCode("Reporting/report.css"),
            ],
            swiftSettings: small),
        .executableTarget(name: "StagecoachMain", dependencies: ["StagecoachCommand"], swiftSettings: strict),
        // Its symbols are exported: shared libraries given with --policies share its Stagecoach, and Swift's libraries.
        .executableTarget(
            name: "StagecoachPoliciesMain", dependencies: ["StagecoachCommand"], swiftSettings: strict,
            linkerSettings: [.unsafeFlags(["-Xlinker", "--export-dynamic"], .when(platforms: [.linux]))]),

        // Tests, in the same order.
        .target(
            name: "TestSupport",
            dependencies: [
                "Diagnostics", "Archives", "ManagedModel", "Mapping", "CoreDataStore", "SpillStorage", "CSQLite",
            ],
            path: "Tests/TestSupport", swiftSettings: strict),
        .testTarget(name: "RowsTests", dependencies: ["Rows", "TestSupport"], swiftSettings: unoptimised),
        .testTarget(
            name: "ArchivesTests", dependencies: ["Archives", "Diagnostics", "TestSupport"],
            swiftSettings: unoptimised),
        .testTarget(
            name: "ManagedModelTests",
            dependencies: ["ManagedModel", "Mapping", "Archives", "Diagnostics", "TestSupport", "CSQLite"],
            swiftSettings: unoptimised),
        .testTarget(
            name: "SwiftSourcesTests",
            dependencies: ["SwiftSources", "SwiftTokens", "ManagedModel", "Diagnostics", "TestSupport"],
            swiftSettings: unoptimised),
        .testTarget(
            name: "MappingTests",
            dependencies: ["Mapping", "Archives", "ManagedModel", "Rows", "Diagnostics", "TestSupport"],
            swiftSettings: unoptimised),
        .testTarget(
            name: "CoreDataStoreTests",
            dependencies: [
                "CoreDataStore", "SpillStorage", "ManagedModel", "Rows", "Archives", "Diagnostics", "TestSupport",
                "CSQLite",
            ],
            swiftSettings: unoptimised),
        .testTarget(
            name: "AtomicStoresTests",
            dependencies: [
                "AtomicStores", "CoreDataStore", "SpillStorage", "ManagedModel", "Rows", "Archives", "Diagnostics",
                "TestSupport",
            ],
            swiftSettings: unoptimised),
        .testTarget(
            name: "SpillStorageTests", dependencies: ["SpillStorage", "Rows", "Diagnostics", "TestSupport"],
            swiftSettings: strict),
        .testTarget(
            name: "DatabasePagesTests",
            dependencies: ["DatabasePages", "SpillStorage", "Rows", "Diagnostics", "TestSupport", "CSQLite"],
            swiftSettings: strict),
        .testTarget(
            name: "StagecoachTests",
            dependencies: [
                "Stagecoach", "Mapping", "ManagedModel", "Archives", "CoreDataStore", "SpillStorage",
                "Diagnostics", "TestSupport", "CSQLite",
            ],
            swiftSettings: unoptimised),
        .testTarget(
            name: "StagecoachCommandTests",
            dependencies: [
                "StagecoachCommand", "Stagecoach", "ManagedModel", "CoreDataStore", "Diagnostics", "SwiftTokens",
                "TestSupport",
            ],
            swiftSettings: unoptimised),
        .testTarget(
            name: "EndToEndTests",
            dependencies: [
                "TestSupport", "ManagedModel", "Mapping", "CoreDataStore", "Stagecoach", "StagecoachCommand",
                "Diagnostics", "SpillStorage", "CSQLite",
            ],
            swiftSettings: unoptimised),

        // Benchmarks.
        .executableTarget(
            name: "MigrationBenchmarks",
            dependencies: [
                "Stagecoach", "Mapping", "ManagedModel", "CoreDataStore", "SpillStorage", "Rows", "Diagnostics",
                "CSQLite",
            ],
            path: "Benchmarks/MigrationBenchmarks", swiftSettings: unoptimised),
    ],
    swiftLanguageModes: [.v6]
)

// The fuzzers need libFuzzer: Tests/Fuzzing/run builds and runs them. Tests feed the same targets with a few inputs.
let fuzzed: [Target.Dependency] = [
    "Archives", "ManagedModel", "SwiftSources", "Mapping", "CoreDataStore", "AtomicStores", "DatabasePages",
    "SpillStorage", "Stagecoach", "Rows", "Diagnostics", "CSQLite",
]
package.targets.append(
    Context.environment["STAGECOACH_FUZZING"] != nil
        ? .executableTarget(
            name: "Fuzzing", dependencies: fuzzed, path: "Tests/Fuzzing", exclude: ["run", "FuzzTargetTests.swift"],
            swiftSettings: strict, linkerSettings: [.unsafeFlags(["-use-ld=lld"])])
        : .testTarget(
            name: "FuzzTargetTests", dependencies: fuzzed + ["TestSupport"], path: "Tests/Fuzzing",
            exclude: ["run", "main.swift"], swiftSettings: unoptimised))
