import Foundation
import SwiftTokens
import TestSupport
import Testing

@testable import StagecoachCommand

@Suite("Porting policy sources")
struct PortTests {
    private func port(_ source: String) -> PortedSource {
        let reader = DeclarationReader(tokens: SwiftLexer.tokens(of: source), file: "a.swift")
        let book = DeclarationReader(tokens: SwiftLexer.tokens(of: "class Book: NSManagedObject {}"), file: "b.swift")
        let declarations = SourceDeclarations([reader, book])
        return PortRules.apply(file: "a.swift", source: source, reader: reader, declarations: declarations)
    }

    private static let replacements = [
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
        (
            "class A: NSManagedObject {\n@NSManaged @objc(c) public var b: Int\nlet k = #keyPath(A.b)\n}",
            "class A: NSManagedObject {\npublic var b: Int { get { value(forKey: \"c\") as! Int } set { setValue(newValue, forKey: \"c\") } }\nlet k = \"c\"\n}"
        ),
        ("let a = NSBundle.mainBundle().bundleIdentifier! + x", "let a = (Bundle.main.bundleIdentifier ?? \"\") + x"),
        (
            "import CoreData\nlet a = URLSession.shared",
            "import Stagecoach\nimport FoundationNetworking\nlet a = URLSession.shared"
        ),
        (
            "@Injected(a: 1) private var a: Int = 2",
            "private var a: Int { get { fatalError(\"@Injected is not ported\") } set { fatalError(\"@Injected is not ported\") } }"
        ),
        (
            "class A: Base { override func end(_ mapping: NSEntityMapping, manager: NSMigrationManager) throws { report() } }",
            "class A: Base { override func end(_ mapping: NSEntityMapping, manager: NSMigrationManager) throws { self.report() } }"
        ),
        ("class P { @Published private(set) var a = 2 }", "class P { private(set) var a = 2 }"),
        ("let a = b.characters.count", "let a = b.count"),
        ("let a = Bundle.main.bundleIdentifier! + x", "let a = (Bundle.main.bundleIdentifier ?? \"\") + x"),
        ("let a = (x as? NSSet) ?? []", "let a = (x as? NSSet) ?? NSSet()"),
        ("let a = x as? NSSet ?? []", "let a = x as? NSSet ?? NSSet()"),
        ("let a = NSPredicate(format: f, x as! CVarArg)", "let a = NSPredicate(format: f, x)"),
        ("let a = NSPredicate(format: f, (x as CVarArg), y)", "let a = NSPredicate(format: f, (x), y)"),
        ("func f() { let a: [CVarArg] = [x as CVarArg] }", "func f() { let a: [Any] = [x as Any] }"),
        ("(x as AnyObject).value(forKey: k)", "(x as! NSManagedObject).value(forKey: k)"),
        ("(x as? NSObject)?.setValue(1, forKey: k)", "(x as? NSManagedObject)?.setValue(1, forKey: k)"),
        (
            "static func f(o: NSObject) { o.value(forKey: k) }",
            "static func f(o: NSManagedObject) { o.value(forKey: k) }"
        ),
        (
            "for e in x as! Set<NSObject> { e.value(forKey: k) }",
            "for e in x as! Set<NSManagedObject> { e.value(forKey: k) }"
        ),
        (
            "let r: NSFetchRequest<Book> = Book.fetchRequest()",
            "let r: NSFetchRequest<NSManagedObject> = NSFetchRequest<NSManagedObject>(entityName: \"Book\")"
        ),
        (
            "let r: NSFetchRequest<NSFetchRequestResult> = Book.fetchRequest()",
            "let r: NSFetchRequest<NSFetchRequestResult> = NSFetchRequest<NSFetchRequestResult>(entityName: \"Book\")"
        ),
        (
            "class P: NSEntityMigrationPolicy { public override init() { super.init() } }",
            "class P: NSEntityMigrationPolicy { public required init() { super.init() } }"
        ),
        (
            "class P: NSEntityMigrationPolicy { required override init() { super.init() } }",
            "class P: NSEntityMigrationPolicy { required init() { super.init() } }"
        ),
        (
            "class P: NSEntityMigrationPolicy { override func beginEntityMapping(mapping: NSEntityMapping, manager: NSMigrationManager) throws {} }",
            "class P: NSEntityMigrationPolicy { override func begin(_ mapping: NSEntityMapping, with manager: NSMigrationManager) throws {} }"
        ),
        (
            "override func createRelationships(forDestinationInstance d: NSManagedObject, entityMapping mapping: NSEntityMapping, manager: NSMigrationManager) throws { try super.createRelationships(forDestinationInstance: d, entityMapping: mapping, manager: manager) }",
            "override func createRelationships(forDestination d: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager) throws { try super.createRelationships(forDestination: d, in: mapping, manager: manager) }"
        ),
        (
            "m.associateSourceInstance(a, withDestinationInstance: b(c, d: e), forEntityMapping: f)",
            "m.associate(sourceInstance: a, withDestinationInstance: b(c, d: e), for: f)"
        ),
        ("a.valueForKey(\"b\")?.lowercaseString", "a.value(forKey: \"b\")?.lowercased()"),
        ("let r = NSFetchRequest(entityName: e)", "let r = NSFetchRequest<NSManagedObject>(entityName: e)"),
        (
            "@NSManaged func addToBooks(_ b: Book)\n",
            "func addToBooks(_ b: Book) { mutableSetValue(forKey: \"books\").add(b) }\n"
        ),
        (
            "@objc(removeBooks:)\n@NSManaged public func removeFromBooks(_ v: NSSet)\n",
            "public func removeFromBooks(_ v: NSSet) { for member in v { mutableSetValue(forKey: \"books\").remove(member) } }\n"
        ),
        (
            "@NSManaged func insertIntoBooks(_ b: Book, at i: Int)\n",
            "func insertIntoBooks(_ b: Book, at i: Int) { mutableOrderedSetValue(forKey: \"books\").insert(b, at: i) }\n"
        ),
        ("@NSManaged func other(_ b: Book)\n", "// @NSManaged func other(_ b: Book)\n"),
        ("#if canImport(CoreData)\n#endif", "#if canImport(Stagecoach)\n#endif"),
        ("let a = \"\\(b.valueForKey(\"c\"))\"", "let a = \"\\(b.value(forKey: \"c\"))\""),
        ("let a = NSBundle.mainBundle()", "let a = Bundle.main"),
        ("let a = title.characters.count", "let a = title.count"),
        ("count++\n", "count += 1\n"),
        (
            "let r = Book.fetchRequest() as NSFetchRequest<Book>",
            "let r = NSFetchRequest<NSManagedObject>(entityName: \"Book\") as NSFetchRequest<NSManagedObject>"
        ),
        (
            "let n = try c.count(for: NSFetchRequest(entityName: e))",
            "let n = try c.count(for: NSFetchRequest<NSManagedObject>(entityName: e))"
        ),
        ("struct A { static var b = 0 }", "struct A { static nonisolated(unsafe) var b = 0 }"),
        (
            "class Q: NSManagedObject { override func validateValue(_ v: AutoreleasingUnsafeMutablePointer<AnyObject?>, forKey k: String) throws { try super.validateValue(v, forKey: k); print(v.pointee) } }",
            "class Q: NSManagedObject { override func validateValue(_ v: inout AnyObject?, forKey k: String) throws { try super.validateValue(&v, forKey: k); print(v) } }"
        ),
        (
            "class O: NSObject { override func observeValue(forKeyPath k: String?) { super.observeValue(forKeyPath: k) } }",
            "class O: NSObject { func observeValue(forKeyPath k: String?) { () } }"
        ),
        // In a source for Swift 2.
        ("enum E: ErrorType { case A }", "enum E: Error { case A }"),
        ("let a: ErrorType; if let b = c, d = e where f { }", "let a: Error; if let b = c, let d = e, f { }"),
        ("let a: ErrorType; func f(b: Int, c: Int) {}", "let a: Error; func f(_ b: Int, c: Int) {}"),
        ("let a: ErrorType; f(.UserDomainMask, .URLPath)", "let a: Error; f(.userDomainMask, .urlPath)"),
        (
            "func f(a: ErrorType) { let d: [NSObject : AnyObject] = [:] }",
            "func f(_ a: Error) { let d: [String : Any] = [:] }"
        ),
        ("let a: ErrorType; let d = NSData(contentsOfURL: u)", "let a: Error; let d = (try? Data(contentsOf: u))"),
    ]

