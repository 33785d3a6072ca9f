// swift-tools-version: 6.2
import Foundation
import PackageDescription

// A shared library of migration policies, as `stagecoach migrate --policies libExamplePolicies.so` loads it.
//
//     swift build -c release
//     stagecoach migrate old.sqlite new.sqlite --to Contacts.xcdatamodeld --mapping contacts.json \
//         --policies .build/release/libExamplePolicies.so
//
// The library refers to the program's own Stagecoach: build both with the same version of Swift and of Stagecoach. The
// dependency on the product `StagecoachForPolicies` keeps a copy of Stagecoach out of it; the program, whose symbols are
// found first, is what runs. A program that links Swift's libraries statically cannot load it.
let stagecoach = ProcessInfo.processInfo.environment["STAGECOACH_PACKAGE"] ?? "../.."

let package = Package(
    name: "ExamplePolicies",
    products: [
        .library(name: "ExamplePolicies", type: .dynamic, targets: ["ExamplePolicies"])
    ],
    dependencies: [.package(name: "Stagecoach", path: stagecoach)],
    targets: [
        .target(
            name: "ExamplePolicies",
            dependencies: [.product(name: "StagecoachForPolicies", package: "Stagecoach")])
    ],
    swiftLanguageModes: [.v6]
)
