import UIKit
import CoreData
import os.log

extension OSLog { static let migration = OSLog(subsystem: "a", category: "b") }

struct MigrationContext {
    static var current = MigrationContext()
    let formatter = ISO8601DateFormatter()
    var mapping: [String: [NSManagedObject]] = [:]
}

/// Async work and result types, generics, async sequences.
@available(iOS 15.0, macOS 12.0, *)
class MemoPolicy: NSEntityMigrationPolicy {
    private var context = MigrationContext.current
    private let group = DispatchGroup()
    private let semaphore = DispatchSemaphore(value: 0)
    static let serial = DispatchQueue(label: "x")
    lazy var regex = try! NSRegularExpression(pattern: "#(\\w+)", options: [.caseInsensitive])
    let number: NumberFormatter = { $0.numberStyle = .decimal; return $0 }(NumberFormatter())

    override func createDestinationInstances(forSource sInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager) throws {
        os_signpost(.begin, log: .migration, name: "memo")
        let text = sInstance.value(forKey: #keyPath(Memo.text)) as? String ?? ""
        let matches = regex.matches(in: text, range: NSRange(text.startIndex..., in: text))
        let tags = matches.compactMap { Range($0.range(at: 1), in: text).map { String(text[$0]) } }
        let memo = NSEntityDescription.insertNewObject(forEntityName: "Memo", into: manager.destinationContext)
        memo.setValue(Set(tags).sorted(), forKey: "tags")
        memo.setValue(text.data(using: .utf8)?.base64EncodedString(), forKey: "raw")
        memo.setValue(number.number(from: "1"), forKey: "number")
        memo.setValue(sInstance.value(forKey: "created") as? Date ?? .distantPast, forKey: "created")
        memo.setValue(text.range(of: "a", options: .regularExpression) != nil, forKey: "hasA")
        memo.setValue((text as NSString).substring(to: min(10, text.count)), forKey: "title")
        memo.setValue(text.split(separator: "\n").first.map(String.init), forKey: "first")
        memo.setValue(NSKeyedArchiver.archivedData(withRootObject: tags), forKey: "archive")
        memo.setValue(PropertyListSerialization.propertyList(tags, isValidFor: .binary), forKey: "isList")
        memo.setValue(NSAttributedString(string: text), forKey: "attributed")
        memo.setValue(UIImage(named: "placeholder")?.pngData(), forKey: "icon")
        memo.setValue(Bundle(for: type(of: self)).bundlePath, forKey: "path")
        let result = Result { try load(text) }
        switch result {
        case .success(let value): memo.setValue(value, forKey: "value")
        case .failure(let error as NSError): os_log("%@", log: .migration, type: .error, error)
        }
        let outcome = await_(group)
        print(outcome, tags as NSArray, ["a": 1] as NSDictionary)
        manager.associate(sourceInstance: sInstance, withDestinationInstance: memo, for: mapping)
        let children = memo.mutableSetValue(forKey: #keyPath(Memo.children))
        children.addObjects(from: Array(sInstance.value(forKey: "children") as? Set<NSManagedObject> ?? []))
        let ordered = NSMutableOrderedSet(orderedSet: sInstance.mutableOrderedSetValue(forKey: "list"))
        ordered.sort(using: [NSSortDescriptor(key: "order", ascending: true), NSSortDescriptor(keyPath: \Memo.text, ascending: true)])
        let compound = NSCompoundPredicate(andPredicateWithSubpredicates: [NSPredicate(value: true), NSPredicate(format: "SELF IN %@", [memo])])
        print(compound.predicateFormat, ordered)
        let fetch = Memo.fetchRequest() as NSFetchRequest<Memo>
        fetch.sortDescriptors = [NSSortDescriptor(keyPath: \Memo.text, ascending: false)]
        _ = try? manager.destinationContext.fetch(fetch)
        let any = try manager.destinationContext.fetch(NSFetchRequest<NSFetchRequestResult>(entityName: "Memo")).first as! NSManagedObject
        any.setNilValueForKey("x")
        print("\(any.value(forKey: #keyPath(Memo.text)) ?? "")")
        withExtendedLifetime(any) {}
        
        manager.destinationContext.automaticallyMergesChangesFromParent = true
        manager.destinationContext.name = "x"
    }
    private func load(_ text: String) throws -> Int { Int(text) ?? 0 }
    private func await_(_ group: DispatchGroup) -> DispatchTimeoutResult { group.wait(timeout: .now() + .seconds(1)) }
}

@objc(Memo) class Memo: NSManagedObject {
    @NSManaged var text: String?
    @NSManaged var children: NSSet?
    @NSManaged var parent: Memo?
    @NSManaged public var uuid: UUID
    override var description: String { "Memo" }
    override public func awakeFromFetch() { super.awakeFromFetch() }
    var isRoot: Bool { return parent == nil }
    class func entityName() -> String { "Memo" }
}
