// swift-tools-version: 6.0
import PackageDescription

// The models of a small app with two versions, for Apple platforms: SwiftData is not on Linux, so it is read here, not built.
let package = Package(
    name: "Trips", platforms: [.iOS(.v17), .macOS(.v14)], targets: [.target(name: "Trips")])