    @Test("Each refused word is found and replaced", arguments: replacements)
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
            let a = "@objc #selector(x) \\(String("import CoreData")) end"
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
        #expect(ported.findings.map(\.kind) == [.manual, .manual, .hint, .hint, .hint])
        #expect(ported.findings.map(\.line) == [1, 2, 3, 4, 5])
    }

    private static let decisions = [
        ("import HealthKit", "There is no module HealthKit on Linux"),
        ("import SwiftyLog", "The module SwiftyLog is the app's or a package's"),
        ("(x as? NSSet)?.value(forKey: k)", "NSSet has no values by key"),
        ("Bundle.main.infoDictionary![k]", "no Info.plist"),
        ("text.enumerateSubstrings(in: r, options: .byWords) { _, _, _, _ in }", "no words"),
        ("let s: NSArray = x; s.value(forKey: k)", "NSArray has no values by key"),
        ("static func f(e: NSErrorPointer) -> Bool", "Linux has no error pointers"),
        ("m.observe(\\.migrationProgress) { m, _ in }", "migrationProgressHandler"),
        (
            "m.addObserver(self, forKeyPath: \"migrationProgress\", options: .new, context: nil)",
            "migrationProgressHandler"
        ),
        ("func f(n: Notification.Name = .NSManagedObjectContextDidSave) {}", "No context posts notifications here"),
        ("c.addObserver(self, selector: s, name: n, object: nil)", "Linux has no selectors"),
        ("let c: NSFetchedResultsController<NSManagedObject>", "Stagecoach has no such class"),
        ("func f(o: NSManagedObject) { o.trimmed() }", "Nothing on Linux has a member trimmed"),
        ("func f(o: NSManagedObject) { o.uppercased() }", "Nothing on Linux has a member uppercased"),
        ("func f() { trackEvent(1) }", "No source declares trackEvent()"),
        ("func f() { log.debug(\"a\") }", "No source declares log"),
        ("let a = kUTTypeJPEG", "Linux has no kUTTypeJPEG"),
        ("protocol P { optional func f() }", "Linux has no optional requirements"),
        ("let a = String(format: f, x as! CVarArg)", "On Linux numbers are CVarArg"),
        (
            "class P: NSEntityMigrationPolicy { init(a: Int) { self.init() } }",
            "The registry makes policies by init(): add required init()"
        ),
    ]

    @Test("What a person decides is named with its line", arguments: decisions)
    func decided(_ source: String, _ message: String) {
        let findings = port("\n" + source).findings
        #expect(findings.contains { $0.line == 2 && $0.message.contains(message) }, "\(findings)")
    }

    @Test("Calls that only look like older names, and Swift's own, stay as they are")
    func alike() {
        for source in [
            "func addObject(_ o: Int) {}", "a.begin(b, manager: c)", "override init(entity e: E) {}",
            "class A { override init() {} }", "set.add(x as AnyObject)", "let a: AnyObject = b", "a ?? []",
            "m.mergePolicy = NSErrorMergePolicy", "request.fetchRequest(1)", "let n = NSNumber(value: 1)",
            "import FoundationXML", "let n = i + +1", "nonisolated(unsafe) var a = 0",
            "public nonisolated(unsafe) var a = 0", "struct A { nonisolated(unsafe) static var b = 0 }",
            "for (index, part) in \"a\".enumerated() { print(index, part) }", "static let a = 1",
        ] { #expect(port(source).edits.isEmpty, "\(source)") }
    }

    @Test("Keys follow classes through relationships and superclasses")
    func keys() {
        let source = """
            class A: NSManagedObject { @NSManaged @objc(bee) var b: B? }
            class B: Base { @NSManaged var others: Set<A> }
            class Base: NSManagedObject { @objc(enn) @NSManaged var n: Int }
            let a = [#keyPath(A.b.n), #keyPath(B.others.b), #keyPath(A.b.none), #keyPath(Other.b)]
            """
        #expect(port(source).ported.contains("[\"bee.enn\", \"others.bee\", \"bee.none\", \"b\"]"))
    }

    @Test("Types that nobody declares are named, with what stubs are made of them")
    func stubs() throws {
        let folder = try TemporaryFolder()
        let source = """
            import CoreData
            import Lumber
            class P: AppPolicy, Reporting {
                override func end(_ mapping: NSEntityMapping, manager: NSMigrationManager) throws {
                    LumberLog("end", level: 1)
                    let request: NSFetchRequest<Thing> = fetch()
                    if let known = Known.Kind(raw: 1) { print(known, Known.shared.name) }
                    throw NSError(domain: NSCocoaErrorDomain, code: NSMigrationError)
                }
                func generic<Value: Codable>(_ value: Value) {}
            }
            #if DEBUG
            #endif
            """
        try Data(source.utf8).write(to: folder.url.appendingPathComponent("P.swift"))
        let port = try PolicyPort(path: folder.file("P.swift"))
        #expect(
            port.missingTypes.map { "\($0.name) \($0.kind.rawValue) \($0.line)" } == [
                "AppPolicy policy 3", "Known other 7", "LumberLog function 5", "Reporting protocol 3",
                "Thing object 6",
            ])
        #expect(port.registrations.map(\.className) == ["P"])
    }

    @Test("What is only a name of Linux, of Stagecoach or of the sources is no finding")
    func known() {
        let source = """
            import Stagecoach
            extension NSManagedObject { var title: String? { value(forKey: "title") as? String } }
            func f(_ o: NSManagedObject, c: NSManagedObjectContext) throws {
                let (known, isNew) = o.title.map { ($0, true) } ?? ("", false)
                guard Set([known]).insert("a").inserted, isNew else { return }
                let texts = ["b"].enumerated().map { index, text in "\\(index)\\(text.uppercased())" }
                print(texts, o.entity.attributesByName, c.hasChanges, o.objectID.uriRepresentation().absoluteString)
                os.reduce(into: 0) { $0 += $1 }
                if case .some(let value) = o.title.flatMap({ Int($0) }) { print(value, log(2.0), pow(2.0, 3.0)) }
            }
            let os = [1]
            @MainActor var shown: Int { os.count }
            """
        #expect(port(source).findings == [])
    }

    @Test("Every alias of Core Data's names is known, so that no stub hides it")
    func aliases() throws {
        let file = SharedStores.repository.appendingPathComponent("Sources/Stagecoach/Aliases.swift")
        let names = try String(contentsOf: file, encoding: .utf8).matches(of: /typealias (\w+)/).map { String($0.1) }
        #expect(names.count > 20)
        #expect(Set(names).subtracting(PortTable.knownTypes).isEmpty)
    }

    @Test("An Objective-C policy becomes a skeleton: methods in the order of their calls, messages, functions")
    func objectiveC() throws {
        let port = try PolicyPort(
            path: SharedStores.repository.appendingPathComponent("Fixtures/PortExamples/Photos").path)
        let policy = try #require(port.objectiveCPolicies.first)
        #expect(policy.file == "AlbumPolicy.m" && policy.line == 3)
        #expect(policy.overridden.map(\.method.name) == ["createDestinationInstances", "end"])
        #expect(policy.functions.map(\.selector) == ["slugForTitle:separator:", "numberOfPhotos:"])
        #expect(
            policy.overridden.first?.source.messages.map(\.selector) == [
                "destinationContext", "insertNewObjectForEntityForName:inManagedObjectContext:", "valueForKey:",
                "setValue:forKey:", "valueForKey:", "slugForTitle:separator:", "setValue:forKey:",
                "associateSourceInstance:withDestinationInstance:forEntityMapping:",
            ])
        #expect(policy.skeleton.contains("try super.end(mapping, manager: manager)"))
        #expect(
            policy.registration.statement == """
                PolicyRegistry.register(AlbumPolicy.self) { functions in
                    functions.add("slugForTitle:separator:", AlbumPolicy.slugForTitle(_:separator:))
                    functions.add("numberOfPhotos:", AlbumPolicy.numberOfPhotos(_:))
                }
                """)
    }

    @Test("Objective-C in other styles: superclasses, categories, blocks, macros, characters, words of Swift")
    func objectiveCStyles() throws {
        let port = try PolicyPort(
            path: SharedStores.repository.appendingPathComponent("Fixtures/PortExamples/Scans").path)
        #expect(port.objectiveCPolicies.map(\.className) == ["ScanBasePolicy", "ScanPolicy"])
        let policy = try #require(port.objectiveCPolicies.last)
        #expect(policy.file == "ScanPolicy.m" && policy.line == 20)
        #expect(policy.overridden.map(\.method.name) == ["begin", "createDestinationInstances"])
        #expect(policy.functions.map(\.selector) == ["class:default:", "trimmed:"])
        #expect(policy.overridden.last?.source.messages.last?.selector == "postNotificationName:object:")
        #expect(policy.skeleton.contains("class ScanPolicy: ScanBasePolicy {"))
        #expect(policy.skeleton.contains("override func trimmed(_ text: String?) -> String?"))
        #expect(policy.registration.statement.contains("ScanPolicy.`class`(_:default:)"))
    }

    @Test("Categories and class extensions of Objective-C are no classes")
    func objectiveCExtensions() throws {
        let port = try PolicyPort(
            path: SharedStores.repository.appendingPathComponent("Fixtures/PortExamples/Garage").path)
        #expect(port.objectiveCPolicies.map(\.className) == ["GarageLegacyPolicy"])
        #expect(port.objectiveCPolicies.first?.functions.map(\.selector) == ["plateOf:"])
        // A key path of a class that nobody declares is a finding with its line.
        let path = try #require(port.findings.first { $0.text.hasPrefix("#keyPath") })
        #expect(path.kind == .manual && path.line == 43 && path.message.contains("--context"), "\(path)")
    }

    @Test("A policy in Objective-C has a skeleton, and so no stub as the superclass of one in Swift")
    func objectiveCSuperclass() throws {
        let port = try PolicyPort(
            path: SharedStores.repository.appendingPathComponent("Fixtures/PortExamples/Radio").path)
        #expect(port.missingTypes.isEmpty, "\(port.missingTypes.map(\.name))")
        #expect(port.registrations.map(\.className) == ["ChannelPolicy"])
        #expect(port.objectiveCPolicies.map(\.className) == ["RadioBasePolicy"])
    }

    @Test("Stubs are objects where the manager gets them, and what an alias, .init and an index ask of them is there")
    func kindsOfStubs() throws {
        let port = try PolicyPort(
            path: SharedStores.repository.appendingPathComponent("Fixtures/PortExamples/Wardrobe").path)
        let kinds = Dictionary(uniqueKeysWithValues: port.missingTypes.map { ($0.name, $0.kind) })
        #expect(kinds["Garment"] == .object && kinds["Outfit"] == .object, "\(kinds)")
        #expect(kinds["UIImage"] == .other && kinds["CloudEntry"] == .other, "\(kinds)")
        let folder = try TemporaryFolder()
        let output = folder.file("out")
        try PolicySourceFiles.makeFolder(output)
        try port.write(to: output)
        let stubs = try String(contentsOfFile: output + "/Stubs.swift", encoding: .utf8)
        for line in [
            "init?(data a0: Any?) { stop(\"UIImage\") }", "init(limit a0: Any?) { stop(\"OutfitFinder\") }",
            "init(number a0: Any?) { stop(\"Closet.Shelf\") }", "class Fast {",
        ] { #expect(stubs.contains(line), "\(line)\n\(stubs)") }
        let ported = try String(contentsOfFile: output + "/GarmentPolicy.swift", encoding: .utf8)
        #expect(ported.contains("CloudEntry(kind: Missing.garment, finder: Missing()(depth: 2))"), "\(ported)")
    }

    @Test("A pattern that no error of Swift matches on Linux becomes a conversion")
    func foundationErrors() throws {
        let folder = try TemporaryFolder()
        try Data(
            """
            func work() {
                do { try run() } catch let e as NSError where e.code == 3 { print(e.domain) } catch let x as NSError { print(x) }
                do { try run() } catch let e as CocoaError { print(e) } catch {}
            }
            """.utf8
        ).write(to: URL(fileURLWithPath: folder.file("P.swift")))
        let output = folder.file("out")
        try PolicySourceFiles.makeFolder(output)
        let port = try PolicyPort(path: folder.file("P.swift"))
        try port.write(to: output)
        let ported = try String(contentsOfFile: output + "/P.swift", encoding: .utf8)
        #expect(
            ported.contains("catch let e where (e as NSError).code == 3 { let e = e as NSError print") == false
                && ported.contains("catch let e where (e as NSError).code == 3 { let e = e as NSError;"), "\(ported)")
        #expect(ported.contains("catch let x { let x = x as NSError;"), "\(ported)")
        #expect(ported.contains("catch let e as CocoaError {"), "\(ported)")
    }

    @Test("What no stub has is a finding: values to bind in a pattern, and the $ name of a wrapper that is not ported")
    func unboundValues() {
        let source = """
            import CoreData
            enum Known { case shown(Int), hidden }
            class P: NSEntityMigrationPolicy {
                @Setting(key: "limit") var limit: Int
                func check(_ raw: Data, _ known: Known, _ result: Result<Int, Error>) {
                    switch Decoder2.decode(raw) {
                    case .text(let text): print(text)
                    case let .image(data, size): print(data, size, $limit.name)
                    default: break
                    }
                    if case .shown(let count) = known { print(count) }
                    if case .success(let count) = result { print(count) }
                }
            }
            """
        let found = port(source).findings.filter { $0.line > 5 }.map { "\($0.line) \($0.kind.rawValue) \($0.text)" }
        #expect(found == ["7 manual text", "8 manual image", "8 manual $limit"], "\(port(source).findings)")
    }

    @Test("Closures of stubs have types and see their class, pairs of stubs are pairs, and bodies of statements stay")
    func closuresOfStubs() throws {
        let folder = try TemporaryFolder()
        let fixture = SharedStores.repository.appendingPathComponent("Fixtures/PortExamples/Clinic").path
        let output = folder.file("out")
        try PolicySourceFiles.makeFolder(output)
        try PolicyPort(path: fixture).write(to: output)
        let ported = try String(contentsOfFile: output + "/ClinicPolicy.swift", encoding: .utf8)
        for line in [
            "in DiagnosisTable.shared.titles as [(Missing, Missing)] where code", "shared.entries.enumerated() {",
            "change(named: \"visit\") { (a0: Missing) in a0.insert(name:",
            "update(where: { (a0: Missing) in a0.id == 3 }, with: { (a0: Missing) in a0.isDone = true })",
            "sorted(by: { $0.order < $1.order })", "perform { [self] in\n", "if DiagnosisTable.shared.isOpen {\n",
            "String(text.characters)",
        ] { #expect(ported.contains(line), "\(line)\n\(ported)") }
        let stubs = try String(contentsOfFile: output + "/Stubs.swift", encoding: .utf8)
        let base = try #require(stubs.firstRange(of: "class ClinicMigrationPolicy: NSEntityMigrationPolicy {"))
        #expect(stubs[base.upperBound...].contains("    subscript(index: Any?) -> Missing {"), "\(stubs)")
    }

    @Test("Sources of the context are known, and not copied")
    func context() throws {
        let folder = try TemporaryFolder()
        for name in ["app", "policies"] {
            try FileManager.default.createDirectory(
                atPath: folder.file(name), withIntermediateDirectories: false)
        }
        try Data(
            """
            import CoreData
            @objc(Book) class Book: NSManagedObject { @objc(author_name) @NSManaged var author: String? }
            class OtherPolicy: NSEntityMigrationPolicy {}
            """.utf8
        ).write(to: URL(fileURLWithPath: folder.file("app/Book.swift")))
        try Data(
            """
            import CoreData
            class BookPolicy: NSEntityMigrationPolicy {
                let key = #keyPath(Book.author)
                func author(of object: NSManagedObject) -> String? { (object as? Book)?.author }
            }
            """.utf8
        ).write(to: URL(fileURLWithPath: folder.file("policies/P.swift")))
        let port = try PolicyPort(path: folder.file("policies"), context: [folder.file("app")])
        #expect(port.findings.contains { $0.text == "#keyPath(Book.author)" && $0.replacement == "\"author_name\"" })
        #expect(port.findings.allSatisfy { $0.file == "P.swift" })
        #expect(port.registrations.map(\.className) == ["BookPolicy"])
        #expect(port.missingTypes.map(\.name) == ["Book"] && port.missingTypes.first?.kind == .object)
        let output = folder.file("out")
        try PolicySourceFiles.makeFolder(output)
        try port.write(to: output)
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: output).sorted()
                == ["P.swift", "RegisterPolicies.swift", "Stubs.swift"])
    }

    @Test("Mapping models tell which functions expressions call, and which no source has")
    func mappings() throws {
        let folder = try TemporaryFolder()
        let json = """
            { "formatVersion": 2, "entityMappings": [ { "name": "AlbumToAlbum", "sourceEntity": "Album",
              "destinationEntity": "Album", "migrationPolicy": "Photos.AlbumPolicy", "attributes": {
                "slug": "FUNCTION($entityPolicy, 'slugForTitle:separator:', $source.title, '-')",
                "size": "FUNCTION($entityPolicy, \\"sizeOf:\\" , $source.photos) + 1", "title": "$source.title" } } ] }
            """
        try Data(json.utf8).write(to: folder.url.appendingPathComponent("a.json"))
        let port = try PolicyPort(
            path: SharedStores.repository.appendingPathComponent("Fixtures/PortExamples/Photos").path,
            mappings: [folder.file("a.json")])
        #expect(port.calledFunctions.map(\.selector).sorted() == ["sizeOf:", "slugForTitle:separator:"])
        #expect(port.missingFunctions.map(\.selector) == ["sizeOf:"])
        #expect(port.missingFunctions.first?.policy == "AlbumPolicy")
        #expect(port.objectiveCPolicies.first?.functions.map(\.selector) == ["slugForTitle:separator:"])
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
        let port = try PolicyPort(
            path: SharedStores.repository.appendingPathComponent("Fixtures/PortExamples/Shelf").path)
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
        let examples = SharedStores.repository.appendingPathComponent("Fixtures/PortExamples/Shelf").path
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
        #expect(
            names == [
                "BasePolicy.swift", "Book.swift", "BookPolicy.swift", "RegisterPolicies.swift",
                "ShelfPolicySkeleton.swift",
            ])
        #expect(run("port", examples, "-o", copies).code == 73)
        #expect(run("port", folder.file("none")).code == 66)
        #expect(run("port", folder.path + "/ported/none.txt").code == 66)
    }
}
