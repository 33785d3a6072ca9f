import Foundation
import ManagedModel
import TestSupport
import Testing

/// The disturbed migrations in which objects are rejected.
extension FaultFixture {
    private static let bundle = "in/Orders.xcdatamodeld"
    private static let rejecting = ["--on-invalid", "reject", "--reject-file", "$/out/rejects.jsonl"]
    private static let versions = ["--from", "$/\(bundle):Orders", "--to", "$/\(bundle)"]

    /// A store of orders: some objects break rules of their own, some share what is to be unique, some lose what they need.
    ///
    /// - Parameter shift: of the addresses, which are unique.
    private static func orders(_ folder: TemporaryFolder, shiftedBy shift: Int64 = 0) throws {
        try copy(models.appendingPathComponent("Orders.xcdatamodeld"), into: folder)
        let model = try ModelLocator.load(folder.file(bundle) + ":Orders").model
        try ReferenceStore.make(model) { store in
            for key in 1...rows {
                store.insert(
                    "Customer", key,
                    [
                        "age": .integer(key % 11 == 0 ? 200 : 30),
                        "name": key % 13 == 0 ? .null : .text("Customer \(key)"),
                        // Some have their neighbour's.
                        "email": .text("c\(shift + (key % 17 == 0 ? key - 1 : key))@example.org"),
                    ])
            }
            var last: Int64 = 0
            for key in 1...(3 * rows) {
                store.insert(
                    "Order", key,
                    ["number": key % 19 == 0 ? .null : .integer(key), "placedAt": .real(Double(86_400 * key))],
                    toOne: ["customer": 1 + key % rows])
                for _ in 0..<(key % 23 == 0 ? 1 : 2) {
                    last += 1
                    store.insert("Line", last, ["code": .text("L\(last)")], toOne: ["order": key])
                }
            }
        }.write(path: folder.file("in/old.sqlite"))
    }

    @Sendable static func reject() throws -> FaultFixture {
        try FaultFixture("reject", line + versions + rejecting + ["--id-map", "$/out/ids.csv"]) { try orders($0) }
    }

    /// By two mapping models in turn: each rejects of its own, and the later one misses what the first has rejected.
    @Sendable static func rejectModels() throws -> FaultFixture {
        let parts = [["Customer"], ["Order", "Line"]]
        let files = parts.flatMap { ["--mapping", "$/in/\($0[0]).json"] }
        return try FaultFixture(
            "rejectModels", line + versions + rejecting + ["--id-map", "$/out/ids.csv"] + files
        ) { folder in
            try orders(folder)
            for part in parts {
                let mappings = part.map {
                    "{\"name\": \"\($0)\", \"sourceEntity\": \"\($0)\", \"destinationEntity\": \"\($0)\"}"
                }
                try "{\"formatVersion\": 1, \"entityMappings\": [\(mappings.joined(separator: ", "))]}".write(
                    toFile: folder.file("in/\(part[0]).json"), atomically: true, encoding: .utf8)
            }
        }
    }

    /// To a store that has half of the customers: those are rejected for theirs, and what needs them.
    @Sendable static func rejectAppend() throws -> FaultFixture {
        try FaultFixture("rejectAppend", line + versions + rejecting + ["--append"]) { folder in
            let first = try TemporaryFolder()
            try FileManager.default.createDirectory(atPath: first.file("in"), withIntermediateDirectories: true)
            try orders(first, shiftedBy: rows / 2)
            let outcome = try CommandBinary.run([
                "migrate", first.file("in/old.sqlite"), folder.file("out/new.sqlite"), "--from",
                first.file(bundle) + ":Orders", "--to", first.file(bundle), "--on-invalid", "reject",
            ])
            try #require(outcome.code == 0, "\(outcome.messages)")
            try orders(folder)
        }
    }
}
