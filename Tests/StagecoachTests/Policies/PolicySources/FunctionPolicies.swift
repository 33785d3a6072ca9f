import Stagecoach

/// Functions that value expressions call.
class FunctionPolicy: NSEntityMigrationPolicy {
    private var calls = 0

    func title(forTitle title: String?, pages: Int) -> String? { title.map { "\($0) (\(pages))" } }
    func isLong(pages: NSNumber) -> NSNumber { NSNumber(value: pages.intValue > 400) }
    func count() -> Int {
        calls += 1
        return calls
    }
    func shout(_ text: String) throws -> NSString {
        if text == "Anon" { throw FunctionStop.anonymous }
        return NSString(string: text.uppercased())
    }
    func titles(ofChapters chapters: Set<NSManagedObject>) -> String {
        chapters.compactMap { $0.value(forKey: "title") as? String }.sorted().joined(separator: " ")
    }
    func describe(
        _ source: NSManagedObject, manager: NSMigrationManager, mapping: NSEntityMapping, price: Decimal?, any: Any?
    ) -> String {
        "\(mapping.name!) \(source.entity.name!) \(price ?? -1) \(any == nil) \(manager.sourceContext === source.managedObjectContext)"
    }
}

/// Inherits the functions of its superclass.
final class InheritingPolicy: FunctionPolicy {}

enum FunctionStop: Error { case anonymous }

/// A manager with a function of its own.
final class LibraryManager: NSMigrationManager {
    override func registerFunctions(_ functions: ExpressionFunctionTable) {
        functions.add("shelfForTitle:", LibraryManager.shelf(forTitle:))
    }

    func shelf(forTitle title: String) -> String { "shelf " + title.prefix(1) }
}
