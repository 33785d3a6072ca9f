import Diagnostics
import ManagedModel
import TestSupport
import Testing

@testable import Mapping

/// Two versions of a small shop, for tests of the JSON form and for the examples in `Fixtures/Mappings`.
enum JSONModels {
    typealias M = InferenceModels

    static func shop() throws -> (source: ManagedObjectModel, destination: ManagedObjectModel) {
        let source = try M.model(
            M.entity(
                "Account", [M.attribute("number"), M.attribute("note")],
                [M.toMany("trades", "Trade", inverse: "account"), M.toOne("owner", "Person")]),
            M.entity("Person", isAbstract: true, [M.attribute("name"), M.attribute("temp", .string, transient: true)]),
            M.entity("Customer", parent: "Person", [M.attribute("rank", .integer16)]),
            M.entity(
                "Trade",
                [
                    M.attribute("amount", .double, required: true), M.attribute("temperature", .double),
                    M.attribute("title"), M.attribute("kind"), M.attribute("flag", .boolean),
                ], [M.toOne("account", "Account", inverse: "trades")]),
            M.entity("Old"))
        let destination = try M.model(
            M.entity(
                "Account", [M.attribute("number"), M.attribute("note", required: true, default: .string("none"))],
                [M.toMany("transactions", "Transaction", id: "trades", inverse: "account"), M.toOne("owner", "Person")]),
            M.entity("Person", isAbstract: true, [M.attribute("name"), M.attribute("temp", .string, transient: true)]),
            M.entity("Customer", parent: "Person", [M.attribute("rank", .integer16)]),
            M.entity(
                "Transaction", id: "Trade",
                [
                    M.attribute("totalCost", .double, required: true), M.attribute("celsius", .double),
                    M.attribute("title"), M.attribute("kind", .integer32), M.attribute("flag", .boolean),
                    M.attribute("new"),
                ], [M.toOne("account", "Account", inverse: "transactions"), M.toOne("buyer", "Person")]),
            M.entity("Audit", [M.attribute("when", .date)]))
        return (source, destination)
    }

    static func read(_ text: String) throws -> MappingModel {
        let (source, destination) = try shop()
        return try MappingModel.reading(
            json: Array(text.utf8), path: "shop.json", source: source, destination: destination)
    }
}
