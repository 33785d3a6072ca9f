import Foundation
import TestSupport
import Testing

@testable import StagecoachCommand

@Suite("Porting policy sources")
struct PortTests {
    private func port(_ source: String) -> PortedSource {
        PortRules.apply(
            file: "a.swift", source: source, tokens: SwiftLexer.tokens(of: source), objectClasses: ["Book"])
    }

    @Test(
        "Each refused word is found and replaced",
        arguments: [
            ("import CoreData\n", "import Stagecoach\n"),
            ("import Foundation\nimport CoreData\nlet a = 1\n", "import Stagecoach\nlet a = 1\n"),
            ("@preconcurrency import CoreData\n", "import Stagecoach\n"),
            ("import class CoreData.NSManagedObject\n", "import Stagecoach\n"),
            ("@objc(P) class P {}", "class P {}"),
            ("@objc\nfinal class P {}", "final class P {}"),
            ("@objcMembers class P {}", "class P {}"),
            ("    @objc func f() {}\n", "    func f() {}\n"),
            ("let a = #keyPath(Book.author.name)", "let a = \"author.name\""),
            ("let a = #keyPath(title)", "let a = \"title\""),
            ("let a = #selector(P.toInt16(value:))", "let a = \"toInt16WithValue:\""),
            ("let a = #selector(P.setDatabase)", "let a = \"setDatabase\""),
            ("let a = Selector(\"x:\")", "let a = \"x:\""),
            (
                "@NSManaged public var name: String?\n",
                "public var name: String? { get { value(forKey: \"name\") as? String } set { setValue(newValue, forKey: \"name\") } }\n"
            ),
            ("@NSManaged func addToBooks(_ b: Book)\n", "// @NSManaged func addToBooks(_ b: Book)\n"),
        ])
    func replacement(_ source: String, _ expected: String) {
        let ported = port(source)
        #expect(ported.ported == expected)
        #expect(!ported.findings.isEmpty)
        // A ported file needs no further change.
        #expect(port(ported.ported).edits.isEmpty)
    }

    @Test("Comments, strings and other words stay as they are")
    func untouched() {
        let source = """
            // @objc #keyPath(Book.title) import CoreData
            /* nested /* @objc */ import UIKit */
            let a = "@objc #selector(x) \\(f("import CoreData")) end"
            let b = #"raw " @objc"#
            let c = \"\"\"
                import CoreData "quoted"
                \"\"\"
            let d = model.selector
            """
        let ported = port(source)
        #expect(ported.edits.isEmpty)
        #expect(ported.findings.isEmpty)
        #expect(ported.ported == source)
    }

    @Test("Findings carry line and column in characters")
    func places() {
        let ported = port("import Stagecoach\n\nlet ä = #keyPath(Book.title)\n")
        #expect(ported.findings.map { [$0.line, $0.column] } == [[3, 9]])
        #expect(ported.findings.first?.replacement == "\"title\"")
    }

    @Test("Uses that no rule can replace are named: modules, UIKit's types, transformers, casts to classes")
    func manual() {
        let ported = port(
            "import os.log\nlet c: UIColor\nlet t = ValueTransformer()\nlet b = x as! Book\nlet n = y as? Int64\n")
        #expect(ported.findings.map(\.kind) == [.manual, .manual, .manual, .hint, .hint])
        #expect(ported.findings.map(\.line) == [1, 2, 3, 4, 5])
    }

    @Test(
        "Selectors follow Swift's rule",
        arguments: [
            ("isbn", ["forIsbn"], "isbnForIsbn:"), ("toInt16", ["value"], "toInt16WithValue:"),
            ("f", ["forX", "manager"], "fForX:manager:"), ("setDatabase", [], "setDatabase"),
            ("f", [""], "f:"), ("f", ["", "second", ""], "f:second::"), ("convertTo", ["text"], "convertToText:"),
            ("price", ["inCents", "currency"], "priceInCents:currency:"), ("a", ["information"], "aWithInformation:"),
        ] as [(String, [String], String)])
    func selectors(_ base: String, _ labels: [String], _ expected: String) {
        #expect(SelectorName.selector(base: base, labels: labels) == expected)
    }

    @Test("Registrations hold every policy, through superclasses and extensions, with its Objective-C name")
    func registrations() throws {
        let port = try PolicyPort(path: SharedStores.repository.appendingPathComponent("Fixtures/PortExamples").path)
        #expect(
            port.registrations.map(\.statement) == [
                """
                PolicyRegistry.register(BasePolicy.self) { functions in
                    functions.add("toInt16WithValue:", BasePolicy.toInt16(value:))
                    functions.add("setDatabase", BasePolicy.setDatabase)
                    functions.add("numberForX:manager:", BasePolicy.number(forX:manager:))
                }
                """,
                """
                PolicyRegistry.register(BookPolicy.self, named: "BKBookPolicy") { functions in
                    functions.add("isbnForIsbn:", BookPolicy.isbn(forIsbn:))
                    functions.add("priceInCents:currency:", BookPolicy.price(inCents:currency:))
                }
                """,
            ])
        #expect(port.objectiveCPolicies.map(\.className) == ["ShelfPolicy"])
    }

    @Test("The command prints findings as compilers do, JSON, and writes copies to a new folder only")
    func command() throws {
        let examples = SharedStores.repository.appendingPathComponent("Fixtures/PortExamples").path
        let folder = try TemporaryFolder()
        func run(_ arguments: String...) -> (code: Int32, output: String, messages: String) {
            let output = TextBuffer()
            let messages = TextBuffer()
            let code = Command.run(arguments, console: Console(output: output, error: messages))
            return (code, output.text, messages.text)
        }
        let text = run("port", examples)
        #expect(text.code == 0)
        #expect(text.output.contains("BookPolicy.swift:5:1: change: "))
        #expect(text.output.contains("ShelfPolicy.h:3:1: manual: ShelfPolicy is an Objective-C policy"))
        #expect(text.output.contains("functions.add(\"isbnForIsbn:\", BookPolicy.isbn(forIsbn:))"))
        let json = try JSONSerialization.jsonObject(with: Data(run("port", examples, "--json").output.utf8))
        let object = try #require(json as? [String: Any])
        #expect((object["registrations"] as? [Any])?.count == 2)
        #expect((object["findings"] as? [[String: Any]])?.first?["file"] as? String == "BasePolicy.swift")

        let copies = folder.file("ported")
        #expect(run("port", examples, "-o", copies).code == 0)
        let names = try FileManager.default.contentsOfDirectory(atPath: copies).sorted()
        #expect(names == ["BasePolicy.swift", "Book.swift", "BookPolicy.swift", "RegisterPolicies.swift"])
        #expect(run("port", examples, "-o", copies).code == 73)
        #expect(run("port", folder.file("none")).code == 66)
        #expect(run("port", folder.path + "/ported/none.txt").code == 66)
    }
}
