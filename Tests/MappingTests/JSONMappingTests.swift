import Diagnostics
import Foundation
import ManagedModel
import TestSupport
import Testing

@testable import Mapping

@Suite("JSON: mapping models")
struct JSONMappingTests {
    private func fixture(_ name: String) throws -> String {
        let url = SharedStores.repository.appendingPathComponent("Fixtures/Mappings/\(name).json")
        return try String(contentsOf: url, encoding: .utf8)
    }

    private func lookup(_ mapping: String, _ name: String) -> String {
        "FUNCTION($manager, 'destinationInstancesForEntityMappingNamed:sourceInstances:', '\(mapping)', $source.\(name))"
    }
    private func lookup(relationship name: String) -> String {
        "FUNCTION($manager, 'destinationInstancesForSourceRelationshipNamed:sourceInstances:', '\(name)', $source.\(name))"
    }

    @Test("The example is read, and what it leaves out is filled in")
    func shop() throws {
        let model = try JSONModels.read(try fixture("shop"))
        #expect(model.rulesOfTheSource == .error)
        #expect(
            model.entityMappings.compactMap(\.name) == [
                "AccountToAccount", "PersonToPerson", "CustomerToCustomer", "TradeToTransaction", "Audit",
            ])
        #expect(
            model.entityMappings.map(\.mappingType) == [
                .transformEntityMappingType, .transformEntityMappingType, .transformEntityMappingType,
                .transformEntityMappingType, .addEntityMappingType,
            ])
        #expect(
            InferenceModels.expressions(model, "AccountToAccount") == [
                "note": "$source.note", "number": "$source.number", "owner": lookup(relationship: "owner"),
                "transactions": lookup("TradeToTransaction", "trades"),
            ])
        let trade = try #require(model.entityMappingsByName["TradeToTransaction"])
        #expect(trade.sourceFilter?.format == "amount > 0 AND account != nil")
        #expect(
            trade.attributeMappings?.compactMap(\.name) == ["celsius", "flag", "kind", "new", "title", "totalCost"])
        #expect(trade.attributeMappings?.filter(\.isAutomatic).compactMap(\.name) == ["flag", "new", "title"])
        #expect(trade.relationshipMappings?.compactMap(\.name) == ["account", "buyer"])
        #expect(trade.relationshipMapping(named: "buyer")?.valueExpression == nil)
        #expect((trade.place?.line, trade.place?.column) == (20, 5))
        let kind = trade.attributeMapping(named: "kind")
        #expect((kind?.place?.line, kind?.place?.column) == (29, 17))
        #expect(trade.sourceEntityVersionHash?.count == 32)
        #expect(trade.destinationEntityVersionHash?.count == 32)
        #expect(InferenceModels.expressions(model, "CustomerToCustomer")["rank"] == "$source.rank + 1")
        let audit = try #require(model.entityMappingsByName["Audit"])
        #expect(audit.attributeMappings?.count == 1)
        #expect(audit.sourceEntityVersionHash == nil)
    }

    @Test("The example with a policy, a split and a removal is read")
    func split() throws {
        let model = try JSONModels.read(try fixture("shop-split"))
        #expect(
            model.entityMappings.map(\.mappingType) == [
                .transformEntityMappingType, .customEntityMappingType, .transformEntityMappingType,
                .removeEntityMappingType,
            ])
        let sales = try #require(model.entityMappingsByName["Sales"])
        #expect(sales.hasPolicy)
        #expect(sales.entityMigrationPolicyClassName == "Shop.TradePolicy")
        #expect(sales.userInfo?["currency"] as? String == "EUR")
        let factors = try #require(sales.userInfo?["factors"] as? [Any])
        #expect(factors.map { UserInfoValue($0) }.prefix(4) == [.integer(1), .double(2.5), .boolean(true), .null])
        #expect((factors.last as? [String: Any])?["deep"] as? String == "value")
        #expect(model.entityMappings.last?.name == "Old")
        // An attribute that may be nil and must not any more: listing its expression says that nil is no default.
        let note = try #require(model.entityMappingsByName["Accounts"]?.attributeMapping(named: "note"))
        #expect(!note.isAutomatic && !note.replacesNil)
        let number = try #require(model.entityMappingsByName["Accounts"]?.attributeMapping(named: "number"))
        #expect(number.isAutomatic)
        let owner = try #require(model.entityMappingsByName["Accounts"]?.relationshipMapping(named: "owner"))
        #expect(!owner.isAutomatic && owner.valueExpression == nil)
    }

    @Test("A mapping model that was read is written, and read again as the same", arguments: ["shop", "shop-split"])
    func roundTrip(_ name: String) throws {
        let model = try JSONModels.read(try fixture(name))
        let text = try model.json()
        let again = try JSONModels.read(text)
        #expect(again.differences(from: model) == [])
        #expect(try again.json() == text)
    }

    @Test("Files of version 1 are read, and written as version 2")
    func versions() throws {
        let text = try fixture("shop")
        #expect(text.contains("\"formatVersion\": 1"))
        let model = try JSONModels.read(text)
        let written = try model.json()
        #expect(written.contains("\"formatVersion\": 2"))
        let second = try JSONModels.read(text.replacingOccurrences(of: "Version\": 1", with: "Version\": 2"))
        #expect(second.differences(from: model) == [])
    }

    @Test("An inferred model is written whole, but for the expression that replaces nil")
    func inferred() throws {
        let source = try InferenceModels.model(
            InferenceModels.entity(
                "Account", [InferenceModels.attribute("note"), InferenceModels.attribute("oldName")],
                [InferenceModels.toOne("next", "Account")]), InferenceModels.entity("Old"))
        let destination = try InferenceModels.model(
            InferenceModels.entity(
                "Account",
                [
                    InferenceModels.attribute("note", required: true, default: .string("x")),
                    InferenceModels.attribute("added"), InferenceModels.attribute("name", id: "oldName"),
                ], [InferenceModels.toOne("next", "Account")]),
            InferenceModels.entity("New", [InferenceModels.attribute("a")]))
        let model = try InferenceModels.infer(source, destination)
        let text = try model.json()
        #expect(
            text == """
                {
                  "formatVersion": 2,
                  "rulesOfTheSource": "warn",
                  "entityMappings": [
                    {
                      "name": "IEM_Transform_Account",
                      "mappingType": "transform",
                      "sourceEntity": "Account",
                      "destinationEntity": "Account",
                      "attributes": {
                        "added": null,
                        "name": "$source.oldName"
                      },
                      "relationships": {
                        "next": "\(lookup("IEM_Transform_Account", "next"))"
                      }
                    },
                    {
                      "name": "IEM_Add_New",
                      "mappingType": "add",
                      "destinationEntity": "New"
                    },
                    {
                      "name": "IEM_Remove_Old",
                      "mappingType": "remove",
                      "sourceEntity": "Old"
                    }
                  ]
                }

                """)
        let read = try MappingModel.reading(
            json: Array(text.utf8), path: "m.json", source: source, destination: destination)
        #expect(read.differences(from: model) == [])
        let note = try #require(read.entityMappings[0].attributeMapping(named: "note"))
        #expect(note.isAutomatic && note.replacesNil)
    }

    @Test("The listed equal of an automatic expression is automatic, however it is spelled; any other is not")
    func automatic() throws {
        let model = try JSONModels.read(
            """
            {"formatVersion": 1, "entityMappings": [
              {"sourceEntity": "Customer", "destinationEntity": "Customer",
               "attributes": {"name": "  $source . name", "rank": null, "temp": "'x'"}},
              {"sourceEntity": "Account", "destinationEntity": "Account", "attributes": {"note": "$source.note"}}
            ]}
            """)
        let customer = model.entityMappings[0]
        #expect(customer.attributeMapping(named: "name")?.isAutomatic == true)
        #expect(customer.attributeMapping(named: "rank")?.isAutomatic == false)
        #expect(customer.attributeMapping(named: "temp")?.isAutomatic == false)
        #expect(model.entityMappings[1].attributeMapping(named: "note")?.isAutomatic == false)
        #expect(try JSONModels.read(try model.json()).differences(from: model) == [])
    }

    @Test("Attributes named like words of the expression language survive")
    func reservedNames() throws {
        let names = [
            "in", "like", "all", "first", "last", "size", "nil", "null", "true", "yes", "self", "SELF", "TERNARY",
            "not",
            "and", "or", "cast", "FUNCTION", "any", "none", "between", "größe", "_x", "x1", "contains", "now", "sum",
        ]
        let source = try InferenceModels.model(
            InferenceModels.entity("E", names.map { InferenceModels.attribute($0) }, []))
        let destination = try InferenceModels.model(
            InferenceModels.entity("E", names.map { InferenceModels.attribute($0) } + [InferenceModels.attribute("zz")])
        )
        let model = try InferenceModels.infer(source, destination)
        let read = try MappingModel.reading(
            json: Array(try model.json().utf8), path: "m.json", source: source, destination: destination)
        #expect(read.differences(from: model) == [])
        #expect(read.entityMappings[0].attributeMappings?.filter(\.isAutomatic).count == names.count + 1)
    }

    @Test(
        "An unlisted relationship whose old destination went elsewhere is refused, one that nothing migrates is empty")
    func unlistedRelationship() throws {
        func text(_ others: String) -> String {
            """
            {"formatVersion": 1, "entityMappings": [
              {"sourceEntity": "Trade", "destinationEntity": "Transaction",
               "attributes": {"totalCost": "1", "kind": "2"}}\(others)]}
            """
        }
        let alone = try JSONModels.read(text(""))
        #expect(
            alone.entityMappings[0].relationshipMapping(named: "account")?.valueExpression?.format
                == lookup(relationship: "account"))
        let elsewhere = text(#", {"sourceEntity": "Account", "destinationEntity": "Audit"}"#)
        let error = try #require(throws: MigrationError.self) { try JSONModels.read(elsewhere) }
        #expect(error.code == "mapping.unlistedProperty")
        #expect(error.context.property == "account")
        #expect((error.context.line, error.context.column) == (2, 3))
        #expect(error.message.contains("Account became Audit, and Account is neither"))
    }

    @Test("Differences name what differs")
    func differences() throws {
        let text = try fixture("shop")
        let model = try JSONModels.read(text)
        for (old, new, expected) in [
            ("amount > 0", "amount > 1", "TradeToTransaction: source objects"),
            ("($source.temperature - 32.0) / 1.8", "$source.temperature", "TradeToTransaction: attribute celsius"),
            ("\"Audit\"", "\"Account\"", "Audit: name Audit and Account"),
            (
                "\"mappingType\": \"transform\"", "\"mappingType\": \"copy\"",
                "TradeToTransaction: type transform and copy"
            ),
        ] {
            let other = try JSONModels.read(text.replacingOccurrences(of: old, with: new))
            let differences = model.differences(from: other)
            #expect(differences.contains { $0.hasPrefix(expected) }, "\(differences)")
        }
    }

    @Test("The compiler's source expression is written as the filter it holds, any other as it is")
    func sourceExpressions() throws {
        func model(_ fetch: String) throws -> MappingModel {
            let model = try JSONModels.read(try fixture("shop"))
            model.entityMappings[0].sourceExpression = try ValueExpression(parsing: fetch)
            return model
        }
        let plain = try JSONModels.read(try fixture("shop"))
        func fetch(_ entity: String, _ predicate: String) -> String {
            "FETCH(FUNCTION($manager, 'fetchRequestForSourceEntityNamed:predicateString:', '\(entity)', \"\(predicate)\"), "
                + "$manager.sourceContext, NO)"
        }
        let all = try model(fetch("Account", "TRUEPREDICATE"))
        #expect(all.differences(from: plain) == [])
        #expect(try all.json() == plain.json())
        let filtered = try model(fetch("Account", "number != nil"))
        let read = try JSONModels.read(try filtered.json())
        #expect(read.entityMappings[0].sourceFilter?.format == "number != nil")
        #expect(read.differences(from: filtered) == [])
        for other in [fetch("Trade", "TRUEPREDICATE"), "$manager.everything"] {
            let strange = try model(other)
            #expect(strange.differences(from: plain) != [])
            let again = try JSONModels.read(try strange.json())
            #expect(again.differences(from: strange) == [])
            #expect(again.entityMappings[0].sourceExpression?.format == (try ValueExpression(parsing: other)).format)
        }
    }

    @Test("A mapping model that JSON cannot express is refused when it is written")
    func notWritable() throws {
        let changes: [(EntityMapping) -> Void] = [
            { $0.userInfo = ["uuid": UUID()] },
            { $0.userInfo = [1: "x"] },
            { $0.attributeMappings?[0].userInfo = ["a": [UUID()]] },
            { $0.attributeMappings?[0].name = nil },
            { $0.name = nil },
            { $0.destinationEntityName = nil },
        ]
        for change in changes {
            let model = try JSONModels.read(try fixture("shop"))
            change(model.entityMappings[0])
            do throws(MigrationError) {
                _ = try model.json()
                Issue.record("the model was written")
            } catch {
                #expect(error.code == "mapping.notWritable")
                #expect(error.category == .configuration)
                #expect(error.context.line == 4)
            }
        }
    }

    @Test("A property's userInfo, dates, data, decimals and their look-alikes survive")
    func userInfo() throws {
        let model = try JSONModels.read(try fixture("shop"))
        let info: [AnyHashable: Any] = [
            "day": Date(timeIntervalSinceReferenceDate: 12.5), "bytes": Data([1, 2]),
            "price": Decimal(string: "12.50") as Any,
            "number": NSDecimalNumber(string: "1e20"), "alike": ["$date": 5], "nested": ["$object": ["$data": "x"]],
            "list": [["$decimal": "1"], 1, true, NSNull()] as [Any],
        ]
        model.entityMappings[0].userInfo = info
        model.entityMappings[0].attributeMappings?[0].userInfo = ["a": 1]
        let note = try #require(model.entityMappings[0].attributeMapping(named: "note"))
        note.userInfo = ["b": Data()]
        note.isAutomatic = true
        note.replacesNil = true
        note.valueExpression = try ValueExpression(parsing: "$source.note")
        let text = try model.json()
        let again = try JSONModels.read(text)
        #expect(again.differences(from: model) == [])
        #expect(try again.json() == text)
        #expect(again.entityMappings[0].userInfo?["day"] as? Date == Date(timeIntervalSinceReferenceDate: 12.5))
        #expect(
            (again.entityMappings[0].userInfo?["number"] as? NSDecimalNumber)?.stringValue == "100000000000000000000")
        #expect(again.entityMappings[0].attributeMapping(named: "note")?.userInfo?["b"] as? Data == Data())
    }

    @Test("Unlisted properties can be left alone, and hashes of other versions are refused")
    func unlisted() throws {
        func text(_ more: String) -> String {
            """
            {"formatVersion": 1, "entityMappings": [
              {"sourceEntity": "Customer", "destinationEntity": "Customer",
               \(more), "attributes": {"rank": "$source.rank"}}]}
            """
        }
        let model = try JSONModels.read(text("\"unlisted\": \"untouched\""))
        let customer = model.entityMappings[0]
        #expect(customer.attributeMapping(named: "name")?.valueExpression == nil)
        #expect(customer.attributeMapping(named: "name")?.isAutomatic == false)
        #expect(customer.attributeMapping(named: "rank")?.isAutomatic == true)
        let automatic = try JSONModels.read(text("\"unlisted\": \"automatic\""))
        #expect(automatic.entityMappings[0].attributeMapping(named: "name")?.isAutomatic == true)
        let hash = try #require(customer.sourceEntityVersionHash)
        let stated = try JSONModels.read(text("\"sourceEntityVersionHash\": \"\(hash.base64EncodedString())\""))
        #expect(try stated.json().contains("\"\(hash.hexadecimal)\""))
        for form in [hash.hexadecimal, hash.hexadecimal.uppercased()] {
            let again = try JSONModels.read(text("\"sourceEntityVersionHash\": \"\(form)\""))
            #expect(again.entityMappings[0].sourceEntityVersionHash == hash)
            #expect(again.entityMappings[0].statesVersionHashes)
        }
        for (more, code) in [
            ("\"unlisted\": \"whatever\"", "mapping.valueType"),
            ("\"sourceEntityVersionHash\": \"AAAA\"", "mapping.valueType"),
            ("\"destinationEntityVersionHash\": \"\(Data(count: 32).base64EncodedString())\"", "mapping.versionHash"),
            ("\"sourceExpression\": \"1 +\"", "mapping.expression"),
        ] {
            let error = try #require(throws: MigrationError.self) { try JSONModels.read(text(more)) }
            #expect(error.code.rawValue == code, "\(error)")
            #expect(error.context.line != nil && error.context.path == "shop.json")
        }
    }

    @Test("Losses and the null of a property that only the source has are kept")
    func losses() throws {
        let text = #"""
            {"formatVersion": 2, "losses": ["Trade.temperature", "Old"], "entityMappings": [
             {"sourceEntity": "Account", "destinationEntity": "Account", "relationships": {"trades": null, "transactions": null}},
             {"sourceEntity": "Trade", "destinationEntity": "Transaction", "attributes": {"amount": null, "kind": null,
              "totalCost": "1.0"}}]}
            """#
        let model = try JSONModels.read(text)
        #expect(model.losses == ["Trade.temperature", "Old"])
        #expect(model.entityMappings.map(\.droppedProperties) == [["trades"], ["amount", "kind"]])
        #expect(model.entityMappings[1].attributeMapping(named: "amount") == nil)
        let written = try model.json()
        let again = try JSONModels.read(written)
        #expect(try again.json() == written && again.losses == model.losses)
        #expect(again.entityMappings.map(\.droppedProperties) == model.entityMappings.map(\.droppedProperties))
    }

    @Test(
        "A loss that the source does not have",
        arguments: [
            (
                "Trade.amuont", "The source entity Trade has no property amuont that could stay behind",
                "Did you mean 'amount'?"
            ),
            ("Trad", "The source model has no entity Trad whose data could stay behind", "Did you mean 'Trade'?"),
        ])
    func unknownLoss(name: String, message: String, remedy: String) throws {
        let error = try #require(throws: MigrationError.self) {
            try JSONModels.read(
                "{\"formatVersion\": 2,\n \"losses\": [\"Old\", \"\(name)\"], \"entityMappings\": []}")
        }
        #expect(error.message == message && error.remedy == remedy && error.category == .configuration)
        #expect((error.context.path, error.context.line, error.context.column) == ("shop.json", 2, 20))
    }
}
